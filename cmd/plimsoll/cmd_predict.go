package main

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"plimsoll/internal/experiment"
	"plimsoll/internal/inputfile"
	"plimsoll/internal/model"
	"plimsoll/internal/report"
)

// mostModel is more than any model's file has.
const mostModel = 64 << 20

// predictFlags are the flags of predict as they were written.
type predictFlags struct {
	mix, over, host, objective, against, speed, next, page string

	limits    map[string]*string // by key
	elsewhere bool
}

func newPredictCommand(a *app) *cobra.Command {
	flags := predictFlags{limits: map[string]*string{}}
	cmd := &cobra.Command{
		Use:   "predict MODEL --mix 'C: 4' [--memory 64GiB ...]",
		Short: "Predict what instances would do together, by a model of runs",
		Long: `Say what so many instances of each class would do together on a host: operations a
second, mean and p99 latency, each with an interval of 90%, what binds them, and
what a percent more of each resource would buy. Nothing is measured.

The host is the one that the class was measured on, with what --host FILE and the
flags say in place of its own. FILE has the keys of "host:" in an experiment file,
which are the flags' names, and drives with their targets: docs/model.md. 'C: 4 on a'
stands on the drive a. The load generator shares the host's processors, as it
did when the runs were measured, unless --asked-from-elsewhere says that it does
not.

--over n=1..16 asks for each number of instances, and says how many the host would
carry: its load line. --over memory=1GiB..8GiB, or any other limit, asks over that.

--next FILE writes the experiment file of the run, of one more point, that would
make the interval of the answer narrower most for its time.

What lies outside of what was measured is marked, and its interval is wider the
farther it does. Where the model knows nothing, it refuses, and says which run
would teach it. --against RUN holds the model against a run that came later.

MODEL is a file that "plimsoll fit" wrote. docs/model.md has the equations.

EXIT STATUS
  0  predicted
  1  the model cannot be read, or knows nothing of what is asked
  2  the command line is wrong, or there is no such file or run`,
		Example: `  plimsoll predict model.json --mix 'C: 8'
  plimsoll predict model.json --mix C --over n=1..16 --memory 2GiB
  plimsoll predict model.json --mix 'C: 3, A: 2' --read-iops 20000
  plimsoll predict model.json --mix 'C: 6' --over memory=500MiB..4GiB
  plimsoll predict model.json --mix C --over n=1..16 --page predicted.html
  plimsoll predict model.json --against last`,
		Args: exactly(1, "a model's file"),
		RunE: func(_ *cobra.Command, args []string) error {
			m, err := readModel(args[0])
			if err != nil {
				return err
			}
			if flags.against != "" {
				return a.holdAgainst(m, flags.against)
			}
			return flags.predict(a, m)
		},
		ValidArgsFunction: completeFiles,
	}
	f := cmd.Flags()
	f.StringVar(&flags.mix, "mix", "", "`classes` and how many instances of each: 'C: 4, A: 2'")
	f.StringVar(&flags.over, "over", "", "`factor` to ask over, and its ends: n=1..16 or memory=1GiB..8GiB")
	f.StringVar(&flags.host, "host", "", "`file` of what the host has")
	f.StringVar(&flags.speed, "speed", "", "how fast processors are: a `factor`, or a run of one of the classes on "+
		"such a host")
	f.StringVar(&flags.next, "next", "", "`file` to write the run to that would tell most about the question for its time")
	f.StringVar(&flags.page, "page", "", "`file` to write the answer to, as a page with figures")
	f.StringVar(&flags.objective, "objective", "", "`limit` that the load line is to meet: p99=10ms")
	f.BoolVar(&flags.elsewhere, "asked-from-elsewhere", false, "clients run on another host")
	for _, limit := range experiment.LimitsByKey() {
		if key, says := limit[0], limit[1]; key != "cpuset" {
			flags.limits[key] = f.String(key, "", strings.ToLower(says[:1])+strings.TrimSuffix(says[1:], "."))
		}
	}
	f.StringVar(&flags.against, "against", "", "`run` to hold the model against")
	f.BoolVar(&a.jsonOutput, "json", false, "print everything as JSON")
	for _, other := range []string{"mix", "over", "host", "objective", "speed", "next", "page"} {
		excludes(cmd, "against", other)
	}
	return cmd
}

// readModel reads a model's file.
func readModel(name string) (*model.Model, error) {
	text, err := inputfile.Read(name, mostModel)
	if err != nil {
		return nil, &exitError{exitUsage, err}
	}
	m, err := model.Read(text)
	if err != nil {
		return nil, &exitError{exitFailure, fmt.Errorf("%s: %w", name, err)}
	}
	return m, nil
}

func (a *app) holdAgainst(m *model.Model, name string) error {
	_, run, err := readRun([]string{name})
	if err != nil {
		return err
	}
	held := m.Hold(run)
	if a.jsonOutput {
		err = report.PredictedJSON(a.data(), held)
	} else {
		err = report.HeldAgainst(a.styled(), held, a.terminalOptions())
	}
	if err != nil {
		return &exitError{exitFailure, err}
	}
	return nil
}

