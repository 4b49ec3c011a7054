package image

import (
	"os"
	"strings"

	"plimsoll/internal/problem"
)

// Plimsoll's names at the top of a root. Programs of an image find there what Plimsoll gives them: an image that has
// something else in their place could lead root astray, or its own programs.
const (
	OwnPrefix = "plimsoll" // of Plimsoll's files and directories
	DataName  = "data"     // where containers see a workload's data; images may have a directory there
)

// checkName refuses a file of an image's root whose name is reserved for Plimsoll. name has no slash at either end.
func checkName(image, name string, isDir bool) error {
	top, rest, _ := strings.Cut(name, "/")
	if !strings.HasPrefix(top, OwnPrefix) && (top != DataName || isDir || rest != "") {
		return nil
	}
	what := "it has /" + top + ": names that begin with " + OwnPrefix + " are for what Plimsoll puts there"
	if top == DataName {
		what = "its /" + top + " is no directory: Plimsoll shows a workload's data there"
	}
	return problem.New(problem.Unsupported, "image "+image, what, "make the image without /"+top+", or take another")
}

// CheckNames refuses an image whose unpacked root has something at a place of Plimsoll's: see checkName.
func CheckNames(image, dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := checkName(image, e.Name(), e.IsDir()); err != nil {
			return err
		}
	}
	return nil
}
