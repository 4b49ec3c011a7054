// Package record shows what recording costs: on a loop device over a file in memory, which is faster than any
// recorder, fio reads at random, while slices of time without a recorder and with each of them take turns. What the
// device counts in these is compared, by medians.
package record

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"plimsoll/internal/iotrace"
	"plimsoll/internal/iotrace/blktrace"
	"plimsoll/internal/iotrace/capture"
	"plimsoll/internal/state/journal"
)

// recorder is a row of the table.
type recorder struct {
	name  string
	start func(number string) (stop func() (lost uint64, err error), err error)
}

func recorderWith(o capture.Options) func(string) (func() (uint64, error), error) {
	return func(number string) (func() (uint64, error), error) {
		o.Devices = []string{number}
		state, err := os.MkdirTemp("", "bench-record")
		if err != nil {
			return nil, err
		}
		j, err := journal.Create(state, "bench")
		if err != nil {
			return nil, err
		}
		r, err := capture.Start(context.Background(), j, o)
		if err != nil {
			return nil, errors.Join(err, j.Close())
		}
		return func() (uint64, error) {
			a, err := r.Stop()
			if err = errors.Join(err, j.Close()); err != nil {
				return 0, err
			}
			return a.Lost, nil
		}, nil
	}
}

var recorders = []recorder{
	{"untraced", func(string) (func() (uint64, error), error) { return func() (uint64, error) { return 0, nil }, nil }},
	{"tally", tally(true)},
	{"tally-elsewhere", tally(false)},
	{"default", recorderWith(capture.Options{})},
	{"dormant", dormant},
	{"time-all", recorderWith(capture.Options{All: true})},
	{"stages", recorderWith(capture.Options{Stages: true})},
	{"application", recorderWith(capture.Options{Application: true})},
	{"requests", recorderWith(capture.Options{Requests: func(*iotrace.IO) {}})},
	{"capture", recorderWith(capture.Options{Events: func(*blktrace.Record) {}})},
	{"tracefs", recorderWith(capture.Options{Way: "tracefs"})},
	{"trace_pipe", tracePipe},
}

// tally counts who asks for what, as it is done beside trials: of the device, or
// of another one.
func tally(watch bool) func(string) (func() (uint64, error), error) {
	return func(number string) (func() (uint64, error), error) {
		t, err := capture.StartTally()
		if err != nil {
			return nil, err
		}
		if watch {
			if _, err := t.Watch(number); err != nil {
				return nil, errors.Join(err, t.Close())
			}
		}
		return func() (uint64, error) {
			_, uncounted, err := t.Read()
			return uncounted, errors.Join(err, t.Close())
		}, nil
	}
}

// tracePipe records as people do by hand: the events of the block layer, as text.
func tracePipe(string) (func() (uint64, error), error) {
	dir, err := os.MkdirTemp("", "bench-record")
	if err != nil {
		return nil, err
	}
	if err := unix.Mount("tracefs", dir, "tracefs", 0, ""); err != nil {
		return nil, errors.Join(err, os.Remove(dir))
	}
	instance := filepath.Join(dir, "instances", fmt.Sprintf("plimsoll-bench-%d", os.Getpid()))
	undo := func() error {
		out, err := exec.Command("sh", "-c", "rmdir \"$1\"; umount \"$2\" && rmdir \"$2\"", "sh", instance,
			dir).CombinedOutput()
		if err != nil {
			err = fmt.Errorf("%w: %s", err, out)
		}
		return err
	}
	enable := filepath.Join(instance, "events/block/enable")
	if err := errors.Join(os.Mkdir(instance, 0o700), os.WriteFile(enable, []byte("1"), 0)); err != nil {
		return nil, errors.Join(err, undo())
	}
	reader := exec.Command("cat", filepath.Join(instance, "trace_pipe"))
	reader.SysProcAttr = &unix.SysProcAttr{Pdeathsig: unix.SIGKILL}
	if err := reader.Start(); err != nil {
		return nil, errors.Join(err, undo())
	}
	return func() (uint64, error) {
		_ = reader.Process.Kill()
		_ = reader.Wait() // it was killed
		return 0, errors.Join(os.WriteFile(enable, []byte("0"), 0), undo())
	}, nil
}

