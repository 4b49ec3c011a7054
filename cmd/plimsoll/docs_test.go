package main

import (
	"bytes"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"plimsoll/examples"
)

// page is a Markdown file of the repository.
type page struct {
	file  string // from the root of the repository
	lines []string
	code  []bool // whether a line is of a code block
}

var (
	fence     = regexp.MustCompile("^ *(```|~~~)")
	heading   = regexp.MustCompile(`^#{1,6} +(.+?) *#*$`)
	linked    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	unlinked  = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	notAnchor = regexp.MustCompile(`[^\p{L}\p{N}_\- ]`)
	codeSpan  = regexp.MustCompile("`[^`]*`")
)

// repositoryPages returns all Markdown files of the repository.
func repositoryPages(t *testing.T) map[string]page {
	t.Helper()
	const root = "../.."
	pages := map[string]page{}
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		file, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if entry.IsDir() && (file != "." && strings.HasPrefix(file, ".") || slices.Contains(notOurs, file)) {
			return filepath.SkipDir
		}
		if filepath.Ext(path) != ".md" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		pages[file] = readPage(file, string(text))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(pages) < 50 {
		t.Fatalf("only %d pages were found", len(pages))
	}
	return pages
}

// notOurs are directories that builds and runs make.
var notOurs = []string{"bin", "plimsoll-runs"}

func readPage(file, text string) page {
	p := page{file: file, lines: strings.Split(text, "\n")}
	fenced, blank, indented := false, true, false
	for _, line := range p.lines {
		isFence := fence.MatchString(line)
		if isFence {
			fenced = !fenced
		}
		deep := strings.HasPrefix(line, "    ") && strings.TrimSpace(line) != ""
		indented = deep && (indented || blank) // a paragraph goes on, however deep its lines are
		blank = strings.TrimSpace(line) == "" && !fenced
		p.code = append(p.code, fenced || isFence || indented)
	}
	return p
}

// anchors returns what links can name in a page, as GitHub makes them of headings.
func (p page) anchors() map[string]bool {
	all := map[string]bool{}
	for i, line := range p.lines {
		m := heading.FindStringSubmatch(line)
		if m == nil || p.code[i] {
			continue
		}
		text := strings.ReplaceAll(unlinked.ReplaceAllString(m[1], "$1"), "`", "")
		all[strings.ReplaceAll(notAnchor.ReplaceAllString(strings.ToLower(text), ""), " ", "-")] = true
	}
	return all
}

// deadLinks returns the links of a page that lead to no file or heading of the repository.
func (p page) deadLinks(pages map[string]page) (links int, dead []string) {
	for i, line := range p.lines {
		if p.code[i] {
			continue
		}
		for _, m := range linked.FindAllStringSubmatch(codeSpan.ReplaceAllString(line, "``"), -1) {
			u, err := url.Parse(m[1])
			if err == nil && u.Scheme != "" {
				continue // of another site
			}
			links++
			if err != nil {
				dead = append(dead, m[1])
				continue
			}
			file := p.file
			if u.Path != "" {
				file = filepath.Join(filepath.Dir(p.file), u.Path)
			}
			target, isPage := pages[file]
			if !isPage {
				_, err = os.Stat(filepath.Join("../..", file))
			}
			if err != nil || u.Fragment != "" && isPage && !target.anchors()[u.Fragment] {
				dead = append(dead, m[1])
			}
		}
	}
	return links, dead
}

// Every link of the documentation leads to a file, and to a heading of it.
func TestLinks(t *testing.T) {
	pages := repositoryPages(t)
	links := 0
	for _, p := range pages {
		n, dead := p.deadLinks(pages)
		links += n
		for _, link := range dead {
			t.Errorf("%s: dead link %s", p.file, link)
		}
	}
	if links < 200 {
		t.Errorf("only %d links were followed", links)
	}
	t.Logf("%d pages, %d links", len(pages), links)
}

// Each page of docs is reached from its index by links.
func TestPagesAreReachable(t *testing.T) {
	pages := repositoryPages(t)
	for _, file := range unreachable(pages, "docs/index.md") {
		if strings.HasPrefix(file, "docs/") && filepath.Base(file) != "0000-template.md" {
			t.Errorf("%s: no link leads there from docs/index.md", file)
		}
	}
	pages["docs/alone.md"] = readPage("docs/alone.md", "# Alone\n\n[index](index.md)")
	if !slices.Contains(unreachable(pages, "docs/index.md"), "docs/alone.md") {
		t.Error("a page that no link leads to is not found")
	}
}

