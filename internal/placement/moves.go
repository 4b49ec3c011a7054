package placement

import (
	"errors"
	"fmt"
	"slices"

	"plimsoll/internal/model"
)

// Moves lead from the present placement to a plan.
type Moves struct {
	Now   model.Number `json:"rate_now"` // operations a second, of all that stand
	From  []Filled     `json:"from"`     // the hosts as they are filled now, without intervals
	Steps []Move       `json:"steps"`    // in an order that breaks no limit on the way, where there is one
	Bytes int64        `json:"bytes"`    // that are copied
	Joins int          `json:"joins"`    // containers that stood nowhere
	Most  int          `json:"most"`     // moves that a plan may have; 0 for as many as it takes
	Exact bool         `json:"exact"`    // no plan of at most so many moves is better, by the model
}

// Move is a container that goes from one host to another, that starts, or that stops.
type Move struct {
	Containers string `json:"containers"`
	From       string `json:"from,omitempty"` // host; "" for one that stood nowhere
	FromDrive  string `json:"from_drive,omitempty"`
	To         string `json:"to,omitempty"` // "" for one that the plan has no place for, and that is stopped
	ToDrive    string `json:"to_drive,omitempty"`
	// of its data that are copied; 0 where the size is not known, and for what Reconnects
	Bytes int64 `json:"bytes"`
	// the same remote drive is reached from both hosts, and nothing is copied
	Reconnects bool    `json:"reconnects,omitempty"`
	Seconds    float64 `json:"seconds"`          // that copying takes at least; 0 where the speed of drives is not known
	Detour     bool    `json:"detour,omitempty"` // it goes on from there, as no order without that keeps all limits
	Breaks     string  `json:"breaks,omitempty"` // a limit that is broken until all moves are made; "" for none
}

// copies reports whether a move copies data.
func (m *Move) copies() bool { return m.From != "" && m.To != "" && !m.Reconnects }

// standingHost is a host with the filling that stands on it.
type standingHost struct {
	name    string
	kind    int
	filling filling
}

// now returns every host with its present filling, in the order of kinds and numbers. The error lists the containers
// that are more than a slot can have.
func (s *search) now() ([]standingHost, error) {
	var hosts []standingHost
	numbers := map[string]int{}
	for k, kind := range s.kinds {
		for i := range kind.Count {
			name := hostName(kind.Hosts, i+1)
			numbers[name] = len(hosts)
			hosts = append(hosts, standingHost{name, k, make(filling, kind.slots())})
		}
	}
	var wrong []error
	for _, st := range s.fleet.Now {
		host := &hosts[numbers[st.Host]]
		kind := s.kinds[host.kind]
		slot := kind.slot(st.Containers, max(0, slices.Index(kind.able, st.Drive)))
		if int(host.filling[slot])+st.Count > mostOfOne {
			wrong = append(wrong, fmt.Errorf("%d of %s on %s are more than a plan can have there, %d", st.Count,
				s.fleet.Containers[st.Containers].Name, st.Host, mostOfOne))
			continue
		}
		host.filling[slot] += uint8(st.Count)
	}
	return hosts, errors.Join(wrong...)
}

// grouped joins hosts of one kind that have the same filling.
func grouped(hosts []standingHost) (groups []chosen) {
	for _, host := range hosts {
		groups = append(groups, chosen{host.kind, 1, host.filling})
	}
	return merged(groups)
}

// moves assigns the fillings of a plan to hosts, so that as little as possible moves, and orders the moves. It returns
// the moves, and the hosts after them.
func (s *search) moves(now []standingHost, outcome found) (*Moves, []standingHost) {
	goals := outcome.goals
	if goals == nil {
		goals = s.assigned(now, outcome.groups)
	}
	moves := &Moves{Exact: outcome.exact}
	becomes := slices.Clone(now)
	for h := range now {
		known := s.kinds[now[h].kind].judged(now[h].filling, s.alone)
		moves.Now += model.Number(known.rate)
		becomes[h].filling = goals[h]
	}
	s.order(moves, slices.Clone(now), goals)
	for _, step := range moves.Steps {
		if moves.Bytes += step.Bytes; step.From == "" {
			moves.Joins++
		}
	}
	return moves, becomes
}