// Run prints what each recorder costs, or what attaching a program does.
func Run(args []string) error {
	flags := flag.NewFlagSet("record", flag.ExitOnError)
	rounds := flags.Int("rounds", 40, "times that each recorder is measured")
	slice := flags.Duration("slice", 500*time.Millisecond, "length of a measurement")
	only := flags.String("only", "", "recorders to measure, by commas")
	scheduler := flags.String("scheduler", "", "I/O scheduler of the device (default what the kernel chooses)")
	patches := flags.Int("patches", 0, "measure instead what it takes to attach and detach a program so many times")
	_ = flags.Parse(args) // it exits
	if *patches > 0 {
		return patch(os.Stdout, *patches)
	}
	return run(*rounds, *slice, *scheduler, strings.FieldsFunc(*only, func(r rune) bool { return r == ',' }))
}

func run(rounds int, slice time.Duration, scheduler string, only []string) (err error) {
	device, number, remove, err := Loop("record")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	before, err := schedule(device, scheduler)
	if err != nil {
		return err
	}
	if scheduler == "" {
		scheduler = before
	} else { // it outlives what the device is over
		defer func() {
			_, failed := schedule(device, before)
			err = errors.Join(err, failed)
		}()
	}
	chosen := slices.Clone(recorders)
	if len(only) > 0 {
		chosen = slices.DeleteFunc(chosen,
			func(r recorder) bool { return r.name != "untraced" && !slices.Contains(only, r.name) })
	}
	load := exec.Command("fio", "--name=bench", "--filename="+device, "--rw=randread", "--bs=4k", "--direct=1",
		"--ioengine=libaio", "--iodepth=32", "--time_based", "--runtime=3600", "--thread", "--output=/dev/null")
	// One process, of one thread a job: nothing of it outlives a kill, nor this one.
	load.SysProcAttr = &unix.SysProcAttr{Pdeathsig: unix.SIGKILL}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := load.Start(); err != nil {
		return fmt.Errorf("fio: %w", err)
	}
	defer func() { _, _ = load.Process.Kill(), load.Wait() }()
	if err := awaitLoad(device); err != nil {
		return err
	}
	terminal := term.IsTerminal(int(os.Stderr.Fd()))
	measured, lost := map[string][]figures{}, map[string]uint64{}
	for round := range rounds {
		if !terminal && round%max(rounds/8, 1) == 0 {
			fmt.Fprintf(os.Stderr, "round %d of %d\n", round+1, rounds)
		}
		for _, i := range rand.Perm(len(chosen)) {
			r := chosen[i]
			if terminal {
				fmt.Fprintf(os.Stderr, "\rround %d of %d: %-16s", round+1, rounds, r.name)
			}
			stop, err := r.start(number)
			if err != nil {
				return fmt.Errorf("%s: %w", r.name, err)
			}
			now, failed := measure(device, load.Process.Pid, slice)
			missed, err := stop()
			if err := errors.Join(failed, err); err != nil {
				return fmt.Errorf("%s: %w", r.name, err)
			}
			measured[r.name] = append(measured[r.name], now)
			lost[r.name] += missed
		}
	}
	if terminal {
		fmt.Fprintf(os.Stderr, "\r%40s\r", "")
	}
	out := os.Stdout
	fmt.Fprintf(out, "4 KiB random reads, depth 32, %s on a file in memory, scheduler %s; %d slices of %s each\n\n",
		device, scheduler, rounds, slice)
	fmt.Fprintf(out, "%-16s %10s %7s %7s %8s %8s %8s %10s\n", "recorder", "IOPS", "ratio", "paired", "CPU ns", "more",
		"calls/s", "lost")
	untraced := measured["untraced"]
	base := median(untraced, func(f, _ figures) float64 { return f.iops })
	for _, r := range chosen {
		medianOf := func(value func(f, untraced figures) float64) float64 {
			return median(measured[r.name], value, untraced...)
		}
		iops := medianOf(func(f, _ figures) float64 { return f.iops })
		fmt.Fprintf(out, "%-16s %10.0f %7.3f %7.3f %8.0f %+8.0f %8.0f %10d\n", r.name, iops, iops/base,
			medianOf(func(f, untraced figures) float64 { return f.iops / untraced.iops }),
			medianOf(func(f, _ figures) float64 { return f.cpu }),
			medianOf(func(f, untraced figures) float64 { return f.cpu - untraced.cpu }),
			medianOf(func(f, _ figures) float64 { return f.calls }), lost[r.name])
	}
	return nil
}

