package ycsb

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"plimsoll/internal/problem"
	"plimsoll/internal/result"
	"plimsoll/internal/result/hist"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
	"plimsoll/internal/workload"
)

// reader parses the output of the generator.
type reader struct {
	threads int
	rate    float64 // of an open loop; 0 for a closed one
	files   bool    // operations are on files: the processors work for the file system
}

// WatchFiles follows a generator that works on files.
func WatchFiles(threads int) workload.Watch {
	return &watch{reader: reader{threads: threads, files: true}}
}

// read returns the measurement of an output.
func (r reader) read(text []byte, exit workload.Exit) (result.Measurement, error) {
	w := &watch{reader: r}
	w.Feed(text)
	return w.Read(exit, 0)
}

// exitProblem returns the problem of a generator that ended without a measurement; nil when it ended well.
func (r reader) exitProblem(exit workload.Exit) *problem.Problem {
	message := strings.TrimPrefix(lastLine(exit.Stderr), "plimsoll: ")
	switch {
	case exit.OOMKilled:
		return failure("", "the kernel's OOM killer ended the load generator: the host's memory is used up",
			"free memory, or lower threads")
	case exit.Signal != "":
		return failure("", fmt.Sprintf("a signal ended the load generator (%s)", exit.Signal),
			"run the trial again; somebody or something on this host sent the signal")
	case exit.Code == 127, exit.Code == 126:
		return failure("", because("the load generator, which is plimsoll itself, could not be started", message),
			"see whether its program file is still there")
	case exit.Code != 0:
		return failure("", because(fmt.Sprintf("the load generator exited with code %d", exit.Code), message),
			"see the trial's artifacts; the command line there shows the same by hand")
	}
	return nil
}

func because(why, said string) string {
	if said == "" {
		return why
	}
	return why + ": " + said
}

// lastLine is the last line of a text that says something.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(strings.ToValidUTF8(text, "?")), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

// measurement returns the measurement for the lines added up in l.
func (r reader) measurement(l *Line, end *End, intervals *tails) (result.Measurement, error) {
	m := result.Measurement{Seconds: l.Seconds}
	if l.count() == 0 {
		return m, r.noOperations(l, end)
	}
	if l.Seconds > 0 {
		each := l.Seconds * float64(end.Threads)
		m.UserCPU, m.SystemCPU = l.UserSeconds/each, l.SystemSeconds/each
	}
	for _, name := range Names {
		for i := range l.Operations {
			if l.Operations[i].Name == name {
				m.Operations = append(m.Operations, r.operation(&l.Operations[i], l.Seconds))
			}
		}
	}
	if r.rate > 0 {
		m.OpenLoop = r.openLoop(l, end, m, intervals)
	}
	m.Notes = r.notes(l, end, m)
	return m, nil
}

// noOperations returns the reason why no operation completed.
func (r reader) noOperations(l *Line, end *End) error {
	errs := uint64(0)
	for _, d := range l.Operations {
		errs += d.Errors
	}
	why := "not one operation was completed in the measured time"
	if errs > 0 {
		why += fmt.Sprintf(", and %s", plural.Count(int(errs), "error"))
	}
	return failure("", because(why, end.Error),
		"see what the server says in the trial's artifacts; give it a longer runtime")
}

func (r reader) operation(d *Done, seconds float64) result.Operation {
	o := result.Operation{Name: d.Name, Count: d.Count, Errors: d.Errors, Timeouts: d.Timeouts, Retries: d.Retries,
		Bytes: d.Bytes}
	if seconds > 0 {
		o.Rate, o.BytesPerSecond = float64(d.Count)/seconds, float64(d.Bytes)/seconds
	}
	for stage, l := range map[result.Stage]*Latencies{result.Total: &d.Total, result.Completion: &d.Service} {
		if !l.IsZero() {
			o.SetLatency(stage, l.histogram())
		}
	}
	return o
}

// What is beyond these is noted: shares from which on the generator itself is suspected,
// and a delay.
const (
	busy = 0.9 // of the processors that it may use
	late = 0.1 // of the 99th percentile that it measured

	leftShare = 0.25 // of the measured time, to write back what operations on files left

	overload = 0.05 // seconds by which an operation waits for a connection at the end
)

// busyCPU is the share of the processors that the generator may use which it used.
func busyCPU(l *Line, end *End) float64 {
	if !(l.Seconds > 0) {
		return 0
	}
	return min(1, (l.UserSeconds+l.SystemSeconds)/l.Seconds/float64(end.CPUs))
}

// openLoop returns the results of an open loop.
func (r reader) openLoop(l *Line, end *End, m result.Measurement, intervals *tails) *result.OpenLoop {
	lag, _ := hist.Percentile(l.Lag.histogram().Bins, 99)
	total, _ := hist.Percentile(m.Latency(result.Total).Bins, 99)
	open := &result.OpenLoop{
		Rate: r.rate, Overdue: end.Overdue, BehindSeconds: end.Behind, LagP99NS: float64(lag), BusyCPU: busyCPU(l, end),
	}
	open.Hindered = open.BusyCPU > busy || open.LagP99NS > late*float64(total)
	open.P99NS, open.IntervalSeconds = intervals.percentiles()
	return open
}

