// Package model shows how far a model is to be trusted: of runs that are kept as small exports it trains on one half
// of the points, predicts the other, and the other way round. It is deterministic: the table in
// docs/evidence/model-checks.md is its output.
//
// An export is made of runs by -export FILE RUN..., of which a RUN is a run directory or a table of points.
package model

import (
	"cmp"
	"embed"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"
	"strings"

	"plimsoll/internal/model"
	"plimsoll/internal/result"
	"plimsoll/internal/result/imports/points"
	"plimsoll/internal/result/store"
)

//go:embed testdata
var kept embed.FS

// export is what is kept of runs: what a model is fitted to.
type export struct {
	About    string           `json:"about"`
	Observed []model.Observed `json:"observed"`
	Mixed    []model.Together `json:"mixed,omitempty"`
}

// Run prints the table, or makes an export.
func Run(args []string) error {
	flags := flag.NewFlagSet("model", flag.ExitOnError)
	to := flags.String("export", "", "write what runs measured to this `file`, and predict nothing")
	about := flags.String("about", "", "what the table says of it")
	_ = flags.Parse(args) // it exits
	if *to != "" {
		return write(*to, *about, flags.Args())
	}
	return bench(os.Stdout, "*.json")
}

func write(to, about string, names []string) error {
	var runs []*result.Run
	for _, name := range names {
		run, err := read(name)
		if err != nil {
			return err
		}
		runs = append(runs, run)
	}
	e := export{About: about}
	e.Observed, e.Mixed, _ = model.Observe(runs...)
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return os.WriteFile(to, append(text, '\n'), 0o644)
}

func read(name string) (*result.Run, error) {
	if strings.HasSuffix(name, ".csv") {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		run, wrong := points.Read(name, text)
		return &run, wrong.Err()
	}
	return store.Read(name)
}

// row is what came of one class of one export.
type row struct {
	about, class string
	points       int

	between, beyond            []float64 // errors of answers, as shares
	network                    []float64 // of the network of queues at all of these
	inside, judged             int
	linear, gunther, predicted []float64 // of points for which both have an answer
	knee, kneeSaid             int       // 0 where there is none
	refused                    string    // why one was, of the last
	refusals                   int
}

// bench prints the table of the exports whose names match.
func bench(w io.Writer, match string) error {
	names, err := fs.Glob(kept, "testdata/"+match)
	if err != nil {
		return err
	}
	var rows []row
	for _, name := range names {
		text, err := kept.ReadFile(name)
		if err != nil {
			return err
		}
		var e export
		if err := json.Unmarshal(text, &e); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		for _, o := range e.Observed {
			if merged := model.Merged(o.Points); len(merged) >= 2*model.FewestPoints {
				rows = append(rows, halves(e.About, o.Class, merged))
			} else if len(merged) > model.FewestPoints && len(e.Mixed) == 0 {
				rows = append(rows, leaveOneOut(e.About, o.Class, merged))
			}
		}
		if len(e.Mixed) > 0 {
			all, err := mixes(e)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			rows = append(rows, all)
		}
	}
	table(w, rows)
	return nil
}

// halves trains on every other point, in the order of memory and instances, and predicts the rest; twice.
func halves(about string, class model.Class, points []model.Point) row {
	r := row{about: about, class: class.Workload, points: len(points)}
	slices.SortStableFunc(points, func(a, b model.Point) int {
		if a.Instances != b.Instances {
			return a.Instances - b.Instances
		}
		return cmp.Compare(a.Memory(), b.Memory())
	})
	for half := range 2 {
		var train, test []model.Point
		for i, p := range points {
			if i%2 == half {
				train = append(train, p)
			} else {
				test = append(test, p)
			}
		}
		m, err := model.FitPoints(model.Options{Seed: 1}, []model.Observed{{Class: class, Points: train}}, nil)
		if err != nil {
			r.refused, r.refusals = err.Error(), r.refusals+len(test)
			continue
		}
		for _, p := range test {
			r.hold(m, train, p)
		}
		if half == 0 {
			r.knees(m, points)
		}
	}
	return r
}

// leaveOneOut leaves each of few points out, which Fit does by itself.
func leaveOneOut(about string, class model.Class, points []model.Point) row {
	r := row{about: about + "; each left out", class: class.Workload, points: len(points)}
	m, err := model.FitPoints(model.Options{Seed: 1}, []model.Observed{{Class: class, Points: points}}, nil)
	if err != nil {
		r.refused, r.refusals = err.Error(), len(points)
		return r
	}
	for _, h := range m.Classes[0].Check.Held {
		off := func(said model.Number) float64 { return math.Abs(float64(said/h.Seen) - 1) }
		if h.Beyond {
			r.beyond = append(r.beyond, off(h.Answer.Value))
		} else {
			r.between = append(r.between, off(h.Answer.Value))
		}
		r.network = append(r.network, off(h.Said.Value))
		if h.Answer.High < 100*h.Answer.Low { // else it is not known
			r.judged++
			if h.Seen >= h.Answer.Low && h.Seen <= h.Answer.High {
				r.inside++
			}
		}
		if !math.IsNaN(float64(h.Linear)) && !math.IsNaN(float64(h.Gunther)) {
			r.linear, r.gunther = append(r.linear, off(h.Linear)), append(r.gunther, off(h.Gunther))
			r.predicted = append(r.predicted, off(h.Answer.Value))
		}
	}
	return r
}

