package experiment

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"plimsoll/internal/result"
	"plimsoll/internal/stack"
)

// describeMixes prints what runs, where that is more than each workload alone,
// where its instances stand, and the points that come of it.
func describeMixes(b *strings.Builder, e *Experiment) {
	if e.Host != nil {
		fmt.Fprintf(b, "host: %s\n", e.Host.String())
	}
	if !e.Mixed() {
		return
	}
	for _, m := range e.Mixes {
		fmt.Fprintf(b, "mix %s: %s%s\n", m.Name, m, levelsOf(m.Levels))
		if m.Host != nil && m.Host != e.Host {
			fmt.Fprintf(b, "  host: %s\n", m.Host.String())
		}
		if m.Crossed() {
			continue
		}
		for _, i := range m.Instances("") {
			fmt.Fprintf(b, "  %d: %s runs %s in place %d of %s\n", i.Index, i.Tenant, i.Workload, i.Place, i.Stack)
		}
	}
	var points []string
	for _, p := range Points(e) {
		points = append(points, strings.TrimPrefix(p.Stack+"/"+p.Mix, "/"))
	}
	fmt.Fprintf(b, "points: %s\n", strings.Join(points, " "))
	for _, s := range e.Stacks {
		fmt.Fprintf(b, "%s needs %d MiB\n", s.Name, e.Need(s)>>20)
	}
}

// A workload alone is the mix of one instance, whether the file says so or not.
func TestWorkloadsAloneAreMixes(t *testing.T) {
	const head = "name: alone\nquestion: Are they the same?\nbaseline: raw\nfactors: {size: [1MiB, 2MiB]}\n" +
		"stacks: {raw: loop, xfs: loop > xfs}\nworkloads: {copy-$size: {copy: {size: $size}}, once: {copy: {}}}\n"
	parse := func(text string) *Experiment {
		e, err := Parse("x.yaml", []byte(text), testOptions())
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	alone := parse(head)
	mixed := parse(head + "mixes: {copy-$size: [copy-$size], once: {once: 1}}\n")
	if fmt.Sprint(alone.Mixes) != fmt.Sprint(mixed.Mixes) || mixed.Mixed() {
		t.Errorf("%v is not %v", mixed.Mixes, alone.Mixes)
	}
	for i, m := range alone.Mixes {
		if !m.Single() || m.Name != alone.Workloads[i].Name || fmt.Sprint(m.Levels) != fmt.Sprint(alone.Workloads[i].Levels) {
			t.Errorf("%+v stands for workload %s", m, alone.Workloads[i].Name)
		}
	}
	if a, b := fmt.Sprint(Trials(alone, 7)), fmt.Sprint(Trials(mixed, 7)); a != b {
		t.Errorf("the trials differ:\n%s\n%s", a, b)
	}
	if a, b := Estimate(alone), Estimate(mixed); a != b {
		t.Errorf("estimated are %s and %s", a, b)
	}
}

// Instances are dealt in turn, no two have one place, and none is lost.
func TestInstances(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := Mix{Name: "m"}
		stacks := rapid.IntRange(0, 4).Draw(t, "stacks")
		for i := range rapid.IntRange(1, 4).Draw(t, "tenants") {
			tenant := Tenant{Name: fmt.Sprint("t", i), Workload: "w", Count: rapid.IntRange(1, 9).Draw(t, "count"),
				Limits: result.Limits{CPUs: float64(i)}}
			for s := range stacks {
				tenant.On = append(tenant.On, fmt.Sprint("s", s))
			}
			m.Tenants = append(m.Tenants, tenant)
		}
		type spot struct {
			stack string
			place int
		}
		taken := map[spot]bool{}
		dealt := map[string]map[string]int{} // by tenant and stack
		lastPlace := map[string]int{}
		for n, i := range m.Instances("point") {
			place := spot{i.Stack, i.Place}
			if i.Index != n || taken[place] {
				t.Fatalf("instance %d is %+v", n, i)
			}
			taken[place] = true
			lastPlace[i.Stack] = max(lastPlace[i.Stack], i.Place)
			if dealt[i.Tenant] == nil {
				dealt[i.Tenant] = map[string]int{}
			}
			dealt[i.Tenant][i.Stack]++
			if stacks == 0 && i.Stack != "point" || "t"+fmt.Sprint(i.Limits.CPUs) != i.Tenant {
				t.Fatalf("%+v", i)
			}
		}
		if len(taken) != m.Count() {
			t.Fatalf("%d instances of %d", len(taken), m.Count())
		}
		for tenant, on := range dealt {
			smallest, largest := m.Count(), 0
			for s := range max(1, stacks) {
				n := on[fmt.Sprint("s", s)]
				if stacks == 0 {
					n = on["point"]
				}
				smallest, largest = min(smallest, n), max(largest, n)
			}
			if largest > smallest+1 {
				t.Fatalf("tenant %s is dealt %v", tenant, on)
			}
		}
		for name, last := range lastPlace {
			for place := range last {
				if !taken[spot{name, place}] {
					t.Fatalf("place %d of %s is empty", place, name)
				}
			}
		}
	})
}

