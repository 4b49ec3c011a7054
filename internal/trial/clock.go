package trial

import (
	"time"

	"plimsoll/internal/result"
)

// clock divides the time of a trial into phases.
type clock struct {
	since  time.Time // the end of the last phase
	phases []result.Phase
}

// shortest is how long a phase takes at least, in seconds: of one that a trial does not need, nothing is said.
const shortest = 0.001

// begin starts the clock of a trial.
func (c *clock) begin(at time.Time) { *c = clock{since: at} }

// end adds the time since the last phase ended to a phase. Phases may come back.
func (c *clock) end(name result.PhaseName) { c.endAt(name, time.Now()) }

func (c *clock) endAt(name result.PhaseName, at time.Time) {
	spent := at.Sub(c.since).Seconds()
	if spent < shortest {
		return // the next one has it
	}
	c.since = at
	for i := range c.phases {
		if c.phases[i].Name == name {
			c.phases[i].Seconds += spent
			return
		}
	}
	c.phases = append(c.phases, result.Phase{Name: name, Seconds: spent})
}

// drove ends the time in which load ran: so many seconds of it were measured, the rest was before and after these.
func (c *clock) drove(measured float64) {
	now := time.Now()
	window := min(time.Duration(measured*float64(time.Second)), now.Sub(c.since))
	c.endAt(result.PhaseWarmUp, now.Add(-window))
	c.endAt(result.PhaseWindow, now)
}
