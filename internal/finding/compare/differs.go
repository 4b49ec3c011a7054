package compare

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/result"
	"plimsoll/internal/runview"
	"plimsoll/internal/units/plural"
)

// Difference is a fact that is not the same in both runs, and may be why
// their numbers are not. "" is not known.
type Difference struct {
	What   string   `json:"what"` // "kernel"
	A      string   `json:"a"`
	B      string   `json:"b"`
	Stacks []string `json:"stacks,omitempty"` // of A, which it concerns; none for all
}

// differences lists what differs: the environment first, then the devices and
// the facts of stacks that were paired.
func differences(a, b *result.Run, pairs []comparedPair) []Difference {
	out := []Difference{}
	add := func(stack, what, a, b string) {
		if a == b {
			return
		}
		i := slices.IndexFunc(out, func(d Difference) bool { return d.What == what && d.A == a && d.B == b })
		if i < 0 {
			i = len(out)
			out = append(out, Difference{What: what, A: a, B: b})
		}
		if stack != "" {
			out[i].Stacks = runview.AddNew(out[i].Stacks, stack)
		}
	}
	known, other := environment(a), environment(b)
	for i, f := range known {
		add("", f.Name, f.Value, other[i].Value)
	}
	for _, p := range pairs {
		ours, theirs := mixFacts(a, p.a.workload), mixFacts(b, p.b.workload)
		for _, f := range ours {
			add("", f.Name, f.Value, valueOf(theirs, f.Name))
		}
		for _, f := range theirs {
			if valueOf(ours, f.Name) == "" {
				add("", f.Name, "", f.Value)
			}
		}
	}
	for _, p := range pairs {
		if p.a.shape.line == "" {
			add("", "files or devices", p.a.stack.Name, p.b.stack.Name)
		}
		ours, theirs := facts(a, p.a.stack), facts(b, p.b.stack)
		for _, f := range ours {
			add(p.a.stack.Name, f.Name, f.Value, valueOf(theirs, f.Name))
		}
		for _, f := range theirs {
			if !slices.ContainsFunc(ours, func(o result.Fact) bool { return o.Name == f.Name }) {
				add(p.a.stack.Name, f.Name, "", f.Value)
			}
		}
	}
	return out
}

// environment returns the same facts, in the same order, of every run.
func environment(run *result.Run) []result.Fact {
	e := run.Environment
	return []result.Fact{
		{Name: "host", Value: e.Hostname},
		{Name: "kernel", Value: e.Kernel},
		{Name: "OS", Value: e.OS},
		{Name: "fio", Value: e.FioVersion},
		{Name: "Docker", Value: e.DockerVersion},
		{Name: "CPU", Value: e.CPUModel},
		{Name: "CPUs", Value: positive(uint64(max(0, e.CPUs)), "")},
		{Name: "CPU governor", Value: e.Governor},
		{Name: "memory", Value: positive(e.MemoryBytes, " bytes")},
		{Name: "virtualization", Value: e.Virtualization},
		{Name: "cgroups", Value: e.CgroupVersion},
		{Name: "plimsoll", Value: run.Version},
		{Name: "images", Value: images(run)},
		{Name: "clients", Value: clients(run)},
	}
}

// clients is where the load was generated.
func clients(run *result.Run) string {
	if c := run.Experiment.Clients; c != nil {
		return c.Host
	}
	return "its own host"
}

// images are those of a run's servers, in one line.
func images(run *result.Run) string {
	var all []string
	for _, i := range run.Images() {
		all = append(all, i.String())
	}
	return strings.Join(all, "; ")
}

// mixFacts are the servers of a mix, and what it runs within: the scaled-down host, and the limits of each tenant.
func mixFacts(run *result.Run, w result.Workload) (facts []result.Fact) {
	of, _ := workloadsOf(run, w)
	for _, w := range of {
		if _, server := parametersOf(w); server != "" {
			facts = append(facts, result.Fact{Name: "server of " + w.Name, Value: server})
		}
	}
	at := slices.IndexFunc(run.Mixes, func(m result.Mix) bool { return m.Name == w.Name })
	if at < 0 {
		return facts
	}
	m := run.Mixes[at]
	if m.Host != nil {
		facts = append(facts, result.Fact{Name: "miniature", Value: m.Host.String()})
	}
	for _, t := range m.Tenants {
		if !t.Limits.None() {
			facts = append(facts, result.Fact{Name: "limits of each " + t.Name, Value: t.Limits.String()})
		}
	}
	return facts
}

func positive(n uint64, unit string) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatUint(n, 10) + unit
}

// identifier is what file systems are given anew whenever they are made.
var identifier = regexp.MustCompile(`[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}`)

// facts are those that were read back of a stack, and of the devices under
// it. Names that the kernel hands out as they come (loop5) give way to what
// the device is to the stack.
func facts(run *result.Run, s *runview.Stack) []result.Fact {
	var renamed []string
	var out []result.Fact
	for i, d := range s.Devices {
		role := "the " + d.Role + " device"
		if d.Role == "under" {
			role = fmt.Sprintf("device %d from the top", i+1)
		}
		renamed = append(renamed, "/dev/"+d.Name, role, d.Name, role)
		for _, info := range run.Environment.Devices {
			if info.MajMin != d.MajMin {
				continue
			}
			out = append(out,
				result.Fact{Name: "model of " + role, Value: info.Model},
				result.Fact{Name: "serial of " + role, Value: info.Serial},
				result.Fact{Name: "firmware of " + role, Value: info.Firmware},
				result.Fact{Name: "size of " + role, Value: positive(info.SizeBytes, " bytes")},
				result.Fact{Name: "write cache of " + role, Value: info.WriteCache})
		}
	}
	plain := strings.NewReplacer(renamed...)
	for _, f := range s.Facts {
		out = append(out, result.Fact{Name: plain.Replace(f.Name), Value: identifier.ReplaceAllString(plain.Replace(f.Value), "UUID")})
	}
	return out
}

func valueOf(facts []result.Fact, name string) string {
	for _, f := range facts {
		if f.Name == name {
			return f.Value
		}
	}
	return ""
}

// notes say what else limits a comparison.
func notes(a, b *result.Run, pairs []comparedPair) []string {
	out := []string{}
	if a.ID == b.ID && a.ID != "" {
		out = append(out, "A and B are the same run")
	}
	for _, r := range []struct {
		name string
		run  *result.Run
	}{{"A", a}, {"B", b}} {
		if r.run.Status != result.RunComplete {
			out = append(out, fmt.Sprintf("%s is not complete: it is under way, or was interrupted", r.name))
		}
	}
	for _, r := range []struct {
		name string
		of   func(comparedPair) *unit
	}{
		{"A", func(p comparedPair) *unit { return p.a }},
		{"B", func(p comparedPair) *unit { return p.b }},
	} {
		var unchecked []string
		for _, p := range pairs {
			u := r.of(p)
			what, done := u.stack.Name+" under "+u.workload.Name, 0
			if u.cell != nil {
				done = len(u.cell.Trials)
				if u.cell.Source() == result.SourceUnknown {
					unchecked = append(unchecked, what)
				}
			}
			if done < u.tried {
				out = append(out, fmt.Sprintf("%d of %s of %s did not finish in %s", u.tried-done, plural.Count(u.tried, "trial"), what, r.name))
			}
		}
		if len(unchecked) > 0 {
			out = append(out, fmt.Sprintf("no device counter of %s could be read in %s: these numbers are not checked", plural.And(unchecked), r.name))
		}
	}
	return out
}
