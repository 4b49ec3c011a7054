package experiment

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// drawn is a factor of a random file.
type drawn struct {
	name, reference string
	levels          []string
}

// entry is a stack or a workload of a random file.
type entry struct {
	name, text string
	factors    []drawn // that it mentions
}

// writtenOut gives the entry once for every combination of levels, by
// replacing text; it knows nothing of YAML.
func (e entry) writtenOut() []string {
	lines := []string{e.String()}
	for _, f := range e.factors {
		var expanded []string
		for _, l := range lines {
			for _, level := range f.levels {
				expanded = append(expanded, strings.ReplaceAll(l, f.reference, level))
			}
		}
		lines = expanded
	}
	return lines
}

func (e entry) String() string { return "  " + e.name + ": " + e.text + "\n" }

// drawEntries makes stacks or workloads that depend on some of the factors.
// In text, "@" is where the levels go.
func drawEntries(t *rapid.T, kind, text string, factors []drawn) []entry {
	var entries []entry
	for i := range rapid.IntRange(1, 3).Draw(t, kind+"s") {
		e := entry{name: fmt.Sprintf("%s%d", kind, i)}
		mentions := ""
		for _, f := range factors {
			if rapid.Bool().Draw(t, e.name+" depends on "+f.name) {
				e.factors = append(e.factors, f)
				e.name += "-" + f.reference
				mentions += f.reference
			}
		}
		e.text = strings.Replace(text, "@", mentions, 1)
		entries = append(entries, e)
	}
	return entries
}

// TestFactorsMeanWhatIsWrittenOut: a file with factors is the experiment that
// one gets by writing every combination down.
func TestFactorsMeanWhatIsWrittenOut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var factors []drawn
		for _, name := range []string{"a", "ab", "B_2"} {
			f := drawn{name: name, reference: "${" + name + "}"}
			// Of more levels than three, all of them might make more than MaxTrials.
			for i := range rapid.IntRange(1, 3).Draw(t, "levels of "+name) {
				f.levels = append(f.levels, fmt.Sprint(100+i))
			}
			factors = append(factors, f)
		}
		stacks := drawEntries(t, "stack", `loop(size=4GiB) > xfs(mkfs="x@")`, factors)
		workloads := drawEntries(t, "load", `{copy: {size: "1@"}}`, factors)

		var short, long strings.Builder
		head := "name: sweep\nquestion: Which?\nrepeat: 2\n"
		long.WriteString(head)
		short.WriteString(head + "factors:\n")
		for _, f := range factors {
			used := func(e entry) bool {
				return slices.ContainsFunc(e.factors, func(g drawn) bool { return g.name == f.name })
			}
			if slices.ContainsFunc(stacks, used) || slices.ContainsFunc(workloads, used) {
				fmt.Fprintf(&short, "  %s: [%s]\n", f.name, strings.Join(f.levels, ", "))
			}
		}
		if strings.HasSuffix(short.String(), "factors:\n") {
			short.WriteString("  {}\n")
		}
		for _, section := range []struct {
			key     string
			entries []entry
		}{{"stacks:\n", stacks}, {"workloads:\n", workloads}} {
			short.WriteString(section.key)
			long.WriteString(section.key)
			for _, e := range section.entries {
				short.WriteString(e.String())
				long.WriteString(strings.Join(e.writtenOut(), ""))
			}
		}
		swept, err := Parse("short.yaml", []byte(short.String()), testOptions())
		if err != nil {
			t.Fatalf("%v\nin\n%s", err, short.String())
		}
		written, err := Parse("long.yaml", []byte(long.String()), testOptions())
		if err != nil {
			t.Fatalf("%v\nin\n%s", err, long.String())
		}
		compareExperiments(t, swept, written)
		oneLevelEach(t, swept)
	})
}

