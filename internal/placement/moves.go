package placement

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"plimsoll/internal/model"
)

// Moves lead from where containers stand to a plan.
type Moves struct {
	Now   model.Number `json:"rate_now"` // operations a second, of all that stand
	From  []Filled     `json:"from"`     // the hosts as they are filled now, without intervals
	Steps []Move       `json:"steps"`    // in an order that breaks no limit on the way, where there is one
	Bytes int64        `json:"bytes"`    // that are copied
	Joins int          `json:"joins"`    // containers that stood nowhere
}

// Move is a container that goes from one host to another, or comes to its first.
type Move struct {
	Containers string `json:"containers"`
	From       string `json:"from,omitempty"` // host; "" for one that stood nowhere
	FromDrive  string `json:"from_drive,omitempty"`
	To         string `json:"to,omitempty"` // "" for one that the plan has no place for, and that is stopped
	ToDrive    string `json:"to_drive,omitempty"`
	// of its data that are copied; none where the same remote drive is reached from both
	Bytes   int64   `json:"bytes"`
	Seconds float64 `json:"seconds"`          // that copying takes at least; 0 where nobody knows how fast drives are
	Detour  bool    `json:"detour,omitempty"` // it goes on from there, as no order without that keeps all limits
	Breaks  string  `json:"breaks,omitempty"` // a limit that is broken until all moves are made; "" for none
}

// standing is a host with what stands on it.
type standingHost struct {
	name string
	kind int
	f    filling
}

// now returns every host as it is, in the order of their names. The error says what cannot be there.
func (s *search) now() ([]standingHost, error) {
	var all []standingHost
	at := map[string]int{}
	for k, kind := range s.kinds {
		for i := range kind.Count {
			name := hostName(kind.Hosts, i+1)
			at[name] = len(all)
			all = append(all, standingHost{name, k, make(filling, kind.slots())})
		}
	}
	var wrong []error
	for _, st := range s.fleet.Now {
		h := &all[at[st.Host]]
		kind := s.kinds[h.kind]
		slot := kind.slot(st.Containers, max(0, slices.Index(kind.able, st.Drive)))
		if int(h.f[slot])+st.Count > mostOfOne {
			wrong = append(wrong, fmt.Errorf("%d of %s on %s are more than a plan can have there, %d", st.Count,
				s.fleet.Containers[st.Containers].Name, st.Host, mostOfOne))
			continue
		}
		h.f[slot] += uint8(st.Count)
	}
	return all, errors.Join(wrong...)
}

// grouped joins equal hosts that are filled alike.
func grouped(hosts []standingHost) (all []chosen) {
	for _, h := range hosts {
		all = append(all, chosen{h.kind, 1, h.f})
	}
	return merged(all)
}

// rearrange improves a placement that is there by at most so many moves, each the best of all: what stands nowhere
// first.
func (s *search) rearrange(now []standingHost, moves int, g goal) found {
	out := found{all: grouped(now), left: s.counts()}
	for _, c := range out.all {
		for d, n := range s.kinds[c.kind].counts(c.f) {
			out.left[d] -= n * c.count
		}
	}
	hosts := s.hosts()
	s.insert(&out, free(hosts, out.all), g)
	for range moves {
		if !s.bestMove(&out, hosts, g) {
			break
		}
	}
	out.value = s.value(out.all, g)
	out.mixed = math.NaN()
	return out
}

// bestMove makes the move of one container that makes a plan better by most. What breaks a limit is worth nothing,
// so that what mends one comes first.
func (s *search) bestMove(out *found, hosts []int, g goal) bool {
	groups := slices.Clone(out.all)
	for k, n := range free(hosts, out.all) {
		if n > 0 {
			groups = append(groups, chosen{k, n, make(filling, s.kinds[k].slots())})
		}
	}
	worth := func(k int, f filling) float64 {
		v, ok := s.worth(k, f, g)
		if !ok {
			return v - s.penalty
		}
		return v
	}
	var from, to chosen
	var x, y filling
	most := 0.0
	for a, c := range groups {
		for i, n := range c.f {
			if n == 0 {
				continue
			}
			d, _ := s.kinds[c.kind].of(i)
			less := c.f.with(i, -1)
			gone := worth(c.kind, less) - worth(c.kind, c.f)
			for b, h := range groups {
				if a == b && c.count < 2 {
					continue
				}
				for drive := range s.kinds[h.kind].able {
					slot := s.kinds[h.kind].slot(d, drive)
					if h.f[slot] == mostOfOne {
						continue
					}
					more := h.f.with(slot, 1)
					v, ok := s.worth(h.kind, more, g)
					if gain := gone + v - worth(h.kind, h.f); ok && gain > most+1e-9*s.penalty {
						most, from, to, x, y = gain, c, h, less, more
					}
				}
			}
		}
	}
	if most == 0 {
		return false
	}
	for i := range out.all {
		for _, one := range []*chosen{&from, &to} {
			if out.all[i].kind == one.kind && slices.Equal(out.all[i].f, one.f) && one.count > 0 {
				out.all[i].count--
				one.count = 0
			}
		}
	}
	out.all = merged(append(out.all, chosen{from.kind, 1, x}, chosen{to.kind, 1, y}))
	return true
}

