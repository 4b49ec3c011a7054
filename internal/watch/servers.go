package watch

import (
	"context"
	"fmt"
	"math"
	"time"

	"plimsoll/internal/database"
	"plimsoll/internal/recording"
)

// Server is a database server in a container, with counters.
type Server struct {
	Container string // name of the container, as recordings have it
	Kind      string // name of the database
	Open      func(ctx context.Context) (database.Counter, error)
}

// How long servers are waited for.
const (
	mostPatience = 250 * time.Millisecond // of all servers at the end of an interval
	leastRetry   = 5 * time.Second        // after a failure; twice as long after each that follows it
	mostRetry    = time.Minute
)

// sample is what a server answered.
type sample struct {
	failed bool
	moment time.Time // when the answer came
	counts database.Counts
}

// server asks one server for its counters, in a goroutine that it is closed to end. A server that does not answer
// leaves intervals unknown, and holds up nothing.
type server struct {
	thing   recording.Thing
	asks    chan struct{} // has room for one: an ask while one is under way is left out
	answers chan sample   // has room for one: the latest
	stop    context.CancelFunc
	ended   chan struct{}

	last *sample // that amounts begin at; nil for none
}

// openServers begins to ask servers. Servers of one container are copies of it, in their order.
func openServers(o Options) (servers []*server) {
	copies := map[string]int{}
	for _, opened := range o.Servers {
		copies[opened.Container]++
		ctx, stop := context.WithCancel(context.Background())
		s := &server{
			thing: recording.Thing{Kind: recording.OfServer, Name: opened.Container, Copy: copies[opened.Container],
				Manager: opened.Kind},
			asks: make(chan struct{}, 1), answers: make(chan sample, 1), stop: stop, ended: make(chan struct{}),
		}
		warn := func(text string) {
			if o.Warn != nil {
				o.Warn(fmt.Sprintf("the server of %s (%s): %s", opened.Container, opened.Kind, text))
			}
		}
		go s.run(ctx, opened.Open, warn)
		s.ask()
		servers = append(servers, s)
	}
	return servers
}

// ask asks for an answer, unless one is being waited for.
func (s *server) ask() {
	select {
	case s.asks <- struct{}{}:
	default:
	}
}

func (s *server) close() {
	s.stop()
	<-s.ended
}

// run answers asks until the context ends. A connection that fails is made again later.
func (s *server) run(ctx context.Context, open func(context.Context) (database.Counter, error), warn func(string)) {
	defer close(s.ended)
	var counter database.Counter
	defer func() {
		if counter != nil {
			_ = counter.Close()
		}
	}()
	answer := func(a sample) {
		select {
		case <-s.answers: // of an interval that ended without it
		default:
		}
		s.answers <- a
	}
	retry, failing, after, connections := leastRetry, false, time.Time{}, 0
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.asks:
		}
		if counter == nil && time.Now().Before(after) {
			answer(sample{failed: true})
			continue
		}
		var err error
		if counter == nil {
			counter, err = open(ctx)
			connections++
		}
		var counts database.Counts
		if err == nil {
			counts, err = counter.Counts(ctx)
		}
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			if !failing {
				warn(fmt.Sprintf("%v: its operations are unknown until it answers", err))
			}
			failing = true
			if counter != nil {
				_ = counter.Close()
			}
			counter, after = nil, time.Now().Add(retry)
			retry = min(2*retry, mostRetry)
			answer(sample{failed: true})
			continue
		case failing:
			warn("it answers again")
		}
		retry, failing = leastRetry, false
		counts.Era = fmt.Sprint(connections, " ", counts.Era) // the server may have begun again between two connections
		answer(sample{moment: time.Now(), counts: counts})
	}
}

// served asks all servers, and returns what they did in an interval that ends now, of the servers that answer soon.
func served(servers []*server, interval time.Duration, seconds float64) (amounts []recording.Amounts) {
	if len(servers) == 0 {
		return nil
	}
	late := make([]*sample, len(servers)) // answers to the ask before, which came too late for it
	for i, s := range servers {
		late[i] = s.take(nil)
		s.ask()
	}
	patience := time.NewTimer(min(interval/4, mostPatience))
	defer patience.Stop()
	expired := patience.C
	for i, s := range servers {
		got := s.take(expired)
		if got == nil {
			got, expired = late[i], closedTimer
		}
		if values := s.amounts(got, seconds); values != nil {
			amounts = append(amounts, recording.Amounts{Thing: s.thing, Values: values})
		}
	}
	return amounts
}

// closedTimer has expired.
var closedTimer = func() <-chan time.Time { c := make(chan time.Time); close(c); return c }()

// take returns the latest answer; nil if there is none when the timer has expired. A nil timer waits for nothing.
func (s *server) take(expired <-chan time.Time) *sample {
	select {
	case answer := <-s.answers:
		return &answer
	default:
	}
	if expired == nil {
		return nil
	}
	select {
	case answer := <-s.answers:
		return &answer
	case <-expired:
		return nil
	}
}

// amounts returns what the server did, as rates between its last two answers over the interval's length; nil for
// unknown. Answers that are further apart than one and a half intervals span some without an answer.
func (s *server) amounts(got *sample, seconds float64) []float64 {
	before := s.last
	if got == nil {
		return nil
	}
	s.last = got
	if before == nil || before.failed || got.failed {
		return nil
	}
	apart := got.moment.Sub(before.moment).Seconds()
	if !(apart > 0) || apart > 1.5*seconds || apart < 0.5*seconds {
		return nil
	}
	work, ok := got.counts.Since(before.counts)
	if !ok {
		return nil // the counters began again
	}
	values := []float64{work.Operations, math.NaN(), math.NaN()}
	if work.Timed > 0 {
		values[1], values[2] = work.Timed, work.Microseconds
	}
	for i := range values {
		values[i] *= seconds / apart
	}
	return values
}
