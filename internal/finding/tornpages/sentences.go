package tornpages

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/fact"
	"plimsoll/internal/finding/prose"
	"plimsoll/internal/runview"
	"plimsoll/internal/stats"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
)

// verdict is what to do about the options, and what they cost.
func (f *Facts) verdict(c fact.Confidence) string {
	if c == fact.TooEarly {
		return fmt.Sprintf("%s; too early to say what %s: it takes %d setups of each to separate effects from chance",
			f.advice(), plural.Choose(len(f.options()), "it costs", "they cost"), stats.FewestPairs)
	}
	return prose.Capital(string(c)) + ": " + f.summary()
}

// summary is the advice, and the gain of each pair.
func (f *Facts) summary() string {
	return f.advice() + "; " + strings.Join(plural.Words(f.Pairs, Pair.gain), ", ")
}

// advice names the options that have to stay on, and those that need not. It never says that one may be off where the
// kernel does not promise that pages are whole.
func (f *Facts) advice() string {
	var clauses []string
	safe := slices.DeleteFunc(slices.Clone(f.Pairs), func(p Pair) bool { return p.Needed != NotNeeded })
	needed := slices.DeleteFunc(slices.Clone(f.Pairs), func(p Pair) bool { return p.Needed == NotNeeded })
	if len(needed) > 0 {
		text := "keep " + plural.And(named(needed)) + " on"
		if len(safe) > 0 {
			text += " on " + plural.And(stacks(needed))
		}
		clauses = append(clauses, text)
	}
	for _, p := range safe {
		clauses = append(clauses, fmt.Sprintf("%s may be off on %s, where writes of a page are atomic", p.Option, p.Stack))
	}
	return strings.Join(clauses, ", and ")
}

func (f *Facts) options() []string { return named(f.Pairs) }

func named(pairs []Pair) (options []string) {
	for _, p := range pairs {
		if !slices.Contains(options, p.Option) {
			options = append(options, p.Option)
		}
	}
	return options
}

func stacks(pairs []Pair) (names []string) {
	for _, p := range pairs {
		if !slices.Contains(names, p.Stack) {
			names = append(names, p.Stack)
		}
	}
	return names
}

// gain is what a database gains without the option.
func (p Pair) gain() string {
	subject := p.Database + " on " + p.Stack
	switch e := p.Off.Throughput; {
	case e.TooFew:
		return subject + ": " + e.WithInterval() + " without it, too few to test"
	case !e.Differs && runview.MayBeLarge(*e):
		return "what " + subject + " gains without it is not known yet (" + e.WithInterval() + ")"
	case !e.Differs:
		return fmt.Sprintf("%s changes by at most %s without it", subject, prose.AtMost(e.MayChange()))
	default:
		return fmt.Sprintf("%s does %s times as much without it", subject, units.Times(e.Ratio))
	}
}

// promised is what the kernel promises of the stack's files.
func (p Pair) promised() string {
	switch {
	case p.Files == nil:
		return "not known"
	case p.Files.Max == 0:
		return "none"
	}
	return units.Bytes(uint64(p.Files.Min)) + " to " + units.Bytes(uint64(p.Files.Max))
}

// why has a line for each pair: its rates, and the reason why pages have to be written twice.
func (f *Facts) why() string {
	return strings.Join(plural.Words(f.Pairs, func(p Pair) string {
		text := fmt.Sprintf("%s on %s: %s operations a second with %s on, %s with it off (%s).", p.Database, p.Stack,
			units.Rate(p.On.Rate), p.Option, units.Rate(p.Off.Rate), p.Off.Throughput.Written())
		if on, off := moved(p.On), moved(p.Off); on != "" && off != "" {
			text += fmt.Sprintf(" For each operation, devices move %s with it on, %s with it off.", on, off)
		}
		return text + " " + p.reason()
	}), "\n")
}

// reason says why the option has to stay on, or need not.
func (p Pair) reason() string {
	page := units.Bytes(uint64(p.PageBytes))
	switch p.Needed {
	case NotKnown:
		return fmt.Sprintf("What the kernel promises of writes of %s is not known, so the option has to stay on.", page)
	case NoPromise:
		return fmt.Sprintf("The kernel promises no atomic write of %s to files of %s (it promises: %s), so a crash may tear "+
			"pages, and the option has to stay on.", page, p.Stack, p.promised())
	case NotAskedBy:
		return fmt.Sprintf("The kernel promises atomic writes of %s to files of %s, of writes with RWF_ATOMIC alone. "+
			"%s makes plain writes, which a crash may tear, so the option has to stay on.", p.promised(), p.Stack, p.Database)
	case NotNeeded:
	}
	return fmt.Sprintf("The kernel promises atomic writes of %s to files of %s, and %s asks for them: pages are whole "+
		"without the option.", p.promised(), p.Stack, p.Database)
}
