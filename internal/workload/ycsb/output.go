package ycsb

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"plimsoll/internal/result/hist"
)

// Line is one line of the generator's output: counts since the line before. The last line of all has End.
type Line struct {
	Seconds    float64 `json:"seconds"`
	Ramp       bool    `json:"ramp,omitempty"` // it is not measured
	Rest       bool    `json:"rest,omitempty"` // no whole interval: what came after the last one
	Operations []Done  `json:"operations,omitempty"`

	// Lag is how late operations began although a connection was free in time: the generator's own delay.
	Lag Latencies `json:"lag,omitzero"`

	UserSeconds   float64 `json:"user_seconds,omitempty"` // of the generator's processor time
	SystemSeconds float64 `json:"system_seconds,omitempty"`

	End *End `json:"end,omitempty"`
}

// Done counts one kind of operation.
type Done struct {
	Name     string `json:"name"`
	Count    uint64 `json:"count"`              // without an error
	Errors   uint64 `json:"errors,omitempty"`   // after all attempts
	Timeouts uint64 `json:"timeouts,omitempty"` // of Errors
	Retries  uint64 `json:"retries,omitempty"`  // attempts after the first
	Bytes    uint64 `json:"bytes,omitempty"`    // of values, read and written

	Total   Latencies `json:"total,omitzero"`   // in an open loop from the intended time
	Service Latencies `json:"service,omitzero"` // in an open loop from when it began
}

// Latencies is a histogram as lines have it: values and counts, ascending.
type Latencies struct {
	SumNS float64     `json:"sum_ns"`
	MinNS uint64      `json:"min_ns"`
	MaxNS uint64      `json:"max_ns"`
	Bins  [][2]uint64 `json:"bins"`
}

// IsZero reports whether there is no latency.
func (l Latencies) IsZero() bool { return len(l.Bins) == 0 }

// End holds the totals at the end.
type End struct {
	Seed    uint64 `json:"seed"`
	CPUs    int    `json:"cpus"` // that the generator may use
	Threads int    `json:"threads"`
	Stopped bool   `json:"stopped,omitempty"` // asked to end before its time
	// operations of an open loop whose time had come, and that had not begun: all
	// connections waited for answers
	Overdue uint64 `json:"overdue,omitempty"`
	// delay of the first operation that had not begun, in seconds
	Behind float64 `json:"behind_seconds,omitempty"`
	// time to write back what operations on files had left in memory, after their time was over
	FlushSeconds float64 `json:"flush_seconds,omitempty"`
	// one error of those that there were
	Error string `json:"error,omitempty"`
}

// maxLine bounds a line, and maxBins the bins of its histograms.
const (
	maxLine = 64 << 20
	maxBins = 1 << 16
)

