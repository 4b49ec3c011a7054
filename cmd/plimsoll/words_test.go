package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// longestSentence is how many words a sentence may have, names in code apart.
const longestSentence = 35

// wordList is the content of testdata/words.txt.
type wordList struct {
	listed []listedWord
	kept   []string // sentences that keep a listed word
}

type listedWord struct {
	pattern *regexp.Regexp
	better  string
}

func readWords(t *testing.T) wordList {
	t.Helper()
	text, err := os.ReadFile("testdata/words.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all wordList
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if kept, is := strings.CutPrefix(line, "keep "); is {
			at := strings.LastIndex(kept, ": ")
			if at < 0 {
				t.Fatalf("testdata/words.txt: no reason in %q", line)
			}
			all.kept = append(all.kept, kept[:at])
			continue
		}
		pattern, better, found := strings.Cut(line, " -> ")
		if !found {
			t.Fatalf("testdata/words.txt: no replacement in %q", line)
		}
		if strings.ToLower(pattern) == pattern {
			pattern = "(?i:" + pattern + ")"
		}
		all.listed = append(all.listed, listedWord{regexp.MustCompile(`(?:^|[^\w-])(` + pattern + `)(?:$|[^\w-])`), better})
	}
	return all
}

var (
	sentenceEnd = regexp.MustCompile(`[.!?][)"*_]*(?:\s+|$)`)
	listItem    = regexp.MustCompile(`^\s*(?:[-*+]|\d+\.) `)
	inCode      = regexp.MustCompile("`[^`]*`,?")
	inTemplate  = regexp.MustCompile(`\{\{([^}"]|"[^"]*")*\}\}|<[^>]*>`)
	quoted      = regexp.MustCompile(`"[^"]*[A-Z ][^"]*"`) // and no name
)

// complaints returns what is wrong with the words of a paragraph, names in code left out.
func (l wordList) complaints(paragraph string) (words, long []string) {
	for _, sentence := range sentenceEnd.Split(inCode.ReplaceAllString(paragraph, " ` "), -1) {
		sentence = strings.TrimSpace(sentence)
		if slices.Contains(l.kept, sentence) {
			continue
		}
		for _, w := range l.listed {
			for _, m := range w.pattern.FindAllStringSubmatch(sentence, -1) {
				words = append(words, fmt.Sprintf("%q: write %s", m[1], w.better))
			}
		}
		if n := len(strings.Fields(strings.ReplaceAll(sentence, "`", ""))); n > longestSentence {
			long = append(long, fmt.Sprintf("a sentence of %d words: write several: %s", n, sentence))
		}
	}
	return words, long
}

// paragraphs returns the prose of a page by the line where it begins: headings, paragraphs, items of lists, rows of
// tables, whose cells and clauses are sentences.
func (p page) paragraphs() map[int]string {
	all := map[int]string{}
	from := 0
	for i, line := range p.lines {
		line = unlinked.ReplaceAllString(line, "$1")
		text := strings.TrimSpace(line)
		switch {
		case p.code[i] || text == "":
			from = 0
		case strings.HasPrefix(text, "|"):
			all[i+1], from = strings.NewReplacer("|", " . ", "; ", ". ").Replace(text), 0
		case strings.HasPrefix(text, "#"):
			all[i+1], from = text, 0
		case from == 0 || listItem.MatchString(line):
			from = i + 1
			all[from] = listItem.ReplaceAllString(line, "")
		default:
			all[from] += " " + text
		}
	}
	return all
}

// messages returns the string literals of a Go file by line. Those that are added are one.
func messages(t *testing.T, file string) map[int]string {
	t.Helper()
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	all := map[int]string{}
	ast.Inspect(parsed, func(n ast.Node) bool {
		e, is := n.(ast.Expr)
		if !is {
			_, imports := n.(*ast.ImportSpec)
			return !imports
		}
		text, whole := literal(e)
		if whole {
			all[set.Position(n.Pos()).Line] += text + "\n\n"
		}
		return !whole
	})
	return all
}

func literal(e ast.Expr) (text string, whole bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil && e.Kind == token.STRING
	case *ast.BinaryExpr:
		x, whole := literal(e.X)
		y, also := literal(e.Y)
		return x + y, whole && also && e.Op == token.ADD
	}
	return "", false
}

// wrapped returns the paragraphs of a text, and the items of lists, which are indented; their other lines are so
// further.
func wrapped(text string) []string {
	var all []string
	goesOn, item := false, 0
	for line := range strings.SplitSeq(text, "\n") {
		words := strings.TrimSpace(line)
		in := len(line) - len(strings.TrimLeft(line, " \t"))
		if goesOn && words != "" && words[0] != '-' && (item == 0) == (in == 0) && in >= item+min(item, 1) {
			all[len(all)-1] += " " + words
			continue
		}
		goesOn, item = words != "", in
		if goesOn {
			all = append(all, words)
		}
	}
	return all
}

