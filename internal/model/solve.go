package model

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"plimsoll/internal/result"
)

// Placed is some instances of a class of a model on one of a host's drives.
type Placed struct {
	Class int // of the model's
	Drive int // of the host's; -1 where it has none
	Count int
	Own   result.Limits // of each; those on devices are of each drive

	Shares []Share // of their I/O on several drives, without which all of it is on Drive

	Think float64 // s that clients wait between two operations, where that is longer than was measured: ThinkFor
}

// Share is the part of I/O on one of a host's drives. Parts that sum to less than 1 have the rest on storage that the
// model does not have.
type Share struct {
	Drive         int     // of the host's
	Reads, Writes float64 // of all reads and of all writes, from 0 to 1

	Own result.Limits // on devices, of this part of each instance, whatever those of the instance are
}

// Solved is the prediction for instances that were placed: the estimate of Predict without its interval.
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
	Needs     float64 // of these, bytes without which it would do less

	Least  float64 // lower end of Rate's interval of 90%, as wide as points that were left out say; NaN for none
	Device Asked   // of all its instances
}

// Asked is what instances ask of their drive, a second; NaN for reads that nobody counted.
type Asked struct{ Reads, Writes, ReadBytes, WriteBytes float64 }

// asks returns what instances that do so many operations a second ask of their drive.
func (in *instances) asks(rate float64) Asked {
	p, reads := in.params, math.NaN()
	if !in.params.Inferred {
		reads = rate * p.Reads.At(in.memory)
	}
	writes := rate * p.Writes.At(rate/in.count)
	return Asked{reads, writes, reads * float64(p.ReadBytes), writes * float64(p.WriteBytes)}
}

// Solve returns what instances of the model's classes would do together on a host, for planners that ask
// about many hosts. Clients and their thinking are those that were measured, unless they think longer. The error says
// what does not fit, or what nobody knows.
func (m *Model) Solve(host HostKind, placed []Placed) (Solved, error) {
	all, err := m.SolveTogether([]HostKind{host}, [][]Placed{placed})
	if err != nil {
		return Solved{}, err
	}
	return all[0], nil
}

// ThinkFor returns how long clients wait between two operations where an instance is asked for so many a second: alone
// on a host, it does as many. Where it cannot, they wait as was measured, and 0 is returned.
func (m *Model) ThinkFor(host HostKind, p Placed, rate float64) (think float64, err error) {
	p.Count = 1
	for range 50 { // each time nearer: the less is asked for, the shorter an operation waits
		p.Think = think
		s, err := m.Solve(host, []Placed{p})
		if err != nil {
			return 0, err
		}
		clients, measured := m.Classes[p.Class].load()
		was := think
		think = float64(clients)/rate - s.Tenants[0].Mean
		if think <= measured {
			return 0, nil
		}
		if think-was <= 1e-6*think {
			break
		}
	}
	return think, nil
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
	n := newNetwork()
	defer n.release()
	o, classes, err := m.settled(n, hosts, placed)
	if err != nil || len(o.in) == 0 {
		return all, err
	}
	next := 0
	for h := range hosts {
		s := &all[h]
		clients := 0.0
		for i := range o.in {
			if o.in[i].at == h {
				clients += o.in[i].count * o.in[i].clients
			}
		}
		for i, p := range placed[h] {
			if p.Count == 0 {
				continue
			}
			in, f := o.in[next], classes[next]
			if why := f.unknown(in); why != "" {
				return nil, errors.New(why)
			}
			t := &s.Tenants[i]
			t.Needs = in.wants()
			if in.memory > 0 {
				t.Needs = min(t.Needs, in.memory)
			}
			t.Rate, t.Memory = o.rates[next], in.memory
			t.Mean = max(0, in.clients*in.count/t.Rate-in.think)
			if t.Mean > 0 {
				t.P99 = t.Mean * f.Params.Tail.At(t.Mean, 1-in.count*in.clients/clients)
			}
			t.Device = in.asks(t.Rate)
			e := f.Check.Between
			t.Least = float64(around(t.Rate, 0, max(float64(e.Off), leastOff), e.Points).Low)
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
	n := newNetwork()
	defer n.release()
	o, _, err := m.settled(n, []HostKind{host}, [][]Placed{placed})
	if err != nil {
		return nil, err
	}
	var all []Use
	for s, u := range o.used {
		if st := o.stations[s]; !st.own {
			all = append(all, Use{st.of, st.name, Number(u)})
		}
	}
	return all, nil
}

// settled finds what placed instances do, in a network that the outcome uses.
func (m *Model) settled(n *network, hosts []HostKind, placed [][]Placed) (o outcome, classes []*Fitted, err error) {
	most := 0
	for h := range hosts {
		most += len(placed[h])
	}
	n.placed = slices.Grow(n.placed[:0], most)
	o.in, classes = n.placed, make([]*Fitted, 0, most)
	for h := range hosts {
		floors := 0.0
		for _, p := range placed[h] {
			if p.Class < 0 || p.Class >= len(m.Classes) || p.Count < 0 || p.Drive >= len(hosts[h].Drives) {
				return o, nil, fmt.Errorf("%+v is no placement: the model has %d classes, and the host %d drives", p,
					len(m.Classes), len(hosts[h].Drives))
			}
			for _, s := range p.Shares {
				valid := func(x float64) bool { return x >= 0 && x <= 1 }
				if s.Drive < 0 || s.Drive >= len(hosts[h].Drives) || !valid(s.Reads) || !valid(s.Writes) {
					return o, nil, fmt.Errorf("%+v is no share of I/O: the host has %d drives", s, len(hosts[h].Drives))
				}
			}
			if p.Count == 0 {
				continue
			}
			f := &m.Classes[p.Class]
			in := m.instancesOf(&hosts[h], h, p)
			floors += in.fixed * in.count
			o.in, classes = append(o.in, in), append(classes, f)
		}
		if memory := float64(hosts[h].Host.MemoryBytes); memory > 0 && floors > memory {
			return o, nil, &Overfull{overfull(floors, memory)}
		}
	}
	if len(o.in) > 0 {
		if o.settleIn(n, hosts); !o.solved {
			return o, nil, errUnsolved
		}
	}
	return o, classes, nil
}

// instancesOf returns what was placed on a host, which is the number at.
func (m *Model) instancesOf(host *HostKind, at int, p Placed) instances {
	f := &m.Classes[p.Class]
	clients, think := f.load()
	holds := f.memory()
	return instances{params: &f.Params, host: host, at: at, drive: p.Drive, shares: p.Shares, stood: m.stood(f),
		own:   p.Own,
		count: float64(p.Count), clients: float64(clients), think: max(think, p.Think), fixed: holds.fixed, held: holds.most}
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
