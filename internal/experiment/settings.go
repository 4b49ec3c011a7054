package experiment

import (
	"fmt"
	"math"
	"time"

	"github.com/invopop/jsonschema"
	"go.yaml.in/yaml/v3"

	"plimsoll/internal/field"
	"plimsoll/internal/result"
	"plimsoll/internal/stats"
	"plimsoll/internal/stats/stopping"
)

// Setting is one setting of an experiment: a key of the file, a flag, or both. The parser, the schema for editors,
// the flags with their help, stored runs and --resume are made from the table of settings.
type Setting struct {
	Key         string // in experiment files; "" where only the command line says it
	Description string // of the key, for editors
	Required    string // the remedy where the key is missing; "" for an optional key

	Flag    string // of plimsoll run; "" where only the file says it
	Help    string // of the flag, with the name of its value between back quotes
	Without string // the flag that switches off a value of the file; "" for none
	Off     string // its help
	Repeats bool   // the flag may be repeated, and its values depend on the host: Set does nothing

	Not []Conflict // flags that do not go together with Flag

	value value
}

// Conflict is a flag that another does not go together with.
type Conflict struct{ Flag, Why string }

// value is a setting's place in an experiment, and its syntax.
type value interface {
	schema(r *jsonschema.Reflector) *jsonschema.Schema // nil where only the command line says it
	read(p *parser, n *yaml.Node, key string)          // from a file
	set(e *Experiment, text string) error              // from a command line
	store(e *Experiment, to *result.Experiment)
	restore(e *Experiment, from *result.Experiment) error
}

// Data is how servers get their data.
type Data string

// The values of Data.
const (
	DataCloned Data = "cloned"
	DataCopied Data = "copied"
)

// operationCount is the kind of a number of operations: "10M".
var operationCount = func() field.Kind[int64] {
	k := field.As[int64](field.Rate(1, 1e12))
	k.Takes, k.Example = "a whole number of operations, from 1 to 1e12", "10M"
	return k
}()

// Kinds of values that several settings have.
var (
	aTime     = field.Duration(1, math.MaxInt64)
	aTimeOr0  = field.Duration(0, math.MaxInt64).Like("5s")
	aLongTime = field.Duration(1, math.MaxInt64).Like("15m")
	aCount    = field.Count(1, math.MaxInt)
	aFileSize = field.Size(512, math.MaxInt64) // no device has smaller blocks
	margin    = field.Share("3%", "from 1% to 50%", func(share float64) bool { return share >= 0.01 && share <= 0.5 })
)

// settings is all that can be said, in the order of docs/reference/experiment-file.md. A new setting is a field of
// Experiment, one of result.Experiment, and one entry here.
var settings = append(fileSettings, hostSetting())

