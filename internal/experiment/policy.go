package experiment

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"plimsoll/internal/field"
	"plimsoll/internal/problem/suggest"
	"plimsoll/internal/result"
	"plimsoll/internal/units/plural"
)

// policyPart is a resource of a policy: a limit of which each instance gets its share of the scaled-down host.
type policyPart struct {
	name  string
	needs string // the remedy where the host has no such limit
	give  func(to *result.Limits, host result.Limits, share float64) (some bool)
}

// policyParts are the resources that policies are named after, as the studies name them.
var policyParts = []policyPart{
	{"cpu", "cpus", func(to *result.Limits, host result.Limits, share float64) bool {
		to.CPUs = share * host.CPUs
		return host.CPUs > 0
	}},
	{"pin", "cpus", func(to *result.Limits, host result.Limits, share float64) bool {
		to.Pinned = int(share * host.CPUs)
		return host.CPUs > 0
	}},
	{"mem", "memory", func(to *result.Limits, host result.Limits, share float64) bool {
		to.MemoryBytes = int64(share * float64(host.MemoryBytes))
		return host.MemoryBytes > 0
	}},
	{"bw", "read-iops, write-iops or a bandwidth", func(to *result.Limits, host result.Limits, share float64) bool {
		to.Read, to.Write = shareOf(host.Read, share), shareOf(host.Write, share)
		return host.Read != result.Rate{} || host.Write != result.Rate{}
	}},
}

const (
	noPolicy   = "none"
	allOfThem  = "all"
	policyText = "none, cpu, pin, mem, bw, some of them joined by +, or all, which is cpu+mem+bw"
)

// shareOf returns a share of a rate: at least 1 where it is limited.
func shareOf(r result.Rate, share float64) result.Rate {
	part := func(n int64) int64 {
		if n == 0 {
			return 0
		}
		return max(1, int64(share*float64(n)))
	}
	return result.Rate{BytesPerSecond: part(r.BytesPerSecond), OperationsPerSecond: part(r.OperationsPerSecond)}
}

// policy defines the shares of a tenant's instances of the host.
type policy struct {
	node  *yaml.Node // nil for a tenant without a policy
	parts []policyPart
	share float64 // of each instance; 0 for an equal one
}

// policy reads the resources of a policy: "cpu+mem".
func (p *parser) policy(n *yaml.Node, subject string) (parts []policyPart) {
	known := []string{noPolicy}
	for _, part := range policyParts {
		known = append(known, part.name)
	}
	known = append(known, allOfThem)
	if n.Kind != yaml.ScalarNode || n.Value == "" {
		p.Problem(n, fmt.Sprintf("policy of %s is %s", subject, describe(n)), "write "+policyText)
		return nil
	}
	switch n.Value {
	case noPolicy:
		return nil
	case allOfThem:
		return slices.DeleteFunc(slices.Clone(policyParts), func(part policyPart) bool { return part.name == "pin" })
	}
	for name := range strings.SplitSeq(n.Value, "+") {
		i := slices.IndexFunc(policyParts, func(part policyPart) bool { return part.name == strings.TrimSpace(name) })
		if i < 0 {
			remedy := suggest.DidYouMean(name, known)
			if remedy == "" {
				remedy = "write " + policyText
			}
			p.Problem(n, fmt.Sprintf("%s has no policy %q", subject, name), remedy)
			return nil
		}
		parts = append(parts, policyParts[i])
	}
	return parts
}

// aShare parses an instance's share of the host.
var aShare = field.Share("1/8", "above 0% and up to 100%", func(share float64) bool { return share > 0 && share <= 1 })

// checkPolicy notes a share that nothing is shared of.
func (p *parser) checkPolicy(n *yaml.Node, who string, has policy) {
	if has.node == nil && has.share > 0 {
		p.Problem(n, who+" has a share and no policy", "add policy: all, or remove share")
	}
}

// applyPolicies sets the limits of tenants by their policies. A tenant's own limits stay.
func (r *mixReader) applyPolicies(subject string, m *Mix, policies []policy) {
	count := m.Count()
	for i := range m.Tenants {
		t, has := &m.Tenants[i], policies[i]
		if has.node == nil || len(has.parts) == 0 || t.Count == 0 {
			continue
		}
		share := has.share
		if share == 0 {
			share = 1 / float64(count)
		}
		if m.Host == nil && r.asked.host.None {
			r.Problem(has.node, fmt.Sprintf("tenant %s of %s gets a share of the host, and --no-limits leaves none to have a "+
				"share of", t.Name, subject),
				"add --host cpus=N,memory=SIZE,read-iops=N, which the policies share")
			continue
		}
		if m.Host == nil {
			r.Problem(has.node, fmt.Sprintf("tenant %s of %s has a policy, and there is no host to have a share of", t.Name,
				subject), "add host: {cpus: 2, memory: 1GiB, read-iops: 2000}, or give the tenant limits")
			continue
		}
		var given result.Limits
		var lacks []string
		for _, part := range has.parts {
			if !part.give(&given, *m.Host, share) {
				lacks = append(lacks, part.needs)
			}
		}
		switch {
		case len(lacks) > 0:
			r.Problem(has.node, fmt.Sprintf("tenant %s of %s gets a share of what the host does not say that it has", t.Name,
				subject), "give host "+plural.And(lacks)+", or take another policy")
		case given.Pinned == 0 && slices.ContainsFunc(has.parts, func(part policyPart) bool { return part.name == "pin" }):
			r.Problem(
				has.node,
				fmt.Sprintf("tenant %s of %s: a share of the host's %g processors is less than one to be pinned to",
					t.Name, subject, m.Host.CPUs),
				"take fewer instances, a larger share, or policy: cpu, which limits the time",
			)
		case given.MemoryBytes > 0 && given.MemoryBytes < leastMemory:
			r.Problem(has.node, fmt.Sprintf("tenant %s of %s: a share of the host's memory is less than a container takes",
				t.Name, subject),
				"take fewer instances, or a host with more memory")
		default:
			t.Limits = given.With(t.Limits)
		}
	}
}
