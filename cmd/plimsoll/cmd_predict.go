package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"plimsoll/internal/experiment"
	"plimsoll/internal/model"
	"plimsoll/internal/report"
	"plimsoll/internal/state/inputfile"

	"plimsoll/internal/printable"
)

// mostModel is more than any model's file has.
const mostModel = 64 << 20

// predictFlags are the flags of predict as they were written.
type predictFlags struct {
	mix, over, host, objective, against, speed, calibrate, next, page string

	limits   map[string]*string // by key
	external bool
}

func newPredictCommand(a *app) *cobra.Command {
	flags := predictFlags{limits: map[string]*string{}}
	cmd := &cobra.Command{
		Use:   "predict MODEL --mix 'C: 4' [--memory 64GiB ...]",
		Short: "Predict how instances would perform together",
		Long: `Predict what instances of each class would do together on a host: operations a
second, mean and p99 latency, each with an interval of 90%. The bottleneck is the
resource of which 1% more helps most: that is printed for each. Nothing is measured.

The host is the one that the class was measured on, with what --host-file and the
flags say in place of its own. FILE has the keys of "host:" in an experiment file,
which are the flags' names, and drives with their targets:
docs/how-to/predict-and-plan.md. 'C: 4 on a' stands on the drive a. The load
generator shares the host's processors, as it did when the runs were measured,
unless --external-clients says that it does not.

--over n=1..16 asks for each number of instances, and says how many the host would
carry: its load line. --over memory=1GiB..8GiB, or any other limit, asks over that.

--calibrate RUN carries the model to another host or drive: one measured point of
a class there is enough. What its operations take of time is scaled so that the
point is met, and how far off the model was without it is printed. The host asked
about is then that of the run; name its drives in --host-file.

--next FILE writes the experiment file of the run, of one more point, that would
make the interval of the answer narrower most for its time.

Extrapolations are marked, and their intervals widen with the distance. Where the
model knows nothing, it refuses, and says which run would teach it. --against RUN
holds the model against a run that came later.

MODEL is a file that "plimsoll fit" wrote. docs/explanation/model.md has the
equations.

EXIT STATUS
  0  predicted
  1  the model cannot be read, or knows nothing of what is asked
  2  the command line is wrong, or there is no such file or run`,
		Example: `  plimsoll predict model.json --mix 'C: 8'
  plimsoll predict model.json --mix C --over n=1..16 --memory 2GiB
  plimsoll predict model.json --mix 'C: 3, A: 2' --read-iops 20000
  plimsoll predict model.json --mix 'C: 6' --over memory=500MiB..4GiB
  plimsoll predict model.json --mix C --over n=1..16 --html predicted.html
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
	f.StringVar(&flags.host, "host-file", "", "`file` of what the host has")
	f.StringVar(&flags.speed, "speed", "", "how fast processors are: a `factor`, or a run of one of the classes on "+
		"such a host")
	f.StringVar(&flags.calibrate, "calibrate", "", "`run` of one point or more of the classes on the host that is asked "+
		"about")
	f.StringVar(&flags.next, "next", "", "`file` to write the run to that would show most about the question for its time")
	f.StringVar(&flags.page, "html", "", "`file` to write the answer to, as a page with figures")
	f.StringVar(&flags.objective, "objective", "", "`limit` that the load line is to meet: p99=10ms")
	f.BoolVar(&flags.external, "external-clients", false, "clients run on another host")
	for _, limit := range experiment.LimitsByKey() {
		if key, says := limit[0], limit[1]; key != "cpuset" {
			flags.limits[key] = f.String(key, "", says)
		}
	}
	f.StringVar(&flags.against, "against", "", "`run` to hold the model against")
	f.BoolVar(&a.jsonOutput, "json", false, "print everything as JSON")
	for _, other := range []string{"mix", "over", "host-file", "objective", "speed", "calibrate", "next",
		"html"} {
		mutuallyExclusive(cmd, "against", other)
	}
	mutuallyExclusive(cmd, "calibrate", "speed")
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
		return nil, &exitError{exitUsage, fmt.Errorf("%s: %w", name, err)}
	}
	return m, nil
}

func (a *app) holdAgainst(m *model.Model, name string) error {
	_, run, err := a.readRun([]string{name})
	if err != nil {
		return err
	}
	held := m.Hold(run)
	if a.jsonOutput {
		err = a.document("", held)
	} else {
		err = report.HeldAgainst(a.styled(), held, a.terminalOptions())
	}
	if err != nil {
		return &exitError{exitFailure, err}
	}
	return nil
}

func (f *predictFlags) predict(a *app, m *model.Model) error {
	m, ask, over, limit, err := f.parse(a, m)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	var answer any
	page := report.Answer{Kind: "prediction", Meta: []string{"predicted by a model, not measured"}}
	if host := ask.Kind().Describe(); host != "" {
		page.Meta = append(page.Meta, "on a host of "+host)
	}
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
			page.Verdict = report.WouldCarry(ask.Kind(), *curve.Line) + "."
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
		err = a.document("", answer)
	} else {
		err = show(a.styled())
	}
	if err != nil {
		return &exitError{exitFailure, err}
	}
	return nil
}

// parse returns the question that the flags ask, and the model that answers it: m, or m as it is on another host. The
// error has all problems.
func (f *predictFlags) parse(a *app, m *model.Model) (of *model.Model, ask model.Ask, over model.Over, p99 float64,
	err error) {
	var wrong []error
	if f.mix == "" {
		return m, ask, over, 0, errors.New("predict takes --mix, such as --mix 'C: 4'; plimsoll predict --help shows how")
	}
	ask.Tenants, err = m.ParseMix(f.mix)
	if err != nil {
		return m, ask, over, 0, err
	}
	class, err := m.Find(ask.Tenants[0].Class)
	if err != nil {
		return m, ask, over, 0, err
	}
	kind := m.HostOf(class)
	if f.host != "" {
		text, err := inputfile.Read(f.host, inputfile.MaxText)
		if err == nil {
			kind, err = m.ParseHost(kind, f.host, text)
		}
		wrong = append(wrong, err)
	}
	if f.calibrate != "" {
		m, kind.Host, err = f.calibrated(a, m, kind, ask.Tenants)
		if err != nil {
			return m, ask, over, 0, err
		}
	}
	ask.Host, ask.Drives = kind.Host, kind.Drives
	if f.speed != "" {
		ask.Host.Speed, err = f.speedOf(a, m)
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
	if f.external {
		ask.Host.Machine = 0
	}
	if h := ask.Host; h.Machine > 0 && h.CPUs > h.Machine {
		wrong = append(wrong, fmt.Errorf("%v processors for instances are more than the %v that they shared with "+
			"their clients when they were measured: add --external-clients", h.CPUs, h.Machine))
	}
	if f.objective != "" {
		objective, bad := experiment.ParseObjective(f.objective)
		switch {
		case bad != nil || objective.Standalone > 0:
			wrong = append(wrong, fmt.Errorf("--objective %s: a load line is predicted for a limit of p99, such as p99=10ms",
				f.objective))
		case f.over == "":
			wrong = append(wrong, errors.New("--objective needs a load line: add --over n=1..16"))
		default:
			p99 = objective.P99Seconds
		}
	}
	if f.next != "" && f.over != "" {
		wrong = append(wrong, errors.New("--next answers one question: leave out --over"))
	}
	if f.over != "" {
		over, err = model.ParseOver(f.over)
		wrong = append(wrong, err)
		if err == nil && over.Factor == "n" && len(ask.Tenants) > 1 {
			wrong = append(wrong, errors.New("--over n varies one class: name one in --mix"))
		}
	}
	return m, ask, over, p99, errors.Join(wrong...)
}

// writeNext writes the experiment file of the run that would improve the model most.
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
		return a.document("", next)
	}
	return a.printWithLine(func(w io.Writer) error { return report.WouldTell(w, next, a.terminalOptions()) },
		fmt.Sprintf("The run is in %s: %s, and then plimsoll fit with it and those before it.\n", f.next,
			printable.AsRoot("run", f.next)))
}

// calibrated returns the model as it is on the host of a run, and the host that is asked about: that one, unless a host
// file says which.
func (f *predictFlags) calibrated(a *app, m *model.Model, kind model.HostKind, tenants []model.Tenant) (*model.Model,
	model.Host, error) {
	_, run, err := a.readRun([]string{f.calibrate})
	if err != nil {
		return m, kind.Host, err
	}
	var names []string
	for _, t := range tenants {
		if !slices.Contains(names, t.Class) {
			names = append(names, t.Class)
		}
	}
	there, host, err := m.Calibrated(run, kind.Drives, names)
	if err != nil {
		return m, host, fmt.Errorf("--calibrate %s: %w", f.calibrate, err)
	}
	if f.host != "" {
		host = kind.Host
	}
	return there, host, nil
}

// speedOf returns the relative speed of processors, from a factor or a run.
func (f *predictFlags) speedOf(a *app, m *model.Model) (float64, error) {
	speed, err := strconv.ParseFloat(f.speed, 64)
	if err == nil && !(speed >= 0.01 && speed <= 100) {
		return 0, fmt.Errorf("--speed %s: it is a factor from 0.01 to 100, or a run of such a host", f.speed)
	}
	if err == nil {
		return speed, nil
	}
	_, run, err := a.readRun([]string{f.speed})
	if err == nil {
		speed, err = m.Speed(run)
	}
	if err != nil {
		return 0, fmt.Errorf("--speed %s: %w", f.speed, err)
	}
	return speed, nil
}
