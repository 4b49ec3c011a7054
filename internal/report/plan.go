package report

import (
	"bufio"
	"fmt"
	"html/template"
	"io"

	"plimsoll/internal/placement"
	"plimsoll/internal/result"
	answer "plimsoll/internal/section"
	"plimsoll/web"
)

// Planned prints a plan for people: its verdict first.
func Planned(w io.Writer, p *placement.Plan, opt TerminalOptions) error {
	out := bufio.NewWriter(w)
	t := newTerminal(out, opt)
	paint := t.style.bold
	if len(p.Left) > 0 {
		paint = t.style.warn
	}
	t.text("", "  ", p.Verdict(), paint)
	t.draw(p.Sections())
	t.line("")
	return out.Flush()
}

// answerPage is a page of sections alone, below a verdict.
type answerPage struct {
	shell
	Kind    string // "plan of fleet.yaml"
	Verdict string
	Meta    []string
}

// PlanHTML writes a plan as one page that needs nothing else. of is the fleet's file; version is plimsoll's own.
func PlanHTML(w io.Writer, p *placement.Plan, of, version string) error {
	page := answerPage{Kind: "plan of " + of, Verdict: p.Verdict(), Meta: []string{"predicted by a model, not measured"},
		shell: newShell("Which container on which host: "+of, version, p.Sections())}
	page.addScript(web.ReportScript)
	if err := pageTemplate().ExecuteTemplate(w, "answer-page", page); err != nil {
		return fmt.Errorf("write the page of the plan: %w", err)
	}
	return nil
}

// newShell returns the frame of a page with those sections.
func newShell(title, version string, all []*answer.Section) shell {
	return shell{Title: title, Version: version, CSS: template.CSS(web.ReportCSS),
		Sections: identified(pageSections(&result.Run{}, all))}
}
