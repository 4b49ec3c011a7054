package ycsb

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Distribution is the distribution of requests over records.
type Distribution string

// The distributions.
const (
	Uniform    Distribution = "uniform"    // each as often as any other
	Zipfian    Distribution = "zipfian"    // few very often, scattered over all
	Latest     Distribution = "latest"     // those inserted last most often
	Hotspot    Distribution = "hotspot"    // a share of them gets a share of the operations
	Sequential Distribution = "sequential" // one after the other, and over again
	Gaussian   Distribution = "gaussian"   // those in the middle most often
)

// distributions are all, in the order of the documentation.
var distributions = []Distribution{Uniform, Zipfian, Latest, Hotspot, Sequential, Gaussian}

// isValid reports whether d is one of the distributions.
func (d Distribution) isValid() bool { return slices.Contains(distributions, d) }

// keys chooses records for one thread.
type keys interface{ next(random *rand.Rand) int64 }

// newKeys returns the keys of a thread, 0 to threads-1.
func (p *Plan) newKeys(thread int, inserts *Inserts) keys {
	records := p.Dataset.Records
	switch p.Distribution {
	case Zipfian:
		return &scrambled{zipf: newScrambling(), space: records + 1, inserts: inserts}
	case Latest:
		return &latest{zipf: newZipf(inserts.There()), inserts: inserts}
	case Hotspot:
		return newHotspot(records, p.HotSet, p.HotOperations)
	case Sequential:
		return &sequential{position: int64(thread) % records, step: int64(p.Threads) % records, records: records}
	case Gaussian:
		return gaussian(records)
	}
	return uniform(records)
}

// gaussian prefers records in the middle, as cassandra-stress does: the first and the last are three standard
// deviations from it, and draws beyond them are replaced by one of these.
type gaussian int64

func (n gaussian) next(random *rand.Rand) int64 {
	middle := float64(n-1) / 2
	drawn := math.Round(middle + random.NormFloat64()*middle/3)
	return int64(min(max(drawn, 0), float64(n-1)))
}

// uniform draws each record as often as any other.
type uniform int64

func (n uniform) next(random *rand.Rand) int64 { return random.Int64N(int64(n)) }

// The items of the zipfian distribution that YCSB scrambles, 0 to 10 billion, are
// always as many, so that what is hot does not change with the records; and the
// zeta that it has for them, of which one item more makes no difference.
const (
	scrambledItems = 10_000_000_001
	scrambledZeta  = 26.46902820178302
)

func newScrambling() zipf {
	z := newZipf(scrambledItems)
	z.zeta = scrambledZeta
	return z
}

// scrambled is a Zipf distribution whose popular records are scattered over all. Like YCSB's core it draws from one
// number more than there are records, and draws again for a record that does not exist.
type scrambled struct {
	zipf    zipf
	space   int64
	inserts *Inserts
}

func (s *scrambled) next(random *rand.Rand) int64 {
	for {
		key := hash(s.zipf.next(random)) % s.space
		if key < s.space-1 || key < s.inserts.There() {
			return key
		}
	}
}

// latest draws the records that were inserted last most often.
type latest struct {
	zipf    zipf
	inserts *Inserts
}

func (l *latest) next(random *rand.Rand) int64 {
	there := l.inserts.There()
	if there != l.zipf.items {
		l.zipf = newZipf(there)
	}
	return there - 1 - l.zipf.next(random)
}

// hotspot draws a share of the operations from a share of the records, the first.
type hotspot struct {
	hot, cold int64 // records
	share     float64
}

func newHotspot(records int64, set, operations float64) hotspot {
	hot := min(int64(float64(records)*set), records)
	h := hotspot{hot: hot, cold: records - hot, share: operations}
	if h.hot == 0 {
		h.share = 0
	}
	if h.cold == 0 {
		h.share = 1
	}
	return h
}

func (h hotspot) next(random *rand.Rand) int64 {
	if random.Float64() < h.share {
		return random.Int64N(h.hot)
	}
	return h.hot + random.Int64N(h.cold)
}

// sequential walks through all records. Each thread takes every step-th record, so that all threads together go through
// the records in order.
type sequential struct{ position, step, records int64 }

func (s *sequential) next(*rand.Rand) int64 {
	key := s.position
	s.position = (s.position + s.step) % s.records
	return key
}
