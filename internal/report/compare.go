package report

import (
	"bufio"
	"fmt"
	"io"

	"plimsoll/internal/finding/compare"
	"plimsoll/internal/printable"
	"plimsoll/internal/units/plural"
)

// CompareVerdict writes the verdict of a comparison alone, on one line.
func CompareVerdict(w io.Writer, c compare.Comparison) error {
	_, err := fmt.Fprintln(w, printable.Line(c.Title))
	return err
}

// Compare prints a comparison for people: the runs, its sections, and the verdict as the last line.
func Compare(w io.Writer, c compare.Comparison, opt TerminalOptions) error {
	out := bufio.NewWriter(w)
	t := newTerminal(out, opt)
	t.comparedRun("A", c.A)
	t.comparedRun("B", c.B)
	t.draw(c.Sections())
	t.line("")
	paint := t.style.warn
	if c.Verdict == compare.Holds {
		paint = t.style.good
	}
	t.line(paint("Verdict: " + printable.Line(c.Title)))
	return out.Flush()
}

func (t *terminal) comparedRun(name string, r compare.Run) {
	text := r.Experiment
	if r.Host != "" {
		text += " on " + r.Host
	}
	if !r.Started.IsZero() {
		text += r.Started.UTC().Format(", 2 January 2006 15:04 UTC")
	}
	text += fmt.Sprintf(", %d of %s done", r.Done, counted(r.Trials, "trial"))
	id := r.ID
	if len(r.Runs) > 0 {
		id = plural.And(r.Runs)
	}
	t.text(t.style.bold(name)+"  ", "   ", id+": "+text, t.style.plain)
}
