package experiment

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"

	"plimsoll/internal/field"
	"plimsoll/internal/problem"
	"plimsoll/internal/result"
	"plimsoll/internal/stack/line"
	"plimsoll/internal/units"
	"plimsoll/internal/workload"
)

// testCatalog has a few nodes, so that stories do not change with the table
// in internal/stack.
func testCatalog() *line.Catalog {
	size := line.OptionDef{Key: "size", Value: line.Size, Default: "1GiB"}
	return line.NewCatalog(
		line.Def{Name: "loop", Below: line.Nothing, Gives: line.Block,
			Options: []line.OptionDef{size, {Key: "direct-io", Value: line.OnOff}}},
		line.Def{Name: line.NameDevice, Below: line.Nothing, Gives: line.Block, Arg: "PATH"},
		line.Def{Name: "serial", Below: line.Nothing, Gives: line.Block, Arg: "SERIAL"},
		line.Def{Name: "dir", Below: line.Nothing, Gives: line.FileSystem, Arg: "PATH"},
		line.Def{Name: "tmpfs", Below: line.Nothing, Gives: line.FileSystem, Options: []line.OptionDef{size}},
		line.Def{Name: "xfs", Below: line.Block, Gives: line.FileSystem,
			Options: []line.OptionDef{{Key: "mkfs", Value: line.Text}, {Key: "mount", Value: line.Text}}},
		line.Def{Name: "volume", Below: line.FileSystem, Gives: line.View},
	)
}

// copyKind is a kind of workload with few parameters.
var copyKind = workload.Kind{
	Name:    "copy",
	Summary: "copies a file",
	Decode: func(n *yaml.Node, open func(string) ([]byte, error)) (workload.Workload, problem.List) {
		var problems problem.List
		c := copyWorkload{need: 1 << 20}
		for pair := range slices.Chunk(n.Content, 2) {
			var err error
			switch pair[0].Value {
			case "size":
				c.need, err = field.Bytes.Parse(pair[1].Value)
				if err != nil {
					err = fmt.Errorf("size %q: %w", pair[1].Value, err)
				}
			case "from":
				c.layout = pair[1].Value
				_, err = open(c.layout)
			default:
				err = fmt.Errorf("unknown option %q of copy", pair[0].Value)
			}
			if err != nil {
				problems.InLine(pair[0].Line, err.Error(), "")
			}
		}
		return c, problems
	},
}

// copyWorkload is as much of a workload as an experiment looks at.
type copyWorkload struct {
	workload.Workload
	need   int64
	layout string
}

func (c copyWorkload) Abilities() workload.Abilities            { return workload.Abilities{} }
func (c copyWorkload) Layout() string                           { return c.layout }
func (c copyWorkload) NeedBytes() int64                         { return c.need }
func (c copyWorkload) Timing(t workload.Timing) workload.Timing { return t }
func (c copyWorkload) Drive(target workload.Target, _ workload.Timing) (*workload.Step, error) {
	if target.Block && c.layout == "named.txt" {
		return nil, &problem.Problem{What: "copy",
			Why: "it names a file, and a raw device has none", Remedy: "name none"}
	}
	return new(workload.Step), nil
}
func (c copyWorkload) Info() result.Workload {
	return result.Workload{Kind: "copy", Summary: units.FormatSize(c.need)}
}

func testOptions() Options {
	return Options{
		Catalog: testCatalog(),
		Kinds:   []workload.Kind{copyKind, {Name: "tpcc", Decode: copyKind.Decode}},
		Open: func(name string) ([]byte, error) {
			if name != "a.txt" && name != "named.txt" {
				return nil, fmt.Errorf("%s: %w", name, os.ErrNotExist)
			}
			return []byte("a"), nil
		},
	}
}

