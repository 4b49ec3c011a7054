package points

import (
	"fmt"

	"plimsoll/internal/problem"
	"plimsoll/internal/result"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
)

// mostBusy is how many of the processors operations may take for a point to be possible: times are rounded, and a busy
// processor is not counted to the last tick.
const mostBusy = 1.05

// check adds a problem where a point cannot have been measured, and the reasons to doubt it.
func (p *point) check(wrong *problem.List) {
	if p.has("mean") && p.clients > 0 && p.instances > 0 {
		clients := p.clients * p.instances
		doubt, possible := result.CheckClosedLoop(float64(clients), p.rate, p.mean+p.think*1e9)
		switch {
		case !possible:
			wrong.InLine(p.line, fmt.Sprintf("%s, and there were %s", doubt, plural.Count(clients, "client")),
				"see whether throughput, latency and clients come from one run")
		case doubt != "":
			p.doubts = append(p.doubts, doubt)
		}
	}
	if busy := p.rate * p.cpu; p.host.CPUs > 0 && busy > mostBusy*p.host.CPUs {
		wrong.InLine(p.line, fmt.Sprintf("%s operations a second of %s each take %s processors, and the host has %s",
			units.Digits(p.rate), units.Latency(p.cpu*1e9), units.Digits(busy), units.Digits(p.host.CPUs)),
			"see whether throughput, cpu and cpus come from one run")
	}
}