// assigned returns which of a plan's fillings each host gets: those with the fewest bytes to copy, and then the fewest
// moves.
func (s *search) assigned(now []standingHost, plan []chosen) []filling {
	groups := slices.Clone(plan)
	for k, n := range free(s.hosts(), plan) {
		groups = append(groups, chosen{k, n, make(filling, s.kinds[k].slots())})
	}
	goals := make([]filling, len(now))
	for k, kind := range s.kinds {
		var hosts []int
		var left []filling
		for _, group := range groups {
			if group.kind == k {
				left = append(left, slices.Repeat([]filling{group.filling}, group.count)...)
			}
		}
		for h := range now {
			if now[h].kind != k {
				continue
			}
			// What leaves is a distance: a host that may stay as it is stays so in some best assignment.
			unchanged := slices.IndexFunc(left, func(f filling) bool { return slices.Equal(f, now[h].filling) })
			if unchanged < 0 {
				hosts = append(hosts, h)
				continue
			}
			goals[h] = left[unchanged]
			left = slices.Delete(left, unchanged, unchanged+1)
		}
		for len(hosts) > 0 {
			size := min(len(hosts), mostAssigned)
			cost := make([][]float64, size)
			for i, h := range hosts[:size] {
				cost[i] = make([]float64, size)
				for j, f := range left[:size] {
					cost[i][j] = s.leaving(kind, now[h].filling, f)
				}
			}
			for i, j := range assignment(cost) {
				goals[hosts[i]] = left[j]
			}
			hosts, left = hosts[size:], left[size:]
		}
	}
	return goals
}

// mostAssigned is how many hosts that change are assigned at once; the time grows with its third power.
const mostAssigned = 500

// leaving returns the bytes that leave a host if its filling changes, and a byte for each container.
func (s *search) leaving(kind *kind, from, to filling) (cost float64) {
	for i := range from {
		d, _ := kind.split(i)
		if from[i] > to[i] {
			cost += float64(from[i]-to[i]) * (1 + float64(s.fleet.Containers[d].Data))
		}
	}
	return cost
}

// step is a container that one host has to give up and another has to get. from is -1 for a container that stands
// nowhere now, and to is -1 for one that the plan has no place for.
type step struct{ demand, from, fromSlot, to, toSlot int }

