package loadgen

import (
	"context"
	"errors"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/database"
	"plimsoll/internal/database/client"
	"plimsoll/internal/result/hist"
	"plimsoll/internal/workload/ycsb"
)

// What a closed loop counts is what the database was asked, ramp included.
func TestAClosedLoopCountsWhatItDid(t *testing.T) {
	inBubble(t, func(t *testing.T, o Options) {
		p := planOf(func(p *ycsb.Plan) {
			p.Ramp, p.Sample, p.Think, p.Threads = 50*time.Millisecond, 50*time.Millisecond, time.Millisecond, 3
		})
		s := newStore(p.Dataset)
		lines, _ := generated(t.Context(), t, o, p, s)
		if len(lines) < 3 || !lines[0].Ramp || lines[1].Ramp || !lines[len(lines)-1].Rest {
			t.Fatalf("%d lines: %+v", len(lines), lines)
		}
		total := sum(lines)
		read := done(total, ycsb.Read)
		if int(read.Count) != s.count || read.Count == 0 || read.Bytes != 60*read.Count || read.Errors+read.Retries != 0 {
			t.Errorf("the database was asked %d times, and the output says %+v", s.count, read)
		}
		if total.Seconds < 0.24 || total.UserSeconds+total.SystemSeconds == 0 {
			t.Errorf("%v s, %v s and %v s of CPU time", total.Seconds, total.UserSeconds, total.SystemSeconds)
		}
		if s.dialled != 3 || total.End.Threads != 3 || total.End.Stopped {
			t.Errorf("%d connections, at the end %+v", s.dialled, total.End)
		}
	})
}

// A server that stalls for two seconds shows as such in an open loop, whose
// operations were to begin meanwhile; a closed loop does not ask while it waits, and
// hides it.
func TestAStalledServerShowsInAnOpenLoop(t *testing.T) {
	inBubble(t, func(t *testing.T, o Options) {
		const stall = 2 * time.Second
		percentile := func(change func(*ycsb.Plan)) (p float64, all ycsb.Line) {
			plan := planOf(change)
			s := newStore(plan.Dataset)
			began := time.Now()
			s.answer = func(context.Context, string, int) error {
				if at := time.Since(began); at > 500*time.Millisecond && at < 500*time.Millisecond+stall {
					time.Sleep(500*time.Millisecond + stall - at)
				}
				return nil
			}
			lines, _ := generated(t.Context(), t, o, plan, s)
			all = sum(lines)
			ns, _ := hist.Percentile(bins(done(all, ycsb.Read).Total), 99.9)
			return float64(ns) / 1e9, all
		}
		open, total := percentile(func(p *ycsb.Plan) {
			p.Rate, p.Constant, p.Threads, p.Runtime = 500, true, 4, 4*time.Second
		})
		if open < 1.9 || open > 2.6 {
			t.Errorf("the open loop shows p99.9 of %v s", open)
		}
		read := done(total, ycsb.Read)
		if n := read.Count + total.End.Overdue; n < 1995 || n > 2005 { // on a busy host, the last come too late
			t.Errorf("%d operations in 4 s at 500/s", n)
		}
		// The server took as long over four of them; the others it was not asked.
		if service, _ := hist.Percentile(bins(read.Service), 99); float64(service) > 0.5e9 {
			t.Errorf("p99 of what the server took is %v ns", service)
		}
		closed, total := percentile(func(p *ycsb.Plan) { p.Runtime = 4 * time.Second })
		if closed > 0.1 || done(total, ycsb.Read).Total.MaxNS < 1.9e9 {
			t.Errorf("the closed loop shows p99.9 of %v s, at most %v ns", closed, done(total, ycsb.Read).Total.MaxNS)
		}
	})
}

func bins(l ycsb.Latencies) hist.Bins {
	var out []hist.Bin
	for _, b := range l.Bins {
		out = append(out, hist.Bin{NS: b[0], Count: b[1]})
	}
	return hist.Pack(out)
}

var errBroken = errors.New("broken")

