package main

import (
	"plimsoll/internal/finding/loadline"
	"plimsoll/internal/finding/measured"
	"plimsoll/internal/result"
	"plimsoll/internal/trial"
)

// loadLines returns where the load lines of a run lie, as its findings will tell: by them the runner decides
// what to measure next.
func loadLines(run *result.Run) (lines []trial.Line) {
	view := measured.New(run)
	for _, s := range view.Scalings() {
		f := loadline.CurveOf(view, s)
		l := trial.Line{
			Stack: f.Stack, Mixes: map[int]string{},
			Instances: f.Line.Instances, Low: f.Line.Low, High: f.Line.High, Next: f.Line.Next,
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