// shownOf returns what a line of a template shows: its text, and texts in its actions.
func shownOf(line string) string {
	return inTemplate.ReplaceAllStringFunc(line, func(action string) string {
		if action[0] == '<' {
			return " "
		}
		return " " + strings.Trim(strings.Join(quoted.FindAllString(action, -1), " . "), `"`) + " "
	})
}

// notLinted are files whose words stay, and why.
var notLinted = map[string]string{
	"docs/reference/commands.md":  "it is the helps, which are read where they are made",
	"internal/result/store/db.go": "SQL", "internal/database/client/tpcc.go": "SQL",
	"internal/workload/fio/options.go": "names of options",
	"internal/result/neighbours.go":    "values in run.json",
}

// shownTexts calls see with every paragraph that users read: of what kind it is, and where it stands.
func shownTexts(t *testing.T, see func(kind, where, paragraph string)) {
	t.Helper()
	linted := func(file string) bool {
		for not := range notLinted {
			if strings.HasPrefix(file, not) {
				return false
			}
		}
		return !strings.HasSuffix(file, "_test.go") && !strings.Contains(file, "/testdata/")
	}
	for file, p := range repositoryPages(t) {
		if linted(file) {
			for line, text := range p.paragraphs() {
				see("docs", fmt.Sprintf("%s:%d", file, line), text)
			}
		}
	}
	var helps func(c *cobra.Command)
	helps = func(c *cobra.Command) {
		for _, paragraph := range wrapped(helpText(c, 1<<20, true)) {
			see("help", c.CommandPath()+" --help", paragraph)
		}
		for _, sub := range c.Commands() {
			helps(sub)
		}
	}
	helps(newTestRoot())
	root := os.DirFS("../..")
	for _, dir := range []string{"cmd", "internal", "kubernetes", "examples", "web"} {
		err := fs.WalkDir(root, dir, func(file string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			kind := "messages"
			if strings.HasPrefix(file, "internal/report/") || strings.HasPrefix(file, "web/") {
				kind = "report"
			}
			at := map[int]string{}
			switch {
			case !linted(file):
			case filepath.Ext(file) == ".go":
				at = messages(t, filepath.Join("../..", file))
			case filepath.Ext(file) == ".tmpl" || dir == "examples" && filepath.Ext(file) == ".yaml":
				text, err := fs.ReadFile(root, file)
				if err != nil {
					return err
				}
				for i, line := range strings.Split(string(text), "\n") {
					if filepath.Ext(file) == ".tmpl" || strings.HasPrefix(line, "# ") && !strings.Contains(line, "plimsoll run") ||
						strings.HasPrefix(line, "question:") {
						at[i+1] = shownOf(line)
					}
				}
			}
			for line, text := range at {
				for _, paragraph := range wrapped(text) {
					if strings.Contains(paragraph, " ") { // else a name, and no text
						see(kind, fmt.Sprintf("%s:%d", file, line), paragraph)
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// What users read is in words that they know, and in sentences that can be read once.
func TestWords(t *testing.T) {
	list := readWords(t)
	texts, listed, long := map[string]int{}, map[string]int{}, map[string]int{}
	shownTexts(t, func(kind, where, paragraph string) {
		words, sentences := list.complaints(paragraph)
		texts[kind]++
		listed[kind] += len(words)
		long[kind] += len(sentences)
		for _, c := range append(words, sentences...) {
			t.Errorf("%s: %s", where, c)
		}
	})
	for _, kind := range []string{"docs", "help", "messages", "report"} {
		if texts[kind] < 100 {
			t.Errorf("%s: only %d paragraphs were read", kind, texts[kind])
		}
		t.Logf("%-8s %5d paragraphs, %d listed words, %d long sentences", kind, texts[kind], listed[kind], long[kind])
	}
}

func TestWrongWordsAreFound(t *testing.T) {
	list := readWords(t)
	for text, want := range map[string]int{
		"Setups differ.":                         0,
		"It cannot tell bring-ups apart.":        2,
		"Whoever asks, a neighbour tells.":       3,
		"The key `miniature` stays.":             0,
		"intelligent retellings":                 0,
		"ext4 under RW-16":                       1,
		strings.Repeat("word ", 35) + ". Next.":  0,
		strings.Repeat("word ", 36) + ". Next.":  1,
		strings.Repeat("`code`, ", 50) + "word.": 0,
	} {
		words, long := list.complaints(text)
		if len(words)+len(long) != want {
			t.Errorf("%q: %q, %q", text, words, long)
		}
	}
	p := readPage("x.md", "# A\n\n- one\n  two\n\n| a | b; c |\n\n```\ncode\n```\n[a](b.md)")
	got := p.paragraphs()
	want := map[int]string{1: "# A", 3: "one two", 6: " .  a  .  b. c  . ", 11: "a"}
	if !maps.EqualFunc(got, want, func(a, b string) bool {
		return strings.Join(strings.Fields(a), " ") == strings.Join(strings.Fields(b), " ")
	}) {
		t.Errorf("%v", got)
	}
}