// moves finds which host becomes which of a plan's, so that as little as can be is moved, and in which order.
func (s *search) moves(now []standingHost, f found) (*Moves, []standingHost) {
	apart := func(k int, a, b filling) (bytes, containers int64) {
		for i := range a {
			d, _ := s.kinds[k].of(i)
			n := int64(max(a[i], b[i]) - min(a[i], b[i]))
			bytes, containers = bytes+n*s.fleet.Containers[d].Data, containers+n
		}
		return bytes, containers
	}
	type pair struct {
		host, group       int
		bytes, containers int64
	}
	groups := slices.Clone(f.all)
	for k, n := range free(s.hosts(), f.all) {
		groups = append(groups, chosen{k, n, make(filling, s.kinds[k].slots())})
	}
	var pairs []pair
	for h := range now {
		for i, c := range groups {
			if c.kind == now[h].kind && c.count > 0 {
				bytes, containers := apart(c.kind, now[h].f, c.f)
				pairs = append(pairs, pair{h, i, bytes, containers})
			}
		}
	}
	slices.SortStableFunc(pairs, func(a, b pair) int {
		return cmp.Or(cmp.Compare(a.bytes, b.bytes), cmp.Compare(a.containers, b.containers))
	})
	goals := make([]filling, len(now))
	for _, p := range pairs {
		if goals[p.host] == nil && groups[p.group].count > 0 {
			goals[p.host] = groups[p.group].f
			groups[p.group].count--
		}
	}
	m := &Moves{}
	becomes := slices.Clone(now)
	for h := range now {
		known := s.kinds[now[h].kind].fill(now[h].f, s.alone)
		m.Now += model.Number(known.rate)
		becomes[h].f = goals[h]
	}
	s.order(m, slices.Clone(now), goals)
	for _, step := range m.Steps {
		if m.Bytes += step.Bytes; step.From == "" {
			m.Joins++
		}
	}
	return m, becomes
}

// step is a container that is one too many in one place and lacks in another; from is -1 for one that stands
// nowhere, and to for one that is to.
type step struct{ demand, from, fromSlot, to, toSlot int }

