package site

import (
	"time"

	"plimsoll/internal/result"
)

// Clock divides the time of a trial into phases.
type Clock struct {
	since  time.Time // the end of the last phase
	Phases []result.Phase
}

// shortest is how long a phase takes at least, in seconds: of one that a trial does not need, nothing is said.
const shortest = 0.001

// Begin starts the clock of a trial.
func (c *Clock) Begin(at time.Time) { *c = Clock{since: at} }

// End adds the time since the last phase ended to a phase. Phases may come back.
func (c *Clock) End(name result.PhaseName) { c.endAt(name, time.Now()) }

func (c *Clock) endAt(name result.PhaseName, end time.Time) {
	spent := end.Sub(c.since).Seconds()
	if spent < shortest {
		return // the next one has it
	}
	c.since = end
	for i := range c.Phases {
		if c.Phases[i].Name == name {
			c.Phases[i].Seconds += spent
			return
		}
	}
	c.Phases = append(c.Phases, result.Phase{Name: name, Seconds: spent})
}

// Drove ends the time in which load ran: so many seconds of it were measured, the rest was before and after these.
func (c *Clock) Drove(measured float64) {
	now := time.Now()
	window := min(time.Duration(measured*float64(time.Second)), now.Sub(c.since))
	c.endAt(result.PhaseWarmUp, now.Add(-window))
	c.endAt(result.PhaseWindow, now)
}