// A block brings up once what a set of stacks needs, however many mixes name
// it, and leaves crossed points where they were.
func TestOrderOfMixesThatNameStacks(t *testing.T) {
	e := made(3, 2, 4)
	crossed := Trials(e, 5)
	e.Mixes = append(e.Mixes,
		Mix{Name: "a", Tenants: []Tenant{{Name: "t", Workload: "w0", Count: 2, On: []string{"s0", "s1"}}}},
		Mix{Name: "b", Tenants: []Tenant{{Name: "t", Workload: "w0", Count: 3, On: []string{"s0", "s1"}}}},
		Mix{Name: "c", Tenants: []Tenant{{Name: "t", Workload: "w0", Count: 1, On: []string{"s2"}}}},
	)
	trials := Trials(e, 5)
	if len(trials) != len(crossed)+4*3+3 {
		t.Fatalf("%d trials, and %d without the mixes that name stacks", len(trials), len(crossed))
	}
	for block := 1; block <= e.Repeat; block++ {
		var bases []string
		for _, p := range trials {
			if p.Block == block && (len(bases) == 0 || bases[len(bases)-1] != p.base()) {
				bases = append(bases, p.base())
			}
		}
		if sorted := slices.Sorted(slices.Values(bases)); len(bases) != 5 || len(slices.Compact(sorted)) != 5 {
			t.Errorf("block %d brings up %q", block, bases)
		}
	}
	for _, p := range trials {
		if named := p.Mix == "a" || p.Mix == "b" || p.Mix == "c"; named != (p.Stack == "") || named != (len(p.On) > 0) {
			t.Errorf("planned: %+v", p)
		}
	}
}

// Files of instances lie beside each other; those of mixes that run after each
// other in one place are shared.
func TestNeedOfMixes(t *testing.T) {
	e := made(2, 2, 1) // 256 MiB each, of the same layout
	e.Workloads[1].Workload = copyWorkload{need: 300 << 20, layout: "own"}
	for _, c := range []struct {
		counts [][2]int // of w0 and w1, for each mix
		want   int64
	}{
		{[][2]int{{1, 0}, {0, 1}}, 556},          // both in place 0
		{[][2]int{{4, 0}, {2, 0}}, 4 * 256},      // the largest
		{[][2]int{{1, 1}}, 556},                  // a place each
		{[][2]int{{1, 1}, {2, 0}}, 256*2 + 300},  // the second place has both
		{[][2]int{{2, 2}, {0, 4}}, 2*556 + 600},  // so do the first two
		{[][2]int{{8, 0}, {1, 0}, {0, 1}}, 2348}, // eight, and another one in the first
	} {
		e.Mixes = nil
		for i, counts := range c.counts {
			m := Mix{Name: fmt.Sprint("m", i)}
			for w, n := range counts {
				if n > 0 {
					m.Tenants = append(m.Tenants, Tenant{Name: fmt.Sprint("t", w), Workload: fmt.Sprint("w", w), Count: n})
				}
			}
			e.Mixes = append(e.Mixes, m)
		}
		if got := e.Need(e.Stacks[0]) >> 20; got != c.want {
			t.Errorf("%v need %d MiB, want %d", c.counts, got, c.want)
		}
	}
	e.Mixes = []Mix{{Name: "m", Tenants: []Tenant{{Name: "t", Workload: "w0", Count: 5, On: []string{"s0", "s1"}}}}}
	if one, other := e.Need(e.Stacks[0])>>20, e.Need(e.Stacks[1])>>20; one != 3*256 || other != 2*256 {
		t.Errorf("five instances on two stacks need %d and %d MiB", one, other)
	}
}

