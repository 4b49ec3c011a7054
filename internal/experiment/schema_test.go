package experiment_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"plimsoll/examples"
	"plimsoll/internal/experiment"
	"plimsoll/internal/stack"
	"plimsoll/internal/stack/line"
	"plimsoll/internal/testkit/hosttest"
	"plimsoll/internal/workload/kinds"
)

var update = flag.Bool("update", false,
	"rewrite docs/experiment.schema.json, and the nodes in docs/reference/stacks.md")

const committed = "../../docs/experiment.schema.json"

func generated(t *testing.T) []byte {
	t.Helper()
	text, err := experiment.Schema(kinds.All())
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestCommittedSchemaIsCurrent(t *testing.T) {
	want := generated(t)
	if *update {
		if err := os.WriteFile(committed, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(committed)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("docs/experiment.schema.json is stale: go test ./internal/experiment -run Schema -update")
	}
}

// validate checks a text against the schema, as an editor does.
func validate(t *testing.T, text []byte) error {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(generated(t)))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("experiment.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("experiment.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var value any
	if err := yaml.Unmarshal(text, &value); err != nil {
		t.Fatal(err)
	}
	asJSON, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	if value, err = jsonschema.UnmarshalJSON(bytes.NewReader(asJSON)); err != nil {
		t.Fatal(err)
	}
	return schema.Validate(value)
}

// parse reads a text as plimsoll does. Job files that it names are empty of
// surprises.
func parse(name string, text []byte) (*experiment.Experiment, error) {
	return experiment.Parse(name, text, experiment.Options{
		Catalog: stack.Catalog(),
		Kinds:   kinds.All(),
		Open: func(string) ([]byte, error) {
			return []byte("[job]\nrw=randread\nsize=64m\nioengine=libaio\ndirect=1\n"), nil
		},
	})
}

func TestExamplesAreValid(t *testing.T) {
	names := examples.List()
	if len(names) == 0 {
		t.Fatal("no examples")
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			text, ok := examples.Find(name)
			if !ok {
				t.Fatal("listed but not found")
			}
			e, err := parse(name+".yaml", text)
			if err != nil {
				t.Fatal(err)
			}
			if e.Name != name {
				t.Errorf("the experiment in %s.yaml calls itself %s", name, e.Name)
			}
			if err := validate(t, text); err != nil {
				t.Error(err)
			}
		})
	}
	if _, ok := examples.Find("no-such-experiment"); ok {
		t.Error("an experiment that does not exist was found")
	}
}

// blocks returns the fenced blocks of a document that are marked as language.
func blocks(t *testing.T, path, language string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, m := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllSubmatch(text, -1) {
		found = append(found, string(m[1]))
	}
	if len(found) == 0 {
		t.Fatalf("%s has no block of %s", path, language)
	}
	return found
}

func TestDocumentedExperimentsAreValid(t *testing.T) {
	for _, text := range blocks(t, "../../docs/reference/experiment-file.md", "yaml") {
		if _, err := parse("experiment-file.md", []byte(text)); err != nil {
			t.Errorf("%v\nin\n%s", err, text)
		}
		if err := validate(t, []byte(text)); err != nil {
			t.Errorf("%v\nin\n%s", err, text)
		}
	}
}

func TestDocumentedStacksAreValid(t *testing.T) {
	const path = "../../docs/reference/stacks.md"
	for _, block := range blocks(t, path, "stack") {
		for text := range strings.Lines(block) {
			text = strings.TrimSuffix(text, "\n")
			l, err := line.Parse(text)
			if err != nil {
				t.Error(err)
			} else if problems := stack.Catalog().Check(l); len(problems) > 0 {
				t.Errorf("%s: %v", text, problems)
			} else if l.String() != text {
				t.Errorf("%s prints as %s", text, l)
			}
		}
	}
}

// docs/reference/stacks.md lists every node, what it is, and what it stands on.
func TestDocsListTheNodes(t *testing.T) {
	var out strings.Builder
	for _, d := range stack.Catalog().Defs() {
		fmt.Fprintf(&out, "- `%s`: %s", d.Usage(), d.Summary)
		if d.Below != line.Nothing {
			fmt.Fprintf(&out, "; on a %s", d.Below)
		}
		out.WriteString("\n")
	}
	hosttest.Listed(t, "../../docs/reference/stacks.md", "nodes",
		"go test ./internal/experiment -run Docs -update", "\n"+out.String(), *update)
}

// valid is the file into which each mistake below is made.
const valid = `name: my
question: Which?
baseline: raw
repeat: 5
runtime: 1s
ramp: 0s
seed: 1
stacks:
  raw: loop
workloads:
  RR:
    fio: {rw: randread, bs: 4KiB, size: 64MiB}
`

