package model

import (
	"math"
	"slices"
	"strings"

	"plimsoll/internal/result"
)

// Held against a run that came later.

// Against has the measurements of a run beside the predictions of a model.
type Against struct {
	Run    string     `json:"run"`
	Rows   []Compared `json:"rows"`
	MAPE   Number     `json:"mape"`   // mean of the absolute error of rates, as a share
	Worst  Number     `json:"worst"`  // greatest of them
	Inside Number     `json:"inside"` // share of rates within their interval of 90%
	Left   []string   `json:"left_out,omitempty"`
}

// Compared is a point of the run, or one tenant of it. What is said is of that tenant alone.
type Compared struct {
	Mix       string `json:"mix"`
	Class     string `json:"class"`
	Instances int    `json:"instances"`
	Host      Host   `json:"host"`
	Seen      Number `json:"seen"` // operations per second
	SeenMean  Number `json:"seen_mean"`
	SeenP99   Number `json:"seen_p99"`
	Said      Answer `json:"said"`
}

// Hold holds a model against a run. Points of what it knows nothing of are left out, with
// the reason.
func (m *Model) Hold(run *result.Run) Against {
	a := Against{Run: run.ID}
	observed, mixed, left := Observe(run)
	a.Left = left
	for _, o := range observed {
		for _, p := range o.Points {
			mixed = append(mixed, Together{p.Run, p.Mix, []TenantPoint{{o.Class, p}}, Number(math.NaN())})
		}
	}
	sum, within, judged := 0.0, 0.0, 0.0
	for _, t := range mixed {
		rows, why := m.beside(t)
		if why != "" {
			if !slices.Contains(a.Left, why) {
				a.Left = append(a.Left, why)
			}
			continue
		}
		a.Rows = append(a.Rows, rows...)
	}
	for _, r := range a.Rows {
		off := math.Abs(float64(r.Said.Rate.Value/r.Seen) - 1)
		sum, a.Worst = sum+off, max(a.Worst, Number(off))
		if !math.IsNaN(float64(r.Said.Rate.Low)) {
			judged++
		}
		if r.Seen >= r.Said.Rate.Low && r.Seen <= r.Said.Rate.High {
			within++
		}
	}
	a.MAPE, a.Inside = Number(sum/float64(len(a.Rows))), Number(within/judged)
	return a
}

// beside returns what the model says of each tenant of what was measured. why says why it can say
// nothing.
func (m *Model) beside(t Together) (rows []Compared, why string) {
	ask := Ask{Host: t.Tenants[0].Host}
	for _, p := range t.Tenants {
		f := m.like(p.Class)
		if f == nil {
			return nil, "the model knows no " + p.Class.Workload + " like this run's"
		}
		ask.Tenants = append(ask.Tenants, Tenant{Class: f.Name, Count: p.Instances, Own: p.Own, Clients: p.Clients,
			Think: p.Think})
	}
	said, err := m.Predict(ask)
	if err != nil {
		return nil, t.Mix + ": " + strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	for i, p := range t.Tenants {
		of := *said
		row := Compared{Mix: p.Mix, Class: ask.Tenants[i].Class, Instances: p.Instances, Host: p.Host, Seen: Number(p.Rate()),
			SeenMean: Number(p.median(func(u *Unit) *Number { return &u.Mean })),
			SeenP99:  Number(p.median(func(u *Unit) *Number { return &u.P99 }))}
		if len(t.Tenants) > 1 {
			row.Mix += ": " + row.Class
			of.Rate, of.Tenants = said.Tenants[i].Rate, said.Tenants[i:i+1]
		}
		row.Said = of
		rows = append(rows, row)
	}
	return rows, ""
}

// like returns the class that asks the same of a database or device: the same parameters, or the same but for the
// number of clients; and, where several have these, the same name.
func (m *Model) like(c Class) (best *Fitted) {
	rank := func(f *Fitted) int {
		switch {
		case f.Class == c:
			return 3
		case c.Declared == "": // of a table, which has no parameters
			if f.Declared == "" && f.Workload == c.Workload {
				return 2
			}
		case f.Declared == c.Declared:
			return 2
		case f.alike(c.Declared):
			return 1
		}
		return 0
	}
	for i := range m.Classes {
		f := &m.Classes[i]
		if r := rank(f); r > 0 && (best == nil || r > rank(best)) {
			best = f
		}
	}
	return best
}
