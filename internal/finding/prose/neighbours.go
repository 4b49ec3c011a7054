package prose

import (
	"fmt"
	"strings"

	"plimsoll/internal/fact"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
)

// Neighbours says what others did.
func Neighbours(n *fact.Neighbours) string {
	var parts []string
	for _, d := range n.Disks {
		parts = append(parts, onDisk(d))
	}
	if n.CPU != nil {
		parts = append(parts, onProcessors(*n.CPU))
	}
	if len(n.Runs) > 0 {
		parts = append(parts, plural.Choose(len(n.Runs), "another run of plimsoll was", "other runs of plimsoll were")+
			" under way, "+plural.And(n.Runs))
	}
	return strings.Join(parts, "; ")
}

func onDisk(d fact.DiskNeighbours) string {
	users, share, worst := "others", units.Percent(d.Most), ""
	if len(d.Names) > 0 {
		users = "others, mostly " + plural.And(d.Names) + ","
	}
	if d.AtLeast {
		share = "at least " + share
	}
	if least := units.Percent(d.Least); least != units.Percent(d.Most) {
		share, worst = least+" to "+share, ", most beside "+d.Beside
	}
	return fmt.Sprintf("%s did %s of the I/O on %s%s", users, share, d.Device, worst)
}

func onProcessors(c fact.CPUNeighbours) string {
	text := fmt.Sprintf("other programs used %s of the processors' time", units.Percent(c.Others))
	switch {
	case !c.StealMatters:
		return text
	case !c.OthersMatter:
		return units.Percent(c.Steal) + " of the processors' time went to other virtual machines"
	}
	return fmt.Sprintf("%s, and %s went to other virtual machines", text, units.Percent(c.Steal))
}
