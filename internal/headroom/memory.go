package headroom

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"plimsoll/internal/printable"
	"plimsoll/internal/recording"
	"plimsoll/internal/section"
	"plimsoll/internal/units"
)

// MemoryWorth is how many reads per second the memory of a container saves.
type MemoryWorth struct {
	Service string  `json:"service"`
	Low     float64 `json:"low_bytes"`  // of an instance, at the 5th percentile of stretches
	High    float64 `json:"high_bytes"` // at the 95th
	// Reads are how many reads per second more an instance does with a GiB less, at equal processor time; nil for not
	// known: see Unknown.
	Reads     *float64 `json:"reads_per_second_per_gib"`
	ReadsLow  float64  `json:"reads_low,omitempty"` // ends of the 95% interval
	ReadsHigh float64  `json:"reads_high,omitempty"`
	// Refaults are how many pages per second an instance read again soon after it lost them, in the mean; nil for not
	// counted.
	Refaults *float64 `json:"refaults_per_second"`
	Unknown  string   `json:"unknown,omitempty"`
}

const (
	memoryStretch    = 60.0 // seconds
	fewestOfMemory   = 20   // stretches
	leastMemoryRange = 1.1  // of the high over the low memory
	memoryReplicates = 400
)

// memoryPoint is a stretch of a copy.
type memoryPoint struct{ memory, reads, cpu float64 }

// addMemory adds what the memory of the largest services is worth.
func (a *Answer) addMemory(s *series, o Options) {
	for _, service := range s.services {
		if o.Container != "" && s.find(o.Container) != service {
			continue
		}
		w := MemoryWorth{Service: service.name}
		var copies [][]memoryPoint
		refaults, seconds := 0.0, 0.0
		for _, t := range service.copies {
			points, again, counted := s.memoryPoints(t)
			copies = append(copies, points)
			refaults, seconds = refaults+again, seconds+counted
		}
		if seconds > 0 {
			each := refaults / seconds
			w.Refaults = &each
		}
		w.judge(copies, o.Seed)
		if w.High > 0 {
			a.Memory = append(a.Memory, w)
		}
	}
	slices.SortStableFunc(a.Memory, func(x, y MemoryWorth) int { return cmp.Compare(y.High, x.High) })
	a.Memory = a.Memory[:min(len(a.Memory), mostMemory)]
}

// mostMemory is how many containers are listed.
const mostMemory = 10

// memoryPoints returns the stretches of a copy, the pages that it read again, and the seconds in which these were
// counted.
func (s *series) memoryPoints(t recording.Thing) (points []memoryPoint, refaults, counted float64) {
	c := s.recording.Find(t.Key())
	use := map[recording.Metric][]float32{}
	for _, m := range []recording.Metric{recording.CPU, recording.Anonymous, recording.Cache, recording.Refaults} {
		use[m] = c.Values(m)
	}
	unknown := s.recording.Header.UsesUnknown || t.IOUnknown
	reads := make([]float64, len(s.seconds))
	for _, u := range s.recording.OfKind(recording.OfUse) {
		if u.Thing.Name != t.Name || u.Thing.Copy != t.Copy {
			continue
		}
		for i, v := range u.Values(recording.Reads) {
			if v > 0 {
				reads[i] += float64(v)
			}
		}
	}
	var stretch memoryPoint
	n, length := 0.0, 0.0
	for i, seconds := range s.seconds {
		memory := float64(use[recording.Anonymous][i]+use[recording.Cache][i]) * perKiB
		cpu := float64(use[recording.CPU][i])
		if again := float64(use[recording.Refaults][i]); !math.IsNaN(again) {
			refaults, counted = refaults+again, counted+float64(seconds)
		}
		if math.IsNaN(memory + cpu) {
			stretch, n, length = memoryPoint{}, 0, 0 // it did not run
			continue
		}
		stretch.memory, stretch.reads, stretch.cpu = stretch.memory+memory, stretch.reads+reads[i], stretch.cpu+cpu*perMicro
		n, length = n+1, length+float64(seconds)
		if length >= memoryStretch*(1-1e-6) {
			point := memoryPoint{stretch.memory / n, stretch.reads / length, stretch.cpu / length}
			if unknown {
				point.reads = math.NaN()
			}
			points = append(points, point)
			stretch, n, length = memoryPoint{}, 0, 0
		}
	}
	return points, refaults, counted
}

