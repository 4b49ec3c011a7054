package finding

import "plimsoll/internal/stack/line"

// volumeClaims are those of MSST'17, section 5.3.
var volumeClaims = []claimRule{
	{"vol-independent", "data-volumes",
		"I/O to a data volume passes the storage driver by",
		pairTest{
			loads:   []wanted{highLoad("RR", 1), highLoad("RW", 1), highLoad("SR", 1), highLoad("SW", 1)},
			subject: func(_ *view, s *stack) bool { return viewed(s.line, nodeVolume) },
			against: func(_ *view, s *stack) []line.Line { return []line.Line{below(s.line, 2)} },
			caveats: func(_ *view, s *stack) []string {
				if s.line.Nodes[1].Name != nodeXFS {
					return []string{"on " + s.line.Nodes[1].Name + " here, on xfs in the paper"}
				}
				return nil
			},
		}.test},
}
