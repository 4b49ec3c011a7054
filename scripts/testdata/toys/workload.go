// Package toy is a workload that dd is: the least that a new kind takes.
package toy

import (
	"fmt"
	"regexp"
	"strconv"

	"github.com/invopop/jsonschema"
	"go.yaml.in/yaml/v3"

	"plimsoll/internal/field"
	"plimsoll/internal/problem"
	"plimsoll/internal/result"
	"plimsoll/internal/workload"
)

// Kind is the workload kind "toy".
var Kind = workload.Kind{Name: "toy", Summary: "dd, writing zeros", Decode: decode,
	Schema: func() *jsonschema.Schema { return parameters.Schema(&Params{}) }}

// Params are the parameters of the kind.
type Params struct{ MiB int64 }

var parameters = field.Table[Params]{
	field.Of("mib", "how many MiB to write", field.Whole(1, 1<<30), func(p *Params) *int64 { return &p.MiB }),
}

func decode(node *yaml.Node, _ func(name string) ([]byte, error)) (workload.Workload, problem.List) {
	var p Params
	var r field.Reader
	given := parameters.Decode(&r, node, "toy", &p)
	if !given.Good["mib"] && len(r.Problems) == 0 {
		r.Problem(node, "toy needs a size", "write toy: {mib: 64}")
	}
	return toy{p}, r.Problems
}

type toy struct{ params Params }

func (t toy) Info() result.Workload {
	return result.Workload{Kind: Kind.Name, Summary: fmt.Sprintf("dd of %d MiB", t.params.MiB)}
}

func (t toy) NeedBytes() int64 { return t.params.MiB << 20 }

func (t toy) Layout() string { return Kind.Name }

func (t toy) Timing(experiment workload.Timing) workload.Timing { return experiment }

func (t toy) Prepare(workload.Target) (*workload.Step, error) { return nil, nil }

func (t toy) Drive(target workload.Target, _ workload.Timing) (*workload.Step, error) {
	return &workload.Step{
		Argv: []string{"dd", "if=/dev/zero", "of=" + target.Path + "/toy", "bs=1M", fmt.Sprintf("count=%d", t.params.MiB)},
	}, nil
}

var copied = regexp.MustCompile(`(\d+) bytes .*copied, ([0-9.]+) s`)

func (t toy) Read(_ map[string][]byte, exit workload.Exit) (result.Measurement, error) {
	match := copied.FindStringSubmatch(exit.Stderr)
	if match == nil {
		return result.Measurement{}, &problem.Problem{What: "toy", Why: "dd told no rate"}
	}
	bytes, _ := strconv.ParseUint(match[1], 10, 64)
	seconds, _ := strconv.ParseFloat(match[2], 64)
	writes := result.Operation{Count: bytes >> 20, Bytes: bytes, Rate: float64(bytes>>20) / seconds}
	return result.Measurement{Seconds: seconds, Operations: result.ReadsWrites(result.Operation{}, writes)}, nil
}

func (t toy) Programs() []string { return []string{"dd"} }

func (t toy) Abilities() workload.Abilities { return workload.Abilities{} }
