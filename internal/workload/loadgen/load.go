package loadgen

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/database"
	"plimsoll/internal/database/client"
	"plimsoll/internal/workload/ycsb"
)

// Dial makes connections by the name of a client: client.Dial is one.
type Dial func(ctx context.Context, name string, c client.Config) (client.Client, error)

// Options configures the run of a plan.
type Options struct {
	Dial   Dial
	Output io.Writer // gets a line at the end of the ramp, of each sample, and of all
	// Gate returns when the load is to begin; nil for at once. It is called once all
	// connections are there.
	Gate func(context.Context) error

	newSleeper func() (sleeper, error) // newKernelTimer; tests have another
}

// drainLimit is how long answers are waited for that are missing at the end.
const drainLimit = 10 * time.Second

func appendKey(to []byte, number int64) []byte { return database.Key(to, number) }

// Run generates the load of a plan until its time is over, or until the context ends:
// that is no error, and what was done until then is in the output. An error is of what
// kept it from beginning, or of the output.
func Run(ctx context.Context, plan *ycsb.Plan, o Options) (failed error) {
	p := *plan
	if p.Fresh {
		p.Seed = freshSeed()
	}
	g, err := newGenerator(&p, o)
	if err != nil {
		return err
	}
	defer g.close()
	for i, t := range g.threads {
		if p.Files != nil {
			err := t.openFiles(i)
			if t.files != nil {
				defer t.files.close()
			}
			if err != nil {
				return err
			}
			continue
		}
		limited, cancel := context.WithTimeout(ctx, p.Timeout)
		err := t.connect(limited)
		cancel()
		if err != nil {
			return fmt.Errorf("connection %d of %d: %w", i+1, len(g.threads), err)
		}
		defer t.disconnect()
	}
	if o.Gate != nil {
		err := o.Gate(ctx)
		if err != nil {
			return err
		}
	}
	return g.generate(ctx)
}

func freshSeed() uint64 {
	var seed [8]byte
	_, _ = rand.Read(seed[:]) // never fails
	return binary.LittleEndian.Uint64(seed[:])
}

// generator is the threads of a run, and what watches them.
type generator struct {
	run     *run
	threads []*thread
	output  io.Writer
	sleeper sleeper
	spare   *tallies // empty
	last    time.Duration
	used    unix.Rusage
	idle    atomic.Bool // all threads have returned
}

// newGenerator makes the threads.
func newGenerator(p *ycsb.Plan, o Options) (*generator, error) {
	d := p.Dataset
	g := &generator{output: o.Output, spare: &tallies{}, run: &run{
		plan: p, dial: o.Dial, inserts: ycsb.NewInserts(d.Records), schedule: newSchedule(p, p.Seed),
		config: configOf(p),
	}}
	switch {
	case p.Files != nil:
		g.run.values = randomBytes(p.Seed, p.Files.Bytes)
	case d.Warehouses == 0:
		g.run.values = randomBytes(p.Seed, 2*d.Fields*d.FieldBytes+1<<20)
	}
	g.run.stop = g.stop
	newSleeper := o.newSleeper
	if newSleeper == nil {
		newSleeper = newKernelTimer
	}
	var err error
	g.sleeper, err = newSleeper()
	if err != nil {
		return nil, err
	}
	for i := range p.Threads {
		s, err := newSleeper()
		if err != nil {
			g.close()
			return nil, fmt.Errorf("thread %d of %d: %w", i+1, p.Threads, err)
		}
		var operations *ycsb.Operations
		if p.Files == nil {
			operations = p.Operations(i, g.run.inserts)
		}
		g.threads = append(g.threads, &thread{
			run: g.run, sleeper: s, did: &tallies{}, operations: operations,
			random: mathrand.New(mathrand.NewPCG(p.Seed, uint64(i)+1<<61)),
			// Threads that think would else ask at the same moments.
			first: p.Think * time.Duration(i) / time.Duration(p.Threads),
		})
	}
	return g, nil
}

