package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"plimsoll/internal/experiment"
	"plimsoll/internal/hostinfo"
	"plimsoll/internal/plural"
	"plimsoll/internal/printable"
	"plimsoll/internal/result"
	"plimsoll/internal/result/store"
	"plimsoll/internal/trial"
	"plimsoll/internal/units"
)

// plan is what a dry run tells.
type plan struct {
	Experiment string `json:"experiment"`
	Seed       uint64 `json:"seed"`
	Trace      bool   `json:"trace,omitempty"` // block requests are recorded meanwhile
	// stacks and workloads that do not fit the settings, and why
	LeftOut []string       `json:"left_out,omitempty"`
	Stacks  []plannedStack `json:"stacks"`
	// what runs at the same time, where that is more than each workload alone
	Mixes []result.Mix         `json:"mixes,omitempty"`
	Host  *experiment.HostPlan `json:"host,omitempty"` // what servers ask of the host; nil where none run
	// that servers run from
	Images []trial.NeededImage `json:"images,omitempty"`
	// what is written besides, and taken back at the end; RUN stands for the run's id
	Writes           []string             `json:"writes"`
	Trials           []experiment.Planned `json:"trials"` // in their order
	EstimatedSeconds float64              `json:"estimated_seconds"`
	// of these, what the mixes take that are added at the load line
	ElasticitySeconds float64 `json:"elasticity_seconds,omitempty"`
	// in which further trials are planned as it goes
	BudgetSeconds float64 `json:"budget_seconds,omitempty"`
}

// plannedStack is what making a stack would change on the host.
type plannedStack struct {
	Name    string   `json:"name"`
	Line    string   `json:"line"`
	Changes []string `json:"changes"`
	Writes  []string `json:"writes"`            // every device and path; RUN stands for the run's id
	Skipped string   `json:"skipped,omitempty"` // why the host cannot make it
}

// dryRun tells what a run would do, and what would be refused.
func (a *app) dryRun(ctx context.Context, o trial.Options) error {
	e := o.Experiment
	previews, refused, err := trial.DryRun(ctx, o)
	if err != nil {
		return runError(err, "")
	}
	if err := hopeless(e, previews); err != nil {
		return runError(errors.Join(refused, err), "")
	}
	trials, err := plannedTrials(o)
	if err != nil {
		return runError(err, "")
	}
	var takes time.Duration
	for _, cost := range experiment.Costs(e, trials) {
		takes += cost
	}
	elasticity := experiment.ElasticityTakes(e)
	takes += elasticity
	p := plan{Experiment: e.Name, Seed: o.Seed, Trials: trials, EstimatedSeconds: takes.Seconds(),
		ElasticitySeconds: elasticity.Seconds(), BudgetSeconds: e.Budget.Seconds(), LeftOut: o.LeftOut, Trace: e.Trace,
		Writes: trial.OwnWrites(o)}
	p.Mixes, p.Images = e.ResultMixes(), trial.NeededImages(o)
	asks, ok := e.PlanHost(hostinfo.New().Has())
	if ok {
		asks.LoadedBefore(loadedBefore(o.Golden))
		p.Host = &asks
	}
	for i, s := range e.Stacks {
		p.Stacks = append(p.Stacks,
			plannedStack{Name: s.Name, Line: s.Line.String(), Changes: previews[i].Changes, Writes: previews[i].Writes,
				Skipped: previews[i].Skipped})
	}
	if a.jsonOutput {
		if err := json.NewEncoder(a.data()).Encode(p); err != nil {
			return &exitError{exitFailure, err}
		}
		return runError(refused, "")
	}
	if _, err := io.WriteString(a.stdout, p.text(e, o.Dir)); err != nil {
		return &exitError{exitFailure, err}
	}
	return runError(refused, "")
}

// writeImages says what servers run from.
func (p plan) writeImages(out io.Writer) {
	for _, n := range p.Images {
		if n.Kept == nil {
			fmt.Fprintf(out, "\nMissing, for the servers of %s: %s\n", plural.And(n.Workloads), n.Missing)
			continue
		}
		fmt.Fprintf(out, "\nServers of %s run from image %s, %s\n", plural.And(n.Workloads),
			printable.Line(n.Kept.Name), n.Kept.Digest)
	}
}

// plannedTrials are the trials of an experiment in their order; of a run that is resumed, those that
// are left.
func plannedTrials(o trial.Options) (trials []experiment.Planned, err error) {
	if !o.Resume {
		return experiment.Trials(o.Experiment, o.Seed), nil
	}
	run, err := store.Read(o.Dir)
	if err != nil {
		return nil, err
	}
	for _, t := range run.Trials { // a budget may have planned others than the experiment
		if t.Status == result.TrialPlanned {
			trials = append(trials, plannedOf(t))
		}
	}
	return trials, nil
}

// plannedOf is a stored trial as it was planned.
func plannedOf(t result.Trial) experiment.Planned {
	return experiment.Planned{Seq: t.Seq, Block: t.Block, Repeat: t.Repeat, Stack: t.Stack, Mix: t.Mix}
}

// text is the plan for people. dir is where the results would be.
func (p plan) text(e *experiment.Experiment, dir string) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s: %s\n", e.Name, e.Question)
	for _, why := range p.LeftOut {
		fmt.Fprintf(&out, "left out: %s\n", why)
	}
	if p.Trace {
		out.WriteString("traced: block requests are recorded while trials are measured (--no-trace measures without)\n")
	}
	writeMixes(&out, e)
	if p.Host != nil {
		fmt.Fprintf(&out, "\nServers on this host:\n%s\n", indented(p.Host.String()))
	}
	p.writeImages(&out)
	out.WriteString("\nWould change on this host, and undo at the end:\n")
	for _, s := range p.Stacks {
		fmt.Fprintf(&out, "  %s: %s\n", s.Name, s.Line)
		for _, what := range s.Changes {
			fmt.Fprintf(&out, "      %s\n", what)
		}
		for _, where := range s.Writes {
			fmt.Fprintf(&out, "      writes %s\n", where)
		}
		if s.Skipped != "" {
			fmt.Fprintf(&out, "      skipped: %s\n", s.Skipped)
		}
	}
	fmt.Fprintf(&out, "  besides, for the run itself (RUN is its id):\n")
	for _, where := range p.Writes {
		fmt.Fprintf(&out, "      writes %s\n", where)
	}
	fmt.Fprintf(&out, "\nWould stay: the results, in %s.\n\nTrials, in this order (seed %d):\n", dir, p.Seed)
	for _, t := range p.Trials {
		fmt.Fprintf(&out, "  %4d  block %-3d  %-20s %s\n", t.Seq, t.Block, cmp.Or(t.Stack, strings.Join(t.On, " + ")), t.Mix)
	}
	seconds := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)).Round(time.Second) }
	takes, more := seconds(p.EstimatedSeconds), ""
	if p.ElasticitySeconds > 0 {
		fmt.Fprintf(&out, "\nThen, at the load line that these tell, each limit of the miniature %s more and less, "+
			"one at a time, in %s: about %s of the time.\n", units.Percent(e.Elasticity),
			plural.Count(e.ElasticBlocks(), "block"), seconds(p.ElasticitySeconds))
	}
	if e.Budget > 0 {
		more = fmt.Sprintf(", then more where they are needed, %s in all", e.Budget)
	}
	fmt.Fprintf(&out, "\n%s, about %s%s. Nothing was changed.\n", plural.Count(len(p.Trials), "trial"),
		takes, more)
	return out.String()
}
