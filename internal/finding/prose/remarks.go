package prose

import (
	"fmt"
	"strings"

	"plimsoll/internal/fact"
	"plimsoll/internal/result"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
)

// Served says how many of fio's I/Os devices served.
func Served(s *fact.Served) string {
	if len(s.Devices) == 0 {
		return "no device holds what it stores"
	}
	said := fmt.Sprintf("%s%% of the I/Os reached %s", units.OfHundred(s.PerIO), plural.And(s.Devices))
	if s.Memory < s.Trials {
		said += fmt.Sprintf(" in the worst trial, and too few in %d of %s", s.Memory, plural.Count(s.Trials, "trial"))
	}
	return said
}

// EveryNumber says what mark all numbers of a table have.
func EveryNumber(mark string) string {
	said := "every number here: " + mark
	if mark == string(result.MarkLoop) {
		said += ", so compare ratios: absolute numbers are not the disk's"
	}
	return said
}

// Unfit says why numbers of stacks are not those of devices.
func Unfit(stacks []fact.Unfit) string {
	var parts []string
	for _, u := range stacks {
		if u.Served == nil {
			parts = append(parts, fmt.Sprintf("no device counter of %s could be read: what answered is not known", u.Stack))
			continue
		}
		parts = append(parts, FromMemory(u))
	}
	return strings.Join(parts, "; ")
}

// FromMemory says that memory answered for a stack.
func FromMemory(u fact.Unfit) string { return u.Stack + " answered from memory: " + Served(u.Served) }

// Unchecked says that nobody knows what answered for a stack.
func Unchecked(u fact.Unfit) string {
	return fmt.Sprintf("no device counter of %s could be read: its number is not checked", u.Stack)
}

// Remark adds a remark to a finding, as a fact and in words.
func Remark(f *fact.Finding, name string, facts any, words string) {
	f.Remarks, f.Caveats = append(f.Remarks, fact.Remark{Case: name, Facts: facts}), append(f.Caveats, words)
}

// RemarkTooFew remarks that so few setups, or trials, cannot differ significantly; nothing where
// they can.
func RemarkTooFew(f *fact.Finding, e fact.Effect) {
	if e.TooFew {
		Remark(f, "caveat: too few", e, strings.Join(TooFew(e), "; "))
	}
}
