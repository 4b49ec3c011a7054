package ycsb

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"path"
	"slices"
	"time"

	"plimsoll/internal/database"
	"plimsoll/internal/problem"
	"plimsoll/internal/result"
	"plimsoll/internal/workload"
)

// driven is a declared workload and the server that it drives.
type driven struct {
	Params
	name      string          // of the kind of workload
	kind      database.Kind   // of the server
	databases []database.Kind // kinds of databases
	server    database.Server
	replace   bool // replace an existing schema of that name elsewhere
	declared  string
	abilities func() workload.Abilities // those that the parameters give, worked out once
}

// Info implements workload.Workload.
func (w *driven) Info() result.Workload {
	return result.Workload{Kind: w.name, Summary: w.summary(w.kind.Title), Declared: w.declared,
		ServerMemory: w.server.NeedMemory(w.Threads)}
}

// Programs implements workload.Workload.
func (w *driven) Programs() []string { return []string{workload.Self} }

// NeedBytes implements workload.Workload.
func (w *driven) NeedBytes() int64 { return w.server.NeedBytes(w.dataset(), !w.readOnly()) }

// mergeBytes returns the room in which the server rewrites its largest files; 0 if the data is only read.
func (w *driven) mergeBytes() int64 {
	merger, ok := w.server.(database.Merger)
	if !ok || w.readOnly() {
		return 0
	}
	return merger.MergeBytes(w.dataset())
}

// serverLayout returns whose defaults the server has; nil for Plimsoll's own.
func (w *driven) serverLayout() *workload.ServerLayout {
	l, ok := w.server.(database.Layouted)
	if !ok || l.LayoutVersion() == "" {
		return nil
	}
	return &workload.ServerLayout{Server: w.kind.Title, Version: l.LayoutVersion(), Differs: l.LayoutDiffers(),
		IsDefault: l.IsLayoutDefault}
}

// Timing implements workload.Workload.
func (w *driven) Timing(experiment workload.Timing) workload.Timing {
	t := experiment
	if w.Runtime > 0 {
		t.Runtime = w.Runtime
	}
	if w.Ramp != nil {
		t.Ramp = *w.Ramp
	}
	return t
}

// Layout is the name of the directory that holds the data: equal servers with equal
// records share one.
func (w *driven) Layout() string {
	d := w.dataset()
	layout := fnv.New32a()
	layout.Write([]byte(w.server.Layout()))
	if d.Warehouses > 0 {
		return fmt.Sprintf("plimsoll-%s-tpcc-%d-%08x", w.kind.Name, d.Warehouses, layout.Sum32())
	}
	return fmt.Sprintf("plimsoll-%s-%dx%dx%d-%08x", w.kind.Name, d.Records, d.Fields, d.FieldBytes, layout.Sum32())
}

// content is all that the loaded bytes depend on.
func (w *driven) content() string {
	d := w.dataset()
	if d.Warehouses > 0 {
		return fmt.Sprintf("%s %s, TPC-C of %d warehouses", w.kind.Name, w.server.Layout(), d.Warehouses)
	}
	return fmt.Sprintf("%s %s, %d records of %d x %d bytes, seed %d", w.kind.Name, w.server.Layout(), d.Records, d.Fields,
		d.FieldBytes, d.Seed)
}

// data returns the directory of the server's data on a target.
func (w *driven) data(t workload.Target) string { return path.Join(t.Path, w.Layout()) }

// Prepare loads the records. Read understands the step's outputs too, and explains
// why it failed.
func (w *driven) Prepare(target workload.Target) (*workload.Step, error) {
	if err := w.fits(target); err != nil {
		return nil, err
	}
	step := w.server.Load(w.data(target), w.dataset())
	if w.elsewhere() {
		if w.makes() == "" {
			return nil, nil //nolint:nilnil // it is there
		}
		step = w.fill()
	}
	text, err := json.MarshalIndent(w.dataset(), "", "  ")
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{loadedName: append(text, '\n')}
	for name, content := range step.Files {
		files[name] = content
	}
	step.Files, step.Outputs = files, append(slices.Clone(step.Outputs), loadedName)
	return &step, nil
}

