package finding

import (
	"slices"

	"plimsoll/internal/stack/line"
)

// remoteClaims are those of MSST'17, sections 5.4 and 5.5, that compare NVMe
// over Fabrics with directly attached storage.
var remoteClaims = []claimRule{
	{"nvmf-high-load", "",
		"under high load what the network adds is hidden behind the queues of the device",
		pairTest{
			loads:   []wanted{highLoad("RR", 1), highLoad("RW", 1)},
			subject: func(_ *view, s *stack) bool { return remote(s.line) && onDevice(s.line) },
			against: attached,
			caveats: func(_ *view, s *stack) []string {
				transport, _ := s.line.Nodes[0].Option("transport")
				return []string{"over " + transport + " here, over RDMA at 40 Gbit/s in the paper; the two devices have to be one model"}
			},
		}.test},
	{"lat-slat-low-nvmf", "",
		"submission does not wait for the network, so its share stays small", submissionAtLowLoad(remote)},
	{"lat-high-nvmf", "",
		"under high load an I/O waits in the queues of the storage, next to which the network is short", latencyUnderLoad(remote)},
}

// remote tells whether a stack stands on another host's device.
func remote(l line.Line) bool { return len(l.Nodes) > 0 && l.Nodes[0].Name == nodeNVMeOF }

// direct tells whether a stack stands on what this host has itself.
func direct(l line.Line) bool { return !remote(l) }

// attached gives the lines that have the layers of a remote stack on a device
// of this host: those of the run, and else how such a device is written.
func attached(v *view, s *stack) []line.Line {
	var lines []line.Line
	for _, other := range v.stacks {
		l := other.line
		if onDevice(l) && direct(l) && l.Nodes[0].Name != nodeLoop && slices.EqualFunc(l.Nodes[1:], s.line.Nodes[1:], sameNode) {
			lines = append(lines, l)
		}
	}
	example := line.Line{Nodes: slices.Clone(s.line.Nodes)}
	example.Nodes[0] = line.Node{Name: "serial", Arg: "SERIAL"}
	return append(lines, example)
}

func sameNode(a, b line.Node) bool { return a.String() == b.String() }
