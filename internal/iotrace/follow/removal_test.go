package follow

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/iotrace"
	"plimsoll/internal/iotrace/blktrace"
	"plimsoll/internal/testkit/soak"
	"plimsoll/internal/testkit/synthetic"
)

// made is a whole capture in memory: a file for each CPU.
type made [][]byte

func makeCapture(t testing.TB, shape synthetic.Shape) made {
	t.Helper()
	files := make([]*bytes.Buffer, shape.CPUs)
	for i := range files {
		files[i] = new(bytes.Buffer)
	}
	w := blktrace.NewWriter(func(cpu uint32) (io.Writer, error) { return files[cpu], nil })
	if err := shape.Generate(w); err != nil {
		t.Fatal(err)
	}
	m := make(made, shape.CPUs)
	for i, f := range files {
		m[i] = f.Bytes()
	}
	return m
}

// sources are the files that are left; nil is one that is missing.
func (m made) sources() (sources []Source) {
	for cpu, file := range m {
		if file != nil {
			sources = append(sources, Source{Name: blktrace.FileName("made", uint32(cpu)), From: bytes.NewReader(file)})
		}
	}
	return sources
}

// merged is all of it as one stream, as blkparse -d writes it.
func (m made) merged(t testing.TB) []byte {
	t.Helper()
	var readers []*blktrace.Reader
	for _, s := range m.sources() {
		readers = append(readers, blktrace.NewReader(s.Name, s.From))
	}
	var out bytes.Buffer
	copyRecords(t, readers, &out, func(*blktrace.Record) bool { return true })
	return out.Bytes()
}

// without is the capture without some of its records, which leave gaps in the
// numbers.
func (m made) filter(t testing.TB, keep func(*blktrace.Record) bool) made {
	t.Helper()
	out := make(made, len(m))
	for cpu, file := range m {
		var b bytes.Buffer
		copyRecords(t, []*blktrace.Reader{blktrace.NewReader("made", bytes.NewReader(file))}, &b, keep)
		out[cpu] = b.Bytes()
	}
	return out
}

