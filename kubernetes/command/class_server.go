package command

import (
	"math"
	"time"

	"plimsoll/internal/database"
	"plimsoll/internal/units"
)

// serverRates are operations a second of a pod's server, by its counters.
type serverRates struct {
	last       *database.Counts
	moment     time.Time // of last
	operations float64   // in all intervals that are known
	seconds    float64
	highest    float64
	timed      float64
	micros     float64
	gaps       int   // intervals that are not known
	failed     error // why the last of them is not
}

// add adds an answer of the server, which came now.
func (r *serverRates) add(counts database.Counts, err error) { r.addAt(time.Now(), counts, err) }

func (r *serverRates) addAt(moment time.Time, counts database.Counts, err error) {
	before, early := r.last, r.moment
	if err != nil {
		r.last, r.failed = nil, err
		r.gaps++
		return
	}
	r.last, r.moment = &counts, moment
	if before == nil {
		return
	}
	work, ok := counts.Since(*before)
	seconds := moment.Sub(early).Seconds()
	if !ok || !(seconds > 0) {
		r.gaps++
		return
	}
	r.operations, r.seconds = r.operations+work.Operations, r.seconds+seconds
	r.highest = max(r.highest, work.Operations/seconds)
	r.timed, r.micros = r.timed+work.Timed, r.micros+work.Microseconds
}

// rate returns the mean operations a second; 0 for unknown.
func (r *serverRates) rate() float64 {
	if r.seconds == 0 {
		return 0
	}
	return r.operations / r.seconds
}

// unlikeOperation is how unlike an operation of a class may be to one of the server, in doublings of its I/Os.
const unlikeOperation = 1.0

// counts reports whether an operation of a class is about one of the server: it does about as many I/Os.
func (r *serverRates) counts(ios float64, c candidate) bool {
	return r.rate() > 0 && ios > 0 && math.Abs(math.Log2(ios/r.rate()/c.operation)) <= unlikeOperation
}

// comment adds what was seen of the server.
func (r *serverRates) comment(p *proposal, ios float64) {
	switch {
	case r.seconds == 0 && r.failed != nil:
		p.comment("Its server did not answer: %v.", r.failed)
		return
	case r.seconds == 0:
		return
	}
	p.comment("Its server: %s and %s operations/s, of %s I/Os each.", units.Compact(r.rate()), units.Compact(r.highest),
		units.Digits(ios/max(r.rate(), 1e-9)))
	if r.timed > 0 {
		p.comment("One took %s in the mean, by its counters.", units.Latency(1e3*r.micros/r.timed))
	}
	if r.gaps > 0 {
		p.comment("In %d intervals the server did not answer, or its counters began again.", r.gaps)
	}
}
