package runview

import (
	"slices"
	"strings"

	"plimsoll/internal/stack/line"
)

// Remote reports whether a stack stands on another host's device.
func Remote(l line.Line) bool { return len(l.Nodes) > 0 && l.Nodes[0].Name == nodeNVMeOF }

// Direct reports whether a stack stands on what this host has itself.
func Direct(l line.Line) bool { return !Remote(l) }

func sameNode(a, b line.Node) bool { return a.String() == b.String() }

// Twin returns the stack with the same layers on a device of this host, or nil
// for a stack that is not remote, or has none.
func (v *View) Twin(s *Stack) *Stack {
	if !Remote(s.Parsed) {
		return nil
	}
	i := slices.IndexFunc(v.Stacks, func(o *Stack) bool { return Twins(s.Parsed, o.Parsed) })
	if i < 0 {
		return nil
	}
	return v.Stacks[i]
}

// Twins reports whether a line has the layers of a remote one on one device of
// this host.
func Twins(there, here line.Line) bool {
	return OnDevice(here) && Direct(here) && here.Nodes[0].Name != NodeLoop && len(here.Sources()) == 1 &&
		slices.EqualFunc(here.Nodes[1:], there.Nodes[1:], sameNode)
}

// TransportOf returns the transport of a remote device: "NVMe/TCP".
func TransportOf(l line.Line) string {
	t, _ := l.Nodes[0].Option("transport")
	return "NVMe/" + strings.ToUpper(t)
}