func copyRecords(t testing.TB, readers []*blktrace.Reader, to *bytes.Buffer, keep func(*blktrace.Record) bool) {
	t.Helper()
	writer := blktrace.NewWriter(func(uint32) (io.Writer, error) { return to, nil })
	merge := blktrace.NewMerge(readers, func(err error) { t.Error(err) })
	last := uint32(0)
	for records := merge.Next(); len(records) > 0; records = merge.Next() {
		for i := range records {
			r := &records[i]
			if !keep(r) {
				continue
			}
			if r.CPU != last { // what is written of one comes before what is of another
				if err := writer.Flush(); err != nil {
					t.Fatal(err)
				}
				last = r.CPU
			}
			if err := writer.Write(r); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := writer.Flush(); err != nil {
		t.Fatal(err)
	}
}

// truth is the account of the whole capture.
type truth struct {
	account *iotrace.Account
	rows    map[string]iotrace.Row // by device; "" for all
}

func rowsOf(a *iotrace.Account) map[string]iotrace.Row {
	rows := map[string]iotrace.Row{"": a.By(iotrace.Total)[0]}
	for _, r := range a.By(iotrace.ByDevice) {
		rows[r.Key.Device] = r
	}
	return rows
}

// bios is how much more the times of bios scatter than those of as many requests:
// all of one request, up to eight, have the same D2C, and stay or go together.
var bios = math.Sqrt(5)

// compareIntervals checks every interval against the whole capture's: chance
// allows that the mean and the percentiles of those that are left differ so much,
// and beyond the longest true one there is none. least is the share of times that
// must be left, and doubtful how many the account says that it left out.
func compareIntervals(t *testing.T, whole, left map[string]iotrace.Row, least float64, doubtful uint64) {
	t.Helper()
	for key, row := range left {
		for i, d := range row.Intervals {
			interval := iotrace.Interval(i)
			if d == nil || d.Count == 0 {
				continue
			}
			name := fmt.Sprintf("%s %v", key, interval)
			true_ := whole[key].Intervals[i]
			if true_ == nil {
				t.Errorf("%s: %d times of what never was", name, d.Count)
				continue
			}
			if d.MaxNS > true_.MaxNS {
				t.Errorf("%s: the longest takes %d ns, and of the whole capture %d", name, d.MaxNS, true_.MaxNS)
			}
			if d.MinNS < true_.MinNS {
				t.Errorf("%s: the shortest takes %d ns, and of the whole capture %d", name, d.MinNS, true_.MinNS)
			}
			n, total := float64(d.Count), float64(true_.Count)
			if n > total+5 || n < least*total-20 {
				t.Errorf("%s: %g times of %g", name, n, total)
			}
			chance := 4.5 * bios * true_.StddevNS() * math.Sqrt(max(0, 1-n/total)/n)
			if off := math.Abs(d.MeanNS() - true_.MeanNS()); off > chance+0.01*true_.MeanNS() {
				t.Errorf("%s: a mean of %.0f ns, and of the whole capture %.0f +- %.0f", name, d.MeanNS(), true_.MeanNS(), chance)
			}
			for _, p := range []float64{50, 90, 99, 99.9} {
				share := p / 100
				off := 4.5*bios*math.Sqrt(share*(1-share)*max(0, 1-n/total)/n) + float64(2+doubtful)/n + 0.05*(1-share)
				low, high := true_.PercentilesNS(100 * max(share-off, 1e-9))[0], true_.PercentilesNS(100 * min(share+off, 1))[0]
				if got := d.PercentilesNS(p)[0]; float64(got) < 0.98*float64(low) || float64(got) > 1.02*float64(high) {
					t.Errorf("%s: p%g is %d ns, and of the whole capture between %d and %d", name, p, got, low, high)
				}
			}
		}
	}
	for key, row := range whole {
		for i, d := range row.Intervals {
			if interval := iotrace.Interval(i); interval != iotrace.Q2Q && d != nil && d.Count > 1000 &&
				left[key].Intervals[i] == nil {
				t.Errorf("%s has no %v", key, interval)
			}
		}
	}
}

// depthWithheldOrRight checks that no device tells a depth that is wrong.
func depthWithheldOrRight(t *testing.T, whole, left *iotrace.Account) {
	t.Helper()
	for _, d := range left.Devices {
		i := slices.IndexFunc(whole.Devices, func(w iotrace.Device) bool { return w.MajMin == d.MajMin })
		w := whole.Devices[i]
		if d.Knows(iotrace.QuantityDepth) && math.Abs(d.Depth-w.Depth) > 0.02*w.Depth {
			t.Errorf("%s: a depth of %g, and in truth %g", d.Name, d.Depth, w.Depth)
		}
		if d.Knows(iotrace.QuantityMaxDepth) && d.MaxDepth != w.MaxDepth {
			t.Errorf("%s: a depth of %d at most, and in truth %d", d.Name, d.MaxDepth, w.MaxDepth)
		}
		if !d.Knows(iotrace.QuantityDepth) {
			if d.Depth != 0 || d.MaxDepth != 0 ||
				slices.ContainsFunc(d.Seconds, func(s iotrace.Second) bool { return s.Depth != 0 }) {
				t.Errorf("%s: a depth is shown that is withheld: %g, %d", d.Name, d.Depth, d.MaxDepth)
			}
			if !strings.Contains(strings.Join(left.Missing, "\n"), d.Name+": its depth") {
				t.Errorf("%s: that its depth is left out is not said in\n%s", d.Name, strings.Join(left.Missing, "\n"))
			}
		}
	}
}

// removalShapes are the captures that events are removed from. Where few blocks
// are asked for, a request whose completion is missing soon meets another one.
var removalShapes = map[string]synthetic.Shape{
	"far": {Events: 400_000, CPUs: 40, Devices: 2, Seed: 1, Shared: true, Merges: 0.3, Splits: 0.05, Requeues: 0.04,
		Remote: 0.7},
	"near": {Events: 400_000, CPUs: 40, Devices: 2, Seed: 2, Blocks: 6000, Merges: 0.3, Splits: 0.05, Requeues: 0.04,
		Remote: 0.7},
	"tight": {Events: 400_000, CPUs: 40, Devices: 1, Seed: 3, Blocks: 1500, Merges: 0.1, Requeues: 0.02, Remote: 1},
	"home":  {Events: 400_000, CPUs: 40, Devices: 10, Seed: 4, Blocks: 3000, Merges: 0.5, Requeues: 0.02, Remote: 0.05},
}

// TestWhatIsRemovedIsNotMadeUp removes files of CPUs, completions and requeues
// from whole captures, at random, and compares what is left with the truth.
func TestWhatIsRemovedIsNotMadeUp(t *testing.T) {
	soak.WithoutRace(t)
	wholes := map[string]made{}
	truths := map[string]truth{}
	for name, shape := range removalShapes {
		m := makeCapture(t, shape)
		a, err := Analyze(t.Context(), m.sources(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range a.Devices {
			if len(d.Withheld) > 0 || d.Retired > 0 || d.Doubtful > 0 {
				t.Errorf("%s: of a whole capture: %+v", name, d)
			}
		}
		wholes[name] = m
		truths[name] = truth{a, rowsOf(a)}
	}
	names := []string{"far", "near", "tight", "home"}
	for seed := range uint64(20) {
		name := names[seed%4]
		random := rand.New(rand.NewPCG(seed, 7))
		var kind string
		left, least := wholes[name], 0.0
		switch seed / 4 {
		case 0, 1, 2: // files; in one of three, nothing but their events' absence tells
			n := 1 + random.IntN(7)
			kind = fmt.Sprintf("%d files", n)
			left = slices.Clone(left)
			for _, cpu := range random.Perm(len(left))[:n] {
				left[cpu] = nil
			}
			gone := float64(n) / float64(len(left))
			least = math.Pow(1-gone, 4) * 0.9
		case 3:
			share := 0.005 + 0.2*random.Float64()
			kind = fmt.Sprintf("%.1f%% of completions", 100*share)
			left = left.filter(t, func(r *blktrace.Record) bool {
				return r.Action.IsNote() || r.Action.Event() != blktrace.Complete || random.Float64() >= share
			})
			least = (1 - share) * 0.9
		case 4:
			kind = "requeues, and 2% of completions"
			left = left.filter(t, func(r *blktrace.Record) bool {
				event := r.Action.Event()
				return r.Action.IsNote() || event != blktrace.Requeue && (event != blktrace.Complete || random.Float64() >= 0.02)
			})
			least = 0.85
		}
		t.Run(fmt.Sprintf("%d %s without %s", seed, name, kind), func(t *testing.T) {
			sources := left.sources()
			if seed/4 == 1 {
				sources = []Source{{Name: "merged", From: bytes.NewReader(left.merged(t))}}
			}
			a, err := Analyze(t.Context(), sources, Options{Threads: 1 + int(seed%2)})
			if err != nil {
				t.Fatal(err)
			}
			sound(t, a)
			doubtful := uint64(0)
			for _, d := range a.Devices {
				doubtful += d.Doubtful
			}
			if doubtful > a.Events/1000 {
				t.Errorf("%d times of %d events are left out", doubtful, a.Events)
			}
			compareIntervals(t, truths[name].rows, rowsOf(a), least, doubtful)
			depthWithheldOrRight(t, truths[name].account, a)
			for _, d := range a.Devices {
				t.Logf("%s: %d requests, %d retired, %d doubtful, %d unfinished", d.Name, d.Requests, d.Retired,
					d.Doubtful, d.Unfinished)
			}
		})
	}
}

// passing is so many requests of other sectors, one after the other.
func passing(from, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%d Q 8:0 R %d+8\n%d D 8:0 R %d+8\n%d C 8:0 R %d+8\n", from, 10_000+8*i, from+1, 10_000+8*i,
			from+2, 10_000+8*i)
		from += 3
	}
	return b.String()
}

// A completion is lost, and half a minute later its sectors are asked for again:
// by a Q, by a D whose Q is lost, too, and by a requeue.
func TestTheNextOfTheSameSectorsRetires(t *testing.T) {
	const lost = "1 Q 8:0 R 100+8 sequence=1\n2 G 8:0 R 100+8 sequence=2\n3 D 8:0 R 100+8 sequence=3\n"
	const gap = "9 Q 8:0 R 900+8 sequence=7\n"
	for name, story := range map[string]string{
		"Q":       "30000000 Q 8:0 R 100+8\n30000001 D 8:0 R 100+8\n30000005 C 8:0 R 100+8\n",
		"D":       "30000001 D 8:0 R 100+8\n30000005 C 8:0 R 100+8\n",
		"requeue": "29999990 D 8:0 R 100+8\n29999995 R 8:0 R 100+8\n30000001 D 8:0 R 100+8\n30000005 C 8:0 R 100+8\n",
	} {
		sources, err := tell(lost + gap + passing(20, 1000) + story)
		if err != nil {
			t.Fatal(err)
		}
		var found *iotrace.IO
		a, err := Analyze(t.Context(), sources, Options{PerIO: func(r *iotrace.IO) error {
			if r.Sector == 100 && r.C >= 0 {
				copied := *r
				found = &copied
			}
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		if found == nil || found.C-found.D != 4000 || found.Q >= 0 && found.C-found.Q > 20_000 {
			t.Errorf("%s: %+v", name, found)
		}
		d := a.Devices[0]
		if d.Retired == 0 || d.Knows(iotrace.QuantityDepth) || d.Knows(iotrace.QuantityQ2Q) ||
			a.By(iotrace.Total)[0].Intervals[iotrace.Q2Q] != nil {
			t.Errorf("%s: %+v", name, d)
		}
	}
}

// In a whole capture, a request that thousands of others overtake is still
// completed, and one of the same sectors beside it takes nothing from it.
func TestWholeCapturesLoseNothing(t *testing.T) {
	sources, err := tell("1 Q 8:0 R 100+8\n2 D 8:0 R 100+8\n" + passing(20, 3000) + "30000000 C 8:0 R 100+8\n")
	if err != nil {
		t.Fatal(err)
	}
	a, err := Analyze(t.Context(), sources, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if d := a.Devices[0]; d.Requests != 3001 || d.Retired != 0 || len(d.Withheld) > 0 ||
		a.By(iotrace.Total)[0].Intervals[iotrace.D2C].MaxNS != 29_999_998_000 {
		t.Errorf("%+v", d)
	}
}

// A capture that is given with its own merge, in any order, counts once.
func TestTwiceGivenCountsOnce(t *testing.T) {
	m := makeCapture(t,
		synthetic.Shape{Events: 60_000, CPUs: 8, Devices: 3, Seed: 9, Merges: 0.3, Splits: 0.05, Requeues: 0.05, Remote: 0.5})
	once, err := Analyze(t.Context(), m.sources(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	merged := Source{Name: "merged", From: bytes.NewReader(m.merged(t))}
	merges := func() Source { merged.From = bytes.NewReader(m.merged(t)); return merged }
	for name, sources := range map[string][]Source{
		"behind": append(m.sources(), merges()), "before": append([]Source{merges()}, m.sources()...),
		"a file": append(m.sources(), m.sources()[3]),
	} {
		a, err := Analyze(t.Context(), sources, Options{Threads: 2})
		if err != nil {
			t.Fatal(err)
		}
		if a.Events != once.Events || a.Twice == 0 || name != "a file" && a.Twice != once.Events {
			t.Errorf("%s: %d events, %d of them twice; once there are %d", name, a.Events, a.Twice, once.Events)
		}
		if !strings.Contains(strings.Join(a.Missing, "\n"), "given more than once") {
			t.Errorf("%s: it is not said: %v", name, a.Missing)
		}
		a.Twice, a.Missing = 0, once.Missing
		one, _ := json.Marshal([]any{once, once.Cells})
		two, _ := json.Marshal([]any{a, a.Cells})
		if string(one) != string(two) {
			t.Errorf("%s: it gives another account", name)
		}
	}
}

// A stream without names of files says which CPUs it has no events of.
func TestAbsentCPUsAreNamed(t *testing.T) {
	m := makeCapture(t, synthetic.Shape{Events: 200_000, CPUs: 16, Devices: 1, Seed: 5, Remote: 1})
	m[3], m[11] = nil, nil
	for name, sources := range map[string][]Source{"files": m.sources(),
		"merged": {{Name: "merged", From: bytes.NewReader(m.merged(t))}}} {
		var accounts []string
		for _, threads := range []int{1, 2, 3} {
			for _, s := range sources {
				_, _ = s.From.(io.Seeker).Seek(0, io.SeekStart)
			}
			a, err := Analyze(t.Context(), sources, Options{Threads: threads})
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(a.MissingCPUs, []int{3, 11}) {
				t.Errorf("%s: missing are %v", name, a.MissingCPUs)
			}
			b, _ := json.Marshal([]any{a, a.Cells})
			accounts = append(accounts, string(b))
		}
		if accounts[0] != accounts[1] || accounts[1] != accounts[2] {
			t.Errorf("%s: the number of threads changes the account", name)
		}
	}
}