// order makes moves one by one. The next is one that breaks no limit on its new host, if there is one.
func (s *search) order(moves *Moves, hosts []standingHost, goals []filling) {
	var steps []step
	wanted := map[int][]step{} // by demand
	for h := range hosts {
		for slot := range goals[h] {
			d, _ := s.kinds[hosts[h].kind].split(slot)
			for range int(goals[h][slot]) - int(hosts[h].filling[slot]) {
				wanted[d] = append(wanted[d], step{d, -1, 0, h, slot})
			}
		}
	}
	for h := range hosts {
		for slot := range goals[h] {
			d, _ := s.kinds[hosts[h].kind].split(slot)
			for range int(hosts[h].filling[slot]) - int(goals[h][slot]) {
				waiting := wanted[d]
				if len(waiting) == 0 { // it stands nowhere in the plan
					steps = append(steps, step{d, h, slot, -1, 0})
					continue
				}
				best := slices.IndexFunc(waiting, func(w step) bool { return s.reconnects(hosts[h], slot, hosts[w.to], w.toSlot) })
				best = max(best, 0)
				next := waiting[best]
				next.from, next.fromSlot = h, slot
				steps = append(steps, next)
				wanted[d] = slices.Delete(waiting, best, best+1)
			}
		}
	}
	for d := range s.fleet.Containers {
		steps = append(steps, wanted[d]...)
	}
	breaks := func(step step) string {
		if step.to < 0 {
			return ""
		}
		to := hosts[step.to]
		f := to.filling.adjusted(step.toSlot, 1)
		if step.from == step.to {
			f = f.adjusted(step.fromSlot, -1)
		}
		return s.kinds[to.kind].fill(f, s.alone).clash
	}
	apply := func(step step, detour bool, why string) {
		move := Move{Containers: s.fleet.Containers[step.demand].Name, Detour: detour, Breaks: why}
		if step.from >= 0 {
			from := &hosts[step.from]
			move.From, move.FromDrive = from.name, s.driveOf(s.kinds[from.kind], step.fromSlot)
			from.filling = from.filling.adjusted(step.fromSlot, -1)
		}
		if step.to >= 0 {
			to := &hosts[step.to]
			move.To, move.ToDrive = to.name, s.driveOf(s.kinds[to.kind], step.toSlot)
			to.filling = to.filling.adjusted(step.toSlot, 1)
		}
		if step.from >= 0 && step.to >= 0 {
			move.Reconnects = s.reconnects(hosts[step.from], step.fromSlot, hosts[step.to], step.toSlot)
			if !move.Reconnects {
				move.Bytes = s.fleet.Containers[step.demand].Data
			}
			move.Seconds = s.seconds(move.Bytes, hosts[step.from], step.fromSlot, hosts[step.to], step.toSlot)
		}
		moves.Steps = append(moves.Steps, move)
	}
	for len(steps) > 0 {
		if i := slices.IndexFunc(steps, func(o step) bool { return breaks(o) == "" }); i >= 0 {
			apply(steps[i], false, "")
			steps = slices.Delete(steps, i, i+1)
			continue
		}
		if s.detour(hosts, steps, apply) {
			continue
		}
		apply(steps[0], false, breaks(steps[0]))
		steps = steps[1:]
	}
}

// detour moves a blocked container out of the way, to a host that has room for it meanwhile, and reports whether it
// found one.
func (s *search) detour(hosts []standingHost, steps []step, move func(step, bool, string)) bool {
	for i := range steps {
		blocked := &steps[i]
		if blocked.from < 0 || blocked.to < 0 || blocked.from == blocked.to {
			continue
		}
		for h := range hosts {
			if h == blocked.from || h == blocked.to {
				continue
			}
			kind := s.kinds[hosts[h].kind]
			slot := kind.slot(blocked.demand, 0)
			if hosts[h].filling[slot] == mostOfOne || kind.fill(hosts[h].filling.adjusted(slot, 1), s.alone).clash != "" {
				continue
			}
			// A detour helps only if another step fits on the host that the container leaves.
			from := hosts[blocked.from]
			less := from.filling.adjusted(blocked.fromSlot, -1)
			if !slices.ContainsFunc(steps, func(w step) bool {
				return w.to == blocked.from && s.kinds[from.kind].fill(less.adjusted(w.toSlot, 1), s.alone).clash == ""
			}) {
				continue
			}
			move(step{blocked.demand, blocked.from, blocked.fromSlot, h, slot}, true, "")
			blocked.from, blocked.fromSlot = h, slot
			return true
		}
	}
	return false
}

func (s *search) drive(kind *kind, slot int) *model.HostDrive {
	_, drive := kind.split(slot)
	if kind.able[drive] < 0 {
		return nil
	}
	return &kind.Is.Drives[kind.able[drive]]
}

func (s *search) driveOf(kind *kind, slot int) string {
	if d := s.drive(kind, slot); d != nil {
		return d.Name
	}
	return ""
}

// reconnects reports whether two places are the same drive of a target, reached from two hosts: a move copies nothing.
func (s *search) reconnects(from standingHost, fromSlot int, to standingHost, toSlot int) bool {
	a, b := s.drive(s.kinds[from.kind], fromSlot), s.drive(s.kinds[to.kind], toSlot)
	return a != nil && b != nil && a.Target != nil && a.Target == b.Target && a.Name == b.Name
}

// seconds returns how long copying takes at the speed of the slowest of both drives and networks; 0 if none is known.
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