// median returns the median of a value over slices. Each slice is given with the slice of the same round that ran
// without a recorder, if there is one.
func median(slicesOf []figures, value func(f, untraced figures) float64, untraced ...figures) float64 {
	var values []float64
	for i, f := range slicesOf {
		beside := figures{}
		if i < len(untraced) {
			beside = untraced[i]
		}
		values = append(values, value(f, beside))
	}
	return middle(values)
}

func middle(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return (values[(len(values)-1)/2] + values[len(values)/2]) / 2
}

// reads is how many reads the device has completed.
func reads(device string) (n uint64, err error) {
	text, err := os.ReadFile(filepath.Join("/sys/block", filepath.Base(device), "stat"))
	if err != nil {
		return 0, err
	}
	_, err = fmt.Sscan(string(text), &n)
	return n, err
}

// figures are those of a slice of time.
type figures struct {
	iops  float64
	cpu   float64 // time of the processor that fio spent on a read, in nanoseconds: others on this machine change it least
	calls float64 // interrupts that call a function, of each CPU in a second: the kernel has them to change its code
}

// counters are what figures are made of.
type counters struct {
	read  time.Time
	reads uint64
	cpu   time.Duration
	calls float64
}

func count(device string, fio int) (c counters, err error) {
	if c.reads, err = reads(device); err != nil {
		return c, err
	}
	if c.cpu, err = processorTime(fio); err != nil {
		return c, err
	}
	c.calls, err = interrupts("Function call interrupts")
	c.read = time.Now()
	return c, err
}

// measure takes the figures of a slice of time.
func measure(device string, fio int, slice time.Duration) (figures, error) {
	time.Sleep(slice / 10) // what the start disturbed has passed
	before, err := count(device, fio)
	if err != nil {
		return figures{}, err
	}
	time.Sleep(slice)
	after, err := count(device, fio)
	if err != nil {
		return figures{}, err
	}
	seconds, n := after.read.Sub(before.read).Seconds(), float64(after.reads-before.reads)
	return figures{n / seconds, float64(after.cpu-before.cpu) / n, (after.calls - before.calls) / seconds}, nil
}

// processorTime returns how long the threads of a process have run.
func processorTime(pid int) (sum time.Duration, err error) {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil {
		return 0, err
	}
	for _, name := range threads {
		text, err := os.ReadFile(name)
		if err != nil {
			return 0, err
		}
		var ns int64
		if _, err := fmt.Sscan(string(text), &ns); err != nil {
			return 0, fmt.Errorf("%s: %w", name, err)
		}
		sum += time.Duration(ns)
	}
	return sum, nil
}

// schedule gives the device a scheduler, if one is named, and tells which it had.
func schedule(device, name string) (had string, err error) {
	file := filepath.Join("/sys/block", filepath.Base(device), "queue/scheduler")
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	_, rest, _ := strings.Cut(string(text), "[")
	had, _, _ = strings.Cut(rest, "]")
	if name == "" {
		return had, nil
	}
	if err := os.WriteFile(file, []byte(name), 0); err != nil {
		return "", fmt.Errorf("scheduler %s: %w", name, err)
	}
	return had, nil
}

func awaitLoad(device string) error {
	for range 200 {
		if n, err := reads(device); err != nil || n > 50000 {
			return err
		}
		time.Sleep(50 * time.Millisecond)
	}
	return errors.New("fio does not read")
}

// Loop makes a loop device over a file in memory, and returns its path, MAJ:MIN, and what removes both. The name is of
// this process alone.
func Loop(name string) (device, number string, remove func() error, err error) {
	file := filepath.Join("/dev/shm", fmt.Sprintf("plimsoll-bench-%s-%d", name, os.Getpid()))
	f, err := os.Create(file)
	if err != nil {
		return "", "", nil, err
	}
	defer f.Close()
	// All of it is there: what is read is memory, and not the absence of a page.
	if err := unix.Fallocate(int(f.Fd()), 0, 0, 256<<20); err != nil {
		return "", "", nil, errors.Join(err, os.Remove(file))
	}
	out, err := exec.Command("losetup", "-f", "--show", file).Output()
	if err != nil {
		return "", "", nil, errors.Join(fmt.Errorf("losetup: %w", err), os.Remove(file))
	}
	device = strings.TrimSpace(string(out))
	remove = func() error {
		return errors.Join(exec.Command("losetup", "-d", device).Run(), os.Remove(file))
	}
	text, err := os.ReadFile(filepath.Join("/sys/block", filepath.Base(device), "dev"))
	if err != nil {
		return "", "", nil, errors.Join(err, remove())
	}
	return device, strings.TrimSpace(string(text)), remove, nil
}
