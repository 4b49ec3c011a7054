// Package growth measures how the time and memory of commands grow with what users keep: trials in a run, runs in a
// directory, and seconds in a recording. It prints the exponent of each.
package growth

import (
	"compress/gzip"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"plimsoll/internal/result"
	"plimsoll/internal/result/store"
)

// measuredRun is a real run, which is repeated.
const measuredRun = "docs/runs/quick.db.gz"

// usage is the processor time of a command, in seconds, and the most memory that it had, in bytes.
type usage struct{ seconds, bytes float64 }

// Run repeats the rounds of a run until it has -trials trials, a tenth of them, and so on, and measures commands on
// each; `plimsoll runs` on directories of up to -runs runs; and `plimsoll headroom` on recordings of up to -seconds.
func Run(args []string) error {
	flags := flag.NewFlagSet("growth", flag.ContinueOnError)
	trials := flags.Int("trials", 10_000, "of the largest run")
	runs := flags.Int("runs", 1000, "in the largest directory")
	seconds := flags.Int("seconds", 86_400, "of the longest recording")
	program := flags.String("program", "./plimsoll", "that is measured")
	err := flags.Parse(args)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "growth-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	first, err := unpacked(filepath.Join(dir, "measured"))
	if err != nil {
		return err
	}
	fmt.Print("| command | of | CPU seconds, MB | exponent of time | of memory |\n|---|---|---|--:|--:|\n")
	// The memory of a command begins with that of this program, so that large runs come last.
	err = growRuns(*program, filepath.Join(dir, "runs"), first, sizes(*runs))
	if err != nil {
		return err
	}
	err = growRecordings(*program, dir, sizes(*seconds))
	if err != nil {
		return err
	}
	return growTrials(*program, dir, first, sizes(*trials))
}

// sizes are up to three sizes, each ten times as large as the one before.
func sizes(largest int) (ascending []int) {
	for n := largest; n > 0 && len(ascending) < 3; n /= 10 {
		ascending = append(ascending, n)
	}
	slices.Reverse(ascending)
	return ascending
}

// unpacked reads the run that is repeated.
func unpacked(dir string) (run *result.Run, err error) {
	packed, err := os.Open(measuredRun)
	if err != nil {
		return nil, err
	}
	defer packed.Close()
	r, err := gzip.NewReader(packed)
	if err != nil {
		return nil, err
	}
	err = os.MkdirAll(dir, 0o755)
	if err != nil {
		return nil, err
	}
	file, err := os.Create(filepath.Join(dir, "results.db"))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	_, err = io.Copy(file, r) //nolint:gosec // it is a file of this repository
	if err != nil {
		return nil, err
	}
	return store.Read(dir)
}

// repeated returns a run with its rounds again and again, until it has so many trials.
func repeated(run *result.Run, trials int) result.Run {
	grown := *run
	grown.Trials = make([]result.Trial, trials)
	last := result.Trial{}
	for _, t := range run.Trials {
		last.Block, last.BringUp = max(last.Block, t.Block), max(last.BringUp, t.BringUp)
		last.Repeat = max(last.Repeat, t.Repeat)
	}
	span := time.Hour
	for i := range grown.Trials {
		t := run.Trials[i%len(run.Trials)]
		again := i / len(run.Trials)
		t.Seq, t.Block, t.Repeat = i+1, t.Block+again*last.Block, t.Repeat+again*last.Repeat
		t.BringUp += again * last.BringUp
		t.Started = t.Started.Add(time.Duration(again) * span)
		grown.Trials[i] = t
	}
	return grown
}

func growTrials(program, dir string, first *result.Run, sizes []int) error {
	commands := map[string][]usage{}
	var names []string
	for _, n := range sizes {
		run := filepath.Join(dir, "trials-"+strconv.Itoa(n))
		stored, err := store.Create(run, repeated(first, n))
		if err != nil {
			return err
		}
		err = stored.Close()
		if err != nil {
			return err
		}
		for _, args := range [][]string{{"show"}, {"show", "--json"}, {"show", "--report"}, {"compare", run}} {
			name := strings.ReplaceAll(strings.Join(args, " "), " "+run, "")
			if commands[name] == nil {
				names = append(names, name)
			}
			used, err := measure(program, append(args, run)...)
			if err != nil {
				return err
			}
			commands[name] = append(commands[name], used)
		}
	}
	for _, name := range names {
		row(name, "trials", sizes, commands[name])
	}
	return nil
}

func growRuns(program, dir string, first *result.Run, sizes []int) error {
	small := repeated(first, min(3, len(first.Trials)))
	var usages []usage
	made := 0
	for _, n := range sizes {
		for ; made < n; made++ {
			small.ID = fmt.Sprintf("%s-%d", first.ID, made)
			stored, err := store.Create(filepath.Join(dir, small.ID), small)
			if err != nil {
				return err
			}
			err = stored.Close()
			if err != nil {
				return err
			}
		}
		used, err := measure(program, "runs", "--runs-dir", dir)
		if err != nil {
			return err
		}
		usages = append(usages, used)
	}
	row("runs", "runs", sizes, usages)
	return nil
}

// verdicts are the exit codes of commands that printed an answer, such as what compare found.
const verdicts = 10

// measure runs a command, and returns what it used.
func measure(program string, args ...string) (usage, error) {
	cmd := exec.Command(program, args...)
	var errs strings.Builder
	cmd.Stderr = &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() >= verdicts {
		err = nil
	}
	if err != nil {
		return usage{}, fmt.Errorf("%s %s: %w: %s", program, strings.Join(args, " "), err, errs.String())
	}
	state := cmd.ProcessState
	used, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		return usage{}, errors.New("this system does not count what a process uses")
	}
	const kibibyte = 1024
	return usage{(state.UserTime() + state.SystemTime()).Seconds(), float64(used.Maxrss) * kibibyte}, nil
}

// row prints what a command used at each size, and the exponents between the last two.
func row(name, unit string, sizes []int, used []usage) {
	var cells []string
	for i, n := range sizes {
		cells = append(cells, fmt.Sprintf("%d: %.2f, %.0f", n, used[i].seconds, used[i].bytes/1e6))
	}
	exponents := "| |"
	if last := len(sizes) - 1; last > 0 {
		steps := math.Log(float64(sizes[last]) / float64(sizes[last-1]))
		exponents = fmt.Sprintf("%.2f | %.2f |", math.Log(used[last].seconds/used[last-1].seconds)/steps,
			math.Log(used[last].bytes/used[last-1].bytes)/steps)
	}
	fmt.Printf("| `%s` | %s | %s | %s\n", name, unit, strings.Join(cells, "; "), exponents)
}