// TestStories reads files and prints what they mean, or all that is wrong.
func TestStories(t *testing.T) {
	datadriven.Walk(t, "testdata/stories", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd != "parse" {
				t.Fatalf("unknown command %q", d.Cmd)
			}
			e, err := Parse("my.yaml", []byte(d.Input), testOptions())
			var invalid problem.List
			if errors.As(err, &invalid) {
				return invalid.Error() + "\n"
			}
			return describeExperiment(e)
		})
	})
}

func describeExperiment(e *Experiment) string {
	var b strings.Builder
	seed := "drawn"
	if e.Seed != nil {
		seed = fmt.Sprint(*e.Seed)
	}
	fmt.Fprintf(&b, "%s: %s\nbaseline %q, %d times %s after %s, seed %s\n",
		e.Name, e.Question, e.Baseline, e.Repeat, e.Timing.Runtime, e.Timing.Ramp, seed)
	if e.Trace {
		b.WriteString("traced\n")
	}
	if e.Fixed || e.Target > 0 || e.Precondition != (Precondition{}) {
		fmt.Fprintf(&b, "fixed %t, target %v, precondition %q\n", e.Fixed, e.Target, e.Precondition)
	}
	if o := e.Objective; o != nil {
		fmt.Fprintf(&b, "objective: p99 %g s, standalone %g\n", o.P99Seconds, o.Standalone)
	}
	for _, s := range e.Stacks {
		fmt.Fprintf(&b, "stack %s: %s%s\n", s.Name, s.Line, levelsOf(s.Levels))
	}
	for _, w := range e.Workloads {
		fmt.Fprintf(&b, "workload %s: %s of %s%s\n", w.Name, w.Info().Kind, w.Info().Summary, levelsOf(w.Levels))
	}
	describeMixes(&b, e)
	fmt.Fprintf(&b, "%d trials\n", len(Trials(e, 0)))
	return b.String()
}

func levelsOf(levels map[string]string) string {
	if levels == nil {
		return ""
	}
	return " " + strings.Replace(fmt.Sprint(levels), "map", "", 1) // fmt sorts
}

