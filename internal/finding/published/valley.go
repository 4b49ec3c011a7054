package published

import (
	"slices"

	"plimsoll/internal/claims"
	"plimsoll/internal/finding/fact"
	"plimsoll/internal/finding/loadline"
	"plimsoll/internal/finding/measured"
	"plimsoll/internal/result"
)

// patterns are the workloads that a role of a claim stands for, by fio's rw.
var patterns = map[string]string{"RR": "randread", "RW": "randwrite", "SR": "read", "SW": "write"}

// valley tests whether the throughput of readers through the page cache falls once there are so many
// that their files outgrow the memory. How many these are is a matter of the host and
// the files, so the published number is not held against the one here. Only a run with
// mixes of several instances is about that.
func valley(v *measured.View, c claims.Claim) (out []claimCase) {
	for _, s := range v.Scalings() {
		_, instead, ok := inRole(v, c.Test, s.Workload, c.Test.Roles...)
		if !ok || !onStacks(v, c.Test, s.Stack.Name, tenantOf(v, s.Cells[0].Workload.Name)) || !throughCache(v, s.Workload) {
			continue
		}
		k := valleyOf(v, s)
		k.instead = instead
		out = append(out, k)
	}
	return out
}

// throughCache reports whether a workload goes through the page cache, as databases may.
func throughCache(v *measured.View, workload string) bool {
	at := slices.IndexFunc(v.Run.Workloads, func(w result.Workload) bool { return w.Name == workload })
	_, database := v.Asked(workload)
	return at >= 0 && (database || measured.Buffered(v.Run.Workloads[at]))
}

func valleyOf(v *measured.View, s measured.Scaling) claimCase {
	f := loadline.CurveOf(v, s)
	k := claimCase{stacks: []string{s.Stack.Name}, workload: s.Workload, evidence: s.Cells}
	first, last := f.Points[0], f.Points[len(f.Points)-1]
	told := Instances{Workload: s.Workload, Most: last.Instances, Valley: f.Valley}
	k.measured = fact.Remark{Case: "instances", Facts: told}
	switch {
	case f.Open != "":
		k.judgement, k.measured.Case = noCurve(f.Open), "open curve"
	case f.Valley != nil && f.Valley.Cause == loadline.CauseMemory:
		k.judgement = judge(fact.ClaimConfirmed, "outgrown memory", told)
	case f.Valley != nil:
		k.judgement = notTestable("other valley", nil)
	case last.CacheBytes >= outgrown*first.CacheBytes:
		k.judgement = notTestable("all fit", told)
	default:
		k.judgement = judge(fact.ClaimContradicted, "no valley", nil)
	}
	return k
}

// Instances is what more instances of a workload do together.
type Instances struct {
	Workload string           `json:"workload"`
	Most     int              `json:"most"` // that were measured
	Valley   *loadline.Valley `json:"valley,omitempty"`
}

// outgrown is the share of what one container has in the page cache that each of many
// has at least where all fit.
const outgrown = 0.9