// fits refuses what no server's data goes on, or not all of it.
func (w *driven) fits(target workload.Target) error {
	if w.elsewhere() != target.Elsewhere {
		if w.elsewhere() {
			return failure("", "its server runs already, and would not use this stack",
				"name a stack for it: elsewhere")
		}
		return failure("", "it starts a server, and this stack is one of a server that runs already",
			"say where that is, by dsn or address of the database")
	}
	if target.Block {
		return failure("", "a database needs a file system, and this stack is a raw device",
			"put a file system on it, for example > ext4")
	}
	if need := w.NeedBytes(); target.SizeBytes > 0 && need > target.SizeBytes {
		return failure("", fmt.Sprintf("the records take %d bytes, and %d may be written there", need, target.SizeBytes),
			"give the stack a larger size or the workload fewer records")
	}
	return nil
}

// checkContained returns an error for a stack without containers if the server runs from an image.
func (w *driven) checkContained(target workload.Target) error {
	if w.server.Image() == nil || target.Container {
		return nil
	}
	return failure("", w.kind.Title+" runs from an image, and this stack has no container", "let it end in one: > volume")
}

// Drive is the measured step.
func (w *driven) Drive(target workload.Target, t workload.Timing) (*workload.Step, error) {
	if err := w.fits(target); err != nil {
		return nil, err
	}
	if err := w.checkContained(target); err != nil {
		return nil, err
	}
	plan := w.plan()
	w.setAddress(&plan)
	plan.Gate = gateName
	plan.Ramp, plan.Runtime, plan.Sample = t.Ramp, t.Runtime, t.Sample
	if plan.Open() {
		plan.Sample = openSample(t)
	}
	if err := plan.check(); err != nil {
		return nil, err
	}
	step := &workload.Step{
		Argv:    w.generate(workload.ScratchDir + "/" + planName),
		Files:   map[string][]byte{planName: plan.Text(), gateName: []byte("go\n")},
		Outputs: []string{outputName},
		Gate:    gateName,

		Credentials: w.server.Address().Credentials,
	}
	if t.Sample > 0 {
		step.Live = outputName
	}
	return step, nil
}

// setAddress sets the server's address and client in a plan.
func (w *driven) setAddress(plan *Plan) {
	by := w.server.Client()
	plan.Client, plan.Options, plan.At = by.Name, by.Options, w.server.Address()
}

// elsewhere reports whether somebody else started the server.
func (w *driven) elsewhere() bool { return w.server.Address().Remote != "" }

// makes is the schema elsewhere that is made and filled; "" for none.
func (w *driven) makes() string {
	by := w.server.Client()
	if by.Options[database.LoadOption] == "" {
		return ""
	}
	return by.Options[database.SchemaOption]
}

// fill is the process that makes a schema elsewhere and fills it.
func (w *driven) fill() workload.Step {
	plan := w.plan()
	w.setAddress(&plan)
	plan.Runtime, plan.Output = minTime, outputName
	if w.replace {
		plan.Options = maps.Clone(plan.Options)
		plan.Options[database.ReplaceOption] = "true"
	}
	return workload.Step{Argv: w.generate("--load", workload.ScratchDir+"/"+fillName),
		Credentials: w.server.Address().Credentials, Files: map[string][]byte{fillName: plan.Text()}}
}

// readOnly reports whether the records stay as they are. Of TPC-C's transactions most write.
func (w *driven) readOnly() bool {
	mix := w.mix()
	return w.Warehouses == 0 && mix[Update]+mix[Insert]+mix[ReadModifyWrite] == 0
}

// generate is the command line of the generator, which has to be told where a server is that has
// a network of its own.
func (w *driven) generate(args ...string) []string {
	argv := []string{workload.Self, "generate"}
	if w.server.Address().Credentials != "" {
		argv = append(argv, "--secret")
	}
	if w.server.Address().Port > 0 {
		argv = append(argv, "--network", workload.NetworkFile)
	}
	return append(argv, args...)
}

// Abilities implements workload.Workload.
func (w *driven) Abilities() workload.Abilities { return w.abilities() }

