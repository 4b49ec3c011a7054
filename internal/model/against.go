package model

import (
	"math"

	"plimsoll/internal/result"
)

// Held against a run that came later.

// Against is what a run measured, beside what a model says of it.
type Against struct {
	Run    string     `json:"run"`
	Rows   []Compared `json:"rows"`
	MAPE   Number     `json:"mape"`   // mean of the absolute error of rates, as a share
	Worst  Number     `json:"worst"`  // greatest of them
	Inside Number     `json:"inside"` // share of rates within their interval of 90%
	Left   []string   `json:"left_out,omitempty"`
}

// Compared is a point of the run.
type Compared struct {
	Mix       string `json:"mix"`
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
	observed, left := Observe(run)
	a.Left = left
	sum, n, within := 0.0, 0.0, 0.0
	for _, o := range observed {
		f := m.like(o.Class)
		if f == nil {
			a.Left = append(a.Left, "the model knows no "+o.Class.Workload+" like this run's")
			continue
		}
		for _, p := range o.Points {
			said, err := m.Predict(Ask{Host: p.Host,
				Tenants: []Tenant{{Class: f.Name, Count: p.Instances, Own: p.Own, Clients: p.Clients, Think: p.Think}}})
			if err != nil {
				a.Left = append(a.Left, p.Mix+": "+err.Error())
				continue
			}
			row := Compared{Mix: p.Mix, Instances: p.Instances, Host: p.Host, Seen: Number(p.Rate()), Said: *said,
				SeenMean: Number(p.median(func(u *Unit) *Number { return &u.Mean })),
				SeenP99:  Number(p.median(func(u *Unit) *Number { return &u.P99 }))}
			a.Rows = append(a.Rows, row)
			off := math.Abs(float64(said.Rate.Value)/p.Rate() - 1)
			sum, n, a.Worst = sum+off, n+1, max(a.Worst, Number(off))
			if p.Rate() >= float64(said.Rate.Low) && p.Rate() <= float64(said.Rate.High) {
				within++
			}
		}
	}
	a.MAPE, a.Inside = Number(sum/n), Number(within/n)
	return a
}

// like returns the class that asks the same of a database or device: the same parameters,
// and, where several have these, the same name.
func (m *Model) like(c Class) (best *Fitted) {
	for i := range m.Classes {
		f := &m.Classes[i]
		if f.Declared == c.Declared && (best == nil || f.Class == c) {
			best = f
		}
	}
	return best
}