// TestGarbage has what a story cannot hold.
func TestGarbage(t *testing.T) {
	var bomb strings.Builder
	bomb.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 10; i++ {
		fmt.Fprintf(&bomb, "a%d: &a%d [%s]\n", i, i, strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 10))
	}
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", "x.yaml:1: the file is empty"},
		{"comments only", "# nothing\n", "x.yaml:1: the file is empty"},
		{"not UTF-8", "name: \xff\n", "x.yaml:1: this is not YAML: "},
		{"control characters", "name: \x00\n", "x.yaml:1: this is not YAML: "},
		{"tabs", "stacks:\n\traw: loop\n", "x.yaml:2: this is not YAML: found character that cannot start any token " +
			"(indent with blanks, not tabs)"},
		{"too large", "name: a" + strings.Repeat("#", 1<<20), "x.yaml:1: the file is larger than 1MiB"},
		{"bomb", bomb.String(), "the file holds too many values once its aliases are filled in"},
		{"snake", "a: &a [*a]\n", "x.yaml:1: values are nested too deep, or an alias is part of the value that it names"},
		{"hydra", "a: &a [*a, *a, *a]\n",
			"x.yaml:1: values are nested too deep, or an alias is part of the value that it names"},
		{"deep", "a: " + strings.Repeat("[", 200) + strings.Repeat("]", 200), "x.yaml:1: values are nested too deep"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse("x.yaml", []byte(c.text), testOptions())
			var invalid problem.List
			if !errors.As(err, &invalid) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// made is an experiment of that many stacks, workloads and blocks.
func made(stacks, workloads, repeat int) *Experiment {
	e := &Experiment{Repeat: repeat, Timing: workload.Timing{Runtime: time.Second}}
	for i := range stacks {
		e.Stacks = append(e.Stacks, Stack{Name: fmt.Sprintf("s%d", i), Line: line.Line{Nodes: []line.Node{{Name: "loop"}}}})
	}
	for i := range workloads {
		e.Workloads = append(e.Workloads, Workload{Name: fmt.Sprintf("w%d", i), Workload: copyWorkload{need: 256 << 20}})
	}
	e.Mixes = Alone(e.Workloads)
	return e
}

func TestTrialsAreCompleteBlocks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := made(rapid.IntRange(1, 12).Draw(t, "stacks"), rapid.IntRange(1, 6).Draw(t, "workloads"),
			rapid.IntRange(1, 9).Draw(t, "repeat"))
		e.Trials = rapid.IntRange(0, 3).Draw(t, "trials")
		seed := rapid.Uint64().Draw(t, "seed")
		trials := Trials(e, seed)
		points := len(e.Stacks) * len(e.Workloads)
		want := 0
		for b := 1; b <= e.Repeat; b++ {
			want += points * e.Rounds(b)
		}
		if len(trials) != want {
			t.Fatalf("%d trials, want %d", len(trials), want)
		}
		type point struct{ stack, workload string }
		repeats := map[point]int{}
		for i, p := range trials {
			of := point{p.Stack, p.Mix}
			repeats[of]++
			if p.Seq != i+1 || p.Repeat != repeats[of] {
				t.Fatalf("trial %d is %+v", i+1, p)
			}
		}
		for b := 1; b <= e.Repeat; b++ {
			block := slices.DeleteFunc(slices.Clone(trials), func(p Planned) bool { return p.Block != b })
			counts, last := map[point]int{}, map[string]int{}
			for i, p := range block {
				if at, before := last[p.Stack]; before && at != i-1 {
					t.Fatalf("block %d comes back to stack %s: it would be brought up twice", b, p.Stack)
				}
				last[p.Stack] = i
				counts[point{p.Stack, p.Mix}]++
			}
			for of, n := range counts {
				if n != e.Rounds(b) {
					t.Fatalf("block %d has %d trials of %v, want %d", b, n, of, e.Rounds(b))
				}
			}
			if len(counts) != points {
				t.Fatalf("block %d has %d points, want %d", b, len(counts), points)
			}
		}
		if again := Trials(e, seed); !reflect.DeepEqual(trials, again) {
			t.Fatal("the same seed makes another order")
		}
	})
}

// What trials of one setup differ by is found out once, in the first block.
func TestRounds(t *testing.T) {
	e := made(2, 1, 3)
	if e.Rounds(1) != 2 || e.Rounds(2) != 1 {
		t.Errorf("%d and %d trials in the first and second setup", e.Rounds(1), e.Rounds(2))
	}
	if e.Trials = 3; e.Rounds(1) != 3 || e.Rounds(2) != 3 {
		t.Errorf("%d and %d trials in the first and second setup, 3 were asked for", e.Rounds(1), e.Rounds(2))
	}
	if once := made(2, 1, 1); once.Rounds(1) != 1 {
		t.Errorf("%d trials where one block was asked for", once.Rounds(1))
	}
}

func TestAddControl(t *testing.T) {
	e := made(3, 1, 1)
	e.Baseline = "s1"
	e.Stacks[2].Name = "control"
	AddControl(e)
	AddControl(e)
	if n := len(e.Stacks); n != 4 || e.Stacks[3].Name != "control-2" || e.Stacks[3].Control != "s1" ||
		e.Stacks[3].Line.String() != e.Stacks[1].Line.String() {
		t.Errorf("%d stacks: %+v", n, e.Stacks)
	}
	crowded := made(6, 1, 1)
	if AddControl(crowded); len(crowded.Stacks) != 8 || crowded.Stacks[6].Control != "s0" ||
		crowded.Stacks[7].Control != "s0" ||
		crowded.Stacks[6].Name == crowded.Stacks[7].Name {
		t.Errorf("six stacks have %d controls: %+v", len(crowded.Stacks)-6, crowded.Stacks[6:])
	}
	for name, e := range map[string]*Experiment{
		"one stack":    made(1, 1, 1),
		"none wanted ": func() *Experiment { e := made(3, 1, 1); e.NoControl = true; return e }(),
	} {
		n := len(e.Stacks)
		if AddControl(e); len(e.Stacks) != n {
			t.Errorf("%s: %+v", name, e.Stacks)
		}
	}
	first := made(2, 1, 1)
	if AddControl(first); first.Stacks[2].Control != "s0" {
		t.Errorf("without a baseline: %+v", first.Stacks)
	}
}

