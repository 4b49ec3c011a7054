package main

import (
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"plimsoll/internal/manpage"
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
			t.Errorf("%s does not tell its exit status", name)
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
			if f.Usage == "" || strings.HasSuffix(f.Usage, ".") {
				t.Errorf("%s --%s: usage %q", name, f.Name, f.Usage)
			}
		})
	}
}

// Examples are commands that there are, with flags that they have.
func TestExamples(t *testing.T) {
	comment := regexp.MustCompile(`  +[a-z]`)
	tried := 0
	for _, c := range commands(newTestRoot()) {
		for line := range strings.Lines(c.Example) {
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
		c.LocalFlags().VisitAll(flags)
		c.InheritedFlags().VisitAll(flags)
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
