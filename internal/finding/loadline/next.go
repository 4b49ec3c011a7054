package loadline

import (
	"fmt"

	"plimsoll/internal/fact"
	"plimsoll/internal/result"
)

// Next returns what is open of the load line. Where it may lie beyond what was measured, more instances settle it, and
// where it lies between two numbers, or at another, no run of the same.
func (f *Facts) Next(run *result.Run, c fact.Confidence) fact.Next {
	next := fact.MoreSetups(c)
	if text := f.open(); text != "" {
		next.Open = text
	}
	if c == fact.TooEarly {
		return next
	}
	why := f.Curve.Line.NextWhy
	next.MoreTime, next.Command = why == "" || why == NextAgain, f.command(run)
	if next.Command == "" && c == fact.Sure {
		next.Command, next.Purpose = f.commandForWholeHost(run), "for the whole host"
	}
	return next
}

// command is the run once more, with as many instances at most as the line may lie at beyond those that were measured;
// "" where that is not open.
func (f *Facts) command(run *result.Run) string {
	if f.Curve.Line.NextWhy != NextBeyond {
		return ""
	}
	return run.Another([]string{"--instances"}, "--instances", fmt.Sprint(f.Curve.Line.Next))
}

// commandForWholeHost is the run of a scaled-down host once more, on the whole host; "" for any other, and where
// instances have shares of the scaled-down host.
func (f *Facts) commandForWholeHost(run *result.Run) string {
	if f.Curve.Host.Origin != fact.ScaledDown || f.series.Policy != "" {
		return ""
	}
	return run.Another([]string{"--host"}, "--no-limits")
}
