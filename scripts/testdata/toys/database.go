package database

import (
	"strconv"

	"go.yaml.in/yaml/v3"

	"plimsoll/internal/field"
	"plimsoll/internal/problem"
	"plimsoll/internal/workload"
)

// toyKind is a database that nc and a file are.
var toyKind = Kind{Name: "toy", Title: "the toy", Summary: "a file behind a socket", Decode: decodeToy,
	Schema: schemaOf(toyParams, ToyParams{Backlog: 8})}

// ToyParams are the parameters of the toy.
type ToyParams struct{ Backlog int }

var toyParams = field.Table[ToyParams]{
	field.Of("backlog", "clients that may wait", field.Count(1, 99), func(p *ToyParams) *int { return &p.Backlog }),
}

type toy struct{ ToyParams }

func decodeToy(node *yaml.Node) (Server, problem.List) {
	p, problems := decode(toyParams, "toy", "{backlog: 16}", node, ToyParams{Backlog: 8})
	return &toy{p}, problems
}

func (t *toy) Parameters() map[string]string         { return toyParams.All(&t.ToyParams) }
func (t *toy) Layout() string                        { return "toy-1" }
func (t *toy) NeedBytes(d Dataset, _ bool) int64     { return 2 * d.Bytes() }
func (t *toy) Settings() Settings                    { return nil }
func (t *toy) NeedMemory(int) int64                  { return 0 }
func (t *toy) Image() *workload.Image                { return nil }
func (t *toy) Address() Address                      { return Address{Socket: "toy.sock"} }
func (t *toy) Client() Client                        { return Client{Name: "toy"} }
func (t *toy) Failed(workload.Exit) *problem.Problem { return nil }

func (t *toy) Load(path string, d Dataset) workload.Step {
	return workload.Step{Argv: []string{"truncate", "--size=" + strconv.FormatInt(d.Bytes(), 10), path}}
}

func (t *toy) Serve(path string) workload.Step {
	return workload.Step{Argv: []string{"nc", "-lkU", "-m", strconv.Itoa(t.Backlog), path}}
}
