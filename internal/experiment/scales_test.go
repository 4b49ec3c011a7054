package experiment

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"plimsoll/examples"
)

func yamlNode(t *testing.T, text string) *yaml.Node {
	t.Helper()
	var n yaml.Node
	if err := yaml.Unmarshal([]byte(text), &n); err != nil {
		t.Fatal(err)
	}
	return n.Content[0]
}

// The examples of RFC 7386, appendix A, whose targets are mappings as an experiment is.
func TestMergePatch(t *testing.T) {
	for _, c := range [][3]string{
		{`{"a":"b"}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"b"}`, `{"b":"c"}`, `{"a":"b", "b":"c"}`},
		{`{"a":"b"}`, `{"a":null}`, `{}`},
		{`{"a":"b","b":"c"}`, `{"a":null}`, `{"b":"c"}`},
		{`{"a":["b"]}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"c"}`, `{"a":["b"]}`, `{"a":["b"]}`},
		{`{"a":{"b":"c"}}`, `{"a":{"b":"d","c":null}}`, `{"a":{"b":"d"}}`},
		{`{"a":[{"b":"c"}]}`, `{"a":[1]}`, `{"a":[1]}`},
		{`["a","b"]`, `["c","d"]`, `["c","d"]`},
		{`{"a":"b"}`, `["c"]`, `["c"]`},
		{`{"a":"foo"}`, `"bar"`, `"bar"`},
		{`{"e":null}`, `{"a":1}`, `{"e":null,"a":1}`},
		{`[1,2]`, `{"a":"b","c":null}`, `{"a":"b"}`},
		{`{}`, `{"a":{"bb":{"ccc":null}}}`, `{"a":{"bb":{}}}`},
	} {
		target, patch := yamlNode(t, c[0]), yamlNode(t, c[1])
		var got, want, after any
		if err := mergePatch(target, patch).Decode(&got); err != nil {
			t.Fatal(err)
		}
		if err := yamlNode(t, c[2]).Decode(&want); err != nil {
			t.Fatal(err)
		}
		if !equal(got, want) {
			t.Errorf("%s with %s is %v, want %s", c[0], c[1], got, c[2])
		}
		if err := target.Decode(&after); err != nil || !equal(after, decoded(t, c[0])) {
			t.Errorf("the patch %s changed %s: %v", c[1], c[0], after)
		}
	}
}

func decoded(t *testing.T, text string) (v any) {
	t.Helper()
	if err := yamlNode(t, text).Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

func equal(a, b any) bool {
	x, _ := yaml.Marshal(a)
	y, _ := yaml.Marshal(b)
	return string(x) == string(y)
}

const withScales = `name: scaled
question: Does it fit?
repeat: 2
stacks: {disk: loop(size=1GiB)}
workloads: {RR: &RR {copy: {size: 1MiB}}, RW: *RR}
host: {cpus: 1}
scales:
  paper:
    repeat: 9
    stacks: {disk: loop(size=2GiB) > xfs}
    workloads:
      RW: {copy: {size: 2MiB}}
    host: null
  other:
    repeat: 3
`

// A file at one of its scales is the file with what that scale says, and so is what a run of it stores.
func TestAFileAtAScale(t *testing.T) {
	o := testOptions()
	scaledTo := func(text, scale string) *Experiment {
		t.Helper()
		o.Scale = scale
		e, err := Parse("f.yaml", []byte(text), o)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	plain, paper := scaledTo(withScales, ""), scaledTo(withScales, "paper")
	if plain.Repeat != 2 || plain.Host == nil || plain.AtScale != "" ||
		!slices.Equal(plain.Scales, []string{"paper", "other"}) {
		t.Errorf("as it is: %+v", plain)
	}
	again := scaledTo(paper.Source, "")
	for _, e := range []*Experiment{paper, again} {
		if e.Repeat != 9 || e.Host != nil || stackLines(e) != "disk: loop(size=2GiB) > xfs" ||
			e.Workloads[0].Info().Summary != "1MiB" || e.Workloads[1].Info().Summary != "2MiB" {
			t.Errorf("at the paper's scale: %+v", e)
		}
	}
	if paper.AtScale != "paper" || paper.Stored().Scale != "paper" {
		t.Errorf("it does not say at which scale it is: %q", paper.AtScale)
	}
	if err := again.Restore(paper.Stored()); err != nil || again.AtScale != "paper" {
		t.Errorf("resumed it is at scale %q: %v", again.AtScale, err)
	}
	if other := scaledTo(withScales, "other"); other.Repeat != 3 || other.Host == nil {
		t.Errorf("at the other scale: %+v", other)
	}
}

var manyScales = func() (text string) {
	for i := range maxScales + 1 {
		text += fmt.Sprintf("  s%d: {}\n", i)
	}
	return text
}()

// What is wrong at a scale is said of the file as well, in its line; of a file that is wrong itself it is not said
// twice.
func TestScalesThatAreWrong(t *testing.T) {
	for _, c := range []struct{ change, to, scale, want string }{
		{"", "", "papr", `f.yaml:1: the file has no scale "papr" (did you mean "paper"?`},
		{"scales:", "scales: {}\nx:", "", "f.yaml:7: scales are names, and what differs in each"},
		{"    repeat: 3", "    - 3", "", "f.yaml:15: scale other is keys of the file and what they are there, not a list"},
		{"  other:", "  ../other:", "", `a scale cannot be "../other"`},
		{"repeat: 9", "repeat: none", "", "f.yaml:9: at scale paper: repeat takes a whole number from"},
		{"repeat: 9", "repeat: none", "paper", "f.yaml:9: repeat takes a whole number from"},
		{"repeat: 9", "scales: {paper: {}}", "", "f.yaml:9: at scale paper: a scale has no scales of its own"},
		// Attacks: aliases of a long text that have no end written out, and more scales than anyone would read.
		{"question: Does it fit?", "question: &long " + strings.Repeat("x", 900<<10) + "\nmore: [" +
			strings.Repeat("*long, ", 9000) + "x]", "paper", "it is larger than 1MiB with its aliases written out"},
		{"scales:", "scales:\n" + manyScales, "", "the file has 23 scales, more than 20"},
		{"repeat: 2", "repeat: none", "", "f.yaml:3: repeat takes a whole number from"},
	} {
		o := testOptions()
		o.Scale = c.scale
		_, err := Parse("f.yaml", []byte(strings.Replace(withScales, c.change, c.to, 1)), o)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Count(err.Error(), "a number from") > 1 {
			t.Errorf("it says %.300v, want %s", err, c.want)
		}
	}
}

// Of every built-in experiment that repeats a paper's, the paper's scale is one that can be run.
func TestThePapersScale(t *testing.T) {
	n := 0
	for _, name := range examples.List() {
		if e := builtIn(t, name); slices.Contains(e.Scales, "paper") {
			n++
		}
	}
	if n < 10 {
		t.Errorf("%d experiments have a scale called paper", n)
	}
}