// notes returns reasons to doubt a measurement.
func (r reader) notes(l *Line, end *End, m result.Measurement) (notes []string) {
	share := busyCPU(l, end)
	if share > busy && !r.files {
		notes = append(notes, fmt.Sprintf("the load generator was itself the bottleneck: it used %s of %s that it may use; "+
			"give it more, or a lower load", units.Percent(share), plural.Count(end.CPUs, "CPU")))
	}
	if end.FlushSeconds > leftShare*l.Seconds {
		notes = append(notes, fmt.Sprintf("what the operations had left in the page cache and the journal took %s to write "+
			"back after the %s measured: the device was behind", units.Latency(end.FlushSeconds*1e9),
			units.Latency(l.Seconds*1e9)))
	}
	if open := m.OpenLoop; open != nil {
		total, _ := hist.Percentile(m.Latency(result.Total).Bins, 99)
		if open.LagP99NS > late*float64(total) {
			notes = append(notes, fmt.Sprintf("the load generator was late by itself: p99 of its lag is %s, that of the "+
				"latencies which contain it %s; give it separate CPUs, or a lower rate", units.Latency(open.LagP99NS),
				units.Latency(float64(total))))
		}
	}
	if end.Behind > overload {
		notes = append(notes, fmt.Sprintf("overload: at the end %s had not begun although their time had come, the next of "+
			"them %s ago, and are in no latency", plural.Count(int(end.Overdue), "operation"), units.Latency(end.Behind*1e9)))
	}
	errs, timeouts := uint64(0), uint64(0)
	for _, o := range m.Operations {
		errs, timeouts = errs+o.Errors, timeouts+o.Timeouts
	}
	if errs > 0 {
		note := fmt.Sprintf("%s, %d of them timeouts, are in no latency", plural.Count(int(errs), "error"), timeouts)
		notes = append(notes, because(note, end.Error))
	}
	return notes
}

// watch follows one generator.
type watch struct {
	reader  reader
	pending []byte // appended, and not yet looked at
	damaged error  // error of the first line that cannot be parsed
	ramp    Line   // added up
	blocks  []Line // of WarmupUnit intervals each, added up; the last one may go on
	samples int    // in the last block
	tails   tails  // of an open loop
	end     *End
}

// Feed implements workload.Watch.
func (w *watch) Feed(appended []byte) (rates []float64) {
	w.pending = append(w.pending, appended...)
	for {
		lineEnd := bytes.IndexByte(w.pending, '\n')
		if lineEnd < 0 {
			if len(w.pending) > maxLine && w.damaged == nil {
				w.damaged = errors.New("a line does not end")
			}
			return rates
		}
		line := w.pending[:lineEnd]
		w.pending = w.pending[lineEnd+1:]
		if rate, ok := w.line(line); ok {
			rates = append(rates, rate)
		}
	}
}

// line handles a whole line.
func (w *watch) line(text []byte) (rate float64, ok bool) {
	if w.damaged != nil {
		return 0, false
	}
	l, err := ReadLine(text)
	if err == nil && w.end != nil {
		err = errors.New("something follows its end")
	}
	if err != nil {
		w.damaged = err
		return 0, false
	}
	w.end = l.End
	if l.Ramp {
		w.ramp.Add(&l)
		return 0, false
	}
	if len(w.blocks) == 0 || w.samples == workload.WarmupUnit {
		w.blocks, w.samples = append(w.blocks, Line{}), 0
	}
	w.blocks[len(w.blocks)-1].Add(&l)
	if w.reader.rate > 0 && !l.Rest {
		w.tails.add(&l)
	}
	if l.Rest || l.Seconds == 0 {
		return 0, false // what happened within a moment is no rate like the others
	}
	w.samples++
	return float64(l.count()) / l.Seconds, true
}

// Whole implements workload.Watch.
func (w *watch) Whole(exit workload.Exit) (result.Measurement, error) {
	return w.measure(exit, &w.ramp, w.blocks)
}

// Read implements workload.Watch.
func (w *watch) Read(exit workload.Exit, warmup int) (result.Measurement, error) {
	return w.measure(exit, nil, w.blocks[min(warmup/workload.WarmupUnit, len(w.blocks)):])
}

// measure returns the measurement for the sum of lines.
func (w *watch) measure(exit workload.Exit, ramp *Line, blocks []Line) (result.Measurement, error) {
	empty := result.Measurement{}
	failed := w.reader.exitProblem(exit)
	if failed != nil {
		return empty, failed
	}
	switch {
	case w.damaged != nil, len(bytes.TrimSpace(w.pending)) > 0, w.end == nil:
		why := "the output of the load generator is cut short"
		if w.damaged != nil {
			why = "the output of the load generator is damaged: " + w.damaged.Error()
		}
		return empty, failure("", why,
			"see whether the disk that holds the run directory is full, and run the trial again")
	case w.end.Stopped && !exit.Asked:
		return empty, failure("", "a signal ended the load generator early", "run the trial again")
	}
	var sum Line
	if ramp != nil {
		sum.Add(ramp)
	}
	for i := range blocks {
		sum.Add(&blocks[i])
	}
	return w.reader.measurement(&sum, w.end, &w.tails)
}

// Final implements workload.Watch: the lines added up, which are an output like the
// one that they were.
func (w *watch) Final() []byte {
	if w.damaged != nil || w.end == nil {
		return bytes.Clone(w.pending)
	}
	var out []byte
	if w.ramp.Seconds > 0 {
		ramp := w.ramp
		ramp.Ramp = true
		out = append(out, ramp.Text()...)
	}
	var sum Line
	for i := range w.blocks {
		sum.Add(&w.blocks[i])
	}
	sum.Rest, sum.End = true, w.end
	return append(out, sum.Text()...)
}
