package report

import (
	"bufio"
	"fmt"
	"html/template"
	"io"
	"strings"

	"plimsoll/internal/result"
	answer "plimsoll/internal/section"
	"plimsoll/web"
)

// AnswerText prints an answer for people: its verdict first, as a warning where it is one, or what it is of.
func AnswerText(w io.Writer, a Answer, warn bool, opt TerminalOptions) error {
	out := bufio.NewWriter(w)
	t := newTerminal(out, opt)
	paint := t.style.bold
	if warn {
		paint = t.style.warn
	}
	if a.Verdict == "" {
		t.text("", "  ", a.Kind, t.style.dim)
		t.text("", "  ", strings.Join(a.Meta, "; "), t.style.bold)
	}
	t.text("", "  ", a.Verdict, paint)
	t.draw(a.Sections)
	t.line("")
	return out.Flush()
}

// Answer is a verdict with its sections, of anything but a run.
type Answer struct {
	Kind     string // "plan of fleet.yaml"
	Title    string
	Verdict  string // "" for none
	Meta     []string
	Sections []*answer.Section
}

// answerPage has the values of the template.
type answerPage struct {
	shell
	Kind    string
	Verdict string
	Meta    []string
}

// AnswerHTML writes an answer as one page that needs nothing else. version is plimsoll's own.
func AnswerHTML(w io.Writer, a Answer, version string) error {
	return writeAnswer(w, a, version, web.ReportScript)
}

// writeAnswer writes the page with that script; "" for none.
func writeAnswer(w io.Writer, a Answer, version, script string) error {
	page := answerPage{Kind: a.Kind, Verdict: a.Verdict, Meta: a.Meta, shell: shell{Title: a.Title, Version: version,
		CSS: template.CSS(web.ReportCSS), Sections: identified(pageSections(&result.Run{}, a.Sections))}}
	page.addScript(script)
	if err := pageTemplate().ExecuteTemplate(w, "answer-page", page); err != nil {
		return fmt.Errorf("write the page of the %s: %w", a.Kind, err)
	}
	return nil
}
