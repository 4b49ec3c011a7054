package model

import (
	"bytes"
	"container/heap"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/recording"
	"plimsoll/internal/result"
	"plimsoll/internal/testkit/soak"
)

// recordedHost is a host that is simulated I/O by I/O: instances of a service with clients that think, or with arrivals
// that wait for nothing, and a drive that serves some I/Os at the same time.
type recordedHost struct {
	clients  int     // of each instance; 0 for arrivals that wait for nothing
	demand   float64 // I/Os per second of an instance on a drive that takes no time
	drift    float64 // standard deviation of the logarithm of demand, over minutes
	channels int
	service  float64 // seconds of an I/O
	beside   float64 // I/Os per second of another container
	levels   []int
}

func (h recordedHost) capacity() float64 { return float64(h.channels) / h.service }

type ioEvent struct {
	at     float64
	client int // below 0: an arrival of instance -client-1
	done   bool
	began  float64
}

type ioEvents []ioEvent

func (e ioEvents) Len() int           { return len(e) }
func (e ioEvents) Less(i, j int) bool { return e[i].at < e[j].at }
func (e ioEvents) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *ioEvents) Push(x any)        { *e = append(*e, x.(ioEvent)) }
func (e *ioEvents) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// second is what happened in a second: I/Os of each instance, of the other container, and the time of all of them.
type second struct {
	ios    []float64
	beside float64
	time   float64
}

// run simulates so many instances.
func (h recordedHost) run(instances, seconds int, random *rand.Rand) []second {
	all := make([]second, seconds)
	for i := range all {
		all[i].ios = make([]float64, instances)
	}
	level, until := 1.0, 0.0
	think := func(at float64, mean float64) float64 {
		if at >= until {
			until = at + 60
			level = math.Exp(h.drift*random.NormFloat64() - h.drift*h.drift/2)
		}
		return mean / level * random.ExpFloat64()
	}
	var queue ioEvents
	for i := range instances {
		if h.clients == 0 {
			heap.Push(&queue, ioEvent{at: random.ExpFloat64() / h.demand, client: -i - 1})
		}
		for c := range h.clients {
			heap.Push(&queue, ioEvent{at: random.ExpFloat64() * float64(h.clients) / h.demand, client: i*h.clients + c})
		}
	}
	if h.beside > 0 {
		heap.Push(&queue, ioEvent{at: random.ExpFloat64() / h.beside, client: -instances - 1})
	}
	free := make([]float64, h.channels)
	for queue[0].at < float64(seconds) {
		e := heap.Pop(&queue).(ioEvent)
		if e.done {
			s := &all[int(e.at)]
			s.time += e.at - e.began
			switch {
			case e.client < -instances:
				s.beside++
			case e.client < 0:
				s.ios[-e.client-1]++
			default:
				s.ios[e.client/h.clients]++
				heap.Push(&queue, ioEvent{at: e.at + think(e.at, float64(h.clients)/h.demand), client: e.client})
			}
			continue
		}
		switch {
		case e.client < -instances:
			heap.Push(&queue, ioEvent{at: e.at + random.ExpFloat64()/h.beside, client: e.client})
		case e.client < 0:
			heap.Push(&queue, ioEvent{at: e.at + think(e.at, 1/h.demand), client: e.client})
		}
		first := 0
		for i := range free {
			if free[i] < free[first] {
				first = i
			}
		}
		free[first] = max(e.at, free[first]) + h.service*random.ExpFloat64()
		heap.Push(&queue, ioEvent{at: free[first], client: e.client, done: true, began: e.at})
	}
	return all
}

// rate returns the I/Os per second of all instances at steady state.
func (h recordedHost) rate(instances int, random *rand.Rand) float64 {
	h.drift = 0
	const seconds, ramp = 60, 10
	sum := 0.0
	for _, s := range h.run(instances, seconds, random)[ramp:] {
		for _, n := range s.ios {
			sum += n
		}
	}
	return sum / (seconds - ramp)
}

const simulatedIO = 8192

