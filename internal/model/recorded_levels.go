package model

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"plimsoll/internal/stats"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
)

// recordedLevel is the stretches of one level.
type recordedLevel struct {
	name      string
	stretches []stretch
	demand    demandOf
}

// demandOf is what an instance does per second, at the latency that it was seen to do so.
type demandOf struct{ rate, latency float64 }

// demandIn returns the demand of stretches.
func demandIn(some []stretch) demandOf {
	var rates, latencies []float64
	for i := range some {
		rates = append(rates, some[i].each())
		if some[i].latency > 0 {
			latencies = append(latencies, some[i].latency)
		}
	}
	d := demandOf{rate: stats.Median(rates)}
	if len(latencies) > 0 {
		d.latency = stats.Median(latencies)
	}
	return d
}

// thinkOf returns how long each client thinks between two operations, in seconds.
func thinkOf(d demandOf, clients float64) float64 { return max(0, clients/d.rate-d.latency) }

// levelsOf divides stretches into levels: numbers of instances, and rates if there are few of these. text names them.
// why says why there are too few.
func levelsOf(all []stretch) (levels []recordedLevel, text, why string) {
	byNumber := map[int][]stretch{}
	for i := range all {
		byNumber[all[i].instances] = append(byNumber[all[i].instances], all[i])
	}
	numbers := slices.Sorted(maps.Keys(byNumber))
	var words []string
	for _, n := range numbers {
		words = append(words, fmt.Sprint(n))
	}
	text = plural.And(words) + " " + plural.Of(numbers[len(numbers)-1], "instance")
	if len(numbers) >= FewestPoints {
		demand := demandIn(fastestHalf(all))
		for _, n := range numbers {
			levels = append(levels, recordedLevel{plural.Count(n, "instance"), byNumber[n], demand})
		}
		return levels, text, ""
	}
	spread := 1.0
	for _, n := range numbers {
		some := byNumber[n]
		slices.SortStableFunc(some, func(a, b stretch) int { return cmp.Compare(b.each(), a.each()) })
		if len(some) < 2*rateLevels {
			continue
		}
		size := len(some) / rateLevels
		for k := range rateLevels {
			part := some[k*size : min((k+1)*size, len(some))]
			if k == rateLevels-1 {
				part = some[k*size:]
			}
			name := [rateLevels]string{"busiest", "middle", "calmest"}[k] + " third at " + plural.Count(n, "instance")
			levels = append(levels, recordedLevel{name, part, demandIn(part)})
		}
		first, last := levels[len(levels)-rateLevels], levels[len(levels)-1]
		spread = max(spread, first.demand.rate/last.demand.rate)
	}
	switch {
	case len(levels) < FewestPoints:
		return nil, "", fmt.Sprintf("it ran at %s for too short: a level takes %d stretches, or record other numbers of "+
			"instances", text, 2*rateLevels)
	case spread < leastRateSpread:
		return nil, "", fmt.Sprintf("it ran at %s, and its rate hardly changed (its busiest third did %s times what its "+
			"calmest did): record other numbers of instances, or busier hours", text, units.Digits(spread))
	}
	return levels, text + ", each at three rates", ""
}

// fastestHalf returns the half of stretches with the lower latency: what instances ask for if they wait least.
func fastestHalf(all []stretch) []stretch {
	sorted := slices.Clone(all)
	slices.SortStableFunc(sorted, func(a, b stretch) int { return cmp.Compare(a.latency, b.latency) })
	return sorted[:(len(sorted)+1)/2]
}

// How much longer operations must have taken, and how much nearer to a number of clients rates must be, to show that
// demand falls as they take longer.
const (
	leastLatencySpread = 1.5
	nearerClients      = 0.7
)

// clientsOf returns how many clients an instance is taken to have. answers reports whether stretches show it: how
// their rates fall as operations take longer. Otherwise demand is as good as constant.
func clientsOf(all []stretch) (clients int, answers bool) {
	low, high, most := math.Inf(1), 0.0, 0.0
	for i := range all {
		if l := all[i].latency; l > 0 {
			low, high = min(low, l), max(high, l)
			most = max(most, l*all[i].each())
		}
	}
	constant := constantClients
	for float64(constant) < 8*most && constant < mostClients {
		constant *= 2
	}
	if !(high > leastLatencySpread*low) {
		return constant, false
	}
	demand := demandIn(fastestHalf(all))
	off := func(clients float64) (squares float64) {
		think := thinkOf(demand, clients)
		for i := range all {
			z := math.Log(all[i].each() * (think + all[i].latency) / clients)
			squares += z * z
		}
		return squares
	}
	best, least := constant, off(float64(constant))
	limit := nearerClients * least
	for c := 1; c < constant; c *= 2 {
		if float64(c) <= most {
			continue
		}
		if squares := off(float64(c)); squares < limit && squares < least {
			best, least, answers = c, squares, true
		}
	}
	return best, answers
}