// judge finds what memory is worth by the stretches of copies.
func (w *MemoryWorth) judge(copies [][]memoryPoint, seed uint64) {
	var points []memoryPoint
	for _, stretches := range copies {
		points = append(points, stretches...)
	}
	if len(points) == 0 {
		return
	}
	var sizes []float32
	for _, p := range points {
		sizes = append(sizes, float32(p.memory))
	}
	slices.Sort(sizes)
	w.Low, w.High = sortedQuantile(sizes, 0.05), sortedQuantile(sizes, 0.95)
	switch {
	case math.IsNaN(points[0].reads):
		w.Unknown = "its reads were not counted"
	case len(points) < fewestOfMemory:
		w.Unknown = "it ran for less than " + units.Elapsed(fewestOfMemory*memoryStretch)
	case !(w.High >= leastMemoryRange*w.Low):
		w.Unknown = "its memory varied by less than " + units.Percent(leastMemoryRange-1) + " in 90% of its minutes"
	}
	if w.Unknown != "" {
		return
	}
	reads, ok := readsPerGiB(points)
	var drawn []float64
	random := rand.New(rand.NewPCG(seed, 0x6d656d6f7279))
	block := max(2, int(math.Sqrt(float64(len(points)))))
	for range memoryReplicates {
		sample := make([]memoryPoint, 0, len(points)+block)
		for len(sample) < len(points) {
			from := random.IntN(len(points) - block + 1)
			sample = append(sample, points[from:from+block]...)
		}
		if v, ok := readsPerGiB(sample); ok {
			drawn = append(drawn, v)
		}
	}
	if !ok || len(drawn) < memoryReplicates/2 {
		w.Unknown = "its memory changed with its load: neither can be distinguished from the other"
		return
	}
	slices.Sort(drawn)
	w.Reads = &reads
	w.ReadsLow, w.ReadsHigh = drawn[int(0.025*float64(len(drawn)))], drawn[int(0.975*float64(len(drawn)-1))]
}

// readsPerGiB returns how many reads per second a GiB less costs, by least squares over memory and processor time. ok
// is false if these changed together.
func readsPerGiB(points []memoryPoint) (reads float64, ok bool) {
	n := float64(len(points))
	var memory, cpu, rate float64
	for _, p := range points {
		memory, cpu, rate = memory+p.memory/n, cpu+p.cpu/n, rate+p.reads/n
	}
	var mm, mc, cc, mr, cr float64
	for _, p := range points {
		m, c, r := (p.memory-memory)/(1<<30), p.cpu-cpu, p.reads-rate
		mm, mc, cc, mr, cr = mm+m*m, mc+m*c, cc+c*c, mr+m*r, cr+c*r
	}
	const together = 0.05 // of the variance of memory that is left
	det := mm*cc - mc*mc
	if !(cc > 0) {
		return -mr / mm, mm > 0
	}
	return -(mr*cc - cr*mc) / det, det > together*mm*cc
}

// memoryTable lists what memory is worth.
func (a *Answer) memoryTable() section.Table {
	t := section.Table{
		Caption: "reads per second that a GiB less costs an instance, at equal processor time; 95% intervals",
		Columns: []section.Column{{Head: "container", Text: true}, {Head: "memory", Text: true}, {Head: "reads/s per GiB"},
			{Head: "95% interval", Text: true}, {Head: "pages read again/s", Drop: 1}}}
	for _, w := range a.Memory {
		value, interval := section.Text(section.NotKnown), section.Text(w.Unknown)
		if w.Reads != nil {
			value = section.Number.Cell(*w.Reads)
			interval = section.Number.Between(w.ReadsLow, w.ReadsHigh)
		}
		again := section.Cell{}
		if w.Refaults != nil {
			again = section.Number.Cell(*w.Refaults)
		}
		t.Rows = append(t.Rows, section.Row{Cells: []section.Cell{section.Text(printable.Line(w.Service)),
			section.Bytes.Between(w.Low, w.High),
			value, interval, again}})
	}
	return t
}