// Levels have the number that they stand for, all of one unit.
func TestTypedLevels(t *testing.T) {
	for list, want := range map[string]string{
		"[1, 2, 4]":                      "1:1 2:2 4:4",
		"[1MiB, 2MiB, 1048576]":          "1MiB:1.048576e+06B 2MiB:2.097152e+06B 1048576:1.048576e+06B",
		"[500us, 2ms, 1m]":               "500us:0.0005s 2ms:0.002s 1m:60s",
		"[512k, 1m]":                     "512k:524288B 1m:1.048576e+06B",
		"[1m, 2m]":                       "1m:60s 2m:120s",
		"[0.5, 1e3, -2]":                 "0.5:0.5 1e3:1000 -2:-2",
		"[true, false]":                  "true: false:",
		"[none, 4KiB, 64KiB]":            "none: 4KiB:4096B 64KiB:65536B",
		"[xfs, ext4]":                    "xfs: ext4:",
		"[inf, nan, 0x10]":               "inf: nan: 0x10:",
		"{small: 4KiB, large: 1MiB}":     "small:4096B large:1.048576e+06B",
		"{rw: rw, lock: \"noatime,ro\"}": "rw: lock:",
	} {
		e, err := Parse("x.yaml",
			[]byte("name: n\nquestion: q\nfactors: {f: "+list+
				"}\nstacks: {raw-$f: 'loop > xfs(mount=\"$f\")'}\nworkloads: {w: {copy: {}}}\n"), testOptions())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range e.Stacks {
			levels := e.Levels(s.Levels, e.Mixes[0].Levels)
			if len(levels) != 1 || levels[0].Factor != "f" {
				t.Fatalf("%s: %+v", list, levels)
			}
			text := levels[0].Text + ":"
			if levels[0].Number != nil {
				text += fmt.Sprint(*levels[0].Number) + levels[0].Unit
			}
			got = append(got, text)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %s, want %s", list, strings.Join(got, " "), want)
		}
	}
}

// What settings leave out of workloads and stacks takes the mixes along that
// need it.
func TestScaleOfMixes(t *testing.T) {
	const text = scaleHead + `
stacks: {raw: loop, xfs: loop > xfs}
factors: {jobs: [1, 8]}
workloads: {R-$jobs: {fio: {rw: randread, jobs: $jobs, size: 64MiB}}}
mixes:
  one: {R-1: 1}
  both: {R-1: {on: xfs}, R-8: {on: xfs}}
  many: {R-1: {count: 3, on: xfs}}
`
	e := parsed(t, text)
	if leftOut := apply(t, e, Scale{Jobs: 4}); len(leftOut) != 2 ||
		leftOut[1] != "mix both: its workload R-8 is left out" || len(e.Mixes) != 2 {
		t.Errorf("left out: %q, left: %v", leftOut, e.Mixes)
	}
	e = parsed(t, text)
	if leftOut := apply(t, e, Scale{On: node(t, "dir:/srv"), FileSystem: "xfs"}); len(leftOut) != 1 || len(e.Mixes) != 3 {
		t.Errorf("left out: %q, left: %v", leftOut, e.Mixes)
	}
	e = parsed(t, text)
	several := Scale{On: append(node(t, "/dev/nvme0n1"), node(t, "/dev/nvme1n1")...), Catalog: stack.Catalog()}
	_, err := several.Apply(e)
	if err == nil || !strings.Contains(err.Error(), "mix both of scaled names its stacks (on: xfs), so it can be put "+
		"on one device only") {
		t.Errorf("on two devices: %v", err)
	}
	e = parsed(t, strings.Replace(text, "stacks: {raw", "stacks: {two: loop > xfs, raw", 1)+
		"  pair: {R-1: {count: 2, on: [xfs, two]}}\n")
	leftOut := apply(t, e, Scale{On: node(t, "/dev/nvme0n1")})
	if len(leftOut) != 1 || leftOut[0] != "mix pair: its stacks xfs and two would both be on /dev/nvme0n1, and a "+
		"device has one at a time" {
		t.Errorf("left out: %q", leftOut)
	}
}

// checkAcceptedMixes fails for mixes that no run could have.
func checkAcceptedMixes(t *testing.T, e *Experiment) {
	t.Helper()
	raw, names := map[string]bool{}, map[string]bool{}
	for _, s := range e.Stacks {
		raw[s.Name] = s.Raw
	}
	for _, p := range Points(e) {
		m, ok := e.Mix(p.Mix)
		if !ok || m.Crossed() != (p.Stack != "") || m.Count() < 1 || m.Count() > MaxInstances {
			t.Fatalf("point %+v of %+v", p, m)
		}
		for _, i := range m.Instances(p.Stack) {
			isRaw, known := raw[i.Stack]
			_, hasWorkload := e.Workload(i.Workload)
			if !known || !hasWorkload || isRaw && i.Place > 0 {
				t.Fatalf("instance %+v of %s on %q", i, m.Name, p.Stack)
			}
		}
		names[p.Mix] = true
	}
	for _, m := range e.Mixes {
		if !names[m.Name] && e.Mixed() {
			t.Fatalf("mix %+v makes no point", m)
		}
	}
	if len(e.Mixes) == 0 {
		t.Fatal("an experiment of nothing was accepted")
	}
}