func (f *predictFlags) predict(a *app, m *model.Model) error {
	ask, over, limit, err := f.asked(m)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	var answer any
	page := report.Answer{Kind: "prediction", Meta: []string{"predicted by a model, not measured", "on a host of " +
		ask.Kind().Describe()}}
	var show func(io.Writer) error
	if f.next != "" {
		return f.writeNext(a, m, ask)
	}
	if f.over == "" {
		said, err := m.Predict(ask)
		if err != nil {
			return &exitError{exitFailure, err}
		}
		answer = said
		page.Title, page.Verdict, page.Sections = "What "+f.mix+" would do", report.Answered(said)+".", said.Sections()
		show = func(w io.Writer) error { return report.Predicted(w, ask, said, a.terminalOptions()) }
	} else {
		curve, err := m.PredictOver(ask, over, limit)
		if err != nil {
			return &exitError{exitFailure, err}
		}
		answer = curve
		page.Title, page.Verdict = "What "+f.mix+" would do over "+f.over, curve.Verdict()
		if curve.Line != nil {
			page.Verdict = report.WouldCarry(*curve.Line) + "."
		}
		page.Sections = append(page.Sections, m.Section(ask, curve))
		show = func(w io.Writer) error { return report.PredictedOver(w, m, ask, curve, a.terminalOptions()) }
	}
	if f.page != "" {
		if err := writePage(f.page, page); err != nil {
			return err
		}
	}
	if a.jsonOutput {
		err = report.PredictedJSON(a.data(), answer)
	} else {
		err = show(a.styled())
	}
	if err != nil {
		return &exitError{exitFailure, err}
	}
	return nil
}

// asked reads what is asked; all that is wrong with it is said at once.
func (f *predictFlags) asked(m *model.Model) (ask model.Ask, over model.Over, p99 float64, err error) {
	var wrong []error
	if f.mix == "" {
		return ask, over, 0, errors.New("predict takes --mix, such as --mix 'C: 4'; plimsoll predict --help shows how")
	}
	ask.Tenants, err = m.ParseMix(f.mix)
	if err != nil {
		return ask, over, 0, err
	}
	class, err := m.Find(ask.Tenants[0].Class)
	if err != nil {
		return ask, over, 0, err
	}
	kind := m.HostOf(class)
	if f.host != "" {
		text, err := inputfile.Read(f.host, inputfile.MaxText)
		if err == nil {
			kind, err = m.ParseHost(kind, f.host, text)
		}
		wrong = append(wrong, err)
	}
	ask.Host, ask.Drives = kind.Host, kind.Drives
	if f.speed != "" {
		ask.Host.Speed, err = f.speedOf(m)
		wrong = append(wrong, err)
	}
	for _, limit := range experiment.LimitsByKey() {
		text := f.limits[limit[0]]
		if text == nil || *text == "" {
			continue
		}
		limits, err := experiment.ParseLimits("the host", limit[0]+": "+*text)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("--%s %s: %w", limit[0], *text, err))
		}
		ask.Host = ask.Host.With(limits)
	}
	if f.elsewhere {
		ask.Host.Machine = 0
	}
	if h := ask.Host; h.Machine > 0 && h.CPUs > h.Machine {
		wrong = append(wrong, fmt.Errorf("%v processors for instances are more than the %v that they shared with those who "+
			"ask them when they were measured: add --asked-from-elsewhere", h.CPUs, h.Machine))
	}
	if f.objective != "" {
		objective, bad := experiment.ParseObjective(f.objective)
		switch {
		case bad != nil || objective.Standalone > 0:
			wrong = append(wrong, fmt.Errorf("--objective %s: a load line is predicted for a limit of p99, such as p99=10ms",
				f.objective))
		case f.over == "":
			wrong = append(wrong, errors.New("--objective is of a load line: add --over n=1..16"))
		default:
			p99 = objective.P99Seconds
		}
	}
	if f.next != "" && f.over != "" {
		wrong = append(wrong, errors.New("--next is of one question: leave out --over"))
	}
	if f.over != "" {
		over, err = model.ParseOver(f.over)
		wrong = append(wrong, err)
		if err == nil && over.Factor == "n" && len(ask.Tenants) > 1 {
			wrong = append(wrong, errors.New("--over n is of one class: name one in --mix"))
		}
	}
	return ask, over, p99, errors.Join(wrong...)
}

// writeNext writes the experiment file of the run that would tell most.
func (f *predictFlags) writeNext(a *app, m *model.Model, ask model.Ask) error {
	next, err := m.Next(ask)
	if err != nil {
		return &exitError{exitFailure, err}
	}
	if err := writeTo(a.data(), f.next, next.WriteExperiment); err != nil {
		return &exitError{exitFailure, fmt.Errorf("write the experiment: %w", err)}
	}
	if f.next == standardOutput {
		return nil
	}
	if a.jsonOutput {
		return report.PredictedJSON(a.data(), next)
	}
	return a.printed(func(w io.Writer) error { return report.WouldTell(w, next, a.terminalOptions()) },
		fmt.Sprintf("The run is in %s: sudo plimsoll run %s, and then plimsoll fit with it and those before it.\n", f.next,
			f.next))
}

// speedOf reads how fast processors are: a factor, or a run that tells.
func (f *predictFlags) speedOf(m *model.Model) (float64, error) {
	speed, err := strconv.ParseFloat(f.speed, 64)
	if err == nil && !(speed >= 0.01 && speed <= 100) {
		return 0, fmt.Errorf("--speed %s: it is a factor from 0.01 to 100, or a run of such a host", f.speed)
	}
	if err == nil {
		return speed, nil
	}
	_, run, err := readRun([]string{f.speed})
	if err == nil {
		speed, err = m.Speed(run)
	}
	if err != nil {
		return 0, fmt.Errorf("--speed %s: %w", f.speed, err)
	}
	return speed, nil
}
