package finding

import (
	"fmt"
	"strings"

	"plimsoll/internal/plural"
	"plimsoll/internal/units"
)

// Sentence says what others did, for the place right under a verdict.
func (n *Neighbours) Sentence() string {
	var parts []string
	for _, d := range n.Disks {
		parts = append(parts, d.text())
	}
	if c := n.CPU; c != nil {
		parts = append(parts, c.text())
	}
	if len(n.Runs) > 0 {
		parts = append(parts, fmt.Sprintf("%s of plimsoll %s under way, %s",
			plural.Choose(len(n.Runs), "another run", "other runs"), plural.Choose(len(n.Runs), "was", "were"), plural.And(n.Runs)))
	}
	return "The host was not quiet: " + strings.Join(parts, "; ")
}

// Doubt says the same in the middle of a sentence.
func (n *Neighbours) Doubt() string { return lowered(n.Sentence()) }

// text says "others, mostly fio, did 2% to 33% of the I/O on vda, most beside btrfs".
func (d DiskNeighbours) text() string {
	who := "others"
	if len(d.Names) > 0 {
		who += ", mostly " + plural.And(d.Names) + ","
	}
	share := units.Percent(d.Most)
	if d.AtLeast {
		share = "at least " + share
	}
	text := fmt.Sprintf("%s did %s of the I/O on %s", who, share, d.Device)
	if units.Percent(d.Least) != units.Percent(d.Most) {
		text = fmt.Sprintf("%s did %s to %s of the I/O on %s, most beside %s", who, units.Percent(d.Least), share, d.Device, d.Beside)
	}
	return text
}

func (c CPUNeighbours) text() string {
	others := fmt.Sprintf("other programs used %s of the processors' time", units.Percent(c.Others))
	steal := fmt.Sprintf("%s of the processors' time went to other virtual machines", units.Percent(c.Steal))
	switch {
	case c.Steal < mattersStolen:
		return others
	case c.Others < mattersOnCPU:
		return steal
	}
	return others + ", and " + units.Percent(c.Steal) + " went to other virtual machines"
}

// reason says what follows from it.
func (n *Neighbours) reason() string {
	text := "Their load is in the numbers, and a stack that was measured beside more of it looks slower than it is."
	if len(n.Runs) > 0 {
		text = "Runs at the same time measure each other's load, which is in the numbers of both."
	}
	return text + " Measure again when the host is quiet; plimsoll doctor tells how busy it is."
}
