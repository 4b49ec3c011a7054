package main

import (
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
)

// reading shows how far files were read, once that takes a while: a bar with
// the time left on a terminal, nothing elsewhere.
type reading struct {
	w           io.Writer // nil for no output
	began, last time.Time
	bar         *progressbar.ProgressBar // nil until it is shown
}

const patience = 2 * time.Second // without a word

// newReading shows on w; silent for nothing at all.
func newReading(w io.Writer, silent bool) *reading {
	if silent || !isTerminal(w) {
		w = nil
	}
	return &reading{w: unfiltered(w), began: time.Now()}
}

// update is called with the bytes read, and the total, or 0 where that is unknown.
func (r *reading) update(done, total int64) {
	now := time.Now()
	if r.w == nil || now.Sub(r.began) < patience || now.Sub(r.last) < 200*time.Millisecond {
		return
	}
	r.last = now
	if r.bar == nil {
		most := total
		if most <= 0 {
			most = -1 // it turns a wheel
		}
		r.bar = progressbar.NewOptions64(most, progressbar.OptionSetWriter(r.w), progressbar.OptionSetWidth(24),
			progressbar.OptionSetPredictTime(false), progressbar.OptionSetElapsedTime(false),
			progressbar.OptionUseANSICodes(true))
	}
	r.bar.Describe(readingText(done, total, now.Sub(r.began)))
	_ = r.bar.Set64(done) // a terminal that is gone has nobody to tell
}

// readingText describes the progress, and the remaining time at that pace.
func readingText(done, total int64, since time.Duration) string {
	text := fmt.Sprintf("analysing, %d MB", done/1e6)
	if total <= 0 || done <= 0 {
		return text
	}
	left := time.Duration(float64(since) * float64(max(total-done, 0)) / float64(done))
	return fmt.Sprintf("%s of %d, %s left", text, total/1e6, left.Round(time.Second))
}

// close leaves the line as if nothing had been there.
func (r *reading) close() {
	if r.bar != nil {
		_ = r.bar.Clear()
	}
}