// record returns what a recorder would see of the levels, each for so many seconds.
func (h recordedHost) record(seconds int, random *rand.Rand) *recording.Recording {
	r := recording.New(recording.Header{Host: recording.Host{Name: "simulated", CPUs: 16, MemoryBytes: 64 << 30},
		Interval: 1, Source: "test"})
	start, passed := time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC), 0
	for _, n := range h.levels {
		for _, s := range h.run(n, seconds, random) {
			passed++
			row := recording.Row{Time: start.Add(time.Duration(passed) * time.Second), Seconds: 1}
			total := s.beside
			add := func(name string, number int, ios float64) {
				total += ios
				const cpu = 40 // µs
				row.Amounts = append(row.Amounts, recording.Amounts{
					Thing:  recording.Thing{Kind: recording.OfContainer, Name: name, Copy: number},
					Values: []float64{cpu * ios, 0, 1 << 18, 0, 1 << 20, 1 << 19}})
				if ios > 0 {
					row.Amounts = append(row.Amounts, recording.Amounts{
						Thing:  recording.Thing{Kind: recording.OfUse, Name: name, Copy: number, Drive: "nvme0n1"},
						Values: []float64{ios, 0, simulatedIO * ios}})
				}
			}
			for i, ios := range s.ios {
				add("shop/db", i+1, ios)
			}
			if h.beside > 0 {
				total -= s.beside // add counts it
				add("other", 1, s.beside)
			}
			row.Amounts = append(row.Amounts,
				recording.Amounts{Thing: recording.Thing{Kind: recording.OfHost},
					Values: []float64{40 * total, 0, 48 << 20}},
				recording.Amounts{Thing: recording.Thing{Kind: recording.OfDrive, Name: "nvme0n1"},
					Values: []float64{total, 0, simulatedIO * total, 0, 1e6 * s.time, min(1e6, 1e6*s.time)}})
			if _, err := r.Add(row); err != nil {
				panic(err)
			}
		}
	}
	return r
}

// anyRecordedHost returns a random host with a drive that a few more instances fill.
func anyRecordedHost(random *rand.Rand) recordedHost {
	h := recordedHost{demand: 40 + 160*random.Float64(), drift: 0.02 + 0.1*random.Float64(),
		channels: 1 << random.IntN(4), levels: []int{1, 2, 4}}
	if random.IntN(2) == 0 {
		h.clients = 4 << random.IntN(3)
	}
	if random.IntN(2) == 0 {
		h.levels = []int{1, 2, 3}
	}
	most := h.levels[2]
	if random.IntN(2) == 0 {
		h.beside = h.demand * random.Float64()
	}
	full := float64(most) + 0.5 + 4*random.Float64() // instances that fill the drive
	h.service = float64(h.channels) / (h.beside + full*h.demand)
	return h
}

