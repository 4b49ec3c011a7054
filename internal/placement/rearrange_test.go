package placement

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/model"
	"plimsoll/internal/testkit/modeltest"
	"plimsoll/internal/testkit/soak"
	"plimsoll/internal/units"
)

// placing looks at every placement that some moves lead to, one by one, and knows nothing of how plans are found.
type placing struct {
	m     *model.Model
	f     *Fleet
	kinds []int // of hosts
	names []string
	known map[string]merit
	now   [][][]int // by host, drive and demand

	best  merit
	found bool
}

func newPlacing(m *model.Model, f *Fleet) *placing {
	p := &placing{m: m, f: f, known: map[string]merit{}}
	for k := range f.Hosts {
		for i := range f.Hosts[k].Count {
			p.kinds, p.names = append(p.kinds, k), append(p.names, hostName(&f.Hosts[k], i+1))
		}
	}
	p.now = p.empty()
	for _, st := range f.Now {
		p.now[slices.Index(p.names, st.Host)][st.Drive][st.Containers] += st.Count
	}
	return p
}

func (p *placing) empty() (counts [][][]int) {
	for _, k := range p.kinds {
		host := make([][]int, len(p.f.Hosts[k].Is.Drives))
		for d := range host {
			host[d] = make([]int, len(p.f.Containers))
		}
		counts = append(counts, host)
	}
	return counts
}

// host returns what a host breaks and is worth.
func (p *placing) host(k int, on [][]int) merit {
	key := fmt.Sprint(k, on)
	if v, has := p.known[key]; has {
		return v
	}
	counts := make([]int, len(p.f.Containers))
	broken := make([]int, len(p.f.Containers))
	var placed []model.Placed
	var demands []int
	for drive := range on {
		for d, n := range on[drive] {
			if counts[d] += n; n > 0 {
				placed = append(placed, model.Placed{Class: p.f.Containers[d].Class, Drive: drive, Count: n,
					Own: p.f.Containers[d].Limits})
				demands = append(demands, d)
			}
		}
	}
	var out merit
	solved, err := p.m.Solve(p.f.Hosts[k].Is, placed)
	for d, c := range p.f.Containers {
		whole := err != nil || c.Apart && counts[d] > 1
		for _, o := range c.Away {
			whole = whole || counts[o] > 0
		}
		if len(c.Beside) > 0 {
			whole = whole || !slices.ContainsFunc(c.Beside, func(o int) bool { return counts[o] > 0 })
		}
		if whole {
			broken[d] = counts[d]
			continue
		}
		for i, group := range placed {
			if demands[i] != d {
				continue
			}
			rate, p99 := solved.Tenants[i].Rate/float64(group.Count), solved.Tenants[i].P99
			only, has := c.Drives[k]
			if c.On != nil && !slices.Contains(c.On, k) || has && only != group.Drive || rate < c.LeastRate*(1-1e-9) ||
				c.MostP99 > 0 && p99 > c.MostP99*(1+1e-9) {
				broken[d] += group.Count
			}
		}
	}
	out.broken = sum(broken)
	if p.f.Objective == FewHosts && len(placed) > 0 {
		out.value = -p.f.Hosts[k].price()
	} else if err == nil {
		for i, tenant := range solved.Tenants[:len(placed)] {
			out.value += tenant.Rate * cmp.Or(p.f.Containers[demands[i]].Weight, 1)
		}
	}
	p.known[key] = out
	return out
}

func (p *placing) run() {
	arrangement := p.empty()
	type spot struct{ host, drive int }
	var spots []spot
	for h := range arrangement {
		for drive := range arrangement[h] {
			spots = append(spots, spot{h, drive})
		}
	}
	stand := make([]int, len(p.f.Containers))
	for h := range p.now {
		for drive := range p.now[h] {
			for d, n := range p.now[h][drive] {
				stand[d] += n
			}
		}
	}
	var walk func(d, i, left, moves, unplaced int)
	walk = func(d, i, left, moves, unplaced int) {
		if moves > p.f.MostMoves {
			return
		}
		if d == len(p.f.Containers) {
			total := merit{unplaced: unplaced}
			for h, k := range p.kinds {
				total = total.plus(p.host(k, arrangement[h]))
			}
			if !p.found || total.compare(p.best) > 0 {
				p.found, p.best = true, total
			}
			return
		}
		if i == len(spots) {
			if left <= p.f.Containers[d].Count-stand[d] { // none that stands is stopped
				next := 0
				if d+1 < len(p.f.Containers) {
					next = p.f.Containers[d+1].Count
				}
				walk(d+1, 0, next, moves, unplaced+left)
			}
			return
		}
		at0 := arrangement[spots[i].host][spots[i].drive]
		for n := range left + 1 {
			at0[d] = n
			walk(d, i+1, left-n, moves+max(0, p.now[spots[i].host][spots[i].drive][d]-n), unplaced)
		}
		at0[d] = 0
	}
	walk(0, 0, p.f.Containers[0].Count, 0, 0)
}

