package experiment

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/result"
	"plimsoll/internal/stack/line"
	"plimsoll/internal/units"
	"plimsoll/internal/workload"
)

// Parameter returns what an experiment says of a parameter, over all that runs in it, for people: a key of experiment
// files or of what its workloads declare, or "containers", "data" of each server, "drives", "limits" of each instance,
// and "scheduler". "" means that it says nothing of it.
func (e *Experiment) Parameter(name string) string {
	var all []string
	hosts := func(of func(result.Limits) string) {
		for _, m := range e.Mixes {
			if m.Host == nil {
				all = append(all, "the whole host")
			} else {
				all = append(all, cmp.Or(of(*m.Host), "the whole host"))
			}
		}
	}
	switch name {
	case "containers":
		for _, m := range e.Mixes {
			for _, t := range m.Tenants {
				all = append(all, strconv.Itoa(t.Count))
			}
		}
	case "runtime":
		all = append(all, e.Timing.Runtime.String())
	case "precondition":
		all = append(all, cmp.Or(e.Precondition.String(), "files once"))
	case "cpus":
		hosts(func(l result.Limits) string { return numberText(l.CPUs) })
	case "memory":
		hosts(func(l result.Limits) string { return sizeText(l.MemoryBytes) })
	case "drives":
		for _, s := range e.Stacks {
			all = append(all, line.Line{Nodes: s.Line.Nodes[:1]}.String())
		}
	case "scheduler":
		for _, s := range e.Stacks {
			for _, n := range s.Line.Nodes {
				if n.Name == name {
					all = append(all, n.Arg)
				}
			}
		}
	case "limits":
		for _, m := range e.Mixes {
			for _, t := range m.Tenants {
				all = append(all, cmp.Or(t.Limits.String(), "none"))
			}
		}
	case "data":
		for _, w := range e.Workloads {
			all = append(all, sizeText(w.NeedBytes()))
		}
	default:
		for _, w := range e.Workloads {
			all = append(all, workload.DeclaredValues(w.Info().Declared, name)...)
		}
	}
	return spread(all)
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

// spread returns different values in one text: numbers as a range, others one after the other.
func spread(all []string) string {
	var different []string
	numbers := true
	for _, text := range all {
		_, err := strconv.ParseFloat(text, 64)
		numbers = numbers && err == nil
		if text != "" && !slices.Contains(different, text) {
			different = append(different, text)
		}
	}
	if numbers && len(different) > 2 {
		slices.SortFunc(different, func(a, b string) int {
			x, _ := strconv.ParseFloat(a, 64)
			y, _ := strconv.ParseFloat(b, 64)
			return cmp.Compare(x, y)
		})
		return fmt.Sprintf("%s to %s", different[0], different[len(different)-1])
	}
	return strings.Join(different, ", ")
}