// order makes moves one by one: always one that leaves all limits kept where it goes to, if there is one.
func (s *search) order(m *Moves, at []standingHost, goals []filling) {
	var steps []step
	wanted := map[int][]step{} // by demand
	for h := range at {
		for slot := range goals[h] {
			d, _ := s.kinds[at[h].kind].of(slot)
			for range int(goals[h][slot]) - int(at[h].f[slot]) {
				wanted[d] = append(wanted[d], step{d, -1, 0, h, slot})
			}
		}
	}
	for h := range at {
		for slot := range goals[h] {
			d, _ := s.kinds[at[h].kind].of(slot)
			for range int(at[h].f[slot]) - int(goals[h][slot]) {
				all := wanted[d]
				if len(all) == 0 { // it stands nowhere in the plan
					steps = append(steps, step{d, h, slot, -1, 0})
					continue
				}
				best := slices.IndexFunc(all, func(w step) bool { return s.bytes(d, at[h], slot, at[w.to], w.toSlot) == 0 })
				best = max(best, 0)
				w := all[best]
				w.from, w.fromSlot = h, slot
				steps = append(steps, w)
				wanted[d] = slices.Delete(all, best, best+1)
			}
		}
	}
	for d := range s.fleet.Containers {
		steps = append(steps, wanted[d]...)
	}
	breaks := func(o step) string {
		if o.to < 0 {
			return ""
		}
		to := at[o.to]
		f := to.f.with(o.toSlot, 1)
		if o.from == o.to {
			f = f.with(o.fromSlot, -1)
		}
		return s.kinds[to.kind].fill(f, s.alone).clash
	}
	do := func(o step, detour bool, why string) {
		move := Move{Containers: s.fleet.Containers[o.demand].Name, Detour: detour, Breaks: why}
		if o.from >= 0 {
			from := &at[o.from]
			move.From, move.FromDrive = from.name, s.driveOf(s.kinds[from.kind], o.fromSlot)
			from.f = from.f.with(o.fromSlot, -1)
		}
		if o.to >= 0 {
			to := &at[o.to]
			move.To, move.ToDrive = to.name, s.driveOf(s.kinds[to.kind], o.toSlot)
			to.f = to.f.with(o.toSlot, 1)
		}
		if o.from >= 0 && o.to >= 0 {
			move.Bytes = s.bytes(o.demand, at[o.from], o.fromSlot, at[o.to], o.toSlot)
			move.Seconds = s.seconds(move.Bytes, at[o.from], o.fromSlot, at[o.to], o.toSlot)
		}
		m.Steps = append(m.Steps, move)
	}
	for len(steps) > 0 {
		if i := slices.IndexFunc(steps, func(o step) bool { return breaks(o) == "" }); i >= 0 {
			do(steps[i], false, "")
			steps = slices.Delete(steps, i, i+1)
			continue
		}
		if s.detour(at, steps, do) {
			continue
		}
		do(steps[0], false, breaks(steps[0]))
		steps = steps[1:]
	}
}

// detour moves the first container that another host has room for meanwhile out of the way.
func (s *search) detour(at []standingHost, steps []step, move func(step, bool, string)) bool {
	for i := range steps {
		o := &steps[i]
		if o.from < 0 || o.to < 0 || o.from == o.to {
			continue
		}
		for h := range at {
			if h == o.from || h == o.to {
				continue
			}
			kind := s.kinds[at[h].kind]
			slot := kind.slot(o.demand, 0)
			if at[h].f[slot] == mostOfOne || kind.fill(at[h].f.with(slot, 1), s.alone).clash != "" {
				continue
			}
			// It helps only where what it leaves makes room for another.
			from := at[o.from]
			less := from.f.with(o.fromSlot, -1)
			if !slices.ContainsFunc(steps, func(w step) bool {
				return w.to == o.from && s.kinds[from.kind].fill(less.with(w.toSlot, 1), s.alone).clash == ""
			}) {
				continue
			}
			move(step{o.demand, o.from, o.fromSlot, h, slot}, true, "")
			o.from, o.fromSlot = h, slot
			return true
		}
	}
	return false
}

func (s *search) drive(k *kind, slot int) *model.HostDrive {
	_, drive := k.of(slot)
	if k.able[drive] < 0 {
		return nil
	}
	return &k.Is.Drives[k.able[drive]]
}

func (s *search) driveOf(k *kind, slot int) string {
	if d := s.drive(k, slot); d != nil {
		return d.Name
	}
	return ""
}

// bytes returns how much of a container's data a move copies: 0 where both hosts reach the same drive of a target.
func (s *search) bytes(demand int, from standingHost, fromSlot int, to standingHost, toSlot int) int64 {
	a, b := s.drive(s.kinds[from.kind], fromSlot), s.drive(s.kinds[to.kind], toSlot)
	if a != nil && b != nil && a.Target != nil && a.Target == b.Target && a.Name == b.Name {
		return 0
	}
	return s.fleet.Containers[demand].Data
}

// seconds is how long copying takes at the speed of the slowest of both drives and networks; 0 where none is known.
func (s *search) seconds(bytes int64, from standingHost, fromSlot int, to standingHost, toSlot int) float64 {
	slowest := 0.0
	see := func(v float64) {
		if v > 0 && (slowest == 0 || v < slowest) {
			slowest = v
		}
	}
	if d := s.drive(s.kinds[from.kind], fromSlot); d != nil {
		see(float64(d.Is.Read.Bandwidth))
	}
	if d := s.drive(s.kinds[to.kind], toSlot); d != nil {
		see(float64(d.Is.Write.Bandwidth))
	}
	see(s.kinds[from.kind].Is.Host.NIC)
	see(s.kinds[to.kind].Is.Host.NIC)
	if slowest == 0 {
		return 0
	}
	return float64(bytes) / slowest
}