var fileSettings = []Setting{
	{
		Key: "name", Description: "Name of the experiment, part of file names.", Required: "add name: my-experiment",
		value: content{Name(""), func(p *parser, n *yaml.Node) { p.e.Name = p.name(n, "name") }},
	},
	{
		Key: "question", Description: "The question that the experiment answers, in one sentence.",
		Required: "say in one sentence what you want to know: the report answers it",
		value:    content{Sentence(""), func(p *parser, n *yaml.Node) { p.e.Question = p.text(n, "question") }},
	},
	{
		Key:         "baseline",
		Description: "The stack that the others are compared with. Without one, stacks are ranked but not compared.",
		value: content{
			Name(""),
			func(p *parser, n *yaml.Node) { p.e.Baseline, p.baseline = p.text(n, "baseline"), n },
		},
	},
	{
		Key: "repeat",
		Description: "Rounds. In each, every stack is set up again once and its workloads are measured. " +
			"At least 4 are needed to separate a difference from chance.",
		Flag: "repeat",
		Help: "`number` of rounds: in each, every stack is set up again and measured (default: the file's)",
		value: scalar[int]{
			kind: field.Count(1, MaxRepeat), initial: DefaultRepeat, advice: "4 or more can separate a difference from chance",
			pointer:     func(e *Experiment) *int { return &e.Repeat },
			storedField: as(func(r *result.Experiment) *int { return &r.Repeat }),
		},
	},
	{
		Key: "trials",
		Description: "Trials of each workload in one setup of a stack. Without it, two in the first round, " +
			"which show what trials differ by, and one in the others.",
		Flag: "trials",
		Help: "`number` of trials of each workload in one setup " +
			"(default: the file's, or two in the first round and one in the others)",
		value: scalar[int]{
			kind: field.Count(1, MaxRepeat), advice: "trials of one setup do not show how the next one differs",
			pointer:     func(e *Experiment) *int { return &e.Trials },
			storedField: as(func(r *result.Experiment) *int { return &r.Trials }),
		},
	},
	{
		Key: "control",
		Description: "Whether the run carries a twin of its baseline, brought up like any other stack: " +
			"what the two differ by is the run's noise floor.",
		Without: "no-control", Off: "measure no twin of the baseline, which shows the run's noise floor",
		value: onOff{
			inverted: true,
			pointer:  func(e *Experiment) *bool { return &e.NoControl },
			stored:   func(r *result.Experiment) *bool { return &r.NoControl },
		},
	},
	{
		Key:         "runtime",
		Description: "Measured time of each trial: 1s, 500ms, 2m30s.",
		Flag:        "runtime",
		Help:        "measured `time` of each trial, such as 30s; above 40s a maximum: trials end once precise (default: the file's)",
		value: scalar[time.Duration]{
			kind: aTime, initial: "10s", pointer: runtimeOf,
			storedField: inSeconds(func(r *result.Experiment) *float64 { return &r.RuntimeSeconds }),
		},
	},
	{
		Key: "ramp", Description: "Time before the measured time in which load is driven but not counted.",
		Flag: "ramp", Help: "`time` before it that is not measured (default: the file's)",
		value: scalar[time.Duration]{
			kind: aTimeOr0, initial: "0s", pointer: rampOf,
			storedField: inSeconds(func(r *result.Experiment) *float64 { return &r.RampSeconds }),
		},
	},
	{
		Key: "fixed",
		Description: "Every trial takes its whole runtime. " +
			"Otherwise trials of more than 40 s end once their mean is known.",
		Flag: "fixed",
		Help: "measure every trial for exactly this `time`, such as 10m, however soon its mean is known",
		Not: []Conflict{
			{"runtime", "both are the measured time"},
			{"precision", "a fixed time ends at no precision"},
		},
		value: fixedTime{onOff{
			pointer: func(e *Experiment) *bool { return &e.Fixed },
			stored:  func(r *result.Experiment) *bool { return &r.Fixed },
		}},
	},
	{
		Key: "operations",
		Description: "Operations that every instance makes in the measured time of a trial, which ends once the slowest " +
			"has " +
			"made them; runtime is then the longest time.",
		Flag: "operations",
		Help: "measure every trial until each instance has made this `number` of operations, such as 10M, or the runtime is over",
		Not: []Conflict{
			{"fixed", "a trial ends either after a time or after operations"},
			{"precision", "a number of operations ends at no precision"},
		},
		value: scalar[int64]{
			kind: operationCount, pointer: func(e *Experiment) *int64 { return &e.Operations },
			storedField: as(func(r *result.Experiment) *int64 { return &r.Operations }),
		},
	},
	{
		Key: "data",
		Description: "How servers get their data, which is loaded once for a stack: cloned, which shares blocks where the " +
			"file " +
			"system can, until they are written; or copied, with blocks of their own.",
		Flag: "data",
		Help: "`how` servers get their data: cloned, or copied, with blocks of their own (default: the file's, or cloned)",
		value: scalar[Data]{
			kind: field.OneOf(DataCloned, DataCopied), initial: string(DataCloned),
			pointer: func(e *Experiment) *Data { return &e.Data },
			storedField: storedField[Data]{
				put: func(to *result.Experiment, v Data) { to.Data = string(v) },
				get: func(from *result.Experiment) Data { return Data(from.Data) },
			},
		},
	},
	{
		Key:         "target",
		Description: "Precision of a mean: half of its 95% interval as a share of the mean.",
		Flag:        "precision",
		Help:        "`share` of a mean that half of its 95% interval may be (default: the file's, or 3%)",
		value: scalar[float64]{
			kind: field.Portion("3%"), initial: fmt.Sprintf("%g%%", 100*stopping.DefaultRule.Target),
			pointer:     func(e *Experiment) *float64 { return &e.Target },
			storedField: as(func(r *result.Experiment) *float64 { return &r.Target }),
		},
	},
	{
		Key:         "margin",
		Description: "Largest difference of stacks that are reported as equally good: 1% to 50%.",
		Flag:        "margin",
		Help:        "largest difference, as a `share`, of stacks that are reported as equally good (default: the file's, or 5%)",
		value: scalar[float64]{
			kind: margin, initial: fmt.Sprintf("%g%%", 100*stats.Margin),
			pointer:     func(e *Experiment) *float64 { return &e.Margin },
			storedField: as(func(r *result.Experiment) *float64 { return &r.Margin }),
		},
	},
	{
		Key: "precondition",
		Description: "What is written before the first trial of a workload on a stack: " + preconditionKeys +
			". Without it, the workload's files, once.",
		Flag: "precondition",
		Help: "`writes` before the first trial, such as snia, or passes=2,rounds=25,round=10s " +
			"(default: the file's, or the workload's files once)",
		value: preconditioning{},
	},
	{
		Key: "trace",
		Description: "Record what block requests do while trials are measured, and show where the latency of I/Os is " +
			"spent. It costs some of the speed: traced trials compare with traced ones.",
		Flag: "trace",
		Help: "record what block requests do meanwhile, and show where the latency of I/Os is spent " +
			"(default: the file's)",
		Without: "no-trace", Off: "record nothing, whatever the file says",
		value: onOff{
			pointer: func(e *Experiment) *bool { return &e.Trace },
			stored:  func(r *result.Experiment) *bool { return &r.Trace },
		},
	},
	{
		Key: "seed", Description: "Seed of the random order of trials. Without one, every run draws its own and stores it.",
		Flag: "seed", Help: "`number` that fixes the trials' random order (default: the file's, or a random one)",
		value: seedValue{},
	},
	{
		Key: "objective",
		Description: "What the host is to carry instances for, where mixes differ in their number: " +
			"latencies of at most p99, and for each at least a share of what one alone does. " +
			"Without one, most throughput of all together.",
		Flag: "objective",
		Help: "`limits` that instances must keep, such as p99=10ms,standalone=50% " +
			"(default: the file's, or most throughput)",
		value: objective{},
	},
	{
		Key: "clients",
		Description: "A machine whose processors generate the load of database servers, in place of this host's, " +
			"as ssh reaches it without a password.",
		Flag:  "clients-host",
		Help:  "`machine` that generates the load of database servers, such as ssh://bench@client1 (default: the file's, or this host)",
		value: clients{},
	},
	{
		Flag: "budget",
		Help: "`time` for the whole run, such as 15m: it goes where verdicts are decided soonest; " +
			"with --resume, +6m is so much more",
		Not: []Conflict{
			{"fixed", "in a budget, trials take what time there is"},
			{"repeat", "in a budget, each point gets as many trials as it needs"},
		},
		value: scalar[time.Duration]{
			kind: aLongTime, pointer: budgetOf,
			storedField: inSeconds(func(r *result.Experiment) *float64 { return &r.BudgetSeconds }),
		},
	},
	{
		Flag: "wait-for-quiet",
		Help: "`time`, such as 2m, that all trials together may wait until other processes use little of CPUs and drives " +
			"(default: a tenth of the budget)",
		value: scalar[time.Duration]{
			kind: aLongTime, pointer: func(e *Experiment) *time.Duration { return &e.WaitForQuiet },
			storedField: inSeconds(func(r *result.Experiment) *float64 { return &r.WaitForQuietSeconds }),
		},
	},
	{
		Without: "no-wait-for-quiet", Off: "measure at once, also in a budget, whatever other processes do",
		Not: []Conflict{{"wait-for-quiet", "a trial waits or does not"}},
		value: onOff{
			inverted: true,
			pointer:  func(e *Experiment) *bool { return &e.NoWait },
			stored:   func(r *result.Experiment) *bool { return &r.NoWait },
		},
	},
	{
		Flag: "scale", Help: "`name` of the file's scale to measure at, such as paper (plimsoll list shows which have one)",
		value: scaleSetting{},
	},
	{
		Flag: "only", Help: "`names` of mixes, workloads and stacks to run, with * and ?, such as T-* or raw,randread",
		value: onlyAsked{},
	},
	{
		Flag: "jobs", Help: "`number` of jobs of the workloads that have most; the others get no more",
		value: scalar[int]{
			kind:        aCount,
			pointer:     func(e *Experiment) *int { return &e.Scaled.Jobs },
			storedField: as(func(r *result.Experiment) *int { return &r.Jobs }),
		},
	},
	{
		Flag: "size", Help: "`size` of every workload's file, such as 4GiB; loop devices grow with it",
		value: scalar[int64]{
			kind:        aFileSize,
			pointer:     func(e *Experiment) *int64 { return &e.Scaled.Bytes },
			storedField: as(func(r *result.Experiment) *int64 { return &r.SizeBytes }),
		},
	},
	{
		Flag: "records", Help: "`number` of records of each server; loop devices grow with it",
		Not: []Conflict{{"size", "both say how large the data of each server is"}},
		value: scalar[int]{
			kind:        aCount,
			pointer:     func(e *Experiment) *int { return &e.Scaled.Records },
			storedField: as(func(r *result.Experiment) *int { return &r.Records }),
		},
	},
	{
		Flag: "instances", Help: "`number` of instances of the mix with most; the numbers of the others follow",
		value: scalar[int]{
			kind:        field.Count(1, MaxInstances),
			pointer:     func(e *Experiment) *int { return &e.Instances },
			storedField: as(func(r *result.Experiment) *int { return &r.Instances }),
		},
	},
	{
		Flag: "keep-free",
		Help: "`share` of a file system to leave free, " +
			"such as 15% (default: 0%)",
		value: scalar[float64]{
			kind:        field.Share("15%", "from 0% to 90%", func(share float64) bool { return share >= 0 && share <= 0.9 }),
			pointer:     func(e *Experiment) *float64 { return &e.KeepFree },
			storedField: as(func(r *result.Experiment) *float64 { return &r.KeepFree }),
		},
	},
	{
		Flag: "on",
		Help: "a `device` (see --destroy) or dir:PATH to take the place of loop devices; " +
			"with several --on, each stack is measured on each device; STACK=device is for that stack alone",
		Repeats: true,
	},
	{
		Flag: "remote",
		Help: "`target` of stacks on nvmeof(transport=T): nvmeof(...), as plimsoll target export prints it; " +
			"one for each transport",
		Repeats: true,
	},
	{
		Key: "elasticity",
		Description: "Used where it is known how many instances the host carries. It is the share by which each limit " +
			"of host is then relaxed and tightened there, one at a time, to show what more of it would buy: 1% to 50%.",
		value: scalar[float64]{
			kind: field.Share("20%", "from 1% to 50%",
				func(share float64) bool { return share >= leastVaried && share <= mostVaried }),
			pointer:     func(e *Experiment) *float64 { return &e.Elasticity },
			storedField: as(func(r *result.Experiment) *float64 { return &r.Elasticity }),
		},
	},
	{
		Key: "factors",
		Description: "What is varied on purpose: names and their levels. Stacks and workloads that mention a factor " +
			"($jobs, in their name and in their text) become one of each level.",
		value: content{map[string]Levels{}, func(p *parser, n *yaml.Node) { p.factorNode = n }},
	},
	{
		Key: "stacks", Description: "Storage stacks by name, source first.",
		Required: "add stacks: and below it NAME: STACK, for example raw: loop(size=1GiB)",
		value:    content{map[string]StackText{}, func(p *parser, n *yaml.Node) { p.stackNode = n }},
	},
	{
		Key: "workloads", Description: "Workloads by name. Without mixes, each runs alone.",
		Required: "add workloads: and below it NAME: {fio: {...}}",
		value:    content{map[string]Load{}, func(p *parser, n *yaml.Node) { p.workloadNode = n }},
	},
	{
		Key: "mixes",
		Description: "What runs at the same time, by name: workloads, and how many instances of each. " +
			"With mixes, only they run.",
		value: content{map[string]Tenants{}, func(p *parser, n *yaml.Node) { p.mixNode = n }},
	},
	{
		Key: "host",
		Description: "A scaled-down host, made of this one, that all mixes run in: its processors, " +
			"its memory with the page cache, and what its devices do in a second.",
		value: content{LimitKeys{}, func(p *parser, n *yaml.Node) { p.hostNode = n }},
	},
	{
		Key: scalesKey,
		Description: "The same question at other sizes, by name: what differs from the file, key by key (RFC 7386), " +
			"and null for what is not to be there. plimsoll run FILE --scale NAME.",
		value: content{map[string]map[string]any{}, func(p *parser, n *yaml.Node) { p.readScales(n) }},
	},
}

