// Package trace shows how much CPU time `plimsoll trace analyze` takes of
// captures of many shapes, beside btt, and beside blkparse, which btt needs
// before. It makes the captures itself. The programs run in turn on files in the
// page cache, and what counts is their CPU time, user and system, for the cores
// may be shared. BenchmarkAnalyze of internal/iotrace/follow measures the analysis
// alone.
package trace

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"plimsoll/internal/stats"
)

// Run prints the table.
func Run(args []string) error {
	flags := flag.NewFlagSet("trace", flag.ExitOnError)
	events := flags.Int("events", 2_100_000, "events of each capture: 100 MB")
	rounds := flags.Int("rounds", 5, "how often each program runs")
	only := flags.String("only", "", "measure only the shape of this `name`, as the table has it")
	plimsoll := flags.String("plimsoll", "./plimsoll", "the program `file` to measure")
	_ = flags.Parse(args) // it exits
	program, err := filepath.Abs(*plimsoll)
	if err != nil {
		return err
	}
	return benchAll(os.Stdout, program, *only, *events, *rounds)
}

const heading = "| capture | events | MB | btt, CPU s | plimsoll, 1 thread | of btt's | as it is | of btt's " +
	"| most memory: btt, plimsoll | blkparse \\| btt, CPU s | of both |\n" +
	"|---|---|---|---|---|---|---|---|---|---|---|\n"

func benchAll(w io.Writer, plimsoll, only string, events, rounds int) error {
	for _, p := range []string{"blkparse", "btt"} {
		if _, err := exec.LookPath(p); err != nil {
			return fmt.Errorf("%s is not installed: scripts/setup.sh test", p)
		}
	}
	fmt.Fprint(w, heading)
	for _, s := range shapes(events) {
		if only != "" && only != s.name {
			continue
		}
		if err := bench(w, plimsoll, s, rounds); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	_, err := fmt.Fprintf(w, "\nmedians of %d rounds, and of the ratios of each round; goal: at most 1/8 of btt's "+
		"CPU time\n", rounds)
	return err
}

// program is one that is measured.
type program struct {
	args    []string
	threads string // GOMAXPROCS, of ours; "" as it is
	seconds []float64
	rssMiB  float64
	output  string
}

func bench(w io.Writer, plimsoll string, s shape, rounds int) error {
	dir, err := os.MkdirTemp("", "plimsoll-bench-trace-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := generate(dir, "bench", s); err != nil {
		return err
	}
	names, bytes, err := remaining(dir, s)
	if err != nil {
		return err
	}
	// blkparse takes the first missing CPU for the end: it gets empty files of them.
	merge := &program{args: []string{"blkparse", "-q", "-O", "-i", "bench", "-d", "merged"}}
	if len(s.missing) > 0 {
		if err := fillIn(dir, names, s.missing); err != nil {
			return err
		}
		merge.args[4] = "filled"
	}
	btt := &program{args: []string{"btt", "-i", "merged", "-o", "btt"}}
	analyze := []string{plimsoll, "trace", "analyze", "bench", "--json"}
	single, parallel := &program{args: analyze, threads: "1"}, &program{args: analyze}
	for range rounds {
		for _, p := range []*program{merge, btt, single, parallel} {
			if err := p.run(dir); err != nil {
				return err
			}
		}
		if single.output != parallel.output {
			return errors.New("the number of threads changes what trace analyze prints")
		}
	}
	both := make([]float64, rounds)
	for i := range both {
		both[i] = merge.seconds[i] + btt.seconds[i]
	}
	_, err = fmt.Fprintf(w, "| %s | %d | %d | %.2f | %.3f | 1/%.1f | %.3f | 1/%.1f | %.0f, %.0f MiB | %.2f | 1/%.1f |\n",
		s.name, eventsOf(single.output), bytes/1_000_000, stats.Median(btt.seconds),
		stats.Median(single.seconds), ratio(btt.seconds, single.seconds), stats.Median(parallel.seconds),
		ratio(btt.seconds, parallel.seconds),
		btt.rssMiB, max(single.rssMiB, parallel.rssMiB), stats.Median(both), ratio(both, single.seconds))
	return err
}

// ratio is the median of the ratios of each round: what neighbours do to one they
// do to the other.
func ratio(numerators, denominators []float64) float64 {
	ratios := make([]float64, len(numerators))
	for i := range numerators {
		ratios[i] = numerators[i] / denominators[i]
	}
	return stats.Median(ratios)
}

// remaining removes the files that a shape lacks, and returns the others.
func remaining(dir string, s shape) (names []string, bytes int64, err error) {
	for cpu := range s.config.CPUs {
		name := filepath.Join(dir, "bench.blktrace."+strconv.Itoa(cpu))
		if slices.Contains(s.missing, uint32(cpu)) {
			if err := os.Remove(name); err != nil {
				return nil, 0, err
			}
			continue
		}
		info, err := os.Stat(name)
		if err != nil {
			return nil, 0, err
		}
		names = append(names, name)
		bytes += info.Size()
	}
	return names, bytes, nil
}

// fillIn names the files anew, beside empty ones of the CPUs that are missing.
func fillIn(dir string, names []string, missing []uint32) error {
	for _, name := range names {
		if err := os.Link(name, filepath.Join(dir, "filled"+strings.TrimPrefix(filepath.Base(name), "bench"))); err != nil {
			return err
		}
	}
	for _, cpu := range missing {
		if err := os.WriteFile(filepath.Join(dir, "filled.blktrace."+strconv.Itoa(int(cpu))), nil, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// eventsOf finds the number of events in the JSON of trace analyze.
func eventsOf(output string) (events uint64) {
	if _, rest, ok := strings.Cut(output, `"events": `); ok {
		_, _ = fmt.Sscan(strings.TrimRight(strings.SplitN(rest, "\n", 2)[0], ","), &events)
	}
	return events
}

func (p *program) run(dir string) error {
	c := exec.Command(p.args[0], p.args[1:]...)
	c.Dir = dir
	if p.threads != "" {
		c.Env = append(os.Environ(), "GOMAXPROCS="+p.threads)
	}
	out, err := c.Output()
	if err != nil {
		return fmt.Errorf("%v: %w", c, err)
	}
	p.output = string(out)
	p.seconds = append(p.seconds, (c.ProcessState.UserTime() + c.ProcessState.SystemTime()).Seconds())
	if usage, ok := c.ProcessState.SysUsage().(*syscall.Rusage); ok {
		p.rssMiB = max(p.rssMiB, float64(usage.Maxrss)/1024)
	}
	return nil
}