// ReadLine parses one line. It refuses lines that the generator cannot have written.
func ReadLine(text []byte) (l Line, err error) {
	if len(text) > maxLine {
		return l, fmt.Errorf("a line has more than %d bytes", maxLine)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	if err := decoder.Decode(&l); err != nil {
		return l, err
	}
	return l, l.check()
}

func (l *Line) check() error {
	for _, x := range []float64{l.Seconds, l.UserSeconds, l.SystemSeconds} {
		if !seconds(x) {
			return fmt.Errorf("%v is no time", x)
		}
	}
	var seen []string
	for _, d := range l.Operations {
		if !slices.Contains(Names, d.Name) || slices.Contains(seen, d.Name) {
			return fmt.Errorf("%q is no operation, or is there twice", d.Name)
		}
		seen = append(seen, d.Name)
		if err := errors.Join(d.Total.check(d.Count), d.Service.check(d.Count)); err != nil {
			return fmt.Errorf("%s: %w", d.Name, err)
		}
		if d.Count > 0 && d.Total.IsZero() {
			return fmt.Errorf("%s: %d without a latency", d.Name, d.Count)
		}
		if d.Timeouts > d.Errors || d.Count > maxCount || d.Errors > maxCount || d.Bytes > maxCount || d.Retries > maxCount {
			return fmt.Errorf("%s: its counters cannot be", d.Name)
		}
	}
	if l.End != nil && (l.End.CPUs < 1 || l.End.Threads < 1 || !seconds(l.End.Behind) || !seconds(l.End.FlushSeconds)) {
		return errors.New("its end cannot be")
	}
	return l.Lag.check(0)
}

// seconds reports whether a number can be a time.
func seconds(x float64) bool { return x >= 0 && x < 1e9 }

// maxCount is more than any counter can reach, and leaves room for sums.
const maxCount = 1 << 53

// check returns an error for an invalid histogram. It must have count latencies or none; any number if count is 0.
func (l *Latencies) check(count uint64) error {
	if l.IsZero() {
		return nil
	}
	if len(l.Bins) > maxBins || l.MinNS > l.MaxNS || l.MaxNS > math.MaxInt64 || !(l.SumNS >= 0 && l.SumNS < 1e30) {
		return errors.New("its latencies cannot be")
	}
	sum, before := uint64(0), uint64(0)
	for i, b := range l.Bins {
		if i > 0 && b[0] <= before || b[0] > math.MaxInt64 || b[1] == 0 || b[1] > maxCount || sum > maxCount {
			return errors.New("the bins of its latencies cannot be")
		}
		sum, before = sum+b[1], b[0]
	}
	if count > 0 && sum != count {
		return fmt.Errorf("%d latencies of %d operations", sum, count)
	}
	return nil
}

// histogram returns the latencies as results have them.
func (l *Latencies) histogram() hist.Histogram {
	if l.IsZero() {
		return hist.Histogram{}
	}
	h := hist.Histogram{MinNS: l.MinNS, MaxNS: l.MaxNS}
	bins := make([]hist.Bin, len(l.Bins))
	for i, b := range l.Bins {
		bins[i] = hist.Bin{NS: b[0], Count: b[1]}
		h.Count += b[1]
	}
	h.Bins = hist.Pack(bins)
	h.MeanNS = l.SumNS / float64(h.Count)
	return h
}

// add adds other latencies.
func (l *Latencies) add(other *Latencies) {
	switch {
	case other.IsZero():
		return
	case l.IsZero():
		*l = *other
		l.Bins = slices.Clone(other.Bins)
		return
	}
	l.SumNS += other.SumNS
	l.MinNS, l.MaxNS = min(l.MinNS, other.MinNS), max(l.MaxNS, other.MaxNS)
	merged := make([][2]uint64, 0, len(l.Bins)+len(other.Bins))
	a, b := l.Bins, other.Bins
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && a[0][0] < b[0][0]:
			merged, a = append(merged, a[0]), a[1:]
		case len(a) == 0 || b[0][0] < a[0][0]:
			merged, b = append(merged, b[0]), b[1:]
		default:
			merged = append(merged, [2]uint64{a[0][0], a[0][1] + b[0][1]})
			a, b = a[1:], b[1:]
		}
	}
	l.Bins = merged
}

// Add adds another line's counts: of a later time, or of the same time and other threads.
func (l *Line) Add(other *Line) {
	l.Seconds += other.Seconds
	l.UserSeconds += other.UserSeconds
	l.SystemSeconds += other.SystemSeconds
	l.Lag.add(&other.Lag)
	for i := range other.Operations {
		o := &other.Operations[i]
		index := slices.IndexFunc(l.Operations, func(d Done) bool { return d.Name == o.Name })
		if index < 0 {
			index = len(l.Operations)
			l.Operations = append(l.Operations, Done{Name: o.Name})
		}
		d := &l.Operations[index]
		d.Count += o.Count
		d.Errors += o.Errors
		d.Timeouts += o.Timeouts
		d.Retries += o.Retries
		d.Bytes += o.Bytes
		d.Total.add(&o.Total)
		d.Service.add(&o.Service)
	}
	if other.End != nil {
		l.End = other.End
	}
}

// count returns the number of completed operations.
func (l *Line) count() (n uint64) {
	for _, d := range l.Operations {
		n += d.Count
	}
	return n
}

// Text is the line as the output has it.
func (l *Line) Text() []byte {
	text, err := json.Marshal(l)
	if err != nil {
		panic(err) // it holds nothing that JSON cannot write
	}
	return append(text, '\n')
}
