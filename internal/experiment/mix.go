package experiment

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/result"
	"plimsoll/internal/workload"
)

// Mix is a set of tenants that run at the same time. A workload alone is the mix of one tenant and one instance, of
// the same name.
type Mix struct {
	Name    string
	Tenants []Tenant // in the order of the file; never empty

	// Levels maps the factors that the mix depends on to the names of their levels. It includes those on which all
	// its workloads, and the stacks that it names, agree; nil for none.
	Levels map[string]string
	Host   *result.Limits // the scaled-down host that it runs in; nil for the host itself

	// Varies describes the change of a mix that a run adds by itself, see Variations; nil for those of the file.
	Varies *result.Variation

	varied []string // factors at whose levels its workloads differ
}

// Tenant is one entry of a mix: at least one instance of a workload of the
// experiment, each with the same limits.
type Tenant = result.Tenant

// Instance is one container, or group of processes, of a tenant.
type Instance struct {
	Index    int // from 0, in the order of tenants
	Tenant   string
	Workload string
	Stack    string // that it stands on

	// Place is the number, from 0, of its spot among those on its stack.
	// Instances of all mixes that have the same place on a stack share its
	// directory for as long as the stack is up: files are laid out once.
	Place  int
	Limits result.Limits
}

// Instances returns the instances of the mix, tenant by tenant. stack is that
// of the point: it is where the instances stand of a mix that names no stacks.
func (m Mix) Instances(stack string) []Instance {
	var out []Instance
	places := map[string]int{}
	for _, t := range m.Tenants {
		for i := range t.Count {
			on := stack
			if len(t.On) > 0 {
				on = t.On[i%len(t.On)]
			}
			out = append(out, Instance{
				Index: len(out), Tenant: t.Name, Workload: t.Workload, Stack: on, Place: places[on], Limits: t.Limits,
			})
			places[on]++
		}
	}
	return out
}

// Count returns the number of instances.
func (m Mix) Count() int {
	n := 0
	for _, t := range m.Tenants {
		n += t.Count
	}
	return n
}

// On returns the names of the stacks that the mix stands on wherever the
// experiment goes, each once; nil for a mix that is crossed with all stacks.
func (m Mix) On() []string {
	var out []string
	for _, t := range m.Tenants {
		for _, stack := range t.On[:min(t.Count, len(t.On))] {
			if !slices.Contains(out, stack) {
				out = append(out, stack)
			}
		}
	}
	return out
}

// Crossed reports whether the mix names no stacks, and so runs on those of the experiment.
func (m Mix) Crossed() bool { return len(m.Tenants[0].On) == 0 }

// Single reports whether the mix is a workload alone: one instance, without
// limits, on the host itself.
func (m Mix) Single() bool {
	return m.Count() == 1 && m.Crossed() && m.Tenants[0].Limits.None() && m.Host == nil
}

// Alone returns mixes that run one instance of each workload.
func Alone(workloads []Workload) []Mix {
	var out []Mix
	for _, w := range workloads {
		out = append(out, Mix{Name: w.Name, Tenants: []Tenant{{Name: w.Name, Workload: w.Name, Count: 1}}, Levels: w.Levels})
	}
	return out
}

// Mixed reports whether e runs anything other than single workloads under
// their own names.
func (e *Experiment) Mixed() bool {
	return slices.ContainsFunc(e.Mixes, func(m Mix) bool { return !m.Single() || m.Name != m.Tenants[0].Workload })
}

// ResultMixes returns the mixes as a run stores them; nil where every workload
// runs alone.
func (e *Experiment) ResultMixes() []result.Mix {
	if !e.Mixed() {
		return nil
	}
	var out []result.Mix
	for _, m := range e.Mixes {
		out = append(out, m.Stored())
	}
	return out
}

// Stored returns the mix in the form that results store.
func (m Mix) Stored() result.Mix {
	return result.Mix{Name: m.Name, Tenants: m.Tenants, Levels: m.Levels, Host: m.Host, Varies: m.Varies}
}

// Mix returns the mix of that name.
func (e *Experiment) Mix(name string) (m Mix, ok bool) {
	i := slices.IndexFunc(e.Mixes, func(m Mix) bool { return m.Name == name })
	if i < 0 {
		return Mix{}, false
	}
	return e.Mixes[i], true
}

// Workload returns the workload of that name.
func (e *Experiment) Workload(name string) (w Workload, ok bool) {
	i := slices.IndexFunc(e.Workloads, func(w Workload) bool { return w.Name == name })
	if i < 0 {
		return Workload{}, false
	}
	return e.Workloads[i], true
}

// WorkloadsOf returns the workloads of a mix, each once, in the order of its
// tenants.
func (e *Experiment) WorkloadsOf(m Mix) []Workload { return e.workloads().workloadsOf(m) }

// byName maps names to workloads.
type byName map[string]Workload

func (e *Experiment) workloads() byName {
	all := make(byName, len(e.Workloads))
	for _, w := range e.Workloads {
		all[w.Name] = w
	}
	return all
}

// serverMemory returns the least memory that each server of a tenant can run in; 0 where that is not known.
func (all byName) serverMemory(t Tenant) int64 {
	w, ok := all[t.Workload]
	if !ok {
		return 0
	}
	return w.Info().ServerMemory
}

// ServerMemory returns the least memory that all servers of a mix can run in together.
func (e *Experiment) ServerMemory(m Mix) (bytes int64) { return e.workloads().memoryOf(m) }

