package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
)

// parts of the tree that have a total of their own.
var parts = []string{"internal", "cmd", "scripts"}

// size is how large a package is.
type size struct {
	lines, files int
	longest      function
}

// function is one, by its number of lines.
type function struct {
	name  string
	lines int
}

func (f function) String() string {
	if f.lines == 0 {
		return "-"
	}
	return fmt.Sprintf("%d %s", f.lines, f.name)
}

// house is a tree's packages by their folders.
type house map[string]size

func (h house) names() []string { return slices.Sorted(maps.Keys(h)) }

// total returns the size of all packages of a part.
func (h house) total(part string) (all size) {
	for name, p := range h {
		if name != part && !strings.HasPrefix(name, part+"/") {
			continue
		}
		all.lines += p.lines
		all.files += p.files
		if p.longest.lines > all.longest.lines {
			all.longest = p.longest
		}
	}
	return all
}

// measure measures files, by their paths.
func measure(files map[string][]byte) (house, error) {
	h := house{}
	for _, file := range slices.Sorted(maps.Keys(files)) {
		set := token.NewFileSet()
		tree, err := parser.ParseFile(set, file, files[file], parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		p := h[path.Dir(file)]
		p.files++
		p.lines += bytes.Count(files[file], []byte("\n"))
		for _, d := range tree.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			lines := set.Position(f.End()).Line - set.Position(f.Pos()).Line + 1
			if lines > p.longest.lines {
				p.longest = function{f.Name.Name, lines}
			}
		}
		h[path.Dir(file)] = p
	}
	return h, nil
}

// isSource reports whether a file is Go, and no test.
func isSource(file string) bool {
	return strings.HasSuffix(file, ".go") && !strings.HasSuffix(file, "_test.go") && !strings.Contains(file, "testdata/")
}

// sources returns the files of a revision, or those of this tree for "".
func sources(revision string) (map[string][]byte, error) {
	files := map[string][]byte{}
	if revision == "" {
		list, err := git("ls-files", "-z", "--cached", "--others", "--exclude-standard", "--full-name", ":/")
		if err != nil {
			return nil, err
		}
		root, err := git("rev-parse", "--show-toplevel")
		if err != nil {
			return nil, err
		}
		for file := range strings.SplitSeq(string(list), "\x00") {
			if !isSource(file) {
				continue
			}
			text, err := os.ReadFile(path.Join(strings.TrimSpace(string(root)), file))
			if errors.Is(err, os.ErrNotExist) { // it is deleted, and not committed yet
				continue
			}
			if err != nil {
				return nil, err
			}
			files[file] = text
		}
		return files, nil
	}
	archive, err := git("archive", "--format=tar", revision+":") // of the whole tree, from any folder
	if err != nil {
		return nil, err
	}
	for r := tar.NewReader(bytes.NewReader(archive)); ; {
		entry, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read the files of %s: %w", revision, err)
		}
		if !isSource(entry.Name) {
			continue
		}
		files[entry.Name], err = io.ReadAll(r)
		if err != nil {
			return nil, fmt.Errorf("read %s of %s: %w", entry.Name, revision, err)
		}
	}
}

func git(args ...string) ([]byte, error) {
	out, err := exec.Command("git", args...).Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		return nil, fmt.Errorf("git %s: %s", args[0], bytes.TrimSpace(failed.Stderr))
	}
	if err != nil {
		return nil, fmt.Errorf("git %s: %w", args[0], err)
	}
	return out, nil
}
