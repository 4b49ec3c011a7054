package prose

import (
	"fmt"
	"strings"

	"plimsoll/internal/finding/fact"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
)

// Neighbours says what others did.
func Neighbours(n *fact.Neighbours) string {
	var all []string
	for _, d := range n.Disks {
		all = append(all, onDisk(d))
	}
	if n.CPU != nil {
		all = append(all, onProcessors(*n.CPU))
	}
	if len(n.Runs) > 0 {
		all = append(all, plural.Choose(len(n.Runs), "another run of plimsoll was", "other runs of plimsoll were")+
			" under way, "+plural.And(n.Runs))
	}
	return strings.Join(all, "; ")
}

func onDisk(d fact.DiskNeighbours) string {
	who, share, beside := "others", units.Percent(d.Most), ""
	if len(d.Names) > 0 {
		who = "others, mostly " + plural.And(d.Names) + ","
	}
	if d.AtLeast {
		share = "at least " + share
	}
	if least := units.Percent(d.Least); least != units.Percent(d.Most) {
		share, beside = least+" to "+share, ", most beside "+d.Beside
	}
	return fmt.Sprintf("%s did %s of the I/O on %s%s", who, share, d.Device, beside)
}

func onProcessors(c fact.CPUNeighbours) string {
	others := fmt.Sprintf("other programs used %s of the processors' time", units.Percent(c.Others))
	switch {
	case !c.StealMatters:
		return others
	case !c.OthersMatter:
		return units.Percent(c.Steal) + " of the processors' time went to other virtual machines"
	}
	return fmt.Sprintf("%s, and %s went to other virtual machines", others, units.Percent(c.Steal))
}
