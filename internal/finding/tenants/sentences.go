package tenants

import (
	"fmt"
	"strings"

	"plimsoll/internal/fact"
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
	case f.open && f.fewest >= stats.FewestPairs:
		return fmt.Sprintf("it takes %d setups beside each other and alone in the same rounds to separate effects from chance, and some "+
			"have only %d", stats.FewestPairs, f.paired)
	case f.open:
		return fmt.Sprintf("it takes %d setups to separate effects from chance, and some have only %d", stats.FewestPairs,
			f.fewest)
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
		text := fmt.Sprintf("%s keeps %s of its throughput beside %s", first.Tenant, units.Percent(first.Rate.Ratio),
			first.neighbors()) +
			first.since()
		if also := f.lose[1:min(3, len(f.lose))]; len(also) > 0 {
			text += "; " + plural.List(also, func(s Share) string {
				return fmt.Sprintf("%s %s beside %s", s.Tenant, units.Percent(s.Rate.Ratio), s.neighbors())
			})
		}
		if len(f.wait) > 0 {
			text += "; p99 of " + f.wait[0].waits()
		}
		return text
	case len(f.wait) > 0 && len(f.noisy) > 0:
		return "whether a tenant loses throughput is not known, and p99 of " + f.wait[0].waits() + f.wait[0].since()
	case len(f.wait) > 0:
		return f.noneLoses() + ", and p99 of " + f.wait[0].waits() + f.wait[0].since()
	case f.open || len(f.noisy) > 0:
		return f.early()
	}
	return f.noneLoses() + " beside the others, and none is known to wait longer"
}

// noneLoses says how little each tenant loses.
func (f *Facts) noneLoses() string {
	highest := 0.0
	for _, m := range f.Tenants.Mixes {
		for _, s := range m.Tenants {
			if s.Known() {
				highest = max(highest, s.Rate.MayLose())
			}
		}
	}
	return fmt.Sprintf("no tenant loses more than %s of its throughput", prose.AtMost(highest))
}

func (s Share) waits() string {
	return fmt.Sprintf("%s is %s times as long beside %s", s.Tenant, units.Times(s.P99.Ratio), s.neighbors())
}

// neighbors names the tenants that run together with a tenant.
func (s Share) neighbors() string {
	return plural.List(s.Beside, func(b Beside) string { return withCount(b.Tenant, b.Count) })
}

// withCount names a tenant, with the number of its instances if there are several.
func withCount(tenant string, count int) string {
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
func limit(resource fact.Resource) string {
	switch resource {
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

// details has a line for each mix.
func (f *Facts) details() string {
	var lines []string
	if f.Tenants.Host != "" {
		lines = append(lines, prose.Inside(f.Tenants.Host, f.Tenants.Imported))
	}
	for _, m := range f.Tenants.Mixes {
		if said := m.sentence(); said != "" {
			lines = append(lines, said)
		}
	}
	if n := len(f.unknown); n > 0 {
		lines = append(lines, fmt.Sprintf("%s %s not measured alone under the same limits: what %s is not known.", plural.And(f.unknown),
			plural.Choose(n, "was", "were"), plural.Choose(n, "it loses", "they lose")))
	}
	return strings.Join(lines, "\n")
}

// sentence says what each tenant of a mix keeps of its throughput, and why it is slower.
func (m Mix) sentence() string {
	var keep, sentences []string
	for _, s := range m.Tenants {
		if s.Known() {
			keep = append(keep, s.keeps())
		}
	}
	if len(keep) > 0 {
		sentences = append(sentences, m.Mix+": "+strings.Join(keep, "; ")+".")
	}
	if m.Fair != nil {
		sentences = append(sentences, fmt.Sprintf("Jain's index over the slowdowns is %s.", units.Digits(m.Fair.Median)))
	}
	for _, s := range m.Tenants {
		if len(s.Blame) > 0 {
			sentences = append(sentences, fmt.Sprintf("%s is slower %s.", s.Tenant, s.Blame[0].since()))
		}
	}
	return strings.Join(sentences, " ")
}

// keeps is what a tenant keeps of its throughput, and how much longer it waits.
func (s Share) keeps() string {
	text := s.Tenant
	switch {
	case s.Rate.TooFew:
		text += " has too few setups"
	case s.Open:
		text += " may lose throughput, or may not"
	case !s.Loses:
		text += fmt.Sprintf(" loses at most %s of its throughput", prose.AtMost(s.Rate.MayLose()))
	default:
		text += " keeps " + prose.Within(s.Rate, units.Percent)
	}
	if s.Waits {
		text += fmt.Sprintf(", and waits %s times as long", units.Times(s.P99.Ratio))
	}
	return text
}