// memoryOf is ServerMemory, for those that ask it about many mixes.
func (all byName) memoryOf(m Mix) (bytes int64) {
	for _, t := range m.Tenants {
		bytes += int64(t.Count) * all.serverMemory(t)
	}
	return bytes
}

// workloadsOf returns the workloads of the mix's tenants.
func (all byName) workloadsOf(m Mix) []Workload {
	var out []Workload
	for _, t := range m.Tenants {
		w, ok := all[t.Workload]
		known := slices.ContainsFunc(out, func(other Workload) bool { return other.Name == w.Name })
		if ok && !known {
			out = append(out, w)
		}
	}
	return out
}

// TimingOf returns how long a trial of a mix takes: the longest ramp and the
// longest measured time of its workloads, since all are measured in one window.
func (e *Experiment) TimingOf(m Mix) workload.Timing { return longest(e, e.WorkloadsOf(m)) }

func longest(e *Experiment, together []Workload) workload.Timing {
	timing := e.Timing
	for i, w := range together {
		ownTiming := w.Timing(e.Timing)
		if i == 0 {
			timing = ownTiming
			continue
		}
		timing.Ramp, timing.Runtime = max(timing.Ramp, ownTiming.Ramp), max(timing.Runtime, ownTiming.Runtime)
	}
	return timing
}

// Compatible reports whether a stack and a mix make a trial. All do, unless a
// factor would have two levels at once, or the mix names its own stacks.
func Compatible(s Stack, m Mix) bool { return compatible(&s, &m) }

func compatible(s *Stack, m *Mix) bool {
	if !m.Crossed() {
		return false
	}
	for factor, level := range s.Levels {
		other, ok := m.Levels[factor]
		if ok && other != level || slices.Contains(m.varied, factor) {
			return false
		}
	}
	return true
}

// Meets reports whether instances of a mix stand on a stack in some trial.
func Meets(s Stack, m Mix) bool { return Compatible(s, m) || slices.Contains(m.On(), s.Name) }

// Need returns the space in bytes that the files of mixes need on a stack. Each place has a directory of its own,
// whose files stay for as long as the stack is up. On a raw device there are no files, and all workloads use the same
// bytes.
func (e *Experiment) Need(s Stack) int64 {
	var met []Mix
	for _, m := range e.Mixes {
		if Meets(s, m) {
			met = append(met, m)
		}
	}
	return e.workloads().need(s, met)
}

// need returns the space that the files of the mixes met need on a stack.
func (all byName) need(s Stack, met []Mix) int64 {
	type files struct {
		place  int
		layout string
	}
	layouts := map[files]int64{}
	var need int64
	add := func(f files, bytes int64) {
		if more := bytes - layouts[f]; more > 0 {
			layouts[f] += more
			need += more
		}
	}
	for _, m := range met {
		for _, i := range m.Instances(s.Name) {
			if i.Stack != s.Name {
				continue
			}
			w, ok := all[i.Workload]
			if !ok {
				continue
			}
			f := files{i.Place, w.Layout()}
			if s.Raw {
				f = files{}
			}
			add(f, w.NeedBytes())
			serving := w.Abilities().Serving
			if serving != nil { // its data is laid out once beside the places, and copied
				add(files{-1, w.Layout()}, serving.Bytes)
				add(files{-2, ""}, serving.MergeBytes) // of one server at a time
			}
		}
	}
	return need
}

// sharedDevice returns two stacks of a mix that name the same device, and that
// device: only one of them can be up at a time. ok is false when there are none.
func (e *Experiment) sharedDevice(m Mix) (one, other, device string, ok bool) {
	taken := map[string]string{}
	for _, name := range m.On() {
		i := slices.IndexFunc(e.Stacks, func(s Stack) bool { return s.Name == name })
		if i < 0 {
			continue
		}
		for _, d := range devices(e.Stacks[i].Line) {
			if first, twice := taken[d]; twice {
				return first, name, d, true
			}
			taken[d] = name
		}
	}
	return "", "", "", false
}

// prune removes the mixes whose workloads or stacks were left out, and returns
// why each is.
func (e *Experiment) prune() (leftOut []string) {
	var kept []Mix
	workloads := e.workloads()
	for _, m := range e.Mixes {
		why := e.lacks(workloads, m)
		switch {
		case why == "":
			kept = append(kept, m)
		case !m.Single() || m.Name != m.Tenants[0].Workload: // a workload alone was said to be left out
			leftOut = append(leftOut, fmt.Sprintf("mix %s: %s", m.Name, why))
		}
	}
	e.Mixes = kept
	return leftOut
}

// lacks returns what keeps a mix from being run; "" for nothing.
func (e *Experiment) lacks(workloads byName, m Mix) string {
	for _, t := range m.Tenants {
		if _, ok := workloads[t.Workload]; !ok {
			return fmt.Sprintf("its workload %s is left out", t.Workload)
		}
	}
	for _, name := range m.On() {
		if !slices.ContainsFunc(e.Stacks, func(s Stack) bool { return s.Name == name }) {
			return fmt.Sprintf("there is no stack %s to put it on", name)
		}
	}
	one, other, device, shared := e.sharedDevice(m)
	if shared {
		return fmt.Sprintf("its stacks %s and %s would both be on %s, and a device has one at a time", one, other, device)
	}
	return ""
}

// base identifies the stacks that must be up for a point: its own, or those that its mix names.
func (p Planned) base() string {
	if p.Stack != "" {
		return p.Stack
	}
	return "\x00" + strings.Join(p.On, "\x00") // no name of a stack
}
