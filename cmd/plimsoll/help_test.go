package main

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"plimsoll/internal/cli/manpage"
)

// commands are all that the help shows, each with those below it.
func commands(c *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{c}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() || sub.Name() == "help" {
			all = append(all, commands(sub)...)
		}
	}
	return all
}

func newTestRoot() *cobra.Command {
	root := newRootCommand(&app{stdout: io.Discard, stderr: io.Discard})
	root.InitDefaultHelpCmd()
	return root
}

// Whoever reads the help of a command finds what its exit status means and how
// it is used, in lines that fit a terminal.
func TestHelp(t *testing.T) {
	all := commands(newTestRoot())
	if len(all) < 30 {
		t.Fatalf("only %d commands", len(all))
	}
	for _, c := range all {
		name := c.CommandPath()
		if c.Short == "" || strings.HasSuffix(c.Short, ".") {
			t.Errorf("%s: short %q", name, c.Short)
		}
		if !strings.Contains(c.Long, "\n\nEXIT STATUS\n  ") {
			t.Errorf("%s does not show its exit status", name)
		}
		if c.Example == "" {
			t.Errorf("%s has no example", name)
		}
		for line := range strings.Lines(c.Long) {
			if n := len([]rune(strings.TrimSpace(line))); n > 85 {
				t.Errorf("%s: a line of %d characters: %s", name, n, line)
			}
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Hidden {
				return
			}
			if f.Usage == "" || strings.HasSuffix(f.Usage, ".") {
				t.Errorf("%s --%s: usage %q", name, f.Name, f.Usage)
			}
			if shown, _ := strings.CutPrefix(f.DefValue, "0"); strings.Contains(f.Usage, "(default ") && shown != "" &&
				shown != "s" && shown != "[]" {
				t.Errorf("%s --%s: its usage and pflag both say the default: %q, %s", name, f.Name, f.Usage, f.DefValue)
			}
			if f.Value.Type() != "bool" && !strings.Contains(f.Usage, "`") {
				t.Errorf("%s --%s: what it takes has no name between back quotes: %q", name, f.Name, f.Usage)
			}
		})
		help := helpText(c, 80, true)
		for line := range strings.Lines(help[:strings.Index(help, "\nExamples:\n")]) {
			if n := len([]rune(strings.TrimSpace(line))); n > 85 {
				t.Errorf("%s: a line of %d characters: %s", name, n, line)
			}
		}
		if at := strings.Index(help, "\nExit status:\n"); at < strings.Index(help, "\nExamples:\n") {
			t.Errorf("%s: the exit status is not the last of its help:\n%s", name, help)
		}
	}
}

// The help of run shows each of its flags in one group.
func TestHelpOfRunHasEveryFlagOnce(t *testing.T) {
	run, _, err := newTestRoot().Find([]string{"run"})
	if err != nil {
		t.Fatal(err)
	}
	var shown []string
	for _, group := range flagGroups(run) {
		shown = append(shown, group.flags...)
	}
	var has []string
	ownFlags(run).VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			has = append(has, f.Name)
		}
	})
	if slices.Sort(shown); !slices.Equal(shown, has) {
		t.Errorf("the groups of flags have\n%q, and run has\n%q", shown, has)
	}
}

// Examples are commands that there are, with flags that they have.
func TestExamples(t *testing.T) {
	comment := regexp.MustCompile(`  +[a-z]`)
	tried := 0
	for _, c := range commands(newTestRoot()) {
		for line := range strings.Lines(strings.ReplaceAll(c.Example, "\\\n", "")) {
			at := strings.Index(line, "plimsoll ")
			if at < 0 {
				t.Errorf("%s: an example without plimsoll: %s", c.CommandPath(), line)
				continue
			}
			text := strings.TrimSpace(line[at+len("plimsoll "):])
			if behind := comment.FindStringIndex(text); behind != nil {
				text = text[:behind[0]]
			}
			if strings.Contains(line[:at], "(") { // of a command whose output another one takes
				text, _, _ = strings.Cut(text, ")")
			}
			words := shellWords(text)
			found, rest, err := newTestRoot().Find(words)
			if err != nil || found.Runnable() && found.Annotations[groupAnnotation] != "" {
				t.Errorf("%s: there is no command %q: %v", c.CommandPath(), text, err)
				continue
			}
			if own := c.Annotations[groupAnnotation] != "" || found.CommandPath() == c.CommandPath(); !own &&
				!strings.Contains(line, c.Name()) {
				t.Errorf("%s: this is no example of it: %s", c.CommandPath(), line)
			}
			if err := found.ParseFlags(rest); err != nil {
				t.Errorf("%s: %q: %v", c.CommandPath(), text, err)
			}
			if err := found.ValidateArgs(found.Flags().Args()); err != nil && !slices.Contains(words, "--") {
				t.Errorf("%s: %q: %v", c.CommandPath(), text, err)
			}
			tried++
		}
	}
	if tried < 60 {
		t.Errorf("only %d examples were tried", tried)
	}
}

// shellWords splits a command line at blanks that are not quoted, as far as the
// first command goes.
func shellWords(text string) []string {
	var words []string
	quote, word, open := rune(0), "", false
	for _, r := range text + " " {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '\'' || r == '"'):
			quote, open = r, true
		case quote == 0 && r == ' ':
			if !open && slices.Contains([]string{"|", "||", "&&", ">"}, word) {
				return words
			}
			if open || word != "" {
				words = append(words, word)
			}
			word, open = "", false
		default:
			word += string(r)
		}
	}
	return words
}