// hold predicts a point, and notes how far off that is.
func (r *row) hold(m *model.Model, train []model.Point, p model.Point) {
	f := &m.Classes[0]
	a, err := m.Predict(model.Ask{Host: p.Host, Tenants: []model.Tenant{{Class: f.Name, Count: p.Instances, Own: p.Own,
		Clients: p.Clients, Think: p.Think}}})
	if err != nil {
		r.refused, r.refusals = err.Error(), r.refusals+1
		return
	}
	off := func(said float64) float64 { return math.Abs(said/p.Rate() - 1) }
	value := off(float64(a.Rate.Value))
	if len(a.Outside) > 0 {
		r.beyond = append(r.beyond, value)
	} else {
		r.between = append(r.between, value)
	}
	network := value
	if a.Network != nil {
		network = off(float64(a.Network.Value))
	}
	r.network = append(r.network, network)
	r.judged++
	if seen := model.Number(p.Rate()); seen >= a.Rate.Low && seen <= a.Rate.High {
		r.inside++
	}
	line, law := model.Linear(train, p), model.Gunther(train, p)
	if !math.IsNaN(line) && !math.IsNaN(law) {
		r.linear, r.gunther, r.predicted = append(r.linear, off(line)), append(r.gunther, off(law)),
			append(r.predicted, value)
	}
}

// knees compares the load line that a half says with that of all points of the host that has most of them.
func (r *row) knees(m *model.Model, points []model.Point) {
	const asMuch = 0.9
	var on []model.Point
	for _, p := range points {
		var onHost []model.Point
		for _, q := range points {
			if q.Host == p.Host && q.Own == p.Own {
				onHost = append(onHost, q)
			}
		}
		if len(onHost) > len(on) {
			on = onHost
		}
	}
	top := 0.0
	for _, p := range on {
		top = max(top, p.Rate())
	}
	largest := 0
	for _, p := range on {
		largest = max(largest, p.Instances)
		if p.Rate() >= asMuch*top {
			r.knee = max(r.knee, p.Instances)
		}
	}
	ask := model.Ask{Host: on[0].Host, Tenants: []model.Tenant{{Class: m.Classes[0].Name, Count: 1, Think: -1}}}
	line, err := m.LoadLine(ask, largest, 0)
	if err == nil {
		r.kneeSaid = line.Instances
	}
	if largest < 3 || r.knee == largest && line.Instances == largest {
		r.knee, r.kneeSaid = 0, 0 // there is no knee to find
	}
}

// mixes leaves each mix of several classes out, which Fit does by itself.
func mixes(e export) (row, error) {
	m, err := model.FitPoints(model.Options{Seed: 1}, e.Observed, e.Mixed)
	if err != nil {
		return row{}, err
	}
	r := row{about: e.About, class: "mixes of them"}
	for _, b := range m.Beside {
		for _, t := range b.Tenants {
			r.points++
			r.between = append(r.between, math.Abs(float64(t.Said/t.Seen)-1))
			r.network = r.between
		}
	}
	r.refusals = 0
	for _, left := range m.Left {
		r.refused, r.refusals = left, r.refusals+1
	}
	return r, nil
}

func table(w io.Writer, rows []row) {
	fmt.Fprintln(w, "| runs | class | points | between, off | beyond, off | network at all | in the interval of 90% | "+
		"straight line | Gunther's law | model at the same | load line | refused |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|---|---|---|---|")
	for _, r := range rows {
		knee := "-"
		if r.knee > 0 {
			knee = fmt.Sprintf("%d, and %d", r.knee, r.kneeSaid)
		}
		held := "-"
		if r.judged > 0 {
			held = fmt.Sprintf("%d of %d", r.inside, r.judged)
		}
		fmt.Fprintf(w, "| %s | %s | %d | %s | %s | %s | %s | %s | %s | %s | %s | %d |\n", r.about, r.class, r.points,
			mean(r.between), mean(r.beyond), mean(r.network), held, mean(r.linear), mean(r.gunther), mean(r.predicted), knee,
			r.refusals)
	}
}

// mean is the mean of errors, and of how many.
func mean(errors []float64) string {
	if len(errors) == 0 {
		return "-"
	}
	sum := 0.0
	for _, x := range errors {
		sum += x
	}
	return fmt.Sprintf("%.1f%% (%d)", 100*sum/float64(len(errors)), len(errors))
}
