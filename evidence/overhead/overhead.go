// Package overhead shows what plimsoll costs: it runs bare fio and
// plimsoll on the same stack with the same job, interleaved, and prints the
// ratio of their IOPS; what the harness itself uses while fio runs; and how
// long --help takes.
//
// The stack is a loop device over a file in memory, the fastest device that
// every host has, so that what plimsoll takes away would show.
package overhead

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/result/store"
	"plimsoll/internal/stats"
)

// Run prints a row for each pair of runs, and their medians.
func Run(args []string) error {
	flags := flag.NewFlagSet("overhead", flag.ExitOnError)
	program := flags.String("plimsoll", "./plimsoll", "the binary")
	pairs := flags.Int("pairs", 15, "pairs of runs; at least 7")
	runtime := flags.Duration("runtime", 3*time.Second, "measured time of each run")
	_ = flags.Parse(args) // it exits
	return run(*program, *pairs, *runtime)
}

// clockTick is USER_HZ, the unit of CPU time in /proc/PID/stat: 100 on every
// Linux there is.
const clockTick = 100

const experiment = `
name: overhead
question: What does the harness cost?
repeat: 1
runtime: %s
seed: 1
stacks:
  loop: loop(size=256MiB, dir=%s)
workloads:
  randread: {fio: {rw: randread, bs: 4KiB, jobs: 1, iodepth: 16, size: 128MiB}}
`

func run(program string, pairs int, runtime time.Duration) (err error) {
	if program, err = filepath.Abs(program); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "plimsoll-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	memory := filepath.Join(dir, "memory")
	if err := os.Mkdir(memory, 0o755); err != nil {
		return err
	}
	if err := command("mount", "-n", "-t", "tmpfs", "-o", "size=768m", "tmpfs", memory); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, command("umount", "-n", memory)) }()
	file := filepath.Join(dir, "overhead.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, experiment, runtime, memory), 0o644); err != nil {
		return err
	}

	var ratios, rss, cpu []float64
	fmt.Printf("%4s %14s %14s %7s %10s %8s\n", "pair", "bare fio IOPS", "plimsoll IOPS", "ratio", "memory", "CPU")
	// The first pair is not counted: it gives the job, and warms up.
	var job string
	for i := 0; i <= pairs; i++ {
		var bare float64
		bareFirst := i%2 == 0 && job != ""
		if bareFirst {
			if bare, err = bareFio(dir, memory, job, i); err != nil {
				return err
			}
		}
		h, err := harness(program, dir, file, i, runtime)
		if err != nil {
			return err
		}
		job = h.job
		if !bareFirst {
			if bare, err = bareFio(dir, memory, job, i); err != nil {
				return err
			}
		}
		if i == 0 {
			continue
		}
		ratios, rss, cpu = append(ratios, h.iops/bare), append(rss, h.rssMiB), append(cpu, h.cpu)
		fmt.Printf("%4d %14.0f %14.0f %7.3f %6.1f MiB %7.2f%%\n", i, bare, h.iops, h.iops/bare, h.rssMiB, 100*h.cpu)
	}
	help, err := helpTime(program)
	if err != nil {
		return err
	}
	fmt.Printf(`
median ratio of IOPS, plimsoll to bare fio   %.3f   (goal 0.97 to 1.03; pairs from %.3f to %.3f)
most resident memory while fio runs          %.1f MiB (goal under 100 MiB)
median CPU while fio runs                    %.2f%% of a core (goal under 2%%)
median time of plimsoll --help               %.1f ms (goal under 50 ms)
`, stats.Median(ratios), slices.Min(ratios), slices.Max(ratios), slices.Max(rss), 100*stats.Median(cpu), help)
	return nil
}

// measured is what one run of plimsoll gave, and what it used.
type measured struct {
	iops   float64
	job    string // the job file that fio ran
	rssMiB float64
	cpu    float64 // share of one core, in the middle of fio's time
}

