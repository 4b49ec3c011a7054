package experiment

import (
	"regexp"
	"slices"

	"plimsoll/internal/result"

	"github.com/invopop/jsonschema"
)

// The types of what stands behind the keys of a file, and what editors show of them. Which keys there are is in
// settings.go.

// Name is the name of an experiment, a stack or a workload. It becomes part
// of file names.
type Name string

// maxName is the maximum length of a name.
const maxName = 64

// namePattern matches names that are safe as parts of file names.
const namePattern = `^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`

// notInNames matches characters that names may not have.
var notInNames = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

var nameRegexp = regexp.MustCompile(namePattern)

// IsName reports whether a text may be the name of a stack, a workload or a mix.
func IsName(text string) bool { return nameRegexp.MatchString(text) }

// JSONSchema describes a name to editors.
func (Name) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Pattern: namePattern}
}

// Sentence is a text that is not empty.
type Sentence string

// JSONSchema describes a sentence to editors.
func (Sentence) JSONSchema() *jsonschema.Schema {
	one := uint64(1)
	return &jsonschema.Schema{Type: "string", MinLength: &one}
}

// declaredPattern admits names of stacks and workloads before the levels of
// factors are filled in.
const declaredPattern = `^[A-Za-z0-9$][A-Za-z0-9._${}-]*$`

// Levels are the levels of a factor: a list of values that name themselves,
// or names and values.
type Levels []any

// JSONSchema describes levels to editors.
func (Levels) JSONSchema() *jsonschema.Schema {
	least := uint64(1)
	value := &jsonschema.Schema{OneOf: []*jsonschema.Schema{{Type: "string"}, {Type: "number"}, {Type: "boolean"}}}
	return &jsonschema.Schema{
		OneOf: []*jsonschema.Schema{
			{Type: "array", Items: value, MinItems: &least, UniqueItems: true},
			{
				Type: "object", AdditionalProperties: value, MinProperties: &least,
				PropertyNames: &jsonschema.Schema{Type: "string", Pattern: levelPattern},
			},
		},
		Examples: []any{[]any{1, 4, 16}, map[string]any{"default": "rw", "lock": "dioread_lock"}},
	}
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

// StackText is a stack in the notation of docs/reference/stacks.md.
type StackText string

// JSONSchema describes a stack to editors.
func (StackText) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{
		Type: "string",
		// Only its start: the notation is more than a pattern can tell.
		Pattern:     `^\s*["/$A-Za-z0-9]`,
		Description: "A storage stack on one line, source first; docs/reference/stacks.md lists what it may be made of.",
		Examples: []any{
			"loop(size=4GiB) > xfs > volume",
			"/dev/nvme0n1 > ext4(mount=dioread_lock) > overlay2",
			"dir:/srv/data",
			"tmpfs(size=1GiB)",
		},
	}
}

// LimitKeys are limits of a tenant's instances, or of a scaled-down host.
type LimitKeys map[string]any

// JSONSchema describes limits to editors.
func (LimitKeys) JSONSchema() *jsonschema.Schema {
	least := uint64(1)
	s := &jsonschema.Schema{
		Type: "object", Properties: jsonschema.NewProperties(), AdditionalProperties: jsonschema.FalseSchema,
		MinProperties: &least,
		Examples:      []any{map[string]any{"cpus": 0.5, "memory": "768MiB", "read-iops": 2000}},
	}
	for _, k := range limitKeys {
		s.Properties.Set(k.Key, orReference(k.Schema(&result.Limits{})))
	}
	return s
}

// Tenants describes a mix: names and numbers of instances, or a list.
type Tenants []any

// JSONSchema describes tenants to editors.
func (Tenants) JSONSchema() *jsonschema.Schema {
	least := uint64(1)
	name := func(what string) *jsonschema.Schema {
		return &jsonschema.Schema{Type: "string", Pattern: declaredPattern, Description: what}
	}
	count := &jsonschema.Schema{
		Description: "Number of its instances.",
		AnyOf: []*jsonschema.Schema{{Type: "integer", Minimum: "0", Maximum: "1000"},
			{Type: "string", Pattern: referencePattern}},
	}
	tenant := func(required ...string) *jsonschema.Schema {
		s := &jsonschema.Schema{
			Type: "object", Properties: jsonschema.NewProperties(), AdditionalProperties: jsonschema.FalseSchema,
			Required: required,
		}
		s.Properties.Set("workload", name("The workload, where the tenant has another name."))
		s.Properties.Set("count", count)
		s.Properties.Set("on", &jsonschema.Schema{
			Description: "The stacks that the instances are dealt to, one after the other. Without it, the mix runs on every " +
				"stack.",
			OneOf: []*jsonschema.Schema{name(""), {Type: "array", Items: name(""), MinItems: &least, UniqueItems: true}},
		})
		limits := LimitKeys{}.JSONSchema()
		for _, f := range tenantTable[len(limitTable):] {
			limits.Properties.Set(f.Key, orReference(f.Schema(&result.Limits{})))
		}
		limits.Description = "What each instance may use at most."
		s.Properties.Set("limits", limits)
		s.Properties.Set("policy", &jsonschema.Schema{
			Description: "Resources of the scaled-down host that are split among instances, as a limit of each: " +
				policyText + ".",
			Type:     "string",
			Examples: []any{"cpu+mem", allOfThem},
		})
		s.Properties.Set("share", &jsonschema.Schema{
			Description: "The part of the host that the policy gives each instance; without it, an equal one.",
			AnyOf: []*jsonschema.Schema{
				{
					Type: "number",
				},
				{Type: "string", Pattern: `^[0-9.]+( */ *[0-9.]+)?$`},
				{Type: "string", Pattern: referencePattern},
			},
			Examples: []any{"1/8"},
		})
		return s
	}
	listed := tenant("workload")
	listed.Properties.Set("name", name("The tenant's name, where it is not the workload's."))
	return &jsonschema.Schema{
		OneOf: []*jsonschema.Schema{
			{
				Type: "object", MinProperties: &least, PropertyNames: &jsonschema.Schema{Type: "string", Pattern: namePattern},
				AdditionalProperties: &jsonschema.Schema{AnyOf: append(slices.Clone(count.AnyOf), tenant())},
			},
			{Type: "array", MinItems: &least, Items: &jsonschema.Schema{AnyOf: []*jsonschema.Schema{name(""), listed}}},
		},
		Examples: []any{
			map[string]any{"randread": 4},
			map[string]any{
				"oltp":      map[string]any{"workload": "randread", "count": 2, "limits": map[string]any{"cpus": 0.5}},
				"randwrite": 1,
			},
		},
	}
}

// referencePattern is a reference to a factor in a value.
const referencePattern = `\$[A-Za-z{]`

// Load is a workload: one key that names its kind, and below it the kind's
// own parameters. Schema fills in the kinds.
type Load map[string]any
