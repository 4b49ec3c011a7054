// Command changelog moves the fragments of changelog/unreleased into a version's section of CHANGELOG.md:
//
//	scripts/with-go go run ./scripts/changelog
//
// The version is that of internal/cli/buildinfo. What the section says already stays as it is, so that its words
// can be worked on, and the command be run again for fragments that came later. Their files go.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	n, err := fold(".")
	if err != nil {
		fmt.Fprintln(os.Stderr, "changelog:", err)
		os.Exit(1)
	}
	fmt.Printf("%d fragments folded into CHANGELOG.md: read their words again\n", n)
}

// fold does so in a clone, and returns how many fragments there were.
func fold(dir string) (int, error) {
	version, err := os.ReadFile(filepath.Join(dir, "internal/cli/buildinfo/VERSION"))
	if err != nil {
		return 0, err
	}
	files, err := filepath.Glob(filepath.Join(dir, "changelog/unreleased/*"))
	if err != nil {
		return 0, err
	}
	var entries []entry
	for _, name := range files { // in the order of names
		text, err := os.ReadFile(name)
		if err != nil {
			return 0, err
		}
		e, err := parse(string(text))
		if err != nil {
			return 0, fmt.Errorf("%s: %w (see changelog/TEMPLATE)", name, err)
		}
		entries = append(entries, e)
	}
	log := filepath.Join(dir, "CHANGELOG.md")
	old, err := os.ReadFile(log)
	if err != nil && !os.IsNotExist(err) {
		return 0, err
	}
	err = os.WriteFile(
		log,
		[]byte(add(string(old), strings.TrimSpace(string(version)), entries)),
		0o644,
	) //nolint:gosec // for all
	if err != nil {
		return 0, err
	}
	for _, name := range files {
		err := os.Remove(name)
		if err != nil {
			return 0, err
		}
	}
	return len(files), nil
}