// harness runs plimsoll and watches its process while fio runs.
func harness(program, dir, file string, i int, runtime time.Duration) (m measured, err error) {
	out := filepath.Join(dir, "run-"+strconv.Itoa(i))
	cmd := exec.Command(program, "run", file, "--quiet", "--output", out, "--state-dir", filepath.Join(dir, "state"))
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return m, err
	}
	watched := make(chan error, 1)
	go func() { watched <- m.watch(cmd.Process.Pid, out, runtime) }()
	if err := errors.Join(cmd.Wait(), <-watched); err != nil {
		return m, fmt.Errorf("plimsoll: %w", err)
	}
	run, err := store.Read(out)
	if err != nil {
		return m, err
	}
	t := run.Trials[0]
	if t.Measured() == nil {
		return m, fmt.Errorf("plimsoll's trial gave no measurement: %w", t.Problem)
	}
	m.iops = t.Measured().IOPS()
	job, err := os.ReadFile(filepath.Join(out, t.Artifacts, "job.fio"))
	m.job = string(job)
	return m, err
}

// watch reads memory and CPU time of a process in the middle 80% of the time
// that fio measures.
func (m *measured) watch(pid int, out string, runtime time.Duration) error {
	deadline := time.Now().Add(time.Minute)
	for {
		if found, _ := filepath.Glob(filepath.Join(out, "artifacts/*/job.fio")); len(found) > 0 {
			break
		}
		if time.Now().After(deadline) {
			return errors.New("fio was not started within a minute")
		}
		time.Sleep(10 * time.Millisecond)
	}
	time.Sleep(runtime / 10)
	before, _, err := usage(pid)
	if err != nil {
		return err
	}
	start := time.Now()
	time.Sleep(runtime * 8 / 10)
	after, rss, err := usage(pid)
	m.cpu, m.rssMiB = (after-before)/time.Since(start).Seconds(), rss
	return err
}

// usage gives the CPU seconds that a process has used, and its resident MiB.
func usage(pid int) (seconds, rssMiB float64, err error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0, err
	}
	f := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	user, err1 := strconv.ParseFloat(f[11], 64)
	system, err2 := strconv.ParseFloat(f[12], 64)
	pages, err3 := strconv.ParseFloat(f[21], 64)
	return (user + system) / clockTick, pages * float64(os.Getpagesize()) / (1 << 20), errors.Join(err1, err2, err3)
}

// bareFio runs fio by hand on a loop device made by hand, with the job that
// plimsoll gave it.
func bareFio(dir, memory, job string, i int) (iops float64, err error) {
	file := filepath.Join(memory, "bare.img")
	if err := command("fallocate", "-l", "256M", file); err != nil {
		return 0, err
	}
	defer os.Remove(file)
	out, err := exec.Command("losetup", "--find", "--show", "--direct-io=on", file).Output()
	if err != nil {
		return 0, fmt.Errorf("losetup: %w", err)
	}
	device := strings.TrimSpace(string(out))
	defer func() { err = errors.Join(err, command("losetup", "--detach", device)) }()
	if err := command("fio", "--name=layout", "--filename="+device, "--rw=write", "--bs=1m", "--size=128m", "--direct=1",
		"--ioengine=libaio", "--output="+os.DevNull); err != nil {
		return 0, err
	}
	var lines []string
	for l := range strings.Lines(job) {
		if strings.HasPrefix(l, "filename=") {
			l = "filename=" + device + "\n"
		}
		lines = append(lines, l)
	}
	jobFile, output := filepath.Join(dir, "bare.fio"), filepath.Join(dir, fmt.Sprintf("bare-%d.json", i))
	if err := os.WriteFile(jobFile, []byte(strings.Join(lines, "")), 0o644); err != nil {
		return 0, err
	}
	if err := command("fio", "--output-format=json", "--output="+output, jobFile); err != nil {
		return 0, err
	}
	text, err := os.ReadFile(output)
	if err != nil {
		return 0, err
	}
	var parsed struct {
		Jobs []struct {
			Read struct {
				IOPS float64 `json:"iops"`
			} `json:"read"`
		} `json:"jobs"`
	}
	if err := json.Unmarshal(text, &parsed); err != nil {
		return 0, err
	}
	for _, j := range parsed.Jobs {
		iops += j.Read.IOPS
	}
	if iops == 0 || math.IsNaN(iops) {
		return 0, fmt.Errorf("bare fio measured nothing: %s", text)
	}
	return iops, nil
}

// helpTime is the median of 21 starts, in milliseconds.
func helpTime(program string) (float64, error) {
	var ms []float64
	for range 21 {
		start := time.Now()
		if err := exec.Command(program, "--help").Run(); err != nil {
			return 0, err
		}
		ms = append(ms, float64(time.Since(start).Microseconds())/1000)
	}
	return stats.Median(ms), nil
}

func command(argv ...string) error {
	if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, out)
	}
	return nil
}