func fitRecorded(t testing.TB, r *recording.Recording) *Model {
	t.Helper()
	m, err := Fit(Options{Seed: 1, Recordings: []Recorded{{"host7", r}}})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// What a model of a recorded host says of other numbers of instances, where the drive is known, is what happens there:
// of hosts with clients that wait and with demand that does not. Nothing was chosen on these seeds.
func TestRecordedHostsComeTrue(t *testing.T) {
	soak.WithoutRace(t)
	hosts, seconds := soak.Of(24, 4), 240
	var beneath, beyond tally
	lines := 0
	for seed := range uint64(hosts) {
		random := rand.New(rand.NewPCG(900+seed, 1))
		h := anyRecordedHost(random)
		m := fitRecorded(t, h.record(seconds, random))
		f, err := m.Find("shop/db")
		if err != nil {
			t.Fatal(err)
		}
		host := f.Measured()
		host.IO = result.Rate{OperationsPerSecond: int64(h.capacity() - h.beside)}
		truths, truthLine := map[int]float64{}, 0
		for n := 1; n <= 12; n++ {
			truths[n] = h.rate(n, random)
		}
		for n := 1; n <= 12 && truths[n] >= asMuch*float64(n)*truths[1]; n++ {
			truthLine = n
		}
		for _, n := range []int{2, 3, 5, 6, 8, 12} {
			a, err := m.Predict(Ask{Host: host, Tenants: []Tenant{{Class: f.Name, Count: n, Think: -1}}})
			if err != nil {
				t.Fatalf("host %d, %d instances: %v", seed, n, err)
			}
			to := &beyond
			if n <= h.levels[2] {
				to = &beneath
			}
			to.rate(a.Rate, truths[n])
			t.Logf("host %d (%+v), %d: %.0f in fact, %.0f said (%.0f to %.0f)", seed, h, n, truths[n], float64(a.Rate.Value),
				float64(a.Rate.Low), float64(a.Rate.High))
		}
		line, err := m.LoadLine(Ask{Host: host, Tenants: []Tenant{{Class: f.Name, Count: 1, Think: -1}}}, 12, 0)
		if err != nil {
			t.Fatalf("host %d: %v", seed, err)
		}
		t.Logf("host %d: line %d in fact, %d said (%d to %d)", seed, truthLine, line.Instances, line.Low, line.High)
		if line.Low <= truthLine && truthLine <= line.High {
			lines++
		}
	}
	t.Logf("load lines: %d of %d intervals hold the truth", lines, hosts)
	if float64(lines) < 0.8*float64(hosts) {
		t.Errorf("load lines: only %d of %d intervals hold the truth", lines, hosts)
	}
	t.Logf("among levels: %s", &beneath)
	t.Logf("beyond: %s", &beyond)
	for _, y := range []*tally{&beneath, &beyond} {
		if inside := float64(y.inside) / float64(y.known); inside < 0.8 {
			t.Errorf("only %.0f%% of intervals hold the truth: %s", 100*inside, y)
		}
		if meanOf(y.off) > 0.1 {
			t.Errorf("off by %.1f%% in the mean", 100*meanOf(y.off))
		}
	}
}

// steadyHost is a host with so much memory in use that a few more instances are short of it.
func steadyHost() recordedHost {
	return recordedHost{demand: 100, channels: 8, service: 2e-3, levels: []int{1, 2, 3}}
}

func askRecorded(m *Model, n int) Ask {
	return Ask{Host: m.Classes[0].Measured(), Tenants: []Tenant{{Class: m.Classes[0].Name, Count: n, Think: -1}}}
}

// A drive that nobody measured is known up to what was seen of it, and no load line is drawn beyond.
func TestRecordedDriveIsKnownUpToWhatWasSeen(t *testing.T) {
	m := fitRecorded(t, steadyHost().record(240, rand.New(rand.NewPCG(1, 1))))
	a, err := m.Predict(askRecorded(m, 3))
	if err != nil || len(a.Recorded) != 1 || !strings.Contains(a.Recorded[0],
		"I/Os, not operations, of simulated as it ran") {
		t.Fatalf("%+v, %v", a, err)
	}
	_, err = m.Predict(askRecorded(m, 12))
	if err == nil || !strings.Contains(err.Error(), "never saw more than") || !strings.Contains(err.Error(),
		"run devices") {
		t.Errorf("12 instances: %v", err)
	}
	c, err := m.PredictOver(askRecorded(m, 1), Over{Factor: "n", Values: []float64{1, 2, 3, 12}}, 0)
	if err != nil || c.Line != nil || !strings.Contains(c.NoLine, "never saw more than") {
		t.Errorf("line %+v, %q, %v", c.Line, c.NoLine, err)
	}
	limited := askRecorded(m, 12)
	limited.Host.IO.OperationsPerSecond = 800
	if a, err = m.Predict(limited); err != nil || !(a.Rate.Value > 600 && a.Rate.Value < 850) {
		t.Errorf("with a limit: %+v, %v", a, err)
	}
}

// I/Os say nothing of less memory: that is refused, and a file of the model keeps it so.
func TestRecordedIOsSayNothingOfLessMemory(t *testing.T) {
	m := fitRecorded(t, steadyHost().record(240, rand.New(rand.NewPCG(2, 1))))
	var file bytes.Buffer
	if err := m.Write(&file); err != nil {
		t.Fatal(err)
	}
	read, err := Read(file.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	ask := askRecorded(read, 2)
	if _, err := read.Predict(ask); err != nil {
		t.Errorf("as it was: %v", err)
	}
	ask.Host.MemoryBytes = 1 << 30
	if _, err := read.Predict(ask); err == nil || !strings.Contains(err.Error(), "how many more I/Os") {
		t.Errorf("with 512 MiB each: %v", err)
	}
	ask.Host.MemoryBytes = 100 << 20
	if _, err := read.Predict(ask); err == nil || !strings.Contains(err.Error(), "never reclaimed") {
		t.Errorf("with less than they hold: %v", err)
	}
}

// Few numbers of instances have rates as levels, and a load that hardly changes is refused.
func TestRatesAreLevels(t *testing.T) {
	h := steadyHost()
	h.levels = []int{2}
	random := rand.New(rand.NewPCG(3, 1))
	_, err := Fit(Options{Seed: 1, Recordings: []Recorded{{"r", h.record(600, random)}}})
	if err == nil || !strings.Contains(err.Error(), "its rate hardly changed") {
		t.Errorf("%v", err)
	}
	h.drift = 0.5
	m := fitRecorded(t, h.record(1200, random))
	f := &m.Classes[0]
	if len(f.Points) != 3 || f.Basis.Levels != "2 instances, each at three rates" ||
		!(f.Points[0].Rate() > f.Points[2].Rate()) {
		t.Fatalf("%+v, %+v", f.Points, f.Basis)
	}
	a, err := m.Predict(askRecorded(m, 2))
	if err != nil || math.Abs(float64(a.Rate.Value)/f.Points[0].Rate()-1) > 0.05 {
		t.Errorf("%+v, %v: the busiest third did %v", a, err, f.Points[0].Rate())
	}
}

// What cannot be fitted is left out with its reason.
func TestRecordingsThatCannotBeFitted(t *testing.T) {
	h := steadyHost()
	random := func() *rand.Rand { return rand.New(rand.NewPCG(4, 1)) }
	for name, c := range map[string]struct {
		of     func() *recording.Recording
		reason string
	}{
		"short": {func() *recording.Recording { return h.record(3, random()) },
			"did nothing for as long as a level takes"},
		"uncounted": {func() *recording.Recording { r := h.record(60, random()); r.Header.UsesUnknown = true; return r },
			"--follow"},
		"empty": {func() *recording.Recording {
			return recording.New(recording.Header{Host: recording.Host{Name: "h"}, Interval: 1})
		}, "has no container"},
		"one": {func() *recording.Recording { h := h; h.levels = []int{1}; return h.record(15, random()) }, "for too short"},
	} {
		_, err := Fit(Options{Seed: 1, Recordings: []Recorded{{name, c.of()}}})
		if err == nil || !strings.Contains(err.Error(), c.reason) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Names of containers are untrusted: the class can be asked about whatever its name.
func TestRecordedNamesCanBeAskedAbout(t *testing.T) {
	for _, name := range []string{"a:b,c on d", "x\x1b[2J", "C: 4", "a b", "db@host#2", strings.Repeat("long", 1000)} {
		if got := className(name); strings.ContainsAny(got, ":, @#\x1b") {
			t.Errorf("%q became %q", name, got)
		}
	}
}

// What others do is taken from a drive that a run measured.
func TestOthersAreTakenFromTheDrive(t *testing.T) {
	m := &Model{Drives: []Drive{{Name: "raw", On: "nvme0n1", Host: "h", Read: Side{IOPS: 1000}}}}
	if got := m.recordedDrive(&Basis{Host: "other", Drive: "nvme0n1"}); got != "" {
		t.Errorf("a drive of another host: %q", got)
	}
	if got := m.recordedDrive(&Basis{Host: "h", Drive: "nvme0n1"}); got != "raw" {
		t.Errorf("%q", got)
	}
	got := m.recordedDrive(&Basis{Host: "h", Drive: "nvme0n1", BesideIOs: 250})
	if d, err := m.Drive(got); err != nil || d.Read.IOPS != 750 || got == "raw" || m.Drives[0].Read.IOPS != 1000 {
		t.Errorf("%q: %+v, %v", got, d, err)
	}
}

// Recordings of one host are as one, and one that is given twice says nothing new.
func TestRecordingsOfOneHostAreMerged(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 1))
	var all []Recorded
	for _, n := range []int{1, 2, 3} {
		h := steadyHost()
		h.levels = []int{n}
		all = append(all, Recorded{"host7", h.record(120, random)})
	}
	once, err := Fit(Options{Seed: 1, Recordings: all})
	if err != nil {
		t.Fatal(err)
	}
	if got := once.Classes[0].Basis.Levels; len(once.Classes) != 1 || got != "1, 2 and 3 instances" {
		t.Fatalf("%d classes, %s", len(once.Classes), got)
	}
	twice, err := Fit(Options{Seed: 1, Recordings: append(all, all[1])})
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range twice.Classes[0].Points {
		if len(p.Units) != len(once.Classes[0].Points[i].Units) {
			t.Errorf("level %s: %d stretches, %d if a recording is given twice", p.Mix, len(once.Classes[0].Points[i].Units),
				len(p.Units))
		}
	}
}

// Operations that a server counted are those of its class; if not all copies have a server, I/Os are.
func TestOperationsOfServersAreTaken(t *testing.T) {
	for _, servers := range []int{3, 2} {
		h := steadyHost()
		plain := h.record(120, rand.New(rand.NewPCG(6, 1)))
		r := recording.New(plain.Header)
		for i, at := range plain.Times {
			row := recording.Row{Time: at, Seconds: 1}
			for _, c := range plain.Courses {
				var values []float64
				for _, m := range c.Thing.Kind.Metrics() {
					values = append(values, float64(c.Values(m)[i]))
				}
				row.Amounts = append(row.Amounts, recording.Amounts{Thing: c.Thing, Values: values})
				if ios := c.Values(recording.Reads); c.Thing.Kind == recording.OfUse && ios[i] == ios[i] &&
					c.Thing.Copy <= servers {
					operations := 4 * float64(ios[i])
					row.Amounts = append(row.Amounts, recording.Amounts{
						Thing:  recording.Thing{Kind: recording.OfServer, Name: c.Thing.Name, Copy: c.Thing.Copy},
						Values: []float64{operations, operations, 800 * operations}})
				}
			}
			if _, err := r.Add(row); err != nil {
				t.Fatal(err)
			}
		}
		f := &fitRecorded(t, r).Classes[0]
		reads, ios := float64(f.Points[0].median(func(u *Unit) *Number { return &u.Reads })), servers < 3
		want := 0.25
		if ios {
			want = 1
		}
		if f.Basis.IOs != ios || math.Abs(reads-want) > 0.01 {
			t.Errorf("%d servers: %+v, %v reads each", servers, f.Basis, reads)
		}
	}
}