// Flags returns the settings that a command line may say, in the order in which they are read.
func Flags() []Setting {
	var flags []Setting
	for _, s := range settings {
		if s.Flag != "" || s.Without != "" {
			flags = append(flags, s)
		}
	}
	return flags
}

// Set sets the value of a flag, which overrides the experiment's. The error is a *field.Error where the text has
// another form.
func (s Setting) Set(e *Experiment, text string) error {
	if s.value == nil {
		return nil
	}
	return s.value.set(e, text)
}

// IsSwitch reports whether the flag takes no value.
func (s Setting) IsSwitch() bool {
	_, is := s.value.(onOff)
	return is
}

// SetOn applies a flag without a value.
func (s Setting) SetOn(e *Experiment) error { return s.Set(e, on) }

// SetOff applies the flag Without.
func (s Setting) SetOff(e *Experiment) error { return s.Set(e, off) }

// Stored returns the experiment in the form that results store.
func (e *Experiment) Stored() result.Experiment {
	stored := result.Experiment{
		Name: e.Name, Question: e.Question, Baseline: e.Baseline, Source: e.Source, File: e.File, Files: e.Files,
	}
	for _, s := range settings {
		if s.value != nil {
			s.value.store(e, &stored)
		}
	}
	return stored
}

// Restore sets the settings of an experiment that was read from a file to those that a run was started with. Its
// stacks, baseline and workloads stay the file's: Scaled is set, but not applied yet.
func (e *Experiment) Restore(stored result.Experiment) error {
	for _, s := range settings {
		if s.value == nil {
			continue
		}
		err := s.value.restore(e, &stored)
		if err != nil {
			return err
		}
	}
	return nil
}
