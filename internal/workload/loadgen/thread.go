package loadgen

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"plimsoll/internal/database/client"
	"plimsoll/internal/workload/ycsb"
)

// A plan calls whole records as clients do.
var _ [0]struct{} = [ycsb.AllFields - client.AllFields]struct{}{}

// thread does one operation after the other on a connection of its own.
type thread struct {
	run        *run
	operations *ycsb.Operations
	sleeper    sleeper
	random     *rand.Rand // for values
	client     client.Client
	refused    int           // connections that could not be made, one after the other
	silent     time.Time     // when the first of the last operations went unanswered; zero after an answer
	first      time.Duration // when it begins, in a closed loop
	files      *files        // that it works on, in place of a database

	mu  sync.Mutex // guards did, which reports take while the thread goes on
	did *tallies
}

// run is what threads share: whatever is no atomic is not written once they began.
type run struct {
	plan     *ycsb.Plan
	dial     Dial
	config   client.Config
	inserts  *ycsb.Inserts
	schedule *schedule // nil for a closed loop
	values   []byte    // random, to cut values from
	began    time.Time
	stopping atomic.Bool
	failure  atomic.Pointer[string] // an error that there was
	lost     atomic.Pointer[error]  // why there is no server any more
	stop     func()                 // has no thread begin anything more
}

// now is the time since the start.
func (r *run) now() time.Duration { return time.Since(r.began) }

// work does operations until it is to stop. The context ends what is under way.
func (t *thread) work(ctx context.Context) {
	if t.files != nil {
		t.churn()
		return
	}
	defer t.disconnect()
	if t.run.schedule != nil {
		t.open(ctx)
		return
	}
	t.closed(ctx)
}

// open begins operations when their time has come.
func (t *thread) open(ctx context.Context) {
	for !t.run.stopping.Load() {
		free := t.run.now()
		intended, ok := t.run.schedule.take()
		if !ok {
			return
		}
		start := free
		for start < intended {
			t.sleeper.sleep(intended - start)
			if t.run.stopping.Load() {
				return
			}
			start = t.run.now()
		}
		t.operation(ctx, intended, start, start-max(intended, free))
	}
}

// closed begins an operation when the one before has ended, and a while has passed.
func (t *thread) closed(ctx context.Context) {
	end := t.run.plan.Ramp + t.run.plan.Runtime
	intended := t.first
	t.sleeper.sleep(intended - t.run.now())
	for !t.run.stopping.Load() {
		start := t.run.now()
		if start >= end {
			return
		}
		t.operation(ctx, start, start, start-intended)
		intended = t.run.now() + t.run.plan.Think
		if t.run.plan.Think > 0 {
			t.sleeper.sleep(min(intended, end) - t.run.now())
		}
	}
}

// outcome is how an operation ended.
type outcome struct {
	bytes   uint64
	retries uint64
	err     error
	timeout bool
}

