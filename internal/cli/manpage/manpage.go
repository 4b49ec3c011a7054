// Package manpage writes manual pages of commands, from the text of their help.
// It is pure.
//
// The help of a command is plain text. A line in capital letters begins a
// section; what is indented by two spaces or more stays as it is, line by line;
// the rest are paragraphs.
package manpage

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Page is a manual page.
type Page struct {
	Name string // of its file: "plimsoll-lab-run.1"
	Text string // in the language of man's macros
}

// Pages returns the pages of a command and of all below it that its help shows.
// version stands at their foot.
func Pages(root *cobra.Command, version string) []Page {
	root.InitDefaultHelpFlag()
	root.InitDefaultVersionFlag()
	pages := []Page{{Name: title(root) + ".1", Text: page(root, version)}}
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() || c.Name() == "help" {
			pages = append(pages, Pages(c, version)...)
		}
	}
	return pages
}

// title is the name of a command's page: "plimsoll-lab-run".
func title(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

func page(c *cobra.Command, version string) string {
	w := &writer{}
	name := title(c)
	w.macro("TH", strings.ToUpper(name), "1", "", c.Root().Name()+" "+version,
		strings.ToUpper(c.Root().Name()[:1])+c.Root().Name()[1:])
	w.raw(".nh", ".ad l", ".ss 12 0") // commands are not broken, and the ends of sentences not known
	w.section("NAME")
	w.text(name + " - " + lowerFirst(c.Short))
	w.section("SYNOPSIS")
	w.raw("\\fB" + escape(c.CommandPath()) + "\\fR" + escape(strings.TrimPrefix(c.UseLine(), c.CommandPath())))
	description, sections := split(c.Long)
	w.section("DESCRIPTION")
	w.prose(description)
	w.commands(c)
	w.options("OPTIONS", c.NonInheritedFlags())
	w.options("COMMON OPTIONS", c.InheritedFlags())
	for _, s := range sections {
		w.section(s.title)
		w.prose(s.lines)
	}
	if c.Example != "" {
		w.section("EXAMPLES")
		w.prose(strings.Split(c.Example, "\n"))
	}
	w.seeAlso(c)
	return w.String()
}

// lowerFirst begins a sentence as a phrase, unless its first word is a name.
func lowerFirst(s string) string {
	if len(s) > 1 && strings.ToUpper(s[:2]) == s[:2] {
		return s
	}
	return strings.ToLower(s[:min(1, len(s))]) + s[min(1, len(s)):]
}

// part is a section of a help text.
type part struct {
	title string
	lines []string
}

var heading = regexp.MustCompile(`^[A-Z][A-Z ]+$`)

// split takes a help text apart at its headings.
func split(long string) (description []string, sections []part) {
	for line := range strings.SplitSeq(strings.TrimSpace(long), "\n") {
		switch {
		case heading.MatchString(line):
			sections = append(sections, part{title: line})
		case len(sections) > 0:
			last := &sections[len(sections)-1]
			last.lines = append(last.lines, line)
		default:
			description = append(description, line)
		}
	}
	return description, sections
}

type writer struct{ strings.Builder }

func (w *writer) raw(lines ...string) {
	for _, l := range lines {
		w.WriteString(l + "\n")
	}
}

func (w *writer) macro(name string, args ...string) {
	line := "." + name
	for _, a := range args {
		line += ` "` + escape(a) + `"`
	}
	w.raw(line)
}

func (w *writer) section(title string) { w.macro("SH", title) }

// text writes a line that is not a request, whatever it begins with.
func (w *writer) text(line string) {
	line = escape(line)
	if strings.HasPrefix(line, ".") {
		line = `\&` + line
	}
	w.raw(line)
}

// prose writes paragraphs, and what is indented as it is.
func (w *writer) prose(lines []string) {
	kept := false
	keep := func(now bool) {
		if now != kept {
			w.raw(map[bool]string{true: ".nf", false: ".fi"}[now])
			kept = now
		}
	}
	for i, line := range lines {
		indented := strings.HasPrefix(line, "  ")
		if strings.TrimSpace(line) == "" {
			// A gap within what is indented is kept; one before or behind it ends it.
			if next := slices.IndexFunc(lines[i:], func(l string) bool { return strings.TrimSpace(l) != "" }); next < 0 {
				break
			}
			keep(false)
			w.raw(".PP")
			continue
		}
		keep(indented)
		if !indented {
			line = strings.TrimSpace(line)
		}
		w.text(line)
	}
	keep(false)
}

func (w *writer) commands(c *cobra.Command) {
	first := true
	for _, sub := range c.Commands() {
		if !sub.IsAvailableCommand() && sub.Name() != "help" {
			continue
		}
		if first {
			w.section("COMMANDS")
			first = false
		}
		w.raw(".TP", "\\fB"+escape(sub.CommandPath())+"\\fR(1)")
		w.text(sub.Short)
	}
}

// options writes what --help tells of flags.
func (w *writer) options(title string, flags *pflag.FlagSet) {
	first := true
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		if first {
			w.section(title)
			first = false
		}
		value, usage := pflag.UnquoteUsage(f)
		name := "\\fB" + escape("--"+f.Name) + "\\fR"
		if f.Shorthand != "" {
			name = "\\fB" + escape("-"+f.Shorthand) + "\\fR, " + name
		}
		if value != "" {
			name += " \\fI" + escape(value) + "\\fR"
		}
		w.raw(".TP", name)
		if d := defaultOf(f); d != "" {
			usage += " (default " + d + ")"
		}
		w.text(usage)
	})
}

// defaultOf is the default of a flag as --help shows it; "" for none.
func defaultOf(f *pflag.Flag) string {
	switch {
	case slices.Contains([]string{"", "false", "0", "0s", "[]", "<nil>"}, f.DefValue):
		return ""
	case f.Value.Type() == "string":
		return `"` + f.DefValue + `"`
	}
	return f.DefValue
}

func (w *writer) seeAlso(c *cobra.Command) {
	var pages []string
	if c.HasParent() {
		pages = append(pages, title(c.Parent()))
		for _, sibling := range c.Parent().Commands() {
			if c.Parent().HasParent() && sibling != c && sibling.IsAvailableCommand() {
				pages = append(pages, title(sibling))
			}
		}
	}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			pages = append(pages, title(sub))
		}
	}
	for i, p := range pages {
		pages[i] = "\\fB" + escape(p) + "\\fR(1)"
	}
	if len(pages) > 0 {
		w.section("SEE ALSO")
		w.raw(strings.Join(pages, ",\n"))
	}
}

// escape keeps text as it is: a hyphen stays one that can be copied, and what
// is not ASCII is written by its number.
func escape(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '\\':
			b.WriteString(`\e`)
		case r == '-':
			b.WriteString(`\-`)
		case r == '\'':
			b.WriteString(`\(aq`)
		case r == '`':
			b.WriteString(`\(ga`)
		case r == '^':
			b.WriteString(`\(ha`)
		case r == '~':
			b.WriteString(`\(ti`)
		case r == '"':
			b.WriteString(`\(dq`)
		case r < ' ':
			b.WriteByte(' ')
		case r > '~':
			fmt.Fprintf(&b, `\[u%04X]`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
