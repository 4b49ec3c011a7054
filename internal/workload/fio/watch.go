package fio

import (
	"bytes"
	"fmt"
	"time"

	"plimsoll/internal/result"
	"plimsoll/internal/workload"
)

// statusInterval returns the option that makes fio print its state repeatedly, as JSON documents like the last one.
// Each has totals since the ramp, so that differences are of the time between.
func statusInterval(every time.Duration) string {
	return fmt.Sprintf("--status-interval=%dms", every.Milliseconds())
}

// watch follows one fio that prints its status.
type watch struct {
	reader
	pending []byte // appended, and not yet looked at
	lines   []byte // of the document that is under way; nil between documents
	notes   []byte // output outside of documents
	final   []byte // the last whole document
	sample  time.Duration
	timing  workload.Timing

	samples   int
	last      state
	snapshots []result.Measurement // at the end of the ramp, and after each WarmupUnit samples
}

// state is the progress in a status.
type state struct {
	ios     uint64
	seconds float64 // measured
}

// watch follows a step that drive made.
func (w *builtin) watch(t workload.Timing) workload.Watch {
	return &watch{reader: w.reader(), sample: t.Sample, timing: t}
}

// Feed implements workload.Watch.
func (w *watch) Feed(appended []byte) (rates []float64) {
	w.pending = append(w.pending, appended...)
	for {
		end := bytes.IndexByte(w.pending, '\n')
		if end < 0 {
			return rates
		}
		line := w.pending[:end+1]
		w.pending = w.pending[end+1:]
		if rate, ok := w.line(line); ok {
			rates = append(rates, rate)
		}
	}
}

// line handles a whole line. fio's documents begin and end with a line of one brace.
func (w *watch) line(line []byte) (rate float64, ok bool) {
	brace := bytes.TrimRight(line, "\r\n")
	switch {
	case w.lines == nil && bytes.HasPrefix(line, []byte("{")):
		w.lines = append([]byte{}, line...)
	case w.lines == nil:
		w.notes = append(w.notes, line...)
	default:
		w.lines = append(w.lines, line...)
		if bytes.Equal(brace, []byte("}")) {
			w.final, w.lines = w.lines, nil
			return w.document()
		}
	}
	return 0, false
}

// document handles a status.
func (w *watch) document() (rate float64, ok bool) {
	out, err := decodeOutput(w.final)
	if err != nil {
		return 0, false // Read tells, of the last one
	}
	var now state
	latencies := uint64(0)
	for _, j := range out.Jobs {
		now.ios += j.Read.IOs + j.Write.IOs
		now.seconds = max(now.seconds, float64(max(j.Read.RuntimeMS, j.Write.RuntimeMS))/1000)
		latencies += j.Read.Total.N + j.Write.Total.N
	}
	if latencies == 0 {
		return 0, false // the ramp, in which fio counts and does not measure, or not one I/O so far
	}
	before := w.last
	if w.timing.Ramp > 0 && len(w.snapshots) == 0 {
		switch ramp := w.timing.Ramp.Seconds(); {
		case now.seconds < ramp:
		case now.seconds > ramp+w.timing.Runtime.Seconds()/2:
			// On a host without CPU time to spare, statuses come late. Too
			// little would be left to measure, so the ramp is measured too.
			w.last, w.snapshots = now, append(w.snapshots, result.Measurement{})
		default:
			w.last = now
			w.keep(out.Jobs)
		}
		return 0, false
	}
	// The last status of all comes when fio ends, at any time after the one
	// before: what happened within a moment is no rate like the others.
	if now.ios < before.ios || now.seconds-before.seconds < w.sample.Seconds()/2 {
		return 0, false
	}
	w.last = now
	if len(w.snapshots) == 0 {
		w.snapshots = append(w.snapshots, result.Measurement{}) // there is no ramp to leave out
	}
	if w.samples++; w.samples%workload.WarmupUnit == 0 {
		w.keep(out.Jobs)
	}
	return float64(now.ios-before.ios) / (now.seconds - before.seconds), true
}

// keep remembers a status: what came before it may be left out.
func (w *watch) keep(jobs []job) {
	m, failed := merge(jobs, mergeHistograms)
	if failed != nil {
		m = result.Measurement{} // not one I/O so far: there is nothing to leave out
	}
	w.snapshots = append(w.snapshots, m)
}

// Whole implements workload.Watch.
func (w *watch) Whole(exit workload.Exit) (result.Measurement, error) {
	m, err := w.read(map[string][]byte{outputName: w.Final()}, settled(exit))
	if err == nil {
		w.addOpenLoop(&m)
	}
	return m, err
}

// settled returns how a fio ended that was asked to end early: well.
func settled(exit workload.Exit) workload.Exit {
	if exit.Asked && !exit.OOMKilled && exit.Code == interrupted {
		exit.Code, exit.Signal = 0, ""
	}
	return exit
}

// Read implements workload.Watch.
func (w *watch) Read(exit workload.Exit, warmup int) (result.Measurement, error) {
	m, err := w.read(map[string][]byte{outputName: w.Final()}, settled(exit))
	if err != nil {
		return m, err
	}
	if len(w.snapshots) == 0 || w.timing.Ramp == 0 && warmup == 0 {
		w.addOpenLoop(&m)
		return m, nil
	}
	if m = m.Since(w.snapshots[warmup/workload.WarmupUnit]); m.IOs() == 0 {
		return m, failure("fio", "not one I/O was completed in the measured time",
			"give it a longer runtime; a stack that takes longer than this for one I/O may hang")
	}
	w.addOpenLoop(&m)
	return m, nil
}

// interrupted is fio's exit code after SIGINT.
const interrupted = 128

// Final implements workload.Watch.
func (w *watch) Final() []byte {
	if len(w.pending) > 0 {
		w.Feed([]byte("\n")) // the last line had no end
	}
	if w.lines != nil { // cut short
		return append(bytes.Clone(w.notes), w.lines...)
	}
	return append(bytes.Clone(w.notes), w.final...)
}
