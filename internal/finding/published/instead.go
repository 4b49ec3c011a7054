package published

import (
	"slices"
	"strings"

	"plimsoll/internal/claims"
	"plimsoll/internal/finding/fact"
	"plimsoll/internal/finding/measured"
	"plimsoll/internal/result"
	"plimsoll/internal/workload/ycsb"
)

// Instead is what instances ran in the place of what the paper's did. It can show the
// same shape as the paper's, or another one; what it measured is of another thing.
type Instead struct {
	Database string   `json:"database,omitempty"` // as people call it; "" where it is the paper's
	Of       string   `json:"of,omitempty"`       // the paper's database
	Asked    string   `json:"asked,omitempty"`    // YCSB's workload, or the run's name of it; "" where it is the paper's
	Roles    []string `json:"roles,omitempty"`    // the paper's
}

// inRole reports whether a workload of the run is of one of some roles, which, and what of
// it stands in for the paper's; instead is nil for nothing.
func inRole(v *measured.View, t *claims.Test, workload string, roles ...string) (role string, instead *Instead, ok bool) {
	asked, database := v.Asked(workload)
	if !database {
		at := slices.IndexFunc(roles, func(role string) bool { return isPattern(v, workload, role) })
		if at < 0 {
			return "", nil, false
		}
		return roles[at], nil, true
	}
	of := slices.DeleteFunc(slices.Clone(roles), func(role string) bool { return patterns[role] != "" })
	if len(of) == 0 {
		return "", nil, false
	}
	var in Instead
	if !strings.EqualFold(asked.Database, t.Software) {
		in.Database, in.Of = measured.DatabaseTitle(asked.Database), t.Software
	}
	at := slices.IndexFunc(of, func(role string) bool { return role == claims.AnyDatabase || roleOf(asked) == role })
	switch {
	case at >= 0:
		role = of[at]
	case t.Others:
		role, in.Roles, in.Asked = of[0], of, roleOf(asked)
		if in.Asked == "" {
			in.Asked = workload
		}
	default:
		return "", nil, false
	}
	if in.Database == "" && in.Asked == "" {
		return role, nil, true
	}
	return role, &in, true
}

// roleOf is the role of what a database is asked for; "" for none.
func roleOf(l ycsb.Load) string {
	if l.Mix[ycsb.Update] == 1 {
		return claims.Updates
	}
	return l.Called()
}

// isPattern reports whether a workload of the run is fio's of a role, in whatever blocks.
func isPattern(v *measured.View, workload, role string) bool {
	return patterns[role] != "" && slices.ContainsFunc(v.Run.Workloads, func(w result.Workload) bool {
		return w.Name == workload && w.Pattern == patterns[role]
	})
}

// onStacks reports whether all stacks that a tenant runs on are those of a claim.
func onStacks(v *measured.View, t *claims.Test, stack string, of result.Tenant) bool {
	names := of.On
	if len(names) == 0 {
		names = []string{stack}
	}
	on := subjects(v, t)
	for _, name := range names {
		if !slices.ContainsFunc(on, func(s subject) bool { return s.Name == name }) {
			return false
		}
	}
	return true
}

// noPolicy is the policy of instances without limits of their own.
const noPolicy = "none"

// policyOf is the policy that gave a tenant its limits; "" where it has others.
func policyOf(t result.Tenant) string {
	if t.Policy == "" && t.Limits == (result.Limits{}) {
		return noPolicy
	}
	return t.Policy
}

// asShape is a verdict on what was measured in the place of what a claim is about.
func asShape(v fact.ClaimVerdict) fact.ClaimVerdict {
	switch v {
	case fact.ClaimConfirmed:
		return fact.ClaimSameShape
	case fact.ClaimContradicted:
		return fact.ClaimOtherShape
	}
	return v
}
