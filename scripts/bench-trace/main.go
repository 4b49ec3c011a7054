// Command bench-trace shows how fast a capture of ten million events is
// analysed, beside blkparse and btt, and beside only reading and decoding it.
// The programs run in turn on the same file in the page cache.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"plimsoll/internal/iotrace"
	"plimsoll/internal/iotrace/blktrace"
	"plimsoll/internal/iotrace/follow"
	"plimsoll/internal/stats"
)

func main() {
	events := flag.Int("events", 10_500_000, "events of the capture")
	rounds := flag.Int("rounds", 5, "how often each program runs; blkparse and btt at most 3 times")
	keep := flag.String("dir", "", "directory of the capture, which is kept there and used again (default: a temporary one)")
	mode := flag.String("mode", "", "what a process of this program's own does: decode, or analyse with so many threads: 1, 2")
	flag.Parse()
	var err error
	if *mode == "" {
		err = bench(*keep, *events, *rounds)
	} else {
		err = work(*mode, flag.Args())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench-trace:", err)
		os.Exit(1)
	}
}

// work is what is measured.
func work(mode string, names []string) error {
	var sources []follow.Source
	var readers []*blktrace.Reader
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		sources = append(sources, follow.Source{Name: name, From: f})
		readers = append(readers, blktrace.NewReader(name, f))
	}
	if mode == "decode" {
		var err error
		m := blktrace.NewMerge(readers, func(e error) { err = e })
		var last uint64
		n := 0
		for r := m.Next(); r != nil; r = m.Next() {
			last = max(last, r.Time)
			n++
		}
		fmt.Println(n, last)
		return err
	}
	var threads int
	if _, err := fmt.Sscan(mode, &threads); err != nil {
		return err
	}
	a, err := follow.Analyze(context.Background(), sources, follow.Options{Threads: threads})
	if err != nil {
		return err
	}
	for _, r := range a.By(iotrace.ByDevice) {
		fmt.Println(r.Label, r.Requests, r.Bytes, r.Intervals[iotrace.Q2C].MeanNS(), r.Intervals[iotrace.D2C].PercentileNS(99))
	}
	fmt.Println(len(a.Cells), "cells")
	fmt.Println(a.Events)
	return nil
}

// program is one that is measured.
type program struct {
	name    string
	args    []string
	threads int // GOMAXPROCS, of ours
	rounds  int
	seconds []float64
	rssMiB  float64
}

func bench(dir string, events, rounds int) error {
	for _, p := range []string{"blkparse", "btt"} {
		if _, err := exec.LookPath(p); err != nil {
			return fmt.Errorf("%s is not installed: scripts/setup.sh test", p)
		}
	}
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp("", "plimsoll-bench-trace-"); err != nil {
			return err
		}
		defer os.RemoveAll(dir)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if files, _ := filepath.Glob(filepath.Join(dir, "bench.blktrace.*")); len(files) == 0 {
		fmt.Printf("making a capture of %d events in %s\n", events, dir)
		if err := generate(dir, "bench", events); err != nil {
			return err
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "bench.blktrace.*"))
	if err != nil {
		return err
	}
	few := min(rounds, 3)
	programs := []*program{
		{name: "blkparse -d (merges)", args: []string{"blkparse", "-q", "-O", "-i", "bench", "-d", "merged"}, rounds: few},
		{name: "btt", args: []string{"btt", "-i", "merged", "-o", "btt"}, rounds: few},
		{name: "read and decode, one thread", args: []string{self, "-mode=decode", "merged"}, threads: 1, rounds: rounds},
		{name: "analyse, GOMAXPROCS=1", args: []string{self, "-mode=1", "merged"}, threads: 1, rounds: rounds},
		{name: "analyse, GOMAXPROCS=2", args: []string{self, "-mode=2", "merged"}, threads: 2, rounds: rounds},
		{name: "analyse 8 files of CPUs, GOMAXPROCS=1", args: append([]string{self, "-mode=1"}, files...), threads: 1, rounds: rounds},
	}
	var outputs []string // of ours
	for round := range rounds {
		for _, p := range programs {
			if round >= p.rounds {
				continue
			}
			out, err := p.run(dir)
			if err != nil {
				return err
			}
			if p.threads > 0 && p.args[1] != "-mode=decode" {
				outputs = append(outputs, out)
			}
		}
	}
	size, err := os.Stat(filepath.Join(dir, "merged"))
	if err != nil {
		return err
	}
	table(os.Stdout, programs, outputs, size.Size())
	return nil
}

func (p *program) run(dir string) (string, error) {
	c := exec.Command(p.args[0], p.args[1:]...)
	c.Dir = dir
	if p.threads > 0 {
		c.Env = append(os.Environ(), fmt.Sprintf("GOMAXPROCS=%d", p.threads))
	}
	start := time.Now()
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("%v: %w", c, err)
	}
	p.seconds = append(p.seconds, time.Since(start).Seconds())
	if usage, ok := c.ProcessState.SysUsage().(*syscall.Rusage); ok {
		p.rssMiB = max(p.rssMiB, float64(usage.Maxrss)/1024)
	}
	return string(out), nil
}

func table(w io.Writer, programs []*program, outputs []string, size int64) {
	var events float64
	fmt.Sscan(outputs[0][lastLine(outputs[0]):], &events) //nolint:errcheck // our own output
	btt := stats.Median(programs[1].seconds)
	fmt.Fprintf(w, "\n%.0f events, %d MiB\n%-38s %9s %14s %12s %10s\n", events, size>>20, "", "median s", "events/s", "of btt", "most RSS")
	for _, p := range programs {
		s := stats.Median(p.seconds)
		fmt.Fprintf(w, "%-38s %9.2f %14.0f %12s %6.0f MiB\n", p.name, s, events/s, fmt.Sprintf("1/%.1f", btt/s), p.rssMiB)
	}
	same := !slices.ContainsFunc(outputs, func(o string) bool { return o != outputs[0] })
	fmt.Fprintf(w, "goals: at most 1/12 of btt's time with GOMAXPROCS=1, under 64 MiB; the results of all of ours are the same: %v\n", same)
}

func lastLine(s string) int {
	for i := len(s) - 2; i >= 0; i-- {
		if s[i] == '\n' {
			return i + 1
		}
	}
	return 0
}