// Manual pages have every command, and every flag.
func TestManualPages(t *testing.T) {
	pages := map[string]string{}
	for _, p := range manpage.Pages(newTestRoot(), "v1") {
		pages[strings.TrimSuffix(p.Name, ".1")] = p.Text
	}
	all := commands(newTestRoot())
	if len(pages) != len(all) {
		t.Errorf("%d pages of %d commands", len(pages), len(all))
	}
	for _, c := range all {
		name := strings.ReplaceAll(c.CommandPath(), " ", "-")
		page, ok := pages[name]
		if !ok {
			t.Errorf("there is no page %s", name)
			continue
		}
		wants := []string{".SH \"NAME\"", ".SH \"SYNOPSIS\"", ".SH \"EXIT STATUS\"", ".SH \"EXAMPLES\""}
		flags := func(f *pflag.Flag) { wants = append(wants, `\fB\-\-`+strings.ReplaceAll(f.Name, "-", `\-`)+`\fR`) }
		visible := func(f *pflag.Flag) {
			if !f.Hidden {
				flags(f)
			}
		}
		c.LocalFlags().VisitAll(visible)
		c.InheritedFlags().VisitAll(visible)
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() {
				wants = append(wants, `\fB`+strings.ReplaceAll(sub.CommandPath(), "-", `\-`)+`\fR(1)`)
			}
		}
		for _, want := range wants {
			if !strings.Contains(page, want) {
				t.Errorf("%s lacks %s", name, want)
			}
		}
	}
}

// Examples of commands that only read are run, on a run that was made for them, and what jq is to take of their JSON
// is in it.
func TestExamplesRun(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("PLIMSOLL_STATE_DIR", filepath.Join(t.TempDir(), "state"))
	if err := makeRun("plimsoll-runs/two-20260512", "two-20260512", time.Now()); err != nil {
		t.Fatal(err)
	}
	reads := []string{"list", "schema", "help words", "version", "completion", "runs", "show", "papers claims",
		"papers list", "advise settings", "export",
		"data list", "image list", "help"}
	taken := regexp.MustCompile(`(?:\.[a-z_]+)+`)
	ran := 0
	for _, c := range commands(newTestRoot()) {
		if !slices.Contains(reads, commandName(c)) {
			continue
		}
		for line := range strings.Lines(c.Example) {
			if strings.Contains(line, "sudo ") || strings.Contains(line, "RUN") {
				continue
			}
			text := strings.TrimSpace(line[strings.Index(line, "plimsoll ")+len("plimsoll "):])
			if strings.Contains(line, "(plimsoll ") { // another command takes what it prints
				text, _, _ = strings.Cut(text, ")")
			}
			words := shellWords(text)
			if slices.ContainsFunc(words, func(w string) bool {
				return strings.HasPrefix(w, "/") || strings.Contains(w, "-2026") || w == ">" || w == "--series" ||
					w == "--objective"
			}) {
				continue // of a run, a path, series or instances that this one has not
			}
			var out, errs bytes.Buffer
			code := execute(t.Context(), words, &out, &errs)
			if code != exitOK {
				t.Errorf("%s: ends with %d: %s", text, code, errs.String())
				continue
			}
			ran++
			_, program, piped := strings.Cut(text, "| jq ")
			if !piped {
				continue
			}
			program, _, _ = strings.Cut(program, "' |")
			var document any
			if err := json.NewDecoder(&out).Decode(&document); err != nil { // of rows, the first one
				t.Fatalf("%s: %v", text, err)
			}
			if isEmptyFor(document, program) {
				continue // nothing is known of what would be in it
			}
			for _, path := range taken.FindAllString(program, -1) {
				isOfGit := path == ".commit" // which a build of a test has not
				if !isOfGit && !hasPath(document, strings.Split(path[1:], ".")) {
					t.Errorf("%s: there is no %s in what it prints", text, path)
				}
			}
		}
	}
	if ran < 15 {
		t.Errorf("only %d examples ran", ran)
	}
}

// hasPath reports whether an object of a document has that path.
func hasPath(document any, path []string) bool {
	switch in := document.(type) {
	case []any:
		return slices.ContainsFunc(in, func(one any) bool { return hasPath(one, path) })
	case map[string]any:
		if leads(in, path) {
			return true
		}
		for _, below := range in {
			if hasPath(below, path) {
				return true
			}
		}
	}
	return false
}

// isEmptyFor reports whether a program of jq goes through a list that is empty here.
func isEmptyFor(document any, program string) bool {
	list, isList := document.([]any)
	in, _ := document.(map[string]any)
	for key, value := range in {
		if strings.Contains(program, "."+key+"[]") {
			list, isList = value.([]any)
		}
	}
	return isList && len(list) == 0
}

// leads reports whether a path leads somewhere from here.
func leads(from any, path []string) bool {
	for _, key := range path {
		in, isObject := from.(map[string]any)
		if !isObject || !slices.Contains(slices.Collect(maps.Keys(in)), key) {
			return false
		}
		from = in[key]
	}
	return true
}
