package experiment

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"plimsoll/internal/plural"
	"plimsoll/internal/result"
	"plimsoll/internal/suggest"
)

// policyPart is a resource of a policy: a limit of which each instance gets its share
// of what the miniature host has.
type policyPart struct {
	name  string
	needs string // of host, where it has none of it
	give  func(to *result.Limits, host result.Limits, share float64) (some bool)
}

// policyParts are the resources that policies are named after, as the studies name them.
var policyParts = []policyPart{
	{"cpu", "cpus", func(to *result.Limits, host result.Limits, share float64) bool {
		to.CPUs = share * host.CPUs
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
	policyText = "none, cpu, mem, bw, some of them joined by +, or all"
)

// shareOf returns a share of a rate: at least 1 of what is limited.
func shareOf(r result.Rate, share float64) result.Rate {
	part := func(n int64) int64 {
		if n == 0 {
			return 0
		}
		return max(1, int64(share*float64(n)))
	}
	return result.Rate{BytesPerSecond: part(r.BytesPerSecond), OperationsPerSecond: part(r.OperationsPerSecond)}
}

// policy is what a tenant says of its instances' shares of the host.
type policy struct {
	at    *yaml.Node // nil for a tenant that says nothing
	parts []policyPart
	share float64 // of each instance; 0 for an equal one
}

// policy reads the resources of a policy: "cpu+mem".
func (p *parser) policy(n *yaml.Node, who string) (parts []policyPart) {
	known := []string{noPolicy}
	for _, part := range policyParts {
		known = append(known, part.name)
	}
	known = append(known, allOfThem)
	if n.Kind != yaml.ScalarNode || n.Value == "" {
		p.Problem(n, fmt.Sprintf("policy of %s is %s", who, describe(n)), "write "+policyText)
		return nil
	}
	switch n.Value {
	case noPolicy:
		return nil
	case allOfThem:
		return policyParts
	}
	for name := range strings.SplitSeq(n.Value, "+") {
		at := slices.IndexFunc(policyParts, func(part policyPart) bool { return part.name == strings.TrimSpace(name) })
		if at < 0 {
			remedy := suggest.DidYouMean(name, known)
			if remedy == "" {
				remedy = "write " + policyText
			}
			p.Problem(n, fmt.Sprintf("%s has no policy %q", who, name), remedy)
			return nil
		}
		parts = append(parts, policyParts[at])
	}
	return parts
}

// share reads what part of the host an instance gets: "1/8" or 0.125.
func (p *parser) share(n *yaml.Node, who string) float64 {
	of, under, fraction := strings.Cut(n.Value, "/")
	share, err := strconv.ParseFloat(strings.TrimSpace(of), 64)
	if fraction && err == nil {
		var whole float64
		whole, err = strconv.ParseFloat(strings.TrimSpace(under), 64)
		share /= whole
	}
	if n.Kind != yaml.ScalarNode || err != nil || !(share > 0 && share <= 1) {
		p.Problem(n, fmt.Sprintf("share of %s is a part of the host, not %s", who, describe(n)), "write 1/8")
		return 0
	}
	return share
}

// checkPolicy notes a share that nothing is shared of.
func (p *parser) checkPolicy(n *yaml.Node, who string, has policy) {
	if has.at == nil && has.share > 0 {
		p.Problem(n, who+" has a share and no policy", "add policy: all, or remove share")
	}
}

// applyPolicies gives the tenants of a mix the limits of their policies. A limit that
// a tenant has of its own stays.
func (r *mixReader) applyPolicies(of string, m *Mix, policies []policy) {
	count := m.Count()
	for i := range m.Tenants {
		t, has := &m.Tenants[i], policies[i]
		if has.at == nil || len(has.parts) == 0 || t.Count == 0 {
			continue
		}
		share := has.share
		if share == 0 {
			share = 1 / float64(count)
		}
		if m.Host == nil && r.asked.host.None {
			r.Problem(has.at, fmt.Sprintf("tenant %s of %s gets a share of the host, and --host none leaves none to have a "+
				"share of", t.Name, of),
				"add --host-cpus, --host-memory and --host-read-iops, of what the policies are to share")
			continue
		}
		if m.Host == nil {
			r.Problem(has.at, fmt.Sprintf("tenant %s of %s has a policy, and there is no host to have a share of", t.Name, of),
				"add host: {cpus: 2, memory: 1GiB, read-iops: 2000}, or give the tenant limits")
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
			r.Problem(has.at, fmt.Sprintf("tenant %s of %s gets a share of what the host does not say that it has", t.Name, of),
				"give host "+plural.And(lacks)+", or take another policy")
		case given.MemoryBytes > 0 && given.MemoryBytes < leastMemory:
			r.Problem(has.at, fmt.Sprintf("tenant %s of %s: a share of the host's memory is less than a container takes",
				t.Name, of),
				"take fewer instances, or a host with more memory")
		default:
			t.Limits = given.With(t.Limits)
		}
	}
}
