package published

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/finding/published/claims"
	"plimsoll/internal/result"
	"plimsoll/internal/runview"
	"plimsoll/internal/workload"
)

const lengthOfTrial = "length of a trial"

// compared are the parameters of a database that are compared with a paper's, in the order in which they are said, and
// what a paper had that does not give one; "" for those that are compared only with a paper that gives them.
var compared = []struct{ name, otherwise string }{
	{"version", ""}, {"records", ""}, {"warehouses", ""}, {"distribution", ""}, {"threads", ""}, {"think", "none"},
	{"heap", "not given"}, {"innodb_buffer_pool_size", ""}, {"share", ""}, {lengthOfTrial, ""},
}

// unlikePaper returns in which parameters, and in which scaled-down host, a database here differs from the paper's;
// nothing of claims that are about no database.
func unlikePaper(v *runview.View, c claims.Claim, cells []*runview.Cell) (out []Reason) {
	if c.Test.Software == "" {
		return nil
	}
	host := "" // the scaled-down one; "" for the whole host
	for _, cell := range cells {
		m, _ := v.Run.Mix(cell.Workload.Name)
		if m.Host != nil {
			host = m.Host.String()
		}
	}
	paper := papersValues(c)
	var differences []string
	for _, p := range compared {
		declared := declaredHere(v, c, cells, p.name)
		papers := cmp.Or(paper(p.name), p.otherwise)
		if len(declared) == 0 || papers == "" || (claims.Parameter{Name: p.name, Value: papers}).Agrees(declared) {
			continue
		}
		differences = append(differences, fmt.Sprintf("%s %s here, %s in the paper", p.name, strings.Join(declared, ", "),
			papers))
	}
	if host != "" {
		differences = append(differences, "a scaled-down host of "+host)
	}
	if len(differences) == 0 {
		return nil
	}
	return []Reason{newReason("caveat: other scale", "%s", strings.Join(differences, "; "))}
}

// papersValues returns what a paper had for a parameter where it published a claim; "" for what it does not give.
func papersValues(c claims.Claim) func(name string) string {
	had, setup := claims.HadOf(c.ID), claims.SetupOf(c.Paper)
	return func(name string) string {
		switch name {
		case "version":
			return setup.Value(strings.ToLower(c.Test.Software))
		case "share":
			if len(c.Test.Policy) == 0 {
				return ""
			}
		case lengthOfTrial:
			if operations := had.Value("operations"); operations != "" {
				return operations + " operations of each server"
			}
			return had.Value("runtime")
		case "distribution":
			var papers []string
			for _, role := range c.Test.About() {
				if of := distributionsOf(c.Test, role); of != nil {
					papers = append(papers, role+" "+strings.Join(of, " or "))
				}
			}
			return strings.Join(papers, ", ")
		}
		return had.Value(name)
	}
}

// declaredHere returns the different values of a parameter that the instances of cells have; of distributions, those
// that are not the paper's.
func declaredHere(v *runview.View, c claims.Claim, cells []*runview.Cell, name string) (values []string) {
	for _, cell := range cells {
		m, _ := v.Run.Mix(cell.Workload.Name)
		for _, t := range m.Tenants {
			w, _ := v.Run.Workload(t.Workload)
			asked, isDatabase := v.Asked(t.Workload)
			if !isDatabase {
				continue
			}
			switch name {
			case "version":
				if w.Image != nil && strings.EqualFold(runview.DatabaseTitle(asked.Database), c.Test.Software) {
					values = append(values, w.Image.Version)
				}
			case "distribution":
				role := roleOf(asked)
				papers := distributionsOf(c.Test, role)
				if role != claims.TPCC && !slices.Contains(papers, string(asked.Distribution)) {
					values = append(values, strings.TrimSpace(role+" "+string(asked.Distribution)))
				}
			case "share":
				values = append(values, shareOf(t, m.Host))
			case lengthOfTrial:
				seconds := v.Run.Experiment.RuntimeSeconds
				if seconds > 0 {
					values = append(values, time.Duration(seconds*float64(time.Second)).String())
				}
			default:
				values = append(values, workload.DeclaredValues(w.Declared, name)...)
			}
		}
	}
	values = slices.DeleteFunc(values, func(value string) bool { return value == "" })
	slices.Sort(values)
	return slices.Compact(values)
}

// shareOf returns the largest share of a scaled-down host that a tenant's limits leave to each instance: "1/4". It
// returns "" without a policy, and of the whole host, whose processors, memory and drives the limits do not name.
func shareOf(t result.Tenant, host *result.Limits) string {
	if host == nil || policyOf(t) == runview.NoPolicy {
		return ""
	}
	share := 0.0
	add := func(of, all float64) {
		if of > 0 && all > 0 {
			share = max(share, of/all)
		}
	}
	add(t.Limits.CPUs, host.CPUs)
	add(float64(t.Limits.Pinned), host.CPUs)
	add(float64(t.Limits.MemoryBytes), float64(host.MemoryBytes))
	add(float64(t.Limits.Read.OperationsPerSecond), float64(host.Read.OperationsPerSecond))
	add(float64(t.Limits.Read.BytesPerSecond), float64(host.Read.BytesPerSecond))
	if share == 0 {
		return ""
	}
	parts := 1 / share
	if whole := math.Round(parts); math.Abs(parts-whole) < 0.02*parts {
		return "1/" + strconv.Itoa(int(whole))
	}
	return strconv.FormatFloat(share, 'g', 2, 64)
}
