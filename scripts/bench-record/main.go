// Command bench-record tells what recording costs: on a loop device over a file
// in memory, which is faster than any recorder likes, fio reads at random, while
// slices of time without a recorder and with each of them take turns. What the
// device counts in these is compared, by medians.
//
//	go run ./scripts/bench-record [-rounds 40] [-slice 500ms] [-only default,stages] [-scheduler none]
package main

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

	"github.com/mattn/go-isatty"
	"golang.org/x/sys/unix"

	"plimsoll/internal/iotrace"
	"plimsoll/internal/iotrace/blktrace"
	"plimsoll/internal/iotrace/capture"
	"plimsoll/internal/journal"
)

// recorder is a row of the table.
type recorder struct {
	name  string
	start func(number string) (stop func() (lost uint64, err error), err error)
}

func with(o capture.Options) func(string) (func() (uint64, error), error) {
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
	{"default", with(capture.Options{})},
	{"time-all", with(capture.Options{All: true})},
	{"stages", with(capture.Options{Stages: true})},
	{"application", with(capture.Options{Application: true})},
	{"requests", with(capture.Options{Requests: func(*iotrace.IO) {}})},
	{"capture", with(capture.Options{Events: func(*blktrace.Record) {}})},
	{"tracefs", with(capture.Options{Way: "tracefs"})},
	{"trace_pipe", tracePipe},
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
		out, err := exec.Command("sh", "-c", "rmdir \"$1\"; umount \"$2\" && rmdir \"$2\"", "sh", instance, dir).CombinedOutput()
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

func main() {
	rounds := flag.Int("rounds", 40, "times that each recorder is measured")
	slice := flag.Duration("slice", 500*time.Millisecond, "length of a measurement")
	only := flag.String("only", "", "recorders to measure, by commas")
	scheduler := flag.String("scheduler", "", "I/O scheduler of the device (default what the kernel chooses)")
	flag.Parse()
	if err := run(*rounds, *slice, *scheduler, strings.FieldsFunc(*only, func(r rune) bool { return r == ',' })); err != nil {
		fmt.Fprintln(os.Stderr, "bench-record:", err)
		os.Exit(1)
	}
}

func run(rounds int, slice time.Duration, scheduler string, only []string) (err error) {
	device, number, remove, err := loop()
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
		chosen = slices.DeleteFunc(chosen, func(r recorder) bool { return r.name != "untraced" && !slices.Contains(only, r.name) })
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
	terminal := isatty.IsTerminal(os.Stderr.Fd())
	iops, lost := map[string][]float64{}, map[string]uint64{}
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
			n, rateErr := rate(device, slice)
			missed, err := stop()
			if err := errors.Join(rateErr, err); err != nil {
				return fmt.Errorf("%s: %w", r.name, err)
			}
			iops[r.name] = append(iops[r.name], n)
			lost[r.name] += missed
		}
	}
	if terminal {
		fmt.Fprintf(os.Stderr, "\r%40s\r", "")
	}
	out := os.Stdout
	fmt.Fprintf(out, "4 KiB random reads, depth 32, %s on a file in memory, scheduler %s; %d slices of %s each\n\n", device, scheduler, rounds, slice)
	fmt.Fprintf(out, "%-16s %10s %7s %7s %10s\n", "recorder", "IOPS", "ratio", "paired", "lost")
	base := median(iops["untraced"])
	for _, r := range chosen {
		m := median(iops[r.name])
		var ratios []float64 // to the untraced slice of the same round
		for i, n := range iops[r.name] {
			ratios = append(ratios, n/iops["untraced"][i])
		}
		fmt.Fprintf(out, "%-16s %10.0f %7.3f %7.3f %10d\n", r.name, m, m/base, median(ratios), lost[r.name])
	}
	return nil
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	if len(v) == 0 {
		return 0
	}
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
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

// rate counts what the device completes in a slice of time.
func rate(device string, slice time.Duration) (perSecond float64, err error) {
	time.Sleep(slice / 10) // what the start disturbed has passed
	before, err := reads(device)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	time.Sleep(slice)
	after, err := reads(device)
	return float64(after-before) / time.Since(began).Seconds(), err
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

// loop makes a loop device over a file in memory.
func loop() (device, number string, remove func() error, err error) {
	file := filepath.Join("/dev/shm", fmt.Sprintf("plimsoll-bench-record-%d", os.Getpid()))
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
