package trial

import (
	"plimsoll/internal/finding/loadline"
	"plimsoll/internal/result"
	"plimsoll/internal/runview"
	"plimsoll/internal/trial/plan"
)

// loadLines returns the load lines of a run, as its findings compute them: they decide what is measured next.
func loadLines(run *result.Run) (lines []plan.Line) {
	view := runview.New(run)
	for _, s := range view.Scalings() {
		f := loadline.CurveOf(view, s)
		l := plan.Line{
			Stack: f.Stack, Mixes: map[int]string{},
			Instances: f.Line.Instances, Low: f.Line.Low, High: f.Line.High, Next: f.Line.Next,
			Odds: f.Line.ShareOf(f.Line.Instances),
		}
		for _, p := range f.Points {
			l.Mixes[p.Instances] = p.Mix
		}
		if f.Valley != nil {
			l.Valley = f.Valley.To
		}
		lines = append(lines, l)
	}
	return lines
}
