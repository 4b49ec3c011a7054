package published

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"plimsoll/internal/finding/published/claims"
	"plimsoll/internal/result"
	"plimsoll/internal/runview"
	"plimsoll/internal/units/plural"
)

// factorMedia is the factor whose levels are kinds of drives, in an experiment on what these give a database.
const factorMedia = "media"

// media is what the levels of factorMedia stand for in papers.
var media = map[string]string{
	"hdd": "a disk", "sata": "a SATA SSD", "stripe": "a stripe of four SATA SSDs", "nvme": "an NVMe drive", "tmpfs": "memory",
}

// level returns the level of the first of some factors that the side's mix has; "" for none.
func (s side) level(factors []string) string {
	for _, f := range factors {
		if level, has := s.mix.Levels[f]; has {
			return level
		}
	}
	return ""
}

// apartFrom reports whether two sides differ in some factors alone: in their level, and in what it stands for.
func (s side) apartFrom(o side, factors []string) bool {
	remaining := func(side side) map[string]string {
		rest := maps.Clone(side.mix.Levels)
		maps.DeleteFunc(rest, func(f, _ string) bool { return slices.Contains(factors, f) })
		return rest
	}
	return s.role == o.role && s.tenant.Count == o.tenant.Count && policyOf(s.tenant) == policyOf(o.tenant) &&
		len(s.mix.Levels) == len(o.mix.Levels) && maps.Equal(remaining(s), remaining(o))
}

// ofLevels tests instances at one level of a factor against as many at another one.
func ofLevels(v *runview.View, c claims.Claim) []claimCase {
	factors := []string(c.Test.Factor)
	candidates := slices.DeleteFunc(sides(v, c.Test, 1), func(s side) bool {
		policy := policyOf(s.tenant)
		wanted := policy == runview.NoPolicy && len(c.Test.Policy) == 0 || slices.Contains(c.Test.Policy, policy)
		return s.level(factors) == "" || !wanted
	})
	level, against := c.Test.Level, ""
	if level == "" {
		level, against = extremes(candidates, factors)
	} else {
		against = c.Test.Against[0]
	}
	chosen := slices.DeleteFunc(slices.Clone(candidates), func(s side) bool { return s.level(factors) != level })
	for i, s := range chosen {
		chosen[i].instead = s.onMedia(factors, level, against)
	}
	return comparison{
		sides: chosen,
		partner: func(s side) *side {
			return first(candidates, func(o side) bool { return o.level(factors) == against && s.apartFrom(o, factors) })
		},
		caseName: "levels", unmatchedCase: "unmatched levels", lacks: against, needs: "at " + against,
		sideName:     func(s side) string { return s.mix.Name },
		subjectText:  func(c Compared) string { return c.Workload + " at " + level },
		baselineText: func(Compared) string { return "at " + against },
	}.cases(v, c, nil)
}

// extremes returns the levels with the highest and the lowest number; "" for both if fewer than two are numbers.
func extremes(sides []side, factors []string) (highest, lowest string) {
	var numbers []float64
	levelOf := map[float64]string{}
	for _, s := range sides {
		if x, err := strconv.ParseFloat(s.level(factors), 64); err == nil {
			numbers, levelOf[x] = append(numbers, x), s.level(factors)
		}
	}
	if len(levelOf) < 2 {
		return "", ""
	}
	return levelOf[slices.Max(numbers)], levelOf[slices.Min(numbers)]
}

// onMedia is what stands in for the paper's, where kinds of drives are one device that is limited to what each does.
func (s side) onMedia(factors []string, levels ...string) *Instead {
	host := s.mix.Host
	if !slices.Contains(factors, factorMedia) || host == nil || host.Read == (result.Rate{}) {
		return s.instead
	}
	in := Instead{}
	if s.instead != nil {
		in = *s.instead
	}
	in.Drives = plural.Words(levels, func(l string) string {
		if media[l] == "" {
			return l
		}
		return media[l]
	})
	return &in
}

// ofTwins tests instances on a drive of another host against as many on its twin in this one.
func ofTwins(v *runview.View, c claims.Claim) []claimCase {
	remote := slices.DeleteFunc(sides(v, c.Test, 1), func(s side) bool { return policyOf(s.tenant) != runview.NoPolicy })
	partner := func(s side) *side {
		twin := v.Twin(s.cell.Stack)
		if twin == nil {
			return nil
		}
		cell := v.Cell(twin.Name, s.mix.Name)
		if cell == nil {
			return nil
		}
		return &side{cell: cell, mix: s.mix, tenant: s.tenant, role: s.role}
	}
	return comparison{
		sides:   matched(c.Test.At, remote, func(side) bool { return true }, partner),
		partner: partner, caseName: "twins", unmatchedCase: "unmatched twins", lacks: localTwin,
		needs:        "on the same layers on a drive of this host",
		sideName:     func(s side) string { return s.cell.Stack.Name },
		subjectText:  func(c Compared) string { return c.Workload + " on " + c.Effect.Subject },
		baselineText: func(c Compared) string { return "on " + c.Effect.Baseline },
	}.cases(v, c, nil)
}

// ofHosts tests what the instances of two hosts do, each with a drive of its own, against those of one host with
// several drives. Such hosts share nothing, so that two do twice what one does.
func ofHosts(v *runview.View, c claims.Claim) []claimCase {
	candidates := sides(v, c.Test, 1)
	on := func(drives int) []side {
		return slices.DeleteFunc(slices.Clone(candidates), func(s side) bool {
			return len(s.tenant.On) != drives || policyOf(s.tenant) != runview.NoPolicy
		})
	}
	single, pair := on(1), on(2)
	partner := func(s side) *side { // a scaled-down host may have fewer of both, in the proportion of the paper's
		return first(pair, func(o side) bool {
			return o.tenant.Workload == s.tenant.Workload && sameHost(s.mix, o.mix) &&
				o.tenant.Count*c.Test.At == s.tenant.Count*c.Test.Than
		})
	}
	out := comparison{
		sides: matched(c.Test.At, single, func(s side) bool { return partner(s) != nil }, partner), partner: partner, hosts: 2,
		caseName: "hosts", unmatchedCase: "unmatched hosts", lacks: strconv.Itoa(c.Test.Than), needs: "on two drives of a host",
		sideName:     func(s side) string { return s.mix.Name },
		subjectText:  func(c Compared) string { return c.Workload + " on each of two hosts" },
		baselineText: func(c Compared) string { return fmt.Sprintf("of %d on two drives of one", c.Than) },
	}.cases(v, c, nil)
	for i := range out {
		out[i].caveats = append(out[i].caveats, newReason("caveat: one of two hosts",
			"one of the two hosts was measured, with clients of its own: two do twice what one does"))
	}
	return out
}

// sameHost reports whether two mixes run in the same scaled-down host.
func sameHost(a, b result.Mix) bool {
	return (a.Host == nil) == (b.Host == nil) && (a.Host == nil || *a.Host == *b.Host)
}
