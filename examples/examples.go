// Package examples holds the experiments that are built into plimsoll. Each
// is a file that runs as it is, and a pattern for one's own.
package examples

import (
	"embed"
	"strings"
)

//go:embed *.yaml
var files embed.FS

// List names the built-in experiments, in the order of the alphabet.
func List() []string {
	entries, err := files.ReadDir(".")
	if err != nil {
		panic(err) // the files are part of the program
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = strings.TrimSuffix(e.Name(), ".yaml")
	}
	return names
}

// Find gives the text of a built-in experiment.
func Find(name string) (text []byte, ok bool) {
	text, err := files.ReadFile(name + ".yaml")
	return text, err == nil
}
