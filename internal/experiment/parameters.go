package experiment

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/result"
	"plimsoll/internal/stack/line"
	"plimsoll/internal/units"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/ycsb"
)

// Parameter returns the values of a parameter over all points of an experiment, as text. name is a key of experiment
// files or of what the workloads declare, or "containers", "data" of each server, "drives", "limits" of each instance,
// or "scheduler". "" means that the experiment does not set the parameter.
func (e *Experiment) Parameter(name string) string { return Spread(e.ParameterValues(name)) }

// ParameterValues returns the different values of a parameter, as Parameter names it, in the order of the points.
func (e *Experiment) ParameterValues(name string) (texts []string) {
	hosts := func(text func(result.Limits) string) {
		for _, m := range e.Mixes {
			if m.Host == nil {
				texts = append(texts, "the whole host")
			} else {
				texts = append(texts, cmp.Or(text(*m.Host), "the whole host"))
			}
		}
	}
	switch name {
	case "containers":
		for _, m := range e.Mixes {
			for _, t := range m.Tenants {
				texts = append(texts, strconv.Itoa(t.Count))
			}
		}
	case "share":
		for _, m := range e.Mixes {
			for _, t := range m.Tenants {
				if t.Share > 0 {
					texts = append(texts, shareText(t.Share))
				}
			}
		}
	case "runtime":
		texts = append(texts, e.Timing.Runtime.String())
	case "operations":
		if e.Operations > 0 {
			texts = append(texts, strconv.FormatInt(e.Operations, 10))
		}
	case "ramp":
		texts = append(texts, e.Timing.Ramp.String())
	case "precondition":
		texts = append(texts, cmp.Or(e.Precondition.String(), "files once"))
	case "cpus":
		hosts(func(l result.Limits) string { return numberText(l.CPUs) })
	case "memory":
		hosts(func(l result.Limits) string { return sizeText(l.MemoryBytes) })
	case "drives":
		for _, s := range e.Stacks {
			texts = append(texts, line.Line{Nodes: s.Line.Nodes[:1]}.String())
		}
	case "scheduler":
		for _, s := range e.Stacks {
			for _, n := range s.Line.Nodes {
				if n.Name == name {
					texts = append(texts, n.Arg)
				}
			}
		}
	case "limits":
		for _, m := range e.Mixes {
			for _, t := range m.Tenants {
				texts = append(texts, cmp.Or(t.Limits.String(), "none"))
			}
		}
	case "distribution":
		texts = e.distributions()
	case "data":
		for _, w := range e.Workloads {
			texts = append(texts, sizeText(w.NeedBytes()))
		}
	default:
		for _, w := range e.Workloads {
			texts = append(texts, workload.DeclaredValues(w.Info().Declared, name)...)
		}
	}
	return different(texts)
}

// distributions returns the distribution of requests over records, of workloads that differ in it with their names.
func (e *Experiment) distributions() (texts []string) {
	var names []string
	for _, w := range e.Workloads {
		l, ok := ycsb.LoadOf(w.Info().Declared)
		if !ok || l.Mix[ycsb.NewOrder] > 0 {
			continue
		}
		names, texts = append(names, w.Name), append(texts, string(l.Distribution))
	}
	if len(different(texts)) < 2 {
		return texts
	}
	for i, name := range names {
		texts[i] = name + " " + texts[i]
	}
	return texts
}

// Assumed returns the names of parameters that the paper's set-up does not state, and that an experiment with servers
// sets to other values than the defaults of its servers' layout: of the servers, of their loads, and of the trials.
func (e *Experiment) Assumed(stated []string) (names []string) {
	for _, w := range e.Workloads {
		serving := w.Abilities().Serving
		if serving == nil {
			continue
		}
		for _, key := range workload.DeclaredKeys(w.Info().Declared) {
			if !slices.Contains(notAssumed, key) && (serving.Layout == nil || !serving.Layout.IsDefault(key)) {
				names = append(names, key)
			}
		}
	}
	if len(names) == 0 {
		return nil
	}
	if e.Timing.Ramp > 0 {
		names = append(names, "ramp")
	}
	if e.Operations > 0 {
		names = append(names, "operations") // runtime is but the longest time
	} else {
		names = append(names, "runtime")
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(n string) bool { return slices.Contains(stated, n) })
}

// notAssumed are parameters that say which workload and which server it is.
var notAssumed = []string{"workload", "image", "layout"}

// Layouts returns the layouts of an experiment's servers, each once.
func (e *Experiment) Layouts() (all []*workload.ServerLayout) {
	for _, w := range e.Workloads {
		serving := w.Abilities().Serving
		if serving == nil || serving.Layout == nil {
			continue
		}
		same := func(l *workload.ServerLayout) bool {
			return l.Server == serving.Layout.Server && l.Version == serving.Layout.Version
		}
		if !slices.ContainsFunc(all, same) {
			all = append(all, serving.Layout)
		}
	}
	return all
}

func numberText(n float64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatFloat(n, 'f', -1, 64)
}

func sizeText(bytes int64) string {
	if bytes <= 0 {
		return ""
	}
	return units.Bytes(uint64(bytes))
}

// Spread returns different values in one text: numbers as a range, others one after the other.
func Spread(values []string) string {
	isText := func(v string) bool {
		_, err := strconv.ParseFloat(v, 64)
		return err != nil
	}
	if slices.ContainsFunc(values, isText) || len(values) <= 2 {
		return strings.Join(values, ", ")
	}
	inOrder := func(a, b string) int {
		x, _ := strconv.ParseFloat(a, 64)
		y, _ := strconv.ParseFloat(b, 64)
		return cmp.Compare(x, y)
	}
	return fmt.Sprintf("%s to %s", slices.MinFunc(values, inOrder), slices.MaxFunc(values, inOrder))
}

// different returns each text once, and no empty one.
func different(texts []string) (once []string) {
	for _, text := range texts {
		if text != "" && !slices.Contains(once, text) {
			once = append(once, text)
		}
	}
	return once
}

// shareText writes a share of a host as figures do: 1/8 for an eighth, else in percent.
func shareText(share float64) string {
	if parts := math.Round(1 / share); math.Abs(share*parts-1) < 1e-9 {
		return fmt.Sprintf("1/%.0f", parts)
	}
	return units.Setting(share)
}
