package result

import (
	"fmt"
	"math"
	"time"

	"plimsoll/internal/units"
)

// Bounds of how many of the clients of a closed loop are at work on average, as a share: printed means are rounded, and
// below half of them something else takes their time.
const (
	mostAtWork  = 1.1
	leastAtWork = 0.5
)

// CheckClosedLoop checks a rate per second and a mean latency against the number of clients that asked, each for one
// operation at a time. By Little's law, rate times latency of them are at work. possible is false where these are more
// than there are. doubt says what is wrong or strange; "" for nothing.
func CheckClosedLoop(clients, rate, meanNS float64) (doubt string, possible bool) {
	atWork := rate * meanNS / float64(time.Second)
	if !(atWork > 0) || math.IsInf(atWork, 0) || clients <= 0 {
		return "", true
	}
	took := fmt.Sprintf("%s a second that take %s each", units.Rate(rate), units.Latency(meanNS))
	switch {
	case atWork > mostAtWork*clients:
		return took + " need " + units.Digits(math.Ceil(atWork)) + " clients at a time", false
	case atWork < leastAtWork*clients:
		return fmt.Sprintf("%s keep %s of %.0f clients at work: a pause, a rate, or a warm-up that one of them counts takes "+
			"the others' time", took, units.Digits(atWork), clients), true
	}
	return "", true
}