// compareExperiments fails if two experiments differ in more than levels, which only the file with factors has.
func compareExperiments(t *rapid.T, swept, written *Experiment) {
	if len(swept.Stacks) != len(written.Stacks) || len(swept.Workloads) != len(written.Workloads) {
		t.Fatalf("%d stacks and %d workloads, written out %d and %d",
			len(swept.Stacks), len(swept.Workloads), len(written.Stacks), len(written.Workloads))
	}
	for i, s := range swept.Stacks {
		if w := written.Stacks[i]; s.Name != w.Name || s.Text != w.Text || s.Line.String() != w.Line.String() {
			t.Fatalf("stack %d is %s: %s, written out %s: %s", i, s.Name, s.Text, w.Name, w.Text)
		}
	}
	for i, s := range swept.Workloads {
		if w := written.Workloads[i]; s.Name != w.Name || s.NeedBytes() != w.NeedBytes() {
			t.Fatalf("workload %d is %s of %d, written out %s of %d", i, s.Name, s.NeedBytes(), w.Name, w.NeedBytes())
		}
	}
}

// oneLevelEach checks that the trials are all pairs in which no factor has
// two levels, each once a block, and that names tell the levels.
func oneLevelEach(t *rapid.T, e *Experiment) {
	pairs := map[[2]string]bool{}
	for _, s := range e.Stacks {
		for _, w := range e.Workloads {
			merged := map[string]string{}
			conflict := false
			for _, levels := range []map[string]string{s.Levels, w.Levels} {
				for factor, level := range levels {
					if other, ok := merged[factor]; ok && other != level {
						conflict = true
					}
					merged[factor] = level
				}
			}
			if !conflict {
				pairs[[2]string{s.Name, w.Name}] = true
			}
		}
		for factor, level := range s.Levels {
			if !strings.Contains(s.Name, level) {
				t.Fatalf("stack %s does not show its %s of %s", s.Name, factor, level)
			}
		}
	}
	var want, got []string
	for pair := range pairs {
		want = append(want, fmt.Sprint(pair), fmt.Sprint(pair))
	}
	e.Trials = 1
	for _, p := range Trials(e, 1) {
		got = append(got, fmt.Sprint([2]string{p.Stack, p.Mix}))
		if p.Seq != (p.Block-1)*len(pairs)+(p.Seq-1)%len(pairs)+1 {
			t.Fatalf("trial %d stands in block %d of %d pairs", p.Seq, p.Block, len(pairs))
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("trials are %v, want %v", got, want)
	}
}

// TestHugeFactorsAreCountedNotMade: a file of a few lines that stands for more
// stacks than there is memory is refused at once.
func TestHugeFactorsAreCountedNotMade(t *testing.T) {
	var text strings.Builder
	text.WriteString("name: huge\nquestion: How many?\nfactors:\n")
	name, value := "s", ""
	for i := range 12 {
		levels := make([]string, 100)
		for l := range levels {
			levels[l] = fmt.Sprint(l + 1)
		}
		fmt.Fprintf(&text, "  f%d: [%s]\n", i, strings.Join(levels, ", "))
		name += fmt.Sprintf("-$f%d", i)
		value += fmt.Sprintf("$f%d ", i)
	}
	fmt.Fprintf(&text, "stacks:\n  %s: loop > xfs(mkfs=\"%s\")\nworkloads:\n  copy: {copy: {}}\n", name, value)
	_, err := Parse("huge.yaml", []byte(text.String()), testOptions())
	if err == nil || !strings.HasPrefix(err.Error(), "huge.yaml:4: this makes more than 20000 trials: more than "+
		"20000 stacks (") {
		t.Errorf("got %v", err)
	}
}

// TestLongValuesAreNotMultiplied: what is long and has many levels would fill
// the memory.
func TestLongValuesAreNotMultiplied(t *testing.T) {
	levels := make([]string, 1000)
	for l := range levels {
		levels[l] = fmt.Sprint(l + 1)
	}
	text := fmt.Sprintf("name: long\nquestion: How long?\nrepeat: 1\nfactors:\n  f: [%s]\nstacks:\n  s: "+
		"loop\nworkloads:\n  w-$f: {copy: {size: $f, from: [%s]}}\n",
		strings.Join(levels, ", "), strings.Repeat("x, ", 5000))
	_, err := Parse("long.yaml", []byte(text), testOptions())
	if err == nil || !strings.Contains(err.Error(), "long.yaml:9: workload w-$f is too long to be written out for "+
		"each combination of levels") {
		t.Errorf("got %v", err)
	}
}
