// Command bench-trace shows how fast `plimsoll trace analyze` tells of a capture
// of ten million events, beside blkparse and btt, and beside only reading and
// decoding it. The programs run in turn on the same file in the page cache, and
// their whole time counts. BenchmarkAnalyze of internal/iotrace/follow measures
// the analysis alone.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"plimsoll/internal/iotrace/blktrace"
	"plimsoll/internal/stats"
)

func main() {
	events := flag.Int("events", 10_500_000, "events of the capture")
	rounds := flag.Int("rounds", 5, "how often each program runs; blkparse and btt at most 3 times")
	keep := flag.String("dir", "", "directory of the capture, which is kept there and used again (default: a temporary one)")
	plimsoll := flag.String("plimsoll", "", "the program `file` to measure")
	decode := flag.Bool("decode", false, "what a process of this program's own does: read and decode the files")
	flag.Parse()
	var err error
	switch {
	case *decode:
		err = read(flag.Args())
	case *plimsoll == "":
		err = errors.New("-plimsoll is needed: scripts/bench-trace.sh builds it")
	default:
		err = bench(*plimsoll, *keep, *events, *rounds)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench-trace:", err)
		os.Exit(1)
	}
}

// read is the least that every analysis has to do. It prints how many records
// there are.
func read(names []string) error {
	var readers []*blktrace.Reader
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		readers = append(readers, blktrace.NewReader(name, f))
	}
	var damage error
	merge := blktrace.NewMerge(readers, func(err error) { damage = err })
	n := 0
	for records := merge.Next(); records != nil; records = merge.Next() {
		n += len(records)
	}
	fmt.Println(n)
	return damage
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

func bench(plimsoll, dir string, events, rounds int) error {
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
	few := min(rounds, 3)
	programs := []*program{
		{name: "blkparse -d (merges)", args: []string{"blkparse", "-q", "-O", "-i", "bench", "-d", "merged"}, rounds: few},
		{name: "btt", args: []string{"btt", "-i", "merged", "-o", "btt"}, rounds: few},
		{name: "read and decode, one thread", args: []string{self, "-decode", "merged"}, threads: 1, rounds: rounds},
		{name: "trace analyze, GOMAXPROCS=1", args: []string{plimsoll, "trace", "analyze", "merged"}, threads: 1, rounds: rounds},
		{name: "trace analyze, GOMAXPROCS=2", args: []string{plimsoll, "trace", "analyze", "merged"}, threads: 2, rounds: rounds},
		{name: "... of 8 files of CPUs, GOMAXPROCS=1", args: []string{plimsoll, "trace", "analyze", "bench"}, threads: 1, rounds: rounds},
	}
	var outputs []string // of trace analyze, of the same file
	var records float64
	for round := range rounds {
		for _, p := range programs {
			if round >= p.rounds {
				continue
			}
			out, err := p.run(dir)
			if err != nil {
				return err
			}
			if p.args[0] == self {
				if _, err := fmt.Sscan(out, &records); err != nil {
					return fmt.Errorf("%v: it printed %q: %w", p.args, out, err)
				}
			}
			if p.args[0] == plimsoll && slices.Contains(p.args, "merged") {
				outputs = append(outputs, out)
			}
		}
	}
	size, err := os.Stat(filepath.Join(dir, "merged"))
	if err != nil {
		return err
	}
	return table(os.Stdout, programs, records, outputs, size.Size())
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

func table(w io.Writer, programs []*program, records float64, outputs []string, size int64) error {
	btt := stats.Median(programs[1].seconds)
	fmt.Fprintf(w, "\n%.0f records, %d MiB\n%-38s %9s %14s %12s %10s\n", records, size>>20, "", "median s", "events/s", "of btt", "most RSS")
	for _, p := range programs {
		s := stats.Median(p.seconds)
		fmt.Fprintf(w, "%-38s %9.2f %14.0f %12s %6.0f MiB\n", p.name, s, records/s, fmt.Sprintf("1/%.1f", btt/s), p.rssMiB)
	}
	same := !slices.ContainsFunc(outputs, func(o string) bool { return o != outputs[0] })
	_, err := fmt.Fprintf(w, "goals: at most 1/12 of btt's time with GOMAXPROCS=1, under 64 MiB; with one thread and two the output is the same: %v\n", same)
	return err
}