// newAbilities returns the abilities that the parameters give. It makes the server's configuration.
func (w *driven) newAbilities() workload.Abilities {
	if w.elsewhere() {
		return workload.Abilities{
			Watch: func(workload.Timing) workload.Watch { return &watch{reader: w.reader()} },
			Elsewhere: &workload.Elsewhere{Server: w.server.Address().Remote, Credentials: w.server.Address().Credentials,
				Makes: w.makes(), Replace: func() { w.replace = true }},
		}
	}
	served := w.server.Serve("")
	var check func(workload.Target) (*workload.Step, error)
	if w.Check {
		check = w.check
	}
	return workload.Abilities{
		Watch:   func(workload.Timing) workload.Watch { return &watch{reader: w.reader()} },
		Warm:    w.warm,
		Scaling: &workload.Scaling{Jobs: w.Threads, Records: w.records(), To: w.scale},
		Serving: &workload.Serving{
			Data:     w.Layout(),
			Content:  w.content(),
			Image:    w.server.Image(),
			Bytes:    w.server.NeedBytes(w.dataset(), false),
			ReadOnly: w.readOnly(),
			Warms:    served.Warms,
			Starts:   served.Starts,

			MergeBytes: w.mergeBytes(), Layout: w.serverLayout(),
			Serve: func(target workload.Target) (*workload.Step, error) {
				if err := w.fits(target); err != nil {
					return nil, err
				}
				step := w.server.Serve(w.data(target))
				return &step, nil
			},
			Ready: func(workload.Target) (*workload.Step, error) {
				plan := w.plan()
				w.setAddress(&plan)
				plan.Settings = slices.Sorted(maps.Keys(w.server.Settings()))
				plan.Runtime, plan.Patience, plan.Output = minTime, served.Awaited(), answeredName
				return &workload.Step{
					Name: "ready", Patience: plan.Patience,
					Argv:  w.generate("--wait", workload.ScratchDir+"/"+readyName),
					Files: map[string][]byte{readyName: plan.Text()}, Outputs: []string{answeredName},
				}, nil
			},
			Said: func(outputs map[string][]byte) (string, map[string]string) {
				said := ReadAnswered(outputs[answeredName])
				return said.Version, said.Settings
			},
			Check:  check,
			Failed: w.server.Failed,
		},
	}
}

// check is the process that looks at TPC-C's consistency conditions.
func (w *driven) check(workload.Target) (*workload.Step, error) {
	plan := w.plan()
	w.setAddress(&plan)
	plan.Runtime, plan.Output = minTime, outputName
	return &workload.Step{
		Name:  "check",
		Argv:  w.generate("--check", workload.ScratchDir+"/"+checkName),
		Files: map[string][]byte{checkName: plan.Text()},

		Credentials: w.server.Address().Credentials,
	}, nil
}

// warm fills the page cache with as much of the data as fits, before the server starts.
func (w *driven) warm(target workload.Target) (*workload.Step, error) {
	if w.Cache == cold {
		return nil, nil //nolint:nilnil // nothing is to be read
	}
	return &workload.Step{Argv: []string{workload.Self, "read-files", w.data(target)}}, nil
}

// Read implements workload.Workload.
func (w *driven) Read(outputs map[string][]byte, exit workload.Exit) (result.Measurement, error) {
	if _, loaded := outputs[loadedName]; loaded {
		if exit.Code == 0 {
			return result.Measurement{}, nil
		}
		failed := w.server.Failed(exit)
		if failed == nil {
			failed = failure("", fmt.Sprintf("it exited with code %d", exit.Code), "")
		}
		return result.Measurement{}, failed
	}
	return w.reader().read(outputs[outputName], exit)
}

func (w *driven) reader() reader { return reader{threads: w.Threads, rate: w.Rate} }

// openIntervals is into how many parts an open loop is cut at least: enough to see whether its
// latencies grow.
const openIntervals = 9

// openSample returns the interval at which an open loop reports, watched or not.
func openSample(t workload.Timing) time.Duration {
	often := max(minTime, (t.Runtime / openIntervals).Truncate(minTime))
	if t.Sample > 0 {
		often = min(often, t.Sample)
	}
	return often
}

func failure(what, why, remedy string) *problem.Problem {
	return problem.New(problem.Failed, what, why, remedy)
}
