// Command static fails unless each of the named programs is a static ELF file,
// one that runs on any Linux of its architecture whatever libraries it has.
package main

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"
)

func main() {
	failed := len(os.Args) < 2
	for _, path := range os.Args[1:] {
		machine, err := check(path)
		if err != nil {
			fmt.Fprintf(os.Stderr, "static: %s: %v\n", path, err)
			failed = true
			continue
		}
		fmt.Printf("static: %s (%s)\n", path, machine)
	}
	if failed {
		os.Exit(1)
	}
}

// check gives the machine that a program is for, and an error when it needs a
// loader or a library.
func check(path string) (elf.Machine, error) {
	f, err := elf.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return 0, errors.New("needs a dynamic loader: build it with CGO_ENABLED=0")
		}
	}
	libraries, err := f.ImportedLibraries()
	if err != nil && !errors.Is(err, elf.ErrNoSymbols) {
		return 0, err
	}
	if len(libraries) > 0 {
		return 0, fmt.Errorf("needs the libraries %v: build it with CGO_ENABLED=0", libraries)
	}
	return f.Machine, nil
}
