// Package provisioned compares what headroom says of a limit on reads with what happens under that limit: reads arrive
// at loop devices over memory at the same moments. One without a limit is recorded; others have limits of the kernel.
package provisioned

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"plimsoll/evidence/record"
	"plimsoll/internal/headroom"
	"plimsoll/internal/host/cgroup"
	"plimsoll/internal/recording"
	"plimsoll/internal/result"
	"plimsoll/internal/state/journal"
	"plimsoll/internal/watch"
)

// shares are the shares of seconds whose reads the limits let through, by which the limits are chosen.
var shares = []float64{0.85, 0.95, 0.99}

// controls are how many drives have no limit. The first is recorded, and the others show what the processors delay.
const controls = 2

// late is the wait that headroom counts from.
const late = 10 * time.Millisecond

// arrivals are those of one run of the bench.
type arrivals struct {
	rate    float64
	seconds int
	seed    uint64
}

// Run sends the same reads to drives with and without a limit, at the same moments, for -seconds.
func Run(args []string) error {
	var a arrivals
	flags := flag.NewFlagSet("provisioned", flag.ContinueOnError)
	flags.Float64Var(&a.rate, "rate", 300, "reads a second, in the mean of what is no burst")
	flags.IntVar(&a.seconds, "seconds", 300, "in which reads arrive")
	flags.Uint64Var(&a.seed, "seed", 1, "of the arrivals")
	device := flags.String("play", "", "only send the arrivals to this device, and print how long they took: the bench "+
		"does that")
	begin := flags.Int64("begin", 0, "with -play: when, in Unix nanoseconds")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *device != "" {
		took, err := a.play(*device, time.Unix(0, *begin))
		if err != nil {
			return err
		}
		return json.NewEncoder(os.Stdout).Encode(took)
	}
	if a.seconds < 20 || !(a.rate >= 1 && a.rate <= 5000) {
		return errors.New("-seconds is 20 or more, and -rate is from 1 to 5000")
	}
	return a.compare()
}

// times draws when reads arrive, since the begin: a level that drifts, and bursts of three times the level.
func (a arrivals) times() (moments []time.Duration) {
	random := rand.New(rand.NewPCG(a.seed, 0x70726f76))
	drift, burst := 0.0, false
	for second := range a.seconds {
		drift = 0.9*drift + math.Sqrt(1-0.9*0.9)*random.NormFloat64()
		if burst {
			burst = random.Float64() > 1./3
		} else {
			burst = random.Float64() < 0.04
		}
		rate := a.rate * math.Exp(0.2*drift)
		if burst {
			rate *= 3
		}
		for since := random.ExpFloat64() / rate; since < 1; since += random.ExpFloat64() / rate {
			moments = append(moments, time.Duration((float64(second)+since)*float64(time.Second)))
		}
	}
	return moments
}

// play sends each read at its time, and returns how long each took since then: a read never waits for another one,
// other than in the kernel.
func (a arrivals) play(device string, begin time.Time) (took []time.Duration, err error) {
	file, err := os.OpenFile(device, os.O_RDONLY|unix.O_DIRECT, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, err
	}
	const block = 4096
	random := rand.New(rand.NewPCG(a.seed, 0x6f666673))
	times := a.times()
	took = make([]time.Duration, len(times))
	var group errgroup.Group
	for i, moment := range times {
		offset := random.Int64N(size/block) * block
		time.Sleep(time.Until(begin.Add(moment)))
		group.Go(func() error {
			// O_DIRECT takes memory that is aligned to blocks: pages are.
			page, err := unix.Mmap(-1, 0, block, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
			if err != nil {
				return err
			}
			_, err = unix.Pread(int(file.Fd()), page, offset)
			took[i] = time.Since(begin) - moment
			return errors.Join(err, unix.Munmap(page))
		})
	}
	return took, group.Wait()
}

// drive is a loop device, and the group of what reads it.
type drive struct {
	device, number string
	group          *cgroup.Group // nil for none
	limit          int64
	took           []time.Duration
}

// measure plays the arrivals in a process of the drive's group.
func (a arrivals) measure(d *drive, begin time.Time) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	var out, failed strings.Builder
	cmd := exec.Command(self, "-prepared", "provisioned", "-play", d.device, "-rate", fmt.Sprint(a.rate), "-seconds",
		strconv.Itoa(a.seconds), "-seed", strconv.FormatUint(a.seed, 10), "-begin",
		strconv.FormatInt(begin.UnixNano(), 10))
	cmd.Stdout, cmd.Stderr = &out, &failed
	cmd.SysProcAttr = &unix.SysProcAttr{Pdeathsig: unix.SIGKILL}
	runtime.LockOSThread() // it dies with the thread that started it
	defer runtime.UnlockOSThread()
	if d.group == nil {
		err = cmd.Start()
	} else {
		err = d.group.Start(cmd)
	}
	if err == nil {
		err = cmd.Wait()
	}
	if err != nil {
		return fmt.Errorf("reads of %s: %w: %s", d.device, err, failed.String())
	}
	return json.Unmarshal([]byte(out.String()), &d.took)
}