// unreachable returns the pages that no links lead to from one.
func unreachable(pages map[string]page, from string) []string {
	reached := map[string]bool{from: true}
	for next := []string{from}; len(next) > 0; next = next[1:] {
		p := pages[next[0]]
		for i, line := range p.lines {
			if p.code[i] {
				continue
			}
			for _, m := range linked.FindAllStringSubmatch(line, -1) {
				path, _, _ := strings.Cut(m[1], "#")
				file := filepath.Join(filepath.Dir(p.file), path)
				if _, is := pages[file]; is && !reached[file] {
					reached[file] = true
					next = append(next, file)
				}
			}
		}
	}
	var out []string
	for file := range pages {
		if !reached[file] {
			out = append(out, file)
		}
	}
	slices.Sort(out)
	return out
}

func TestDeadLinksAreFound(t *testing.T) {
	pages := repositoryPages(t)
	for text, want := range map[string]int{
		"[a](stacks.md)": 0,
		"# Of `its` own: [here](stacks.md)\n[a](#of-its-own-here)": 0,
		"[a](no-such-page.md)":                     1,
		"[a](stacks.md#no-such-heading)":           1,
		"`[a](no-such-page.md)`":                   0,
		"```\n[a](no-such-page.md)\n```":           0,
		"text\n    [a](no-such-page.md)":           1, // of a paragraph that goes on
		"\n    [a](no-such-page.md)":               0,
		"[a](https://example.org/no-such-page.md)": 0,
	} {
		p := readPage("docs/reference/test.md", text)
		pages[p.file] = p
		if _, dead := p.deadLinks(pages); len(dead) != want {
			t.Errorf("%q: dead are %q", text, dead)
		}
	}
}

// commandLines returns what a page has the reader type, by line: blocks of code and spans that begin with plimsoll.
func (p page) commandLines() []string {
	var all []string
	carried := ""
	for i, line := range p.lines {
		if p.code[i] {
			line = strings.TrimSpace(line)
			if cut, goesOn := strings.CutSuffix(line, `\`); goesOn {
				carried += cut + " "
				continue
			}
			line, carried = carried+line, ""
			if command, is := typed(line); is {
				all = append(all, command)
			}
			continue
		}
		carried = ""
		for _, span := range codeSpan.FindAllString(line, -1) {
			if command, is := typed(strings.Trim(span, "`")); is {
				all = append(all, command)
			}
		}
	}
	return all
}

var (
	prompt  = regexp.MustCompile(`^(?:\$ )?(?:[A-Z_]+=\S+ )*(?:sudo )?(?:\./)?plimsoll ([a-z-].*)$`)
	comment = regexp.MustCompile(`  +[^ -].*$|\s#.*$`)
)

// typed returns the words behind "plimsoll" of a line that is a command.
func typed(line string) (string, bool) {
	m := prompt.FindStringSubmatch(line)
	if m == nil {
		return "", false
	}
	return strings.TrimSpace(comment.ReplaceAllString(m[1], "")), true
}

// The lines of pages that begin with plimsoll are commands that there are, with flags that they have, and experiments
// that are built in.
func TestCommandsOfPages(t *testing.T) {
	tried := 0
	for _, p := range repositoryPages(t) {
		if p.file == "docs/reference/commands.md" || p.file == "CHANGELOG.md" {
			continue // helps, whose examples TestExamples tries; and what commands were once
		}
		for _, line := range p.commandLines() {
			tried++
			if problem := wrongCommand(line); problem != "" {
				t.Errorf("%s: plimsoll %s: %s", p.file, line, problem)
			}
		}
	}
	if tried < 200 {
		t.Errorf("only %d command lines were tried", tried)
	}
	t.Logf("%d command lines", tried)
}

// wrongCommand returns what is wrong with a command line, or "".
func wrongCommand(line string) string {
	words := shellWords(line)
	if i := slices.Index(words, "..."); i >= 0 {
		words = words[:i] // what is left out
	}
	found, rest, err := newTestRoot().Find(words)
	if err != nil {
		return err.Error()
	}
	found.InitDefaultHelpFlag()
	found.InitDefaultVersionFlag()
	if n := len(rest); n > 0 && strings.HasPrefix(rest[n-1], "--") && found.Flag(rest[n-1][2:]) != nil {
		rest = rest[:n-1] // a sentence names a flag without its value
	}
	err = found.ParseFlags(rest)
	if err != nil {
		return err.Error()
	}
	args := found.Flags().Args()
	switch {
	case len(args) == 0:
		return ""
	case found.Annotations[groupAnnotation] != "":
		return "there is no command " + args[0]
	case found.CommandPath() == "plimsoll lab run":
		if args[0] == "plimsoll" {
			return wrongCommand(strings.Join(args[1:], " "))
		}
	case found.CommandPath() == "plimsoll run":
		isFile := strings.ContainsAny(args[0], "./") || strings.ToUpper(args[0]) == args[0]
		if !isFile && !slices.Contains(examples.List(), args[0]) {
			return "there is no experiment " + args[0]
		}
	case found.CommandPath() == "plimsoll import":
		out := found.Flag("output").Value.String()
		if slices.ContainsFunc(args, func(name string) bool { return out != "" && strings.HasPrefix(name, out+"/") }) {
			return "the run's directory is that of the files"
		}
	}
	return ""
}