// Errors, timeouts and retries are counted apart from what was done, and in no
// latency; after an error there is another connection.
func TestErrorsAreCountedApart(t *testing.T) {
	for _, c := range []struct {
		name    string
		change  func(*ycsb.Plan)
		answer  func(ctx context.Context, asked string, n int) error
		want    func(d ycsb.Done, s *store) bool
		message string
	}{
		{"every third fails", func(*ycsb.Plan) {},
			func(_ context.Context, _ string, n int) error { return when(n%3 == 0, errBroken) },
			func(d ycsb.Done, s *store) bool {
				return int(d.Errors) == s.count/3 && int(d.Count+d.Errors) == s.count && d.Timeouts+d.Retries == 0 &&
					s.dialled >= int(d.Errors) // the last of each thread may fail, and has none after it
			}, "read: broken"},
		// Of two threads, one could come between the attempts of the other, and those both be thirds. The end comes
		// between two attempts at most once.
		{"every third fails, and is tried again", func(p *ycsb.Plan) { p.Retries, p.Threads = 1, 1 },
			func(_ context.Context, _ string, n int) error { return when(n%3 == 0, errBroken) },
			func(d ycsb.Done, s *store) bool {
				return d.Errors <= 1 && int(d.Retries+d.Errors) == s.count/3 &&
					int(d.Count+d.Retries+d.Errors) == s.count && d.Timeouts == 0
			}, "read: broken"},
		{"all fail, twice each", func(p *ycsb.Plan) { p.Retries = 1 },
			func(context.Context, string, int) error { return errBroken },
			func(d ycsb.Done, s *store) bool {
				return d.Count == 0 && d.Total.IsZero() && d.Errors > 0 && d.Errors+d.Retries == uint64(s.count)
			}, "read: broken"},
		{"some are never answered", func(p *ycsb.Plan) { p.Timeout = 100 * time.Millisecond },
			func(ctx context.Context, _ string, n int) error {
				if n%10 != 0 {
					return nil
				}
				<-ctx.Done()
				return ctx.Err()
			},
			func(d ycsb.Done, s *store) bool {
				return int(d.Errors) == s.count/10 && d.Timeouts == d.Errors && d.Total.MaxNS < 100e6
			}, "read: context deadline exceeded"},
		{"the server says no", func(p *ycsb.Plan) { p.Retries = 1 },
			func(_ context.Context, _ string, n int) error {
				return when(n%2 == 0, &client.ServerError{Said: "no"})
			},
			func(d ycsb.Done, s *store) bool { return int(d.Count+d.Retries+d.Errors) == s.count && s.dialled == 2 },
			"read: the server says: no"},
		{"nothing is there", func(p *ycsb.Plan) { p.Retries = 3 },
			func(context.Context, string, int) error { return client.ErrNotFound },
			func(d ycsb.Done, s *store) bool {
				return int(d.Errors) == s.count && d.Retries == 0 && s.dialled == 2
			}, "read: no record has this key"},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, o Options) {
				p := planOf(c.change)
				p.Think, p.Runtime = time.Millisecond, time.Second
				s := newStore(p.Dataset)
				s.answer = c.answer
				lines, _ := generated(t.Context(), t, o, p, s)
				total := sum(lines)
				d := done(total, ycsb.Read)
				if !c.want(d, s) || s.count < 10 {
					t.Errorf("of %d attempts on %d connections: %+v", s.count, s.dialled, d)
				}
				latencies := uint64(0)
				for _, b := range d.Total.Bins {
					latencies += b[1]
				}
				if latencies != d.Count {
					t.Errorf("%d latencies of %d operations", latencies, d.Count)
				}
				if total.End.Error != c.message {
					t.Errorf("it reports %q", total.End.Error)
				}
			})
		})
	}
}

func when(fails bool, err error) error {
	if fails {
		return err
	}
	return nil
}

// While a server refuses connections, threads do not spin, and go on once it is
// there again.
func TestAServerThatComesBack(t *testing.T) {
	inBubble(t, func(t *testing.T, o Options) {
		p := planOf(func(p *ycsb.Plan) { p.Runtime = 600 * time.Millisecond })
		s := newStore(p.Dataset)
		began := time.Now()
		away := func() bool {
			at := time.Since(began)
			return at > 100*time.Millisecond && at < 300*time.Millisecond
		}
		s.refuse = func(int) error { return when(away(), errBroken) }
		s.answer = func(context.Context, string, int) error { return when(away(), errBroken) }
		lines, _ := generated(t.Context(), t, o, p, s)
		d := done(sum(lines), ycsb.Read)
		if d.Errors < 4 || d.Errors > 40 || d.Count < 100 {
			t.Errorf("%d errors in 200 ms, and %d operations", d.Errors, d.Count)
		}
	})
}