// limits are reads per second that the shares of seconds do not exceed.
func (a arrivals) limits() (rates []int64) {
	counts := make([]int64, a.seconds)
	for _, moment := range a.times() {
		counts[int(moment/time.Second)]++
	}
	slices.Sort(counts)
	for _, share := range shares {
		rates = append(rates, counts[int(share*float64(len(counts)))])
	}
	return rates
}

// build makes the drives, those without a limit first.
func (a arrivals) build(ctx context.Context, j *journal.Journal) (drives []*drive, remove func() error, err error) {
	var undo []func() error
	remove = func() (err error) {
		for _, f := range slices.Backward(undo) {
			err = errors.Join(err, f())
		}
		return err
	}
	for i, limit := range append(make([]int64, controls), a.limits()...) {
		name := "provisioned-" + strconv.Itoa(i)
		device, number, unmake, err := record.Loop(name)
		if err != nil {
			return nil, remove, err
		}
		undo = append(undo, unmake)
		d := &drive{device: device, number: number, limit: limit}
		drives = append(drives, d)
		// A recorder takes up drives that had any I/O.
		err = exec.Command("dd", "if="+device, "of=/dev/null", "bs=4k", "count=1", "iflag=direct").Run()
		if err != nil || limit == 0 {
			if err != nil {
				return nil, remove, fmt.Errorf("dd: %w", err)
			}
			continue
		}
		var made []*journal.Entry
		d.group, made, err = cgroup.New(ctx, j, fmt.Sprintf("%s%s-%d", cgroup.Prefix, name, os.Getpid()),
			cgroup.Options{Limits: true})
		undo = append(undo, func() error { return j.UndoEach(ctx, made) })
		if err != nil {
			return nil, remove, err
		}
		_, err = d.group.LimitDevices(result.Limits{Read: result.Rate{OperationsPerSecond: limit}}, []string{number})
		if err != nil {
			return nil, remove, err
		}
	}
	return drives, remove, nil
}

// record measures all drives at the same time, and records the host meanwhile.
func (a arrivals) record(drives []*drive) (*recording.Recording, error) {
	recorder, err := watch.NewRecorder(watch.Options{NoLatency: true, Sockets: []string{}}, time.Second)
	if err != nil {
		return nil, err
	}
	defer recorder.Close()
	r := recording.New(recorder.Header())
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var recorded, measured errgroup.Group
	recorded.Go(func() (err error) {
		failed := recorder.Run(ctx, func(row recording.Row) {
			if _, wrong := r.Add(row); wrong != nil {
				err = wrong
			}
		})
		return errors.Join(failed, err)
	})
	begin := time.Now().Add(3 * time.Second) // all processes are up
	for _, d := range drives {
		measured.Go(func() error { return a.measure(d, begin) })
	}
	err = measured.Wait()
	stop()
	return r, errors.Join(err, recorded.Wait())
}

// waited returns the share of reads that took more than 10 ms longer than the same read of the control, which began at
// the same moment: what the processors delay hits both. longest is the longest difference.
func (d *drive) waited(control *drive) (share float64, longest time.Duration) {
	n := 0
	for i, t := range d.took {
		extra := t - control.took[i]
		longest = max(longest, extra)
		if extra > late {
			n++
		}
	}
	return float64(n) / float64(len(d.took)), longest
}

// compare prints what headroom foretells next to what is measured.
func (a arrivals) compare() (err error) {
	ctx := context.Background()
	state, err := os.MkdirTemp("", "bench-provisioned-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(state)
	j, err := journal.Create(state, "bench")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.Close()) }()
	drives, remove, err := a.build(ctx, j)
	defer func() { err = errors.Join(err, remove()) }()
	if err != nil {
		return err
	}
	r, err := a.record(drives)
	if err != nil {
		return err
	}
	control := drives[0]
	floor, _ := drives[1].waited(control)
	fmt.Printf("%d reads in %d s. Of two drives without a limit, one took more than 10 ms longer than the other for "+
		"%.2f%% of them.\n\n", len(control.took), a.seconds, 100*floor)
	fmt.Print("| limit, reads/s | foretold > 10 ms | evenly to at once | measured > 10 ms | longest wait, foretold | " +
		"measured |\n|--:|--:|--:|--:|--:|--:|\n")
	for _, d := range drives[controls:] {
		answer, err := headroom.Find(r, headroom.Options{Capacities: []headroom.Capacity{{
			Drive: filepath.Base(control.device), Resource: headroom.Reads, Value: float64(d.limit),
			Source: headroom.Given}}})
		if err != nil {
			return err
		}
		given := slices.IndexFunc(answer.Enough, func(e headroom.Enough) bool { return e.Given })
		if given < 0 {
			return fmt.Errorf("headroom has no replay of %d reads a second", d.limit)
		}
		foretold := answer.Enough[given].Replay
		share, longest := d.waited(control)
		fmt.Printf("| %d | %.1f%% | %.1f%% to %.1f%% | %.1f%% | %.2f s | %.2f s |\n", d.limit, 100*foretold.Delayed,
			100*foretold.DelayedEvenly, 100*foretold.DelayedAtOnce, 100*share, foretold.Longest, longest.Seconds())
	}
	return nil
}