// namesFlag reports whether a word is a flag that takes a value, and has none.
func namesFlag(word string) bool {
	return strings.HasPrefix(word, "--") && !slices.Contains([]string{"--no-limits", "--trace", "--dry-run"}, word)
}

// TestRunsOfPagesStart: each run of a page that takes no device or machine of the reader's is one whose settings go
// together: a dry run finds nothing wrong with them, whatever this host lacks.
func TestRunsOfPagesStart(t *testing.T) {
	state, pages := t.TempDir(), repositoryPages(t)
	t.Chdir(t.TempDir())
	tried := map[string]bool{}
	for _, p := range pages {
		if p.file == "CHANGELOG.md" {
			continue
		}
		for _, line := range p.commandLines() {
			words := shellWords(line)
			theirs := func(word string) bool {
				flag, _, _ := strings.Cut(word, "=")
				return slices.Contains([]string{"...", "--on", "--destroy", "--remote", "--resume", "--clients-host",
					"--help"}, flag)
			}
			if len(words) < 3 || words[0] != "run" || !slices.Contains(examples.List(), words[1]) || tried[line] ||
				slices.ContainsFunc(words, theirs) || namesFlag(words[len(words)-1]) {
				continue // a sentence names a flag without its value
			}
			tried[line] = true
			var out, errs bytes.Buffer
			code := execute(t.Context(), append(words, "--dry-run", "--state-dir", state), &out, &errs)
			if code != exitOK && code != exitHost {
				t.Errorf("%s: plimsoll %s: exit %d: %s", p.file, line, code, errs.String())
			}
		}
	}
	if len(tried) < 20 {
		t.Errorf("only %d runs were tried", len(tried))
	}
}

func TestWrongCommandsAreFound(t *testing.T) {
	for line, wrong := range map[string]bool{
		"run quick --budget 15m":       false,
		"run FILE":                     false,
		"run mine.yaml":                false,
		"run quik":                     true,
		"run quick --buget 15m":        true,
		"rum quick":                    true,
		"lab no-such":                  true,
		"lab run -- plimsoll run quik": true,
		"lab run -- sh -c true":        false,
		"show --objective":             false,
		"show --objektive":             true,
		"target export ...":            false,

		"import old/*.json -o before":        false,
		"import before/*.json -o before":     true,
		"import before/*.json -o before-run": false,
	} {
		if problem := wrongCommand(line); (problem != "") != wrong {
			t.Errorf("%s: %q", line, problem)
		}
	}
}

// Blocks of YAML that begin with a name are experiment files, which are read without a complaint.
func TestExperimentsOfPages(t *testing.T) {
	tried := 0
	for _, p := range repositoryPages(t) {
		for n, block := range strings.Split(strings.Join(p.lines, "\n"), "```yaml\n") {
			text, _, closed := strings.Cut(block, "```")
			if n == 0 || !closed || !strings.HasPrefix(text, "name: ") {
				continue
			}
			tried++
			file := filepath.Join(t.TempDir(), "page.yaml")
			err := os.WriteFile(file, []byte(text), 0o600)
			if err != nil {
				t.Fatal(err)
			}
			for _, job := range jobFile.FindAllStringSubmatch(text, -1) {
				err := os.WriteFile(filepath.Join(filepath.Dir(file), job[1]), []byte("[job]\nrw=read\nsize=1g\n"), 0o600)
				if err != nil {
					t.Fatal(err)
				}
			}
			_, err = loadExperiment(file, "")
			if err != nil {
				t.Errorf("%s: %v\n%s", p.file, err, text)
			}
		}
	}
	if tried < 10 {
		t.Errorf("only %d experiments were read", tried)
	}
	t.Logf("%d experiments", tried)
}

var jobFile = regexp.MustCompile(`file: ([a-z-]+\.fio)`)
