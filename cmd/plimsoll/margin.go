package main

import (
	"github.com/spf13/pflag"

	"plimsoll/internal/experiment"
	"plimsoll/internal/result"
	"plimsoll/internal/units"
)

// marginFlag is the value of --margin: up to which difference stacks of a stored run are said to be equally good.
type marginFlag struct{ share float64 }

// addMargin adds --margin to a command that says what stored runs found.
func addMargin(f *pflag.FlagSet, m *marginFlag) {
	f.Var(m, "margin", "largest difference, as a `share`, of stacks that are reported as equally good (default: the run's, or 5%)")
}

// String returns the margin; "" for the run's own.
func (m *marginFlag) String() string {
	if m.share == 0 {
		return ""
	}
	return units.Setting(m.share)
}

// Set parses a margin.
func (m *marginFlag) Set(text string) (err error) {
	m.share, err = experiment.ParseMargin(text)
	return err
}

// Type names the type of the value.
func (*marginFlag) Type() string { return "share" }

// apply replaces the margin of runs that were read.
func (m *marginFlag) apply(runs ...*result.Run) {
	for _, run := range runs {
		if m.share > 0 {
			run.Experiment.Margin = m.share
		}
	}
}
