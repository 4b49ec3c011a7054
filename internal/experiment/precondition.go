package experiment

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"plimsoll/internal/field"
	"plimsoll/internal/problem"
	"plimsoll/internal/stats/stopping"
)

// Precondition describes the writes to a stack before the first trial of a workload on it, in the sense of the SNIA
// Solid State Storage Performance Test Specification: a solid-state drive that was never written, or long idle, is
// faster than the same drive at work.
type Precondition struct {
	// Passes is how many times all data of a workload is written from start to end (workload-independent); 0 is once.
	Passes int
	// Device writes the whole block device Passes times, before anything is made on it. It has no effect on loop
	// devices and directories.
	Device bool
	// Rounds is the maximum number of rounds of the workload itself, each for Round, until it is steady
	// (workload-dependent); 0 for none.
	Rounds int
	Round  time.Duration
}

// SNIA is the specification's preconditioning: twice the device, then at most 25 rounds of a minute.
var SNIA = Precondition{Passes: 2, Device: true, Rounds: stopping.MaxRounds, Round: time.Minute}

const (
	maxPasses    = 100
	maxRounds    = 1000
	defaultRound = time.Minute
	// preconditionKeys describes the notation for errors.
	preconditionKeys = "snia, or some of device, passes=2, rounds=25 and round=1m, separated by commas"
)

// ParsePrecondition reads the notation of files and the command line: "snia",
// or settings that are separated by commas: "passes=2,rounds=25,round=10s".
// "snia,round=10s" changes one of snia's. The error has all problems.
func ParsePrecondition(text string) (p Precondition, err error) {
	var problems []error
	number := func(key, value string, most int, to *int) {
		n, err := field.Count(1, most).Parse(value)
		if *to = n; err != nil {
			problems = append(problems, fmt.Errorf("%s is a number from 1 to %d, not %q", key, most, value))
		}
	}
	seen := map[string]bool{}
	for i, word := range strings.Split(text, ",") {
		word = strings.TrimSpace(word)
		key, value, given := strings.Cut(word, "=")
		twice := seen[key]
		seen[key] = true
		switch {
		case word == "snia" && i == 0:
			p = SNIA
		case word == "snia":
			problems = append(problems, errors.New("snia goes first, before what changes it"))
		case twice:
			problems = append(problems, fmt.Errorf("%s is given more than once", key))
		case key == "device" && !given:
			p.Device = true
		case key == "passes":
			number(key, value, maxPasses, &p.Passes)
		case key == "rounds":
			number(key, value, maxRounds, &p.Rounds)
		case key == "round":
			d, err := aTime.Parse(value)
			if p.Round = d; err != nil {
				problems = append(problems, fmt.Errorf("round is a time above 0, such as 1m, not %q", value))
			}
		default:
			problems = append(problems, fmt.Errorf("unknown setting %q: write %s", word, preconditionKeys))
		}
	}
	switch {
	case p.Round > 0 && p.Rounds == 0:
		p.Rounds = stopping.MaxRounds
	case p.Rounds > 0 && p.Round == 0:
		p.Round = defaultRound
	}
	if p.Rounds > 0 && p.Rounds < stopping.SNIA.Window {
		problems = append(problems,
			fmt.Errorf("%d rounds are fewer than the %d that a window takes", p.Rounds, stopping.SNIA.Window))
	}
	return p, errors.Join(problems...)
}

// String returns the notation; "" for the default.
func (p Precondition) String() string {
	var words []string
	if p.Device {
		words = append(words, "device")
	}
	if p.Passes > 1 || p.Device && p.Passes == 1 {
		words = append(words, fmt.Sprintf("passes=%d", p.Passes))
	}
	if p.Rounds > 0 {
		words = append(words, fmt.Sprintf("rounds=%d,round=%s", p.Rounds, p.Round))
	}
	return strings.Join(words, ",")
}

// CheckRounds returns the reason why rounds of preconditioning cannot run with the experiment's workloads; nil if
// they can.
func (e *Experiment) CheckRounds() *problem.Problem {
	if e.Precondition.Rounds == 0 {
		return nil
	}
	workloads := e.workloads()
	for _, m := range e.Mixes {
		for _, w := range workloads.workloadsOf(m) {
			if w.Abilities().Serving != nil {
				return problem.New(problem.Invalid,
					fmt.Sprintf("rounds of preconditioning with %s would be forgotten: each trial of a server begins "+
						"with the data as it was loaded", w.Name), "",
					"leave rounds out, which snia has: device,passes=2 is for the device below, and is kept")
			}
		}
	}
	return nil
}

// checkRounds notes rounds of preconditioning that would be forgotten.
func (p *parser) checkRounds() {
	found := p.e.CheckRounds()
	if found != nil {
		p.Problem(p.values["precondition"], found.What, found.Remedy)
	}
}
