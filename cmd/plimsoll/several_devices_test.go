package main

import (
	"reflect"
	"testing"

	"plimsoll/internal/experiment"
	"plimsoll/internal/result"
	"plimsoll/internal/trial"
)

// A run on several devices goes on with the stacks that it began with.
func TestRestoreOnSeveralDevices(t *testing.T) {
	load := func() *experiment.Experiment {
		e, err := loadExperiment("software-stack", "")
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	began := load()
	o := runOptions{ons: []string{"serial:LAB1", "/dev/nvme1n1"}}
	if err := applySettings(began, new(trial.Options), o); err != nil {
		t.Fatal(err)
	}
	run := &result.Run{ID: "r"}
	run.Experiment.Repeat = began.Repeat
	for _, s := range began.Stacks {
		run.Stacks = append(run.Stacks,
			result.Stack{Name: s.Name, Line: s.Line.String(), Levels: s.Levels, Control: s.Control})
	}
	goesOn := load()
	if err := restore(goesOn, run); err != nil {
		t.Fatal(err)
	}
	if len(goesOn.Stacks) != 8 { // two controls are among them
		t.Fatalf("%d stacks", len(goesOn.Stacks))
	}
	for i, s := range goesOn.Stacks {
		was := began.Stacks[i]
		if s.Name != was.Name || s.Line.String() != was.Line.String() || s.Raw != was.Raw ||
			!reflect.DeepEqual(s.Levels, was.Levels) {
			t.Errorf("%+v is restored as %+v", was, s)
		}
	}
}