// configOf says where the database of a plan is, and what it holds.
func configOf(p *ycsb.Plan) client.Config {
	d := p.Dataset
	return client.Config{At: p.At, Options: p.Options,
		Fields: d.Fields, FieldBytes: d.FieldBytes, Warehouses: d.Warehouses}
}

func randomBytes(seed uint64, n int) []byte {
	random := mathrand.NewPCG(seed, 1<<63)
	b := make([]byte, 0, n+8)
	for len(b) < n {
		b = binary.LittleEndian.AppendUint64(b, random.Uint64())
	}
	return b[:n]
}

func (g *generator) close() {
	g.sleeper.close()
	for _, t := range g.threads {
		t.sleeper.close()
	}
}

// generate has the threads work, and tells of them.
func (g *generator) generate(ctx context.Context) error {
	hard, cut := context.WithCancel(context.Background())
	defer cut()
	_ = unix.Getrusage(unix.RUSAGE_SELF, &g.used)
	g.run.began = time.Now()
	var working sync.WaitGroup
	for _, t := range g.threads {
		working.Go(func() { t.work(hard) })
	}
	if f := g.run.plan.Files; f != nil && f.OnlyOverwrites() {
		go func() { // threads may have nothing left to do before the time is over
			working.Wait()
			g.idle.Store(true)
			g.sleeper.wake()
		}()
	}
	undo := context.AfterFunc(ctx, g.stop)
	defer undo()
	err := g.sample()
	asked := g.run.stopping.Load()
	stopped := g.run.now()
	overdue, behind := g.run.schedule.overdue(stopped)
	g.stop()
	drained := time.AfterFunc(drainLimit, cut)
	working.Wait()
	drained.Stop()
	if lost := g.run.lost.Load(); lost != nil {
		err = errors.Join(err, *lost)
	}
	if err != nil {
		return err
	}
	rest := g.line()
	rest.Rest, rest.Ramp = true, asked && stopped < g.run.plan.Ramp
	rest.End = &ycsb.End{
		Seed: g.run.plan.Seed, CPUs: runtime.NumCPU(), Threads: len(g.threads), Stopped: asked, Overdue: overdue,
		Behind: behind.Seconds(),
	}
	if g.run.plan.Files != nil {
		rest.End.FlushSeconds, err = g.threads[0].files.flush()
		if err != nil {
			return err
		}
	}
	if text := g.run.failure.Load(); text != nil {
		rest.End.Error = *text
	}
	return g.write(rest)
}

// checkLimit is how long looking at the data may take.
const checkLimit = 5 * time.Minute

// Fill lays out the records or files of a plan.
func Fill(ctx context.Context, plan *ycsb.Plan) error {
	if plan.Files != nil {
		return fillFiles(ctx, plan)
	}
	return client.Load(ctx, plan.Client, plan.At, plan.Dataset, plan.Options)
}

// Check says what of a plan's data is not as it has to be, when nobody writes to it; nil for nothing.
func Check(ctx context.Context, plan *ycsb.Plan) error {
	ctx, cancel := context.WithTimeout(ctx, checkLimit)
	defer cancel()
	return client.CheckTPCC(ctx, plan.Client, configOf(plan))
}

// stop has no thread begin anything more.
func (g *generator) stop() {
	g.run.stopping.Store(true)
	g.sleeper.wake()
	for _, t := range g.threads {
		t.sleeper.wake()
	}
}

// sample writes the lines of the ramp and of all samples, until the run's time is over or the run is stopped.
func (g *generator) sample() error {
	ramp, end := g.run.plan.Ramp, g.run.plan.Ramp+g.run.plan.Runtime
	moment := ramp
	if moment == 0 {
		moment = g.next(0, end)
	}
	for {
		g.sleeper.sleep(moment - g.run.now())
		if g.run.stopping.Load() || g.idle.Load() {
			return nil
		}
		if moment < end || g.run.plan.Sample > 0 {
			l := g.line()
			l.Ramp = moment == ramp
			err := g.write(l)
			if err != nil {
				return err
			}
		}
		if moment == end {
			return nil
		}
		moment = g.next(moment, end)
	}
}