// standAnywhere puts containers of a fleet anywhere, some of them nowhere.
func standAnywhere(f *Fleet, r *rand.Rand) {
	for d, c := range f.Containers {
		for range c.Count {
			k := r.IntN(len(f.Hosts))
			if r.IntN(5) > 0 {
				f.Now = append(f.Now, Standing{hostName(&f.Hosts[k], 1+r.IntN(f.Hosts[k].Count)), d,
					r.IntN(len(f.Hosts[k].Is.Drives)), 1})
			}
		}
	}
}

// Every container of a plan is in a row, and what breaks a limit is in the verdict; plans of at most so many moves are
// as good as looking at every one finds.
func TestPlansSayWhatTheyBreak(t *testing.T) {
	soak.WithoutRace(t)
	m := modeltest.ThreeClasses()
	r := rand.New(rand.NewPCG(69, 9))
	fleets, searched, broken, near := 500, 0, 0, 0
	if testing.Short() {
		fleets = 100
	}
	for i := range fleets {
		f := someFleet(m, r, Objective(Objectives()[i%2][0]))
		for k := range f.Hosts {
			f.Hosts[k].Model = nil
		}
		if i%4 < 3 {
			standAnywhere(f, r)
		}
		if len(f.Now) > 0 && i%4 > 0 {
			f.MostMoves = 1 + r.IntN(3)
		}
		p, err := Best(m, f, Options{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		look := newPlacing(m, f)
		arrangement := look.empty()
		for _, h := range p.Hosts {
			for _, name := range h.Hosts {
				host := slices.Index(look.names, name)
				for _, st := range h.Stands {
					d := slices.IndexFunc(f.Containers, func(c Containers) bool { return c.Name == st.Containers })
					drive := slices.IndexFunc(f.Hosts[look.kinds[host]].Is.Drives, func(v model.HostDrive) bool {
						return v.Name == st.Drive
					})
					arrangement[host][drive][d] += st.Count
				}
			}
		}
		got := merit{unplaced: left(p)}
		inRows, want := 0, 0
		for h, k := range look.kinds {
			got = got.plus(look.host(k, arrangement[h]))
			for drive := range arrangement[h] {
				inRows += sum(arrangement[h][drive])
			}
		}
		for _, c := range f.Containers {
			want += c.Count
		}
		if inRows+left(p) != want {
			t.Fatalf("%d: %d containers are in rows and %d left, of %d: %+v", i, inRows, left(p), want, p)
		}
		if (got.broken > 0) != (len(p.Broken) > 0) || p.Complete() != (got.broken == 0 && got.unplaced == 0) ||
			got.broken > 0 && !strings.Contains(p.Verdict(), "a limit on ") {
			t.Fatalf("%d: %d containers break limits, and the plan says %+v: %s", i, got.broken, p.Broken, p.Verdict())
		}
		if strings.Contains(p.Verdict(), "NaN") {
			t.Errorf("%d: %s", i, p.Verdict())
		}
		if got.broken > 0 {
			broken++
		}
		if f.MostMoves == 0 {
			continue
		}
		look.run()
		if n := len(p.Moves.Steps) - p.Moves.Joins; n > f.MostMoves && !slices.ContainsFunc(p.Moves.Steps, func(m Move) bool {
			return m.Detour
		}) {
			t.Errorf("%d: %d moves, and %d were allowed", i, n, f.MostMoves)
		}
		searched++
		got.value, look.best.value = math.Round(got.value*1e6)/1e6, math.Round(look.best.value*1e6)/1e6
		off := 2 * evenly * math.Abs(look.best.value)
		if got.broken != look.best.broken || got.unplaced != look.best.unplaced || math.Abs(got.value-look.best.value) > off {
			t.Errorf("%d, %s: %+v, and by brute force %+v: %t", i, f.Objective, got, look.best, p.Moves.Exact)
		}
		if !p.Moves.Exact {
			t.Errorf("%d: not exact", i)
		}
		s, err := newSearch(m, f, Options{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		now, err := s.now()
		if err != nil {
			t.Fatal(err)
		}
		a := newArrangement(s, now, f.MostMoves)
		before := a.total()
		a.improve()
		after := a.total()
		if f.Objective == FewHosts {
			before.value, after.value = math.Round(before.value), math.Round(after.value) // prices
		}
		if after.compare(before) < 0 || a.moved() > f.MostMoves || after.broken < got.broken {
			t.Errorf("%d: single moves and pairs lead from %+v to %+v, and %+v is the best, by %d moves", i, before, after, got,
				a.moved())
		}
		if after.broken == got.broken && after.unplaced == got.unplaced && math.Abs(after.value-got.value) <= off {
			near++
		}
	}
	t.Logf("%d plans of few moves, of which pairs of moves find %d; %d break limits", searched, near, broken)
	if near < searched*9/10 {
		t.Errorf("pairs of moves find %d of %d best plans", near, searched)
	}
	if searched < fleets/3 || broken < fleets/20 {
		t.Errorf("%d plans of few moves, %d break limits: the test shows little", searched, broken)
	}
}

// planOf returns the plan of a fleet's file, whose model is one of three classes.
func planOf(t *testing.T, text string) *Plan {
	t.Helper()
	f, m, err := parse("model: m\n" + text)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Best(m, f, Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// steps are the moves of a plan, as containers, source and destination.
func steps(p *Plan) (all []string) {
	for _, m := range p.Moves.Steps {
		all = append(all, fmt.Sprintf("%s: %s %s > %s %s", m.Containers, m.From, m.FromDrive, m.To, m.ToDrive))
	}
	return all
}

// Hosts on which a limit stays broken are in the plan, and its verdict names them.
func TestAttackBrokenLimitsOfFewMoves(t *testing.T) {
	const host = "hosts: {h: {count: 2, cpus: 4, memory: %s, drives: {a: fast}}}\n"
	for _, c := range []struct{ text, verdict string }{
		{fmt.Sprintf(host, "4GiB") + "containers: {x: {class: writes, count: 3, apart: true}}\nnow: {h-1: {x: 3}}\n" +
			"moves: 1\n",
			"2 of x break a limit on h-1: two of x are on one host, and must be apart; 1 move is not enough. "},
		{fmt.Sprintf(host, "600MiB") + "containers: {x: {class: writes, count: 5}}\nnow: {h-1: {x: 5}}\nmoves: 1\n",
			"4 of x break a limit on h-1: they need 800 MiB"},
		{fmt.Sprintf(host, "4GiB") + "containers: {x: {class: writes, count: 8, p99-limit: 1ms}}\nnow: {h-1: {x: 8}}\n" +
			"moves: 1\n", "of x break a limit on h-"},
	} {
		p := planOf(t, c.text)
		rows := 0
		for _, h := range p.Hosts {
			for _, st := range h.Stands {
				rows += st.Count * len(h.Hosts)
			}
		}
		if p.Complete() || !strings.Contains(p.Verdict(), c.verdict) || strings.Contains(p.Verdict(), "NaN") ||
			rows+left(p) != p.Placed || p.strategies().Tables[0].Rows[0].Cells[6].String() == "0" {
			t.Errorf("%s: %d in rows: %s", c.text, rows, p.Verdict())
		}
	}
}

// Few moves are the best few: between drives of a host, swaps, and hosts that are emptied.
func TestFewMovesAreTheBest(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{"hosts: {h: {cpus: 8, memory: 4GiB, drives: {s: slow, f: fast}}}\ncontainers: {x: {class: writes}}\n" +
			"now: {h: {x: 1 on s}}\nmoves: 1\n", []string{"x: h s > h f"}},
		{"hosts:\n  big: {cpus: 8, memory: 4GiB, drives: {s: slow}}\n  fast: {cpus: 8, memory: 4GiB, drives: {f: fast}}\n" +
			"containers: {w: {class: writes}, c: {class: computes, away-from: w}}\nnow: {big: {w: 1}, fast: {c: 1}}\nmoves: 2\n",
			[]string{"w: big s > fast f", "c: fast f > big s"}},
		{"objective: hosts\nhosts:\n  a: {cpus: 8, memory: 4GiB, price: 1, drives: {f: fast}}\n" +
			"  b: {cpus: 8, memory: 4GiB, " +
			"price: 3, drives: {f: fast}}\ncontainers: {x: {class: writes, count: 3, least-throughput: 1}}\n" +
			"now: {a: {x: 1}, b: {x: 2}}\nmoves: 2\n", []string{"x: b f > a f", "x: b f > a f"}},
		{"hosts: {h1: {count: 2, cpus: 8, memory: 4GiB, drives: {a: fast, b: fast}}}\ncontainers:\n  c0: {class: writes}\n" +
			"now: {h1-1: {c0: 1 on a}}\nmoves: 3\n", nil},
	} {
		p := planOf(t, c.text)
		got := steps(p)
		slices.Sort(got)
		want := slices.Sorted(slices.Values(c.want))
		if !slices.Equal(got, want) || !p.Moves.Exact || !p.Proven {
			t.Errorf("%s: %q: %s", c.text, got, p.Verdict())
		}
	}
}

// A move copies data, unless both hosts reach the same drive of a target.
func TestMovesCopyOrReconnect(t *testing.T) {
	const far = "hosts:\n  a: {cpus: 1, memory: 1GiB, network: 1GB, drives: {%s}}\n" +
		"  b: {cpus: 64, memory: 8GiB, network: 1GB, drives: {%s}}\ntargets: {t: {cpus: 8, io-cpu: 4us, network: 5GB}}\n" +
		"containers: {x: {class: reads%s}}\nnow: {a: {x: 1}}\n"
	remote := "r: {drive: fast, target: t, delay: 30us}"
	for _, c := range []struct {
		text, takes string
		reconnects  bool
		bytes       int64
	}{
		{fmt.Sprintf(far, "d: fast", "d: fast", ""), "as long as its data takes to copy: write data: 100GB", false, 0},
		{fmt.Sprintf(far, "d: fast", "d: fast", ", data: 5GB"), "10.0 s", false, 5e9},
		{fmt.Sprintf(far, remote, remote, ", data: 5GB"), "a reconnection", true, 0},
		{fmt.Sprintf(far, remote, "d: fast", ", data: 5GB"), "10.0 s", false, 5e9},
	} {
		p := planOf(t, c.text)
		if len(p.Moves.Steps) != 1 {
			t.Errorf("%s: %+v", c.text, p.Moves)
			continue
		}
		step, takes := p.Moves.Steps[0], p.moves().Tables[0].Rows[0].Cells[5].Text
		if step.Reconnects != c.reconnects || step.Bytes != c.bytes || takes != c.takes {
			t.Errorf("%s: %+v takes %q", c.text, step, takes)
		}
	}
}

// A host without drives has the one that the class stood on, as a prediction has it.
func TestHostsWithoutDrivesHaveThatOfTheClass(t *testing.T) {
	p := planOf(t, "hosts:\n  g: {cpus: 8, memory: 4GiB}\n  h: {cpus: 8, memory: 4GiB, drives: {f: fast}}\n"+
		"containers: {x: {class: writes}}\n")
	if len(p.Hosts) != 1 || p.Hosts[0].Kind != "h" {
		t.Errorf("%s: %+v", p.Verdict(), p.Hosts)
	}
	p = planOf(t, "hosts: {g: {cpus: 8, memory: 4GiB}}\ncontainers: {x: {class: writes}}\n")
	m := modeltest.ThreeClasses()
	k := m.HostOf(&m.Classes[1])
	k.Host = model.Host{CPUs: 8, MemoryBytes: 4 << 30}
	a, err := m.Predict(model.Ask{Host: k.Host, Drives: k.Drives, Tenants: []model.Tenant{{Class: "writes", Count: 1,
		Think: -1}}})
	if err != nil || math.Abs(float64(p.Rate.Value/a.Rate.Value)-1) > 1e-6 {
		t.Errorf("%v planned, and %v predicted: %v", p.Rate.Value, a.Rate.Value, err)
	}
}

// What a plan cannot place has its reason, and no number is missing in it.
func TestAttackFleetsThatCannotStand(t *testing.T) {
	const host = "hosts: {h: {cpus: 8, memory: 512GiB, drives: {f: fast}}}\n"
	for _, c := range []struct{ text, verdict, why, remedy string }{
		{host + "containers: {x: {class: writes, least-throughput: 1000000}}\n", "1 of 1 container stands nowhere.",
			"no host takes even one: x would do", "more hosts of the same kinds do not help"},
		{host + "containers: {x: {class: computes, count: 300}}\n",
			"45 of 300 containers stand nowhere. What stands on 1 host",
			"a plan has at most 255 of a kind on one drive", "or add a host."},
		{host + "containers: {x: {class: writes, count: 0}}\n", "The fleet has no containers.", "", ""},
	} {
		p := planOf(t, c.text)
		text := p.Verdict()
		for _, l := range p.Left {
			text += l.Why
		}
		if len(p.Left) > 0 {
			text += p.left().Remarks[0].Text
		}
		if !strings.Contains(text, c.verdict) || !strings.Contains(text, c.why) || !strings.Contains(text, c.remedy) ||
			strings.Contains(text, "NaN") {
			t.Errorf("%s: %s", c.text, text)
		}
	}
}

// A host or a drive that failed takes nothing, and what stood there finds another place.
func TestPlansAfterAFailure(t *testing.T) {
	const fleet = "hosts:\n  h: {count: 2, cpus: 8, memory: 4GiB, drives: {s: slow, f: fast}}\n" +
		"containers: {x: {class: writes, count: 2, on: h}}\nnow: {h-1: {x: [1 on s, 1 on f]}}\nmoves: 1\n"
	for _, c := range []struct {
		down  string
		want  []string
		total int
	}{
		{"[h-1]", []string{"x:   > h-2 f", "x:   > h-2 s"}, 1},
		{"[f on h-1]", []string{"x:   > h-2 f"}, 2},
		{"[f on h-1, s on h-1]", []string{"x:   > h-2 f", "x:   > h-2 s"}, 1},
	} {
		p := planOf(t, fleet+"down: "+c.down+"\n")
		got := steps(p)
		slices.Sort(got)
		if !slices.Equal(got, c.want) || p.Of != c.total || !strings.Contains(p.Verdict(), " down. ") {
			t.Errorf("%s: %q: %s", c.down, got, p.Verdict())
		}
	}
	for down, want := range map[string]string{"[h-3]": "the fleet has no host h-3",
		"[x on h-1]": `host h-1 has no drive "x"`, "{a: b}": "down is a list", "[h-1, h-1]": "no host h-1"} {
		if _, _, err := parse("model: m\n" + fleet + "down: " + down); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", down, err)
		}
	}
}

// The same fleet in another order of its keys has the same plan.
func TestOrderOfKeysChangesNothing(t *testing.T) {
	soak.WithoutRace(t)
	m, f := limitedFleet(40, 5, Throughput)
	plan := func(f *Fleet) *Plan {
		p, err := Best(m, f, Options{Seed: 1, Effort: 300})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	first := plan(f)
	r := rand.New(rand.NewPCG(1, 2))
	for range 2 {
		g := *f
		hosts, containers := r.Perm(len(f.Hosts)), r.Perm(len(f.Containers))
		g.Hosts, g.Containers = nil, nil
		for _, k := range hosts {
			g.Hosts = append(g.Hosts, f.Hosts[k])
		}
		for _, d := range containers {
			c := f.Containers[d]
			c.Away, c.Beside, c.On = nil, nil, nil
			g.Containers = append(g.Containers, c)
		}
		p := plan(&g)
		if p.Reached != first.Reached || p.Bound != first.Bound || p.Verdict() != first.Verdict() {
			t.Errorf("%v of at most %v, and %v of at most %v in another order", p.Reached, p.Bound, first.Reached, first.Bound)
		}
	}
}

// Reasons count operations as they are, whatever they weigh: no place loses more than all that is done.
func TestReasonsCountOperations(t *testing.T) {
	p := planOf(t, "hosts: {h: {cpus: 8, memory: 4GiB, drives: {f: fast, s: slow}}}\n"+
		"containers: {x: {class: writes, weight: 10}}\n")
	m := modeltest.ThreeClasses()
	slow, err := m.Solve(model.HostKind{Host: model.Host{CPUs: 8, MemoryBytes: 4 << 30},
		Drives: []model.HostDrive{{Name: "s", Is: m.Drives[0]}}}, []model.Placed{{Class: 1, Count: 1}})
	if err != nil {
		t.Fatal(err)
	}
	lost := float64(p.Rate.Value) - slow.Rate
	want := fmt.Sprintf("all would do %s fewer operations a second (%s)", units.Rate(lost),
		units.Percent(lost/float64(p.Rate.Value)))
	if why := p.Hosts[0].Stands[0].Why; !strings.Contains(why, want) {
		t.Errorf("%q, and not %q", why, want)
	}
}