// A load that cannot begin says why.
func TestALoadThatCannotBegin(t *testing.T) {
	p := planOf(func(*ycsb.Plan) {})
	s := newStore(p.Dataset)
	s.refuse = func(n int) error { return when(n == 2, errBroken) }
	err := Run(t.Context(), p, Options{Dial: s.dial, Output: io.Discard})
	if !errors.Is(err, errBroken) || !strings.Contains(err.Error(), "connection 2 of 2") || s.open != 0 {
		t.Errorf("%v, and %d connections are left", err, s.open)
	}
	s.refuse = nil
	err = Run(t.Context(), p, Options{Dial: s.dial, Output: io.Discard,
		Gate: func(context.Context) error { return errBroken }})
	if !errors.Is(err, errBroken) || s.count > 0 || s.open != 0 {
		t.Errorf("%v, %d operations before the gate", err, s.count)
	}
	if err := Run(t.Context(), p, Options{Dial: s.dial, Output: full{}}); !errors.Is(err, errBroken) {
		t.Errorf("of an output that cannot be written: %v", err)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errBroken }

// A load that is asked to end does so at once, and what it did is in its output; what
// waits for an answer is waited for.
func TestALoadThatIsAskedToEnd(t *testing.T) {
	for name, change := range map[string]func(*ycsb.Plan){
		"closed": func(p *ycsb.Plan) { p.Think = time.Hour },
		"open":   func(p *ycsb.Plan) { p.Rate, p.Constant = 0.001, true },
		"busy":   func(*ycsb.Plan) {},
		"ramp":   func(p *ycsb.Plan) { p.Ramp = time.Hour },
	} {
		t.Run(name, func(t *testing.T) {
			p := planOf(change)
			p.Runtime, p.Sample = time.Hour, 50*time.Millisecond
			s := newStore(p.Dataset)
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			s.answer = func(_ context.Context, _ string, n int) error {
				if n == 20 || n == 1 && (name == "open" || name == "closed") {
					cancel()
				}
				time.Sleep(5 * time.Millisecond)
				return nil
			}
			lines, _ := generated(ctx, t, Options{}, p, s)
			total := sum(lines)
			if errors.Is(ctx.Err(), context.DeadlineExceeded) || s.count == 0 || !total.End.Stopped || total.End.Overdue > 0 ||
				int(done(total, ycsb.Read).Count) != s.count {
				t.Errorf("%v: %d operations of %d, %+v", ctx.Err(), done(total, ycsb.Read).Count, s.count, total.End)
			}
			if last := lines[len(lines)-1]; last.Ramp != (name == "ramp") || !last.Rest {
				t.Errorf("the last line is %+v", last)
			}
		})
	}
}

// What could not begin in time is counted at the end of an open loop.
func TestOverload(t *testing.T) {
	inBubble(t, func(t *testing.T, o Options) {
		p := planOf(func(p *ycsb.Plan) { p.Rate, p.Runtime = 1000, 500*time.Millisecond })
		s := newStore(p.Dataset)
		s.answer = func(context.Context, string, int) error { time.Sleep(20 * time.Millisecond); return nil }
		lines, _ := generated(t.Context(), t, o, p, s)
		total := sum(lines)
		began := float64(done(total, ycsb.Read).Count)
		if lost := float64(total.End.Overdue); math.Abs(lost+began-500) > 120 ||
			total.End.Behind < 0.3 || total.End.Behind > 0.5 {
			t.Errorf("%v were done, and %v of 500 overdue since %v s", began, lost, total.End.Behind)
		}
		// Connections were never free: the generator was not late by itself.
		if lag, _ := hist.Percentile(bins(total.Lag), 50); lag > 5e6 {
			t.Errorf("its median lag is %d ns", lag)
		}
	})
}

// The operations of a thread are the same for the same seed, whatever the server
// does, and others for another seed or thread.
func TestOperationsRepeat(t *testing.T) {
	asked := func(seed uint64, threads int, slow bool) []string {
		p := planOf(func(p *ycsb.Plan) {
			p.Seed, p.Threads, p.Mix = seed, threads, ycsb.Mix{ycsb.Read: 0.4, ycsb.Update: 0.3, ycsb.Scan: 0.3}
			p.MaxScan, p.Distribution, p.ReadOne, p.Runtime = 9, ycsb.Zipfian, true, time.Hour
		})
		s := newStore(p.Dataset)
		s.keep = true
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		s.answer = func(_ context.Context, _ string, n int) error {
			if n == 50 {
				cancel()
			}
			if slow {
				time.Sleep(time.Millisecond)
			}
			return nil
		}
		generated(ctx, t, Options{}, p, s)
		return s.asked[:50]
	}
	first := asked(1, 1, false)
	if again := asked(1, 1, true); !slices.Equal(again, first) {
		t.Errorf("%q\nthen %q", first, again)
	}
	if other := asked(2, 1, true); slices.Equal(other, first) {
		t.Error("another seed asks for the same")
	}
	fresh := planOf(func(p *ycsb.Plan) { p.Fresh = true })
	lines, _ := generated(t.Context(), t, Options{}, fresh, newStore(fresh.Dataset))
	again, _ := generated(t.Context(), t, Options{}, fresh, newStore(fresh.Dataset))
	if a, b := sum(lines).End.Seed, sum(again).End.Seed; a == b || a == 1 {
		t.Errorf("fresh seeds are %d and %d", a, b)
	}
}

// Inserts whose attempts fail are made again, and nobody asks for one before it is
// there.
func TestInsertsThatFail(t *testing.T) {
	inBubble(t, func(t *testing.T, o Options) {
		p := planOf(func(p *ycsb.Plan) {
			p.Mix, p.Distribution, p.Threads = ycsb.Mix{ycsb.Read: 0.5, ycsb.Insert: 0.5}, ycsb.Latest, 4
		})
		s := newStore(p.Dataset)
		s.answer = func(_ context.Context, asked string, n int) error {
			return when(strings.HasPrefix(asked, "insert") && n%5 == 0, errBroken)
		}
		lines, _ := generated(t.Context(), t, o, p, s)
		total := sum(lines)
		read, insert := done(total, ycsb.Read), done(total, ycsb.Insert)
		if read.Errors > 0 || insert.Errors == 0 || insert.Count == 0 || len(s.records) != 100+int(insert.Count) {
			t.Errorf("%d reads failed; %d inserts, %d failed; %d records", read.Errors, insert.Count, insert.Errors,
				len(s.records))
		}
		missing := 0
		for number := range int64(len(s.records)) {
			if s.records[string(database.Key(nil, number))] == nil {
				missing++
			}
		}
		if missing > p.Threads {
			t.Errorf("%d numbers were left out", missing)
		}
	})
}

// Waiting ends as soon as the database answers, and not before.
func TestWait(t *testing.T) {
	inBubble(t, func(t *testing.T, _ Options) {
		p := planOf(func(p *ycsb.Plan) { p.Patience = 5 * time.Second })
		s := newStore(p.Dataset)
		began := time.Now()
		s.refuse = func(n int) error { return when(n < 5, errBroken) }
		s.answer = func(_ context.Context, _ string, n int) error { return when(n < 3, client.ErrNotFound) }
		_, err := Wait(t.Context(), p, s.dial)
		if err != nil || s.dialled != 7 || s.open != 0 || time.Since(began) > 80*time.Millisecond {
			t.Errorf("%v after %d connections, %d open", err, s.dialled, s.open)
		}
		p.Patience = 50 * time.Millisecond
		s.answer = func(context.Context, string, int) error { return errBroken }
		if _, err := Wait(t.Context(), p, s.dial); !errors.Is(err, errBroken) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("of one that never answers: %v", err)
		}
	})
}

// told are options that a server tells, and how it fails at others.
type told struct {
	values map[string]string
	fails  error
}

func (o told) Setting(_ context.Context, name string) (string, error) {
	if value, ok := o.values[name]; ok {
		return value, nil
	}
	return "", o.fails
}

// What a server does not tell of its options is left out; a server that is lost is not one that does not tell.
func TestSettings(t *testing.T) {
	values := map[string]string{"work_mem": "8MB"}
	names := []string{"console", "work_mem"}
	for _, silent := range []error{&client.ServerError{Said: "unknown system variable"}, client.ErrNotFound} {
		got, err := settings(t.Context(), told{values, silent}, names)
		if err != nil || !maps.Equal(got, values) {
			t.Errorf("%v: %v, %v", silent, got, err)
		}
	}
	got, err := settings(t.Context(), told{values, client.ErrClosed}, names)
	if !errors.Is(err, client.ErrClosed) || got != nil {
		t.Errorf("a lost server shows %v, %v", got, err)
	}
}
