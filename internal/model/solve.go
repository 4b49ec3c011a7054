package model

import (
	"errors"
	"fmt"
)

// Solve returns the operations a second that so many instances of each class of the model would do
// together on a host, all of a class together: the estimate of Predict without its interval, for
// planners that ask about many hosts. Clients and their thinking are those that were measured. The
// error says what does not fit, or what nobody knows.
func (m *Model) Solve(host Host, counts []int) ([]float64, error) {
	if len(counts) != len(m.Classes) {
		return nil, fmt.Errorf("%d counts are given for %d classes: one for each", len(counts), len(m.Classes))
	}
	ask := Ask{Host: host}
	var classes []*Fitted
	for i, n := range counts {
		f := &m.Classes[i]
		if n < 0 {
			return nil, fmt.Errorf("%s: %d instances are fewer than none", f.Name, n)
		}
		if n == 0 {
			continue
		}
		of := f.Points[0]
		ask.Tenants = append(ask.Tenants, Tenant{Class: f.Name, Count: n, Clients: of.Clients, Think: of.Think})
		classes = append(classes, f)
	}
	rates := make([]float64, len(counts))
	if len(classes) == 0 {
		return rates, nil
	}
	q := newQuestion(ask, classes)
	if why := q.overfull(); why != "" {
		return nil, errors.New(why)
	}
	o := q.outcome(func(f *Fitted) *Params { return &f.Params }, host)
	at := 0
	for i, n := range counts {
		if n == 0 {
			continue
		}
		if why := classes[at].unknown(o.in[at]); why != "" {
			return nil, errors.New(why)
		}
		rates[i] = o.rates[at]
		at++
	}
	return rates, nil
}
