package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Each Benchmark* beside a package is part of a bench, and each bench of a package is of something that is there.
func TestBenchmarksAreListed(t *testing.T) {
	found := map[string]bool{} // by name and package
	function := regexp.MustCompile(`(?m)^func ((?:Benchmark|Test)(\w+))\(`)
	for _, module := range []string{"", "kubernetes"} {
		top := filepath.Join("..", module)
		err := filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			_, err = os.Stat(filepath.Join(path, "go.mod"))
			if entry.IsDir() && path != top && (entry.Name() == "bin" || err == nil) {
				return filepath.SkipDir
			}
			if !strings.HasSuffix(path, "_test.go") {
				return nil
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			dir, err := filepath.Rel(top, filepath.Dir(path))
			for _, match := range function.FindAllStringSubmatch(string(text), -1) {
				listed := false
				for _, b := range benches {
					pattern := b.tests
					if strings.HasPrefix(match[1], "Benchmark") {
						pattern = b.benchmark
					}
					if b.run == nil && b.module == module && b.pkg == "./"+dir && regexp.MustCompile(pattern).MatchString(match[1]) {
						found[b.name], listed = true, true
					}
				}
				if !listed && strings.HasPrefix(match[1], "Benchmark") {
					t.Errorf("no bench has %s of %s: add it to benches.go", match[1], dir)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	names := map[string]bool{}
	for _, b := range benches {
		if names[b.name] || b.purpose == "" {
			t.Errorf("%s is there twice, or does not say what it measures", b.name)
		}
		names[b.name] = true
		if b.run == nil && !found[b.name] {
			t.Errorf("%s: %q and %q are no benchmark or test of %s", b.name, b.benchmark, b.tests, b.pkg)
		}
	}
}

// What pages and comments name is there.
func TestNamesOfPagesAreThere(t *testing.T) {
	named := regexp.MustCompile(`make bench NAME=([a-z-]+)`)
	script := regexp.MustCompile(`\bscripts/[a-z-]+(\.sh)?\b`)
	for _, top := range []string{"../docs", "../internal", "../kubernetes", "../CONTRIBUTING.md", "../evidence"} {
		err := filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.Type().IsRegular() {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, name := range script.FindAllString(string(text), -1) {
				_, err := os.Stat(filepath.Join("..", name))
				if err != nil && strings.HasPrefix(path, "../docs/evidence") {
					t.Errorf("%s: %v", path, err)
				}
			}
			for _, match := range named.FindAllStringSubmatch(string(text), -1) {
				_, err := find(match[1])
				if err != nil {
					t.Errorf("%s: %v", path, err)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
