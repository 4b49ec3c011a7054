package ycsb_test

import (
	"fmt"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"plimsoll/internal/database"
	"plimsoll/internal/problem"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/ycsb"
)

// fake is a database of which a test knows all.
type fake struct{ cache string }

var fakeKind = database.Kind{Name: "fake", Title: "the fake", Summary: "a database of tests",
	Decode: func(node *yaml.Node) (database.Server, problem.List) {
		p := fakeParams{Cache: "8MiB"}
		if node != nil {
			if err := node.Decode(&p); err != nil {
				return nil, inLine(node.Line, "fake: "+err.Error())
			}
		}
		if p.Cache == "none" {
			return nil, inLine(node.Line, "fake has no cache")
		}
		return fake{p.Cache}, nil
	}}

type fakeParams struct {
	Cache string `yaml:"cache"`
}

func (f fake) Parameters() map[string]string              { return map[string]string{"cache": f.cache} }
func (f fake) Layout() string                             { return "v1" }
func (f fake) NeedBytes(d database.Dataset, _ bool) int64 { return 2 * d.Bytes() }
func (f fake) Settings() database.Settings                { return nil }
func (f fake) NeedMemory(int) int64                       { return 0 }
func (f fake) Client() database.Client                    { return database.Client{Name: "fake"} }
func (f fake) Load(path string, d database.Dataset) workload.Step {
	return workload.Step{Argv: []string{"fake", "load", path, fmt.Sprint(d.Records)}, Outputs: []string{"log"}}
}
func (f fake) Serve(path string) workload.Step {
	return workload.Step{Argv: []string{"fake", "serve", path, f.Address().Socket, f.cache}}
}
func (f fake) Address() database.Address { return database.Address{Socket: "db.sock"} }
func (f fake) Image() *workload.Image    { return nil }
func (f fake) Failed(exit workload.Exit) *problem.Problem {
	return problem.New(problem.Failed, "fake", fmt.Sprintf("code %d", exit.Code), "")
}

func inLine(line int, what string) (l problem.List) {
	l.InLine(line, what, "")
	return l
}

// decoded reads parameters; problems are one line each: "3: what (remedy)".
func decoded(t testing.TB, text string) (workload.Workload, []string) {
	t.Helper()
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil || len(doc.Content) != 1 {
		t.Fatalf("%v: %s", err, text)
	}
	w, problems := ycsb.DecodeWith(doc.Content[0], []database.Kind{fakeKind})
	var lines []string
	for _, p := range problems {
		lines = append(lines, fmt.Sprintf("%d: %s (%s)", p.At.Line, p.What, p.Remedy))
	}
	if (w == nil) != (len(problems) > 0) {
		t.Fatalf("%v and problems %q", w, lines)
	}
	return w, lines
}

// mustDecode reads parameters that are right.
func mustDecode(t testing.TB, text string) workload.Workload {
	t.Helper()
	w, said := decoded(t, text)
	if len(said) > 0 {
		t.Fatal(strings.Join(said, "\n"))
	}
	return w
}
