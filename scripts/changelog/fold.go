package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// kinds are those of fragments, in the order of their headings.
var kinds = []struct{ word, heading string }{
	{"Security", "### Security"},
	{"Change", "### Changes"},
	{"Enhancement", "### What is new"},
	{"Bugfix", "### Bug fixes"},
}

// entry is one change.
type entry struct {
	kind  string // the word of a kind
	title string
	body  string // on one line
}

// parse reads a fragment: "Kind: Title", what was and what is so now, and the issues.
func parse(text string) (entry, error) {
	var paragraphs []string
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		var words []string
		for line := range strings.Lines(paragraph) {
			if !strings.HasPrefix(line, "#") {
				words = append(words, strings.Fields(line)...)
			}
		}
		if len(words) > 0 {
			paragraphs = append(paragraphs, strings.Join(words, " "))
		}
	}
	if len(paragraphs) < 2 {
		return entry{}, fmt.Errorf("it has %d sections instead of three", len(paragraphs))
	}
	kind, title, _ := strings.Cut(paragraphs[0], ": ")
	if kind == "Feature" {
		kind = "Enhancement"
	}
	known := slices.ContainsFunc(kinds, func(k struct{ word, heading string }) bool { return k.word == kind })
	if !known || title == "" {
		return entry{}, fmt.Errorf("its first line is %q", paragraphs[0])
	}
	last := len(paragraphs)
	if last > 2 || references.MatchString(paragraphs[last-1]) {
		last--
	}
	return entry{kind, strings.TrimSuffix(title, "."), strings.Join(paragraphs[1:last], " ")}, nil
}

// references matches the section that names issues and pages.
var references = regexp.MustCompile(`^(issue \d+|docs/\S+)`)

// brief is the most that an entry says after its title.
const brief = 280

// shortened returns what is so now, without what was, as whole sentences as are brief; "" where there are none.
func (e entry) shortened() string {
	all := sentences(e.body)
	now := slices.IndexFunc(all, func(s string) bool { return strings.Contains(" "+s, " now ") })
	if now < 0 {
		return ""
	}
	var said string
	for _, s := range all[now:] {
		if len(said)+1+len(s) > brief {
			break
		}
		said = strings.TrimSpace(said + " " + s)
	}
	return said
}

var endOfSentence = regexp.MustCompile("[.!?][)\"`]? +([A-Z`\"(-])")

// sentences splits a text after each sentence.
func sentences(text string) (all []string) {
	for {
		at := endOfSentence.FindStringSubmatchIndex(text)
		if at == nil {
			return append(all, text)
		}
		all = append(all, strings.TrimSpace(text[:at[2]]))
		text = text[at[2]:]
	}
}

// item is an entry of the changelog, in lines that fit.
func (e entry) item() string {
	words := strings.Fields("- **" + e.title + ".** " + e.shortened())
	var out strings.Builder
	column := 0
	for i, w := range words {
		switch {
		case i > 0 && column+1+len(w) > 119:
			out.WriteString("\n  " + w)
			column = 2 + len(w)
		case i > 0:
			out.WriteString(" " + w)
			column += 1 + len(w)
		default:
			out.WriteString(w)
			column = len(w)
		}
	}
	return out.String() + "\n"
}

const title = "# Changelog\n"

// add appends entries to a version's section of a changelog, below the headings of their kinds. What is missing of
// these it makes.
func add(log, version string, entries []entry) string {
	if log == "" {
		log = title
	}
	heading := "## " + version
	before, section, after := cutSection(log, heading, "## ")
	if section == "" {
		before, after, _ = strings.Cut(log, "\n## ")
		before = strings.TrimRight(before, "\n") + "\n\n"
		if after != "" {
			after = "## " + after
		}
		section = heading + "\n"
	}
	for i, k := range kinds {
		var items strings.Builder
		for _, e := range entries {
			if e.kind == k.word {
				items.WriteString(e.item())
			}
		}
		if items.Len() == 0 {
			continue
		}
		above, own, below := cutSection(section, k.heading, "### ")
		if own == "" {
			above, below = section, ""
			for _, later := range kinds[i+1:] { // headings stand in their order
				if a, s, b := cutSection(section, later.heading, "### "); s != "" {
					above, below = a, s+b
					break
				}
			}
			own = k.heading + "\n\n"
			above = strings.TrimRight(above, "\n") + "\n\n"
		}
		own = strings.TrimRight(own, "\n") + "\n"
		if own == k.heading+"\n" {
			own += "\n"
		}
		section = above + own + items.String()
		if below != "" {
			section += "\n" + below
		}
	}
	if after != "" {
		after = "\n" + after
	}
	return before + strings.TrimRight(section, "\n") + "\n" + after
}

// cutSection cuts a text around the section that begins with a heading and ends before the next one with that mark.
func cutSection(text, heading, mark string) (before, section, after string) {
	lines := strings.SplitAfter(text, "\n")
	from := slices.IndexFunc(lines, func(l string) bool {
		return strings.TrimSpace(l) == heading || strings.HasPrefix(l, heading+" (")
	})
	if from < 0 {
		return text, "", ""
	}
	to := len(lines)
	if next := slices.IndexFunc(lines[from+1:], func(l string) bool { return strings.HasPrefix(l, mark) }); next >= 0 {
		to = from + 1 + next
	}
	return strings.Join(lines[:from], ""), strings.Join(lines[from:to], ""), strings.Join(lines[to:], "")
}
