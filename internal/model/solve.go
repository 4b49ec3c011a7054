package model

import (
	"errors"
	"fmt"

	"plimsoll/internal/result"
)

// Placed is some instances of a class of a model on one of a host's drives.
type Placed struct {
	Class int // of the model's
	Drive int // of the host's; -1 where it has none
	Count int
	Own   result.Limits // of each
}

// Solved is what instances that were placed would do: the estimate of Predict without its interval.
type Solved struct {
	Tenants []SolvedTenant // one for each that was placed, in their order
	Rate    float64        // operations a second, of all
	Binds   Resource       // what is used most, where that is near all of it; Clients where nothing is
	Of      string         // the drive or target that binds; "" for the host's own
	Used    float64        // share of it
}

// Overfull is the error of instances that hold more memory than their host has, whatever they are short of.
type Overfull struct{ why string }

func (o *Overfull) Error() string { return o.why }

// SolvedTenant is one of them.
type SolvedTenant struct {
	Rate      float64 // operations a second, of all its instances
	Mean, P99 float64 // s; NaN for a p99 that no point had
	Memory    float64 // bytes that each of its instances has
}

// Solve returns what instances of the model's classes would do together on a host, for planners that ask
// about many hosts. Clients and their thinking are those that were measured. The error says what does not
// fit, or what nobody knows.
func (m *Model) Solve(host HostKind, placed []Placed) (Solved, error) {
	all, err := m.SolveTogether([]HostKind{host}, [][]Placed{placed})
	if err != nil {
		return Solved{}, err
	}
	return all[0], nil
}

// SolveTogether is Solve of several hosts, which share the remote drives of the same *Target and name.
func (m *Model) SolveTogether(hosts []HostKind, placed [][]Placed) ([]Solved, error) {
	if len(hosts) != len(placed) {
		return nil, fmt.Errorf("instances are placed on %d hosts, and there are %d", len(placed), len(hosts))
	}
	all := make([]Solved, len(hosts))
	for h := range hosts {
		all[h].Tenants = make([]SolvedTenant, len(placed[h]))
	}
	o, classes, err := m.settled(hosts, placed)
	if err != nil || len(o.in) == 0 {
		return all, err
	}
	next := 0
	for h := range hosts {
		s := &all[h]
		for i, p := range placed[h] {
			if p.Count == 0 {
				continue
			}
			in, f := o.in[next], classes[next]
			if why := f.unknown(in); why != "" {
				return nil, errors.New(why)
			}
			t := &s.Tenants[i]
			t.Rate, t.Memory = o.rates[next], in.memory
			t.Mean = max(0, in.clients*in.count/t.Rate-in.think)
			if t.Mean > 0 {
				t.P99 = t.Mean * f.Params.Tail.At(t.Mean)
			}
			s.Rate += t.Rate
			next++
		}
		s.Binds, s.Of, s.Used = o.binds(h)
	}
	return all, nil
}

// Uses are the shares that instances use of each resource of a host, its drives and what serves these, for what
// there is no bound to left out, always in the same order. Where a resource is used both ways, such as a network,
// it is there twice.
func (m *Model) Uses(host HostKind, placed []Placed) ([]Use, error) {
	o, _, err := m.settled([]HostKind{host}, [][]Placed{placed})
	if err != nil {
		return nil, err
	}
	var all []Use
	for s, u := range o.used {
		if st := o.stations[s]; st.name != "" || s < len(ofHost) { // others are of one flow alone
			all = append(all, Use{st.of, st.name, Number(u)})
		}
	}
	return all, nil
}

// settled finds what placed instances do.
func (m *Model) settled(hosts []HostKind, placed [][]Placed) (o outcome, classes []*Fitted, err error) {
	for h := range hosts {
		floors := 0.0
		for _, p := range placed[h] {
			if p.Class < 0 || p.Class >= len(m.Classes) || p.Count < 0 || p.Drive >= len(hosts[h].Drives) {
				return o, nil, fmt.Errorf("%+v is no placement: the model has %d classes, and the host %d drives", p,
					len(m.Classes), len(hosts[h].Drives))
			}
			if p.Count == 0 {
				continue
			}
			f := &m.Classes[p.Class]
			of := &f.Points[0]
			in := instances{params: &f.Params, host: &hosts[h], at: h, drive: p.Drive, stood: m.stood(f), own: p.Own,
				count: float64(p.Count), clients: float64(of.Clients), think: of.Think}
			holds := f.memory()
			in.fixed, in.held = holds.fixed, holds.most
			floors += in.fixed * in.count
			o.in, o.rates, classes = append(o.in, in), append(o.rates, 1), append(classes, f)
		}
		if memory := float64(hosts[h].Host.MemoryBytes); memory > 0 && floors > memory {
			return o, nil, &Overfull{overfull(floors, memory)}
		}
	}
	if len(o.in) > 0 {
		o.settle(hosts)
	}
	return o, classes, nil
}

// binds names what of a host, or of what it shares, is used most; Clients where nothing is near.
func (o outcome) binds(host int) (of Resource, name string, used float64) {
	of = Clients
	for s, u := range o.used {
		if st := o.stations[s]; u > used && (st.host == host || st.host < 0) {
			used = u
			if u >= near {
				of, name = st.of, st.name
			}
		}
	}
	return of, name, used
}