// TestBlocksDiffer uses so many trials a block that two equal orders are out
// of the question unless blocks share their random numbers.
func TestBlocksDiffer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := made(10, 3, 4)
		seed := rapid.Uint64().Draw(t, "seed")
		orders := map[string]string{}
		for _, s := range []uint64{seed, seed + 1} {
			e.Trials = 1
			for block := range slices.Chunk(Trials(e, s), 30) {
				var order strings.Builder
				for _, p := range block {
					order.WriteString(p.Stack + p.Mix)
				}
				where := fmt.Sprintf("seed %d block %d", s, block[0].Block)
				if other, ok := orders[order.String()]; ok {
					t.Fatalf("%s and %s have the same order", where, other)
				}
				orders[order.String()] = where
			}
		}
	})
}

// TestShuffleIsFair draws many orders of three and counts each of the six.
func TestShuffleIsFair(t *testing.T) {
	counts := map[string]int{}
	const draws = 6000
	for seed := range uint64(draws) {
		var order string
		for _, p := range Trials(made(3, 1, 1), seed) {
			order += p.Stack
		}
		counts[order]++
	}
	if len(counts) != 6 {
		t.Fatalf("orders of three stacks: %v", counts)
	}
	for order, n := range counts {
		// Seven standard deviations; seeds are fixed, so it holds or it does not.
		if n < draws/6-200 || n > draws/6+200 {
			t.Errorf("order %s came %d times of %d", order, n, draws)
		}
	}
}

// The order of a block is the reverse of that of the odd one before, of the stacks that both have, and that of
// another odd block has nothing to do with it.
func TestEverySecondBlockIsTheReverse(t *testing.T) {
	order := func(seed uint64, block int, stacks ...string) (names []string) {
		var points []Planned
		for _, s := range stacks {
			points = append(points, Planned{Stack: s, Mix: "w"})
		}
		for _, p := range Arrange(points, 1, seed, block) {
			names = append(names, p.Stack)
		}
		return names
	}
	together := map[string]int{}
	const draws = 7200
	for seed := range uint64(draws) {
		first, second := order(seed, 1, "a", "b", "c"), order(seed, 2, "c", "a")
		slices.Reverse(second)
		both := slices.DeleteFunc(slices.Clone(first), func(s string) bool { return s == "b" })
		if !slices.Equal(both, second) {
			t.Fatalf("seed %d: block 1 has the order %s, and block 2 the reverse of %s", seed, first, second)
		}
		together[strings.Join(append(first, order(seed, 3, "a", "b", "c")...), "")]++
	}
	if len(together) != 36 {
		t.Errorf("two odd blocks have %d orders of 36", len(together))
	}
	for orders, n := range together {
		// Seven standard deviations; seeds are fixed, so it holds or it does not.
		if n < draws/36-100 || n > draws/36+100 {
			t.Errorf("orders %s came %d times of %d", orders, n, draws)
		}
	}
}

// TestOrderIsStable pins an order: resumed runs and reports that name a seed
// rely on it.
func TestOrderIsStable(t *testing.T) {
	var order []string
	e := made(3, 2, 2)
	e.Trials = 1
	for _, p := range Trials(e, 42) {
		order = append(order, p.Stack+p.Mix)
	}
	const want = "s1w1 s1w0 s2w0 s2w1 s0w0 s0w1 s0w1 s0w0 s2w1 s2w0 s1w0 s1w1"
	if got := strings.Join(order, " "); got != want {
		t.Errorf("order of seed 42 is %s, was %s", got, want)
	}
}

