package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"plimsoll/internal/cli/preview"
	"plimsoll/internal/experiment"
	"plimsoll/internal/host/hostinfo"
	"plimsoll/internal/printable"
	"plimsoll/internal/problem"
	"plimsoll/internal/result"
	"plimsoll/internal/result/store"
	"plimsoll/internal/trial"
	"plimsoll/internal/trial/site"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
)

// dryRunPlan is the output of a dry run.
type dryRunPlan struct {
	Experiment string `json:"experiment"`
	Seed       uint64 `json:"seed"`
	Trace      bool   `json:"trace,omitempty"` // block requests are recorded meanwhile
	// the papers whose figures it repeats, compared with it
	Papers []paperComparison `json:"papers,omitempty"`
	// stacks and workloads that do not fit the settings, and why
	LeftOut []string       `json:"left_out,omitempty"`
	Stacks  []plannedStack `json:"stacks"`
	// what runs at the same time, where that is more than each workload alone
	Mixes []result.Mix         `json:"mixes,omitempty"`
	Host  *experiment.HostPlan `json:"host,omitempty"` // what servers ask of the host; nil where none run
	// that servers run from
	Images []site.NeededImage `json:"images,omitempty"`
	// other paths that are written, and removed at the end; RUN stands for the run's id
	Writes           []string             `json:"writes"`
	Trials           []experiment.Planned `json:"trials"` // in their order
	EstimatedSeconds float64              `json:"estimated_seconds"`
	// of these, the time of mixes added at the load line
	ElasticitySeconds float64 `json:"elasticity_seconds,omitempty"`
	// in which further trials are planned as it goes
	BudgetSeconds float64 `json:"budget_seconds,omitempty"`
	// what the budget may decide, and what that takes at least
	Questions []experiment.Question `json:"questions,omitempty"`
	// what would keep the run from starting; the exit status is that of the run
	Blockers []string `json:"blockers,omitempty"`
}

// plannedStack lists the changes to the host that making a stack involves.
type plannedStack struct {
	Name    string   `json:"name"`
	Line    string   `json:"line"`
	Changes []string `json:"changes"`
	Writes  []string `json:"writes"`            // every device and path; RUN stands for the run's id
	Skipped string   `json:"skipped,omitempty"` // the reason why the host cannot make it
}

// dryRun prints the planned run, with everything that would be refused. With --verbose it lists every trial.
func (a *app) dryRun(ctx context.Context, o trial.Options, with runOptions) error {
	e := o.Experiment
	papers := compareWithPapers(e, with.figure)
	a.printPapers(papers) // also where this host cannot run it
	previews, refused, err := trial.DryRun(ctx, o)
	if err != nil {
		return runError(err, "")
	}
	var unknown *hostinfo.UnknownDeviceError
	if errors.As(refused, &unknown) && !a.jsonOutput {
		return runError(refused, "") // of a device that is not there nothing is planned
	}
	if errors.Is(refused, problem.Protected) && !a.jsonOutput {
		return runError(fmt.Errorf("this run would not start, so its changes are not listed:\n%w",
			indentedError{refused}), "")
	}
	if err := hopeless(e, previews, o.LeftOut); err != nil {
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
	p := dryRunPlan{Experiment: e.Name, Seed: o.Seed, Trials: trials, EstimatedSeconds: takes.Seconds(),
		ElasticitySeconds: elasticity.Seconds(), BudgetSeconds: e.Budget.Seconds(), LeftOut: o.LeftOut, Trace: e.Trace,
		Papers: papers,
		Writes: trial.OwnWrites(o)}
	if e.Budget > 0 {
		p.Questions = a.questions(e)
	}
	p.Mixes, p.Images = e.ResultMixes(), site.NeededImages(e, o.Images, hostinfo.New())
	asks, ok := e.PlanHost(hostinfo.New().Capacity())
	if ok {
		asks.EstimateLoading(keptLoads(o.Golden))
		p.Host = &asks
	}
	for i, s := range e.Stacks {
		p.Stacks = append(p.Stacks,
			plannedStack{Name: s.Name, Line: s.Line.String(), Changes: previews[i].Changes, Writes: previews[i].Writes,
				Skipped: previews[i].Skipped})
	}
	if refused != nil {
		p.Blockers = strings.Split(refused.Error(), "\n")
		refused = fmt.Errorf("this run would not start:\n%w", indentedError{refused})
	}
	if a.jsonOutput {
		if err := a.document("", p); err != nil {
			return &exitError{exitFailure, err}
		}
		return runError(refused, "")
	}
	if _, err := io.WriteString(a.stdout, p.text(e, o.Dir, with.verbose)); err != nil {
		return &exitError{exitFailure, err}
	}
	return runError(refused, "")
}

// writeImages prints the images of servers.
func (p dryRunPlan) writeImages(out io.Writer) {
	for _, n := range p.Images {
		if n.Kept == nil {
			continue // it stands at the end, with all that keeps the run from starting
		}
		fmt.Fprintf(out, "\nServers of %s run from image %s, %s\n", plural.And(n.Workloads),
			printable.Line(n.Kept.Name), n.Kept.Digest)
		if n.Rings != "" {
			fmt.Fprintf(out, "  its containers have %s\n", n.Rings)
		}
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

// indentedError is an error of several lines below another.
type indentedError struct{ error }

func (e indentedError) Error() string { return indent(e.error.Error()) }
func (e indentedError) Unwrap() error { return e.error }

// text is the plan for people. dir is where the results would be.
func (p dryRunPlan) text(e *experiment.Experiment, dir string, trialByTrial bool) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s: %s\n", e.Name, e.Question)
	for _, why := range p.LeftOut {
		fmt.Fprintf(&out, "left out: %s\n", why)
	}
	for _, w := range preview.Pointless(e) {
		fmt.Fprintf(&out, "warning: %s\n", w)
	}
	if p.Trace {
		out.WriteString("traced: block requests are recorded while trials are measured (--no-trace measures without)\n")
	}
	writeMixes(&out, e)
	if p.Host != nil {
		fmt.Fprintf(&out, "\nServers on this host:\n%s\n", indent(p.Host.String()))
	}
	p.writeImages(&out)
	if trialByTrial {
		fmt.Fprintf(&out, "\nTrials, in this order (seed %d):\n", p.Seed)
		for _, t := range p.Trials {
			fmt.Fprintf(&out, "  %4d  round %-3d  %-20s %s\n", t.Seq, t.Block, cmp.Or(t.Stack, strings.Join(t.On, " + ")), t.Mix)
		}
	}
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
	fmt.Fprintf(&out, "\nWould stay: the results, in %s.\n", dir)
	seconds := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)).Round(time.Second) }
	takes, more := seconds(p.EstimatedSeconds), ""
	if p.ElasticitySeconds > 0 {
		fmt.Fprintf(&out, "\nThen, at the load line that these show, each limit of the scaled-down host %s more and less, "+
			"one at a time, in %s: about %s of the time.\n", units.Percent(e.Elasticity),
			plural.Count(e.ElasticBlocks(), "round"), seconds(p.ElasticitySeconds))
	}
	if e.Budget > 0 {
		more = fmt.Sprintf(", then more where they are needed, %s in all", e.Budget)
	}
	if reach := e.Reach(p.Questions); reach != "" {
		fmt.Fprintf(&out, "\nBy estimate, %s.\n", reach)
	}
	fmt.Fprintf(&out, "\n%s, about %s%s. Nothing was changed.\n", plural.Count(len(p.Trials), "trial"),
		takes, more)
	return out.String()
}
