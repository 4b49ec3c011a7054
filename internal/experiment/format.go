package experiment

import (
	"regexp"

	"github.com/invopop/jsonschema"
)

// File is an experiment file as it is written: the keys, their types, and
// what editors show of them. Parse reads the same keys from YAML nodes, so
// that every problem has its line.
type File struct {
	Name         Name                 `yaml:"name" jsonschema:"required" jsonschema_description:"Name of the experiment, part of file names."`
	Question     string               `yaml:"question" jsonschema:"required,minLength=1" jsonschema_description:"The question that the experiment answers, in one sentence."`
	Baseline     Name                 `yaml:"baseline" jsonschema_description:"The stack that the others are compared with. Without one, stacks are ranked but not compared."`
	Repeat       int                  `yaml:"repeat" jsonschema:"minimum=1,maximum=1000,default=5" jsonschema_description:"Blocks. In each, every stack is brought up anew once and its workloads are measured. At least 4 are needed to tell a difference from chance."`
	Trials       int                  `yaml:"trials" jsonschema:"minimum=1,maximum=1000" jsonschema_description:"Trials of each workload in one bring-up of a stack. Without it, two in the first block, which tell what trials differ by, and one in the others."`
	Control      bool                 `yaml:"control" jsonschema:"default=true" jsonschema_description:"Whether the run carries a twin of its baseline, brought up like any other stack: what the two differ by is the run's noise floor."`
	Runtime      Duration             `yaml:"runtime" jsonschema:"default=10s" jsonschema_description:"Measured time of each trial: 1s, 500ms, 2m30s."`
	Ramp         Duration             `yaml:"ramp" jsonschema:"default=0s" jsonschema_description:"Time before the measured time in which load is driven but not counted."`
	Fixed        bool                 `yaml:"fixed" jsonschema:"default=false" jsonschema_description:"Every trial takes its whole runtime. Otherwise trials of more than 40 s end once their mean is known."`
	Target       Share                `yaml:"target" jsonschema:"default=3%" jsonschema_description:"How precisely to know a mean: half of its 95% interval as a share of it."`
	Precondition Preconditioning      `yaml:"precondition" jsonschema_description:"What is written before the first trial of a workload on a stack: snia, or some of device, passes=2, rounds=25 and round=1m, separated by commas. Without it, the workload's files, once."`
	Trace        bool                 `yaml:"trace" jsonschema:"default=false" jsonschema_description:"Record what block requests do while trials are measured, and tell where the latency of I/Os is spent. It costs some of the speed: traced trials compare with traced ones."`
	Seed         uint64               `yaml:"seed" jsonschema:"minimum=0" jsonschema_description:"Seed of the random order of trials. Without one, every run draws its own and stores it."`
	Factors      map[string]Levels    `yaml:"factors" jsonschema_description:"What is varied on purpose: names and their levels. Stacks and workloads that mention a factor ($jobs, in their name and in their text) stand for one of each level."`
	Stacks       map[string]StackText `yaml:"stacks" jsonschema:"required" jsonschema_description:"Storage stacks by name, source first."`
	Workloads    map[string]Load      `yaml:"workloads" jsonschema:"required" jsonschema_description:"Workloads by name."`
}

// Name is the name of an experiment, a stack or a workload. It becomes part
// of file names.
type Name string

// maxName is how long a name may be.
const maxName = 64

// namePattern admits what is safe in file names of every kind.
const namePattern = `^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`

var nameRegexp = regexp.MustCompile(namePattern)

// JSONSchema describes a name to editors.
func (Name) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Pattern: namePattern}
}

// declaredPattern admits names of stacks and workloads before the levels of
// factors are filled in.
const declaredPattern = `^[A-Za-z0-9$][A-Za-z0-9._${}-]*$`

// Levels are the levels of a factor: a list of values that name themselves,
// or names and values.
type Levels []any

// JSONSchema describes levels to editors.
func (Levels) JSONSchema() *jsonschema.Schema {
	one := uint64(1)
	value := &jsonschema.Schema{OneOf: []*jsonschema.Schema{{Type: "string"}, {Type: "number"}, {Type: "boolean"}}}
	return &jsonschema.Schema{
		OneOf: []*jsonschema.Schema{
			{Type: "array", Items: value, MinItems: &one, UniqueItems: true},
			{
				Type: "object", AdditionalProperties: value, MinProperties: &one,
				PropertyNames: &jsonschema.Schema{Type: "string", Pattern: levelPattern},
			},
		},
		Examples: []any{[]any{1, 4, 16}, map[string]any{"default": "rw", "nolock": "dioread_nolock"}},
	}
}

// Duration is a time with its unit.
type Duration string

const durationPattern = `^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`

var durationRegexp = regexp.MustCompile(durationPattern)

// JSONSchema describes a duration to editors.
func (Duration) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Pattern: durationPattern, Examples: []any{"1s", "500ms", "2m30s"}}
}

// Share is a share of a whole, in per cent.
type Share string

// JSONSchema describes a share to editors.
func (Share) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Pattern: `^[0-9]+(\.[0-9]+)?%$`, Examples: []any{"3%"}}
}

// Preconditioning is a Precondition as it is written.
type Preconditioning string

// JSONSchema describes preconditioning to editors.
func (Preconditioning) JSONSchema() *jsonschema.Schema {
	setting := `(device|passes=[0-9]+|rounds=[0-9]+|round=[0-9a-z.]+)`
	return &jsonschema.Schema{
		Type: "string", Pattern: `^(snia|` + setting + `)(, *` + setting + `)*$`,
		Examples: []any{"snia", "passes=2,rounds=25,round=10s"},
	}
}

// StackText is a stack in the notation of docs/stacks.md.
type StackText string

// JSONSchema describes a stack to editors.
func (StackText) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{
		Type: "string",
		// Only its start: the notation is more than a pattern can tell.
		Pattern:     `^\s*["/$A-Za-z0-9]`,
		Description: "A storage stack on one line, source first; docs/stacks.md lists what it may be made of.",
		Examples: []any{
			"loop(size=4GiB) > xfs > volume",
			"/dev/nvme0n1 > ext4(mount=dioread_nolock) > overlay2",
			"dir:/srv/data",
			"tmpfs(size=1GiB)",
		},
	}
}

// Load is a workload: one key that names its kind, and below it the kind's
// own parameters. Schema fills in the kinds.
type Load map[string]any