func TestEstimateGrows(t *testing.T) {
	base := Estimate(made(2, 2, 2))
	if least := 8 * time.Second; base < least {
		t.Errorf("8 trials of 1 s are estimated to take %s", base)
	}
	for name, e := range map[string]*Experiment{
		"stacks": made(3, 2, 2), "workloads": made(2, 3, 2), "repeats": made(2, 2, 3),
	} {
		if more := Estimate(e); more <= base {
			t.Errorf("with more %s the estimate went from %s to %s", name, base, more)
		}
	}
}

// TestCostsFollowTheTrials: what brings a stack up, or lays out files, costs
// the first trial on it in each block.
func TestCostsFollowTheTrials(t *testing.T) {
	e := made(2, 2, 3)
	trials := Trials(e, 1)
	costs := Costs(e, trials)
	type bringUp struct {
		stack string
		block int
	}
	first := map[bringUp]int{}
	for i, p := range trials {
		up := bringUp{p.Stack, p.Block}
		setupTrial, known := first[up]
		if !known {
			first[up] = i
		} else if costs[i] >= costs[setupTrial] {
			t.Errorf("trial %d costs %s, and %s the one that brings its stack up", i, costs[i], costs[setupTrial])
		}
	}
	if len(first) != 6 {
		t.Fatalf("%d setups", len(first))
	}
	// A run that is resumed brings its stacks up again.
	if rest := Costs(e, trials[len(trials)-1:]); rest[0] <= costs[len(costs)-1] {
		t.Errorf("the last trial costs %s when a run is resumed with it, else %s", rest[0], costs[len(costs)-1])
	}
}

// FuzzParse: a text is an experiment that keeps its promises, or has problems
// that say where and what.
func FuzzParse(f *testing.F) {
	stories, err := filepath.Glob("testdata/stories/*")
	if err != nil || len(stories) == 0 {
		f.Fatal("no stories to begin with", err)
	}
	for _, path := range stories {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for part := range strings.SplitSeq(string(text), "parse\n") {
			input, _, _ := strings.Cut(part, "\n----")
			f.Add(input)
		}
	}
	options := testOptions()
	f.Fuzz(func(t *testing.T, text string) {
		e, err := Parse("f.yaml", []byte(text), options)
		if err != nil {
			var invalid problem.List
			if !errors.As(err, &invalid) || len(invalid) == 0 {
				t.Fatalf("the error is %#v", err)
			}
			lines := strings.Count(text, "\n") + strings.Count(text, "\r") + strings.Count(text, "\u0085") +
				strings.Count(text, "\u2028") + strings.Count(text, "\u2029") + 2
			last := 0
			for _, p := range invalid {
				if p.At.Line < max(last, 1) || p.At.Line > lines || p.What == "" {
					t.Fatalf("problem %+v of %q", p, text)
				}
				last = p.At.Line
			}
			return
		}
		if e.Name == "" || e.Question == "" || len(e.Stacks) == 0 || len(e.Workloads) == 0 ||
			e.Repeat < 1 || e.Repeat > MaxRepeat || e.Timing.Runtime <= 0 || e.Timing.Ramp < 0 {
			t.Fatalf("%q was accepted as %+v", text, e)
		}
		if len(Trials(e, 0)) > MaxTrials {
			t.Fatalf("%q makes more than %d trials", text, MaxTrials)
		}
		names := map[string]bool{"": true}
		for _, s := range e.Stacks {
			if names[s.Name] || !nameRegexp.MatchString(s.Name) {
				t.Fatalf("stack %q of %q", s.Name, text)
			}
			names[s.Name] = true
			if len(options.Catalog.Check(s.Line)) > 0 {
				t.Fatalf("stack %s was accepted", s.Text)
			}
		}
		if !names[e.Baseline] {
			t.Fatalf("baseline %q was accepted", e.Baseline)
		}
		checkAcceptedMixes(t, e)
	})
}
