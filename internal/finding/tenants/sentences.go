package tenants

import (
	"fmt"
	"strings"

	"plimsoll/internal/finding/fact"
	"plimsoll/internal/finding/prose"
	"plimsoll/internal/stats"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
)

// verdict is the first sentence of a run that asks for nothing else.
func (f *Facts) verdict(sure fact.Confidence) string {
	if sure == fact.TooEarly {
		return "Too early to say what tenants do to each other: " + f.early()
	}
	return prose.Capital(string(sure)) + ": " + f.whoSuffers()
}

// early says why nothing can be told yet.
func (f *Facts) early() string {
	switch {
	case !f.Known():
		return fmt.Sprintf("none of %s was measured alone under the same limits: add a mix of each alone", plural.And(f.unknown))
	case f.open && f.few >= stats.FewestPairs:
		return fmt.Sprintf("it takes %d setups beside each other and alone in the same rounds to separate effects from chance, and some "+
			"have only %d", stats.FewestPairs, f.paired)
	case f.open:
		return fmt.Sprintf("it takes %d setups to separate effects from chance, and some have only %d", stats.FewestPairs, f.few)
	}
	return "trials differ too much to decide"
}

// whoSuffers says who loses most, to whom, and why; and two that lose less.
func (f *Facts) whoSuffers() string {
	switch {
	case !f.Known():
		return "what tenants lose beside each other is not known: " + f.early()
	case len(f.lose) > 0:
		first := f.lose[0]
		said := fmt.Sprintf("%s keeps %s of its throughput beside %s", first.Tenant, units.Percent(first.Rate.Ratio), first.others()) +
			first.since()
		if also := f.lose[1:min(3, len(f.lose))]; len(also) > 0 {
			said += "; " + plural.List(also, func(s Share) string {
				return fmt.Sprintf("%s %s beside %s", s.Tenant, units.Percent(s.Rate.Ratio), s.others())
			})
		}
		if len(f.wait) > 0 {
			said += "; p99 of " + f.wait[0].waits()
		}
		return said
	case len(f.wait) > 0 && len(f.noisy) > 0:
		return "whether a tenant loses throughput is not known, and p99 of " + f.wait[0].waits() + f.wait[0].since()
	case len(f.wait) > 0:
		return "no tenant loses throughput, and p99 of " + f.wait[0].waits() + f.wait[0].since()
	case f.open || len(f.noisy) > 0:
		return f.early()
	}
	return "no tenant loses throughput beside the others, or waits longer"
}

func (s Share) waits() string {
	return fmt.Sprintf("%s is %s times as long beside %s", s.Tenant, units.Times(s.P99.Ratio), s.others())
}

// others are those that a tenant is beside.
func (s Share) others() string {
	return plural.List(s.Beside, func(b Beside) string { return many(b.Tenant, b.Count) })
}

// many names a tenant with its instances, where there are several.
func many(tenant string, count int) string {
	if count > 1 {
		return fmt.Sprintf("%d x %s", count, tenant)
	}
	return tenant
}

// since is why a tenant is slower, as the end of a sentence; "" where nothing tells.
func (s Share) since() string {
	if len(s.Blame) == 0 {
		return ""
	}
	return ", " + s.Blame[0].since()
}

func (b Blame) since() string {
	switch {
	case b.How == BlameTaken && b.By != "":
		return fmt.Sprintf("since %s takes the memory that its files were cached in", b.By)
	case b.How == BlameTaken:
		return "since others take the memory that its files were cached in"
	case b.How == BlameLimit && b.By != "":
		return fmt.Sprintf("since %s is used up, most of it by %s", limit(b.Resource), b.By)
	case b.How == BlameLimit:
		return fmt.Sprintf("since %s is used up", limit(b.Resource))
	case b.Resource == fact.Memory:
		return "since it waits for memory"
	case b.Resource == fact.Processors && b.By != "":
		return fmt.Sprintf("since it waits for a processor, of which %s has most", b.By)
	case b.Resource == fact.Processors:
		return "since it waits for a processor"
	}
	return "since it waits longer for the device"
}

// limit names what all share.
func limit(of fact.Resource) string {
	switch of {
	case fact.Processors:
		return "what processors there are"
	case fact.Memory:
		return "memory"
	case fact.Reads, fact.ReadBytes:
		return "what the device may read"
	case fact.Writes, fact.WriteBytes:
		return "what the device may write"
	}
	return "the device"
}

// each has a line for each mix.
func (f *Facts) each() string {
	var lines []string
	if f.Tenants.Host != "" {
		lines = append(lines, prose.Inside(f.Tenants.Host, f.Tenants.Imported))
	}
	for _, m := range f.Tenants.Mixes {
		if said := m.said(); said != "" {
			lines = append(lines, said)
		}
	}
	if n := len(f.unknown); n > 0 {
		lines = append(lines, fmt.Sprintf("%s %s not measured alone under the same limits: what %s is not known.", plural.And(f.unknown),
			plural.Choose(n, "was", "were"), plural.Choose(n, "it loses", "they lose")))
	}
	return strings.Join(lines, "\n")
}

// said is what each tenant of a mix keeps, and why it is slower.
func (m Mix) said() string {
	var keep, all []string
	for _, s := range m.Tenants {
		if s.Known() {
			keep = append(keep, s.keeps())
		}
	}
	if len(keep) > 0 {
		all = append(all, m.Mix+": "+strings.Join(keep, "; ")+".")
	}
	if m.Fair != nil {
		all = append(all, fmt.Sprintf("Jain's index over the slowdowns is %s.", units.Digits(m.Fair.Median)))
	}
	for _, s := range m.Tenants {
		if len(s.Blame) > 0 {
			all = append(all, fmt.Sprintf("%s is slower %s.", s.Tenant, s.Blame[0].since()))
		}
	}
	return strings.Join(all, " ")
}

// keeps is what a tenant keeps of its throughput, and how much longer it waits.
func (s Share) keeps() string {
	said := s.Tenant
	switch {
	case s.Rate.TooFew:
		said += " has too few setups"
	case s.Open:
		said += " may lose throughput, or may not"
	case !s.Loses:
		said += " keeps its throughput"
	default:
		said += " keeps " + prose.Within(s.Rate, units.Percent)
	}
	if s.Waits {
		said += fmt.Sprintf(", and waits %s times as long", units.Times(s.P99.Ratio))
	}
	return said
}