// operation does the next operation and counts it.
func (t *thread) operation(ctx context.Context, intended, start, lag time.Duration) {
	op := t.operations.Next()
	did := t.attempts(ctx, op)
	end := t.run.now()
	if ycsb.Names[op.Kind] == ycsb.Insert {
		t.run.inserts.Done(op.Record, did.err == nil)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	k := &t.did.kinds[op.Kind]
	k.retries += did.retries
	t.did.lag.record(lag)
	if did.err != nil {
		k.errors++
		if did.timeout {
			k.timeouts++
		}
		return
	}
	k.count++
	k.bytes += did.bytes
	k.total.record(end - intended)
	if t.run.schedule != nil {
		k.service.record(end - start)
	}
}

// attempts does an operation, and retries it if it failed.
func (t *thread) attempts(ctx context.Context, op ycsb.Operation) (did outcome) {
	for {
		did.bytes, did.err = t.attempt(ctx, op)
		var refusal *client.ServerError
		answered := errors.Is(did.err, client.ErrNotFound) || errors.As(did.err, &refusal)
		did.timeout = errors.Is(did.err, context.DeadlineExceeded) || errors.Is(did.err, os.ErrDeadlineExceeded) ||
			errors.Is(did.err, context.Canceled)
		if did.err == nil || answered {
			t.silent = time.Time{}
		}
		if did.err == nil {
			return did
		}
		if !answered {
			t.disconnect()
			t.unanswered(did.err)
		}
		if t.run.failure.Load() == nil {
			text := fmt.Sprintf("%s: %v", ycsb.Names[op.Kind], did.err)
			t.run.failure.CompareAndSwap(nil, &text)
		}
		if int(did.retries) >= t.run.plan.Retries || errors.Is(did.err, client.ErrNotFound) || t.run.stopping.Load() {
			return did
		}
		did.retries++
	}
}

// lostAfter is how long a server that somebody else started may leave all of a thread unanswered.
const lostAfter = 5 * time.Second

// unanswered ends the load where a server has been silent for long. Servers of runs are watched by those.
func (t *thread) unanswered(err error) {
	switch {
	case t.run.plan.At.Remote == "":
	case t.silent.IsZero():
		t.silent = time.Now()
	case time.Since(t.silent) > lostAfter:
		lost := fmt.Errorf("the server has not answered for %s: %w", time.Since(t.silent).Round(time.Second), err)
		if t.run.lost.CompareAndSwap(nil, &lost) {
			t.run.stop()
		}
	}
}

// attempt does an operation once.
func (t *thread) attempt(ctx context.Context, op ycsb.Operation) (bytes uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, t.run.plan.Timeout)
	defer cancel()
	err = t.connect(ctx)
	if err != nil {
		return 0, err
	}
	if t.run.plan.Dataset.Warehouses > 0 {
		return 0, t.transact(ctx, ycsb.Names[op.Kind])
	}
	var room [32]byte
	key := appendKey(room[:0], op.Record)
	switch ycsb.Names[op.Kind] {
	case ycsb.Insert:
		value := t.value(client.AllFields)
		return uint64(len(value)), t.client.Insert(ctx, key, value)
	case ycsb.Scan:
		found, err := t.client.Scan(ctx, key, op.Records, op.Field)
		return uint64(found) * uint64(t.size(op.Field)), err
	case ycsb.Update:
		value := t.value(op.Write)
		return uint64(len(value)), t.client.Update(ctx, key, op.Write, value)
	case ycsb.ReadModifyWrite:
		value, err := t.client.Read(ctx, key, op.Field)
		if err != nil {
			return 0, err
		}
		read := len(value)
		value = t.value(op.Write)
		return uint64(read + len(value)), t.client.Update(ctx, key, op.Write, value)
	}
	value, err := t.client.Read(ctx, key, op.Field)
	return uint64(len(value)), err
}

// transact runs a transaction.
func (t *thread) transact(ctx context.Context, name string) error {
	to, ok := t.client.(client.Transactor)
	if !ok {
		return errors.New("this client runs no transactions")
	}
	return to.Do(ctx, name)
}

// size is that of a field's value, or of all.
func (t *thread) size(field int) int {
	if field == client.AllFields {
		return t.run.plan.Dataset.Fields * t.run.plan.Dataset.FieldBytes
	}
	return t.run.plan.Dataset.FieldBytes
}

// value returns new bytes for a field, or for all.
func (t *thread) value(field int) []byte {
	size := t.size(field)
	from := t.random.IntN(len(t.run.values) - size + 1)
	return t.run.values[from : from+size]
}

// Between attempts to connect to a server that refuses, a thread waits twice as long
// each time.
const (
	firstBackoff = 10 * time.Millisecond
	mostBackoff  = 500 * time.Millisecond
)

// connect makes a connection, unless there is one.
func (t *thread) connect(ctx context.Context) error {
	if t.client != nil {
		return nil
	}
	if t.refused > 0 {
		t.sleeper.sleep(min(firstBackoff<<min(t.refused-1, 10), mostBackoff))
	}
	c, err := t.run.dial(ctx, t.run.plan.Client, t.run.config)
	if err != nil {
		t.refused++
		return fmt.Errorf("connect to the database: %w", err)
	}
	t.client, t.refused = c, 0
	return nil
}

func (t *thread) disconnect() {
	if t.client != nil {
		_ = t.client.Close()
		t.client = nil
	}
}
