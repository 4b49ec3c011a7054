// Command changelog moves the fragments of changelog/unreleased to the end of a version's section of CHANGELOG.md, by
// kind, where a person shortens them. The version is that of internal/cli/buildinfo.
//
//	scripts/with-go go run ./scripts/changelog
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

func main() {
	n, err := fold(".")
	if err != nil {
		fmt.Fprintln(os.Stderr, "changelog:", err)
		os.Exit(1)
	}
	fmt.Printf("%d fragments moved into CHANGELOG.md: shorten them\n", n)
}

// kinds are those of fragments, and their headings, in order.
var kinds = [][2]string{
	{"Security", "### Security"},
	{"Change", "### Changes"},
	{"Enhancement", "### What is new"},
	{"Bugfix", "### Bug fixes"},
}

var firstLine = regexp.MustCompile(`^(Security|Change|Enhancement|Bugfix): (\S.*)$`)

// parse returns a fragment's kind, and its item in a list.
func parse(text string) (kind, item string, err error) {
	first, body, _ := strings.Cut(strings.TrimSpace(text), "\n\n")
	match := firstLine.FindStringSubmatch(first)
	if match == nil || strings.TrimSpace(body) == "" {
		return "", "", fmt.Errorf("it is no line such as %q, an empty line and a text", "Bugfix: What was mended")
	}
	item = "- **" + strings.TrimSuffix(match[2], ".") + ".**"
	for line := range strings.Lines(body) {
		if strings.TrimSpace(line) != "" {
			item += "\n  " + strings.TrimSpace(line)
		}
	}
	return match[1], item, nil
}

// fragments returns the names of a clone's fragments, in order.
func fragments(dir string) (names []string, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "changelog/unreleased/*"))
	for _, name := range files {
		if filepath.Base(name) != "README.md" {
			names = append(names, name)
		}
	}
	return names, err
}

// fold moves the fragments of a clone, and returns how many there were.
func fold(dir string) (int, error) {
	version, err := os.ReadFile(filepath.Join(dir, "internal/cli/buildinfo/VERSION"))
	if err != nil {
		return 0, err
	}
	page := filepath.Join(dir, "CHANGELOG.md")
	log, err := os.ReadFile(page)
	if err != nil {
		return 0, err
	}
	names, err := fragments(dir)
	if err != nil {
		return 0, err
	}
	items := map[string]string{} // of each kind
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return 0, err
		}
		kind, item, err := parse(string(text))
		if err != nil {
			return 0, fmt.Errorf("%s: %w (see changelog/unreleased/README.md)", name, err)
		}
		items[kind] += item + "\n"
	}
	err = os.WriteFile(page, []byte(add(string(log), strings.TrimSpace(string(version)), items)), 0o644)
	if err != nil {
		return 0, err
	}
	for _, name := range names {
		err := os.Remove(name)
		if err != nil {
			return 0, err
		}
	}
	return len(names), nil
}

// add appends the items of each kind to a version's section, which it puts first where there is none.
func add(log, version string, items map[string]string) string {
	var added string
	for _, kind := range kinds {
		if items[kind[0]] != "" {
			added += "\n" + kind[1] + "\n\n" + items[kind[0]]
		}
	}
	if added == "" {
		return log
	}
	title, sections, _ := strings.Cut(log, "\n## ")
	section, later, found := strings.Cut(sections, "\n## ")
	if name, _, _ := strings.Cut(section, "\n"); name != version && !strings.HasPrefix(name, version+" ") {
		section, later, found = version+" (unreleased)\n", sections, sections != ""
	}
	log = title + "\n## " + strings.TrimRight(section, "\n") + "\n" + added
	if found {
		log += "\n## " + later
	}
	return log
}