// next returns the end of the sample that begins at a moment. No sample is much shorter than the others, even if
// the one before ended late.
func (g *generator) next(moment, end time.Duration) time.Duration {
	sample := g.run.plan.Sample
	if sample == 0 {
		return end
	}
	moment += sample
	if late := g.run.now() + sample/2 - moment; late > 0 {
		moment += (late + sample - 1) / sample * sample
	}
	if end-moment < sample/2 {
		return end
	}
	return moment
}

// line returns what was done since the last one.
func (g *generator) line() ycsb.Line {
	var sum tallies
	for _, t := range g.threads {
		t.mu.Lock()
		t.did, g.spare = g.spare, t.did
		t.mu.Unlock()
		sum.take(g.spare)
	}
	now := g.run.now()
	var used unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &used)
	l := sum.line()
	l.Seconds = (now - g.last).Seconds()
	l.UserSeconds, l.SystemSeconds = since(used.Utime, g.used.Utime), since(used.Stime, g.used.Stime)
	g.last, g.used = now, used
	return l
}

func since(now, before unix.Timeval) float64 {
	return max(0, float64(now.Nano()-before.Nano())/1e9)
}

func (g *generator) write(l ycsb.Line) error {
	_, err := g.output.Write(l.Text())
	if err != nil {
		return fmt.Errorf("write what was done: %w", err)
	}
	return nil
}

// Wait returns as soon as the database of a plan answers, with what that said of itself; the
// error says why it did not within the plan's patience.
func Wait(ctx context.Context, plan *ycsb.Plan, dial Dial) (ycsb.Answered, error) {
	const step = 10 * time.Millisecond
	ctx, cancel := context.WithTimeout(ctx, plan.Patience)
	defer cancel()
	var last error
	for {
		answered, err := answers(ctx, plan, dial)
		if err == nil {
			return answered, nil
		}
		if ctx.Err() == nil || last == nil { // the end of the patience is no reason, unless there is no other
			last = err
		}
		select {
		case <-ctx.Done():
			return ycsb.Answered{}, fmt.Errorf("the database does not answer (%w): %w", context.Cause(ctx), last)
		case <-time.After(step):
		}
	}
}

// settings returns the server's settings by name. A setting that the server does not report is left out.
func settings(ctx context.Context, server client.SettingReader, names []string) (map[string]string, error) {
	values := map[string]string{}
	for _, name := range names {
		value, err := server.Setting(ctx, name)
		var refusal *client.ServerError
		switch {
		case errors.As(err, &refusal), errors.Is(err, client.ErrNotFound):
		case err != nil:
			return nil, fmt.Errorf("ask what the server has set %s to: %w", name, err)
		default:
			values[name] = value
		}
	}
	return values, nil
}

// answers asks for the first record.
func answers(ctx context.Context, plan *ycsb.Plan, dial Dial) (said ycsb.Answered, err error) {
	ctx, cancel := context.WithTimeout(ctx, plan.Timeout)
	defer cancel()
	c, err := dial(ctx, plan.Client, configOf(plan))
	if err != nil {
		return said, err
	}
	defer func() { _ = c.Close() }()
	if v, ok := c.(client.Versioned); ok {
		said.Version = v.Version()
	}
	if r, ok := c.(client.SettingReader); ok && len(plan.Settings) > 0 {
		if said.Settings, err = settings(ctx, r, plan.Settings); err != nil {
			return said, err
		}
	}
	_, err = c.Read(ctx, appendKey(nil, 0), client.AllFields)
	return said, err
}