// TestBothRefuse: what an editor marks, plimsoll refuses, and the other way
// round as far as a schema can tell.
func TestBothRefuse(t *testing.T) {
	if _, err := parse("valid.yaml", []byte(valid)); err != nil {
		t.Fatal(err)
	}
	if err := validate(t, []byte(valid)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, old, replacement string }{
		{"unknown key", "seed: 1", "sede: 1"},
		{"no name", "name: my\n", ""},
		{"no question", "question: Which?\n", ""},
		{"no stacks", "stacks:\n  raw: loop\n", ""},
		{"no workloads", valid[strings.Index(valid, "workloads"):], ""},
		{"empty question", "question: Which?", `question: ""`},
		{"name for no file", "name: my", "name: a/b"},
		{"name of a number", "name: my", "name: 5"},
		{"baseline of a list", "baseline: raw", "baseline: [raw]"},
		{"repeat of nothing", "repeat: 5", "repeat: 0"},
		{"repeat without end", "repeat: 5", "repeat: 1001"},
		{"repeat of a text", "repeat: 5", "repeat: five"},
		{"runtime without unit", "runtime: 1s", "runtime: 1"},
		{"runtime of a text", "runtime: 1s", "runtime: soon"},
		{"negative ramp", "ramp: 0s", "ramp: -1s"},
		{"negative seed", "seed: 1", "seed: -1"},
		{"stack of a list", "raw: loop", "raw: [loop]"},
		{"empty stack", "raw: loop", `raw: ""`},
		{"stack that starts with a sign", "raw: loop", `raw: "> xfs"`},
		{"stack with a bad name", "raw: loop", "r w: loop"},
		{"stacks of nothing", "stacks:\n  raw: loop", "stacks: {}"},
		{"workload with a bad name", "RR:", "../RR:"},
		{"workload of no kind", "fio: {rw: randread, bs: 4KiB, size: 64MiB}", "{}"},
		{"workload of two kinds", "    fio: {rw", "    ycsb: {}\n    fio: {rw"},
		{"unknown kind", "fio:", "foi:"},
		{"unknown option", "bs:", "sb:"},
		{"unknown pattern", "randread", "randomread"},
		{"no jobs", "bs: 4KiB", "jobs: 0"},
		{"factors of a list", "seed: 1", "factors: [jobs]"},
		{"factor without levels", "seed: 1", "factors: {jobs: []}"},
		{"factor of one value", "seed: 1", "factors: {jobs: 4}"},
		{"factor with a level twice", "seed: 1", "factors: {jobs: [4, 4]}"},
		{"factor with a level of nothing", "seed: 1", "factors: {jobs: [4, ~]}"},
		{"factor with a nested level", "seed: 1", "factors: {jobs: [4, [5]]}"},
		{"factor with a bad name", "seed: 1", "factors: {my-jobs: [4]}"},
		{"level with a bad name", "seed: 1", "factors: {jobs: {a/b: 4}}"},
		{"factor in a key", "bs: 4KiB", "$bs: 4KiB"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := strings.Replace(valid, c.old, c.replacement, 1)
			if text == valid {
				t.Fatalf("%q is not in the file", c.old)
			}
			if _, err := parse("mistake.yaml", []byte(text)); err == nil {
				t.Error("plimsoll accepts it")
			}
			if err := validate(t, []byte(text)); err == nil {
				t.Error("the schema accepts it")
			}
		})
	}
}

// TestBothAcceptFactors: levels of all types, in names, stacks and workloads.
func TestBothAcceptFactors(t *testing.T) {
	text := strings.NewReplacer(
		"seed: 1", "factors: {jobs: [1, 2], direct: {yes: true, no: false}, bs: [4KiB], fs: [ext4, xfs]}",
		"  raw: loop\n", "  raw: loop\n  ${fs}-x: loop > $fs\n",
		"RR:", "RR-$jobs-$direct:",
		"bs: 4KiB", `bs: "${bs}", jobs: $jobs, direct: $direct`,
	).Replace(valid)
	if err := validate(t, []byte(text)); err != nil {
		t.Error(err)
	}
	e, err := parse("factors.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if len(e.Stacks) != 3 || len(e.Workloads) != 4 {
		t.Errorf("%d stacks and %d workloads", len(e.Stacks), len(e.Workloads))
	}
	if got := e.Workloads[3].Info().Summary; !strings.Contains(got, "2 jobs") || !strings.Contains(got, "buffered") {
		t.Errorf("the last workload is %s", got)
	}
}

// TestSchemaHasTheKeysOfTheParser: each key that the schema offers is known
// to the parser, and the parser's list of known keys names no other.
func TestSchemaHasTheKeysOfTheParser(t *testing.T) {
	var schema struct {
		Properties map[string]struct{ Description string }
	}
	if err := json.Unmarshal(generated(t), &schema); err != nil {
		t.Fatal(err)
	}
	_, err := parse("x.yaml", []byte("zzzzzzzzzzzz: 1\n"))
	if err == nil {
		t.Fatal("an unknown key was accepted")
	}
	m := regexp.MustCompile(`known are (.*)\)`).FindStringSubmatch(err.Error())
	if m == nil {
		t.Fatalf("no list of known keys in %v", err)
	}
	known := strings.Split(m[1], ", ")
	if len(known) != len(schema.Properties) {
		t.Errorf("the parser knows %v, the schema %d keys", known, len(schema.Properties))
	}
	for _, key := range known {
		if schema.Properties[key].Description == "" {
			t.Errorf("the schema does not explain %s", key)
		}
	}
}
