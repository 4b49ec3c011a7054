package fio

import (
	"fmt"
	"strings"

	"plimsoll/internal/problem"
	"plimsoll/internal/result"
	"plimsoll/internal/workload"
)

// builtin is the workload that is declared by a few options.
type builtin struct {
	Params
	declared string
}

// Info implements workload.Workload.
func (w *builtin) Info() result.Workload {
	return result.Workload{Kind: name, Summary: w.summary(), Pattern: w.RW, Declared: w.declared}
}

// Programs implements workload.Workload.
func (w *builtin) Programs() []string { return []string{name} }

// NeedBytes implements workload.Workload. Prepare writes whole MiB.
func (w *builtin) NeedBytes() int64 { return roundUp(w.Size, mib) }

// Timing implements workload.Workload.
func (w *builtin) Timing(experiment workload.Timing) workload.Timing {
	t := experiment
	if w.Runtime > 0 {
		t.Runtime = w.Runtime
	}
	if w.Ramp != nil {
		t.Ramp = *w.Ramp
	}
	return t
}

// Layout is one file for all workloads of the built-in form.
func (w *builtin) Layout() string { return dataFile }

// Prepare writes the whole file, or the region of a raw device, once. Read
// understands the step's outputs too, and explains why it failed.
func (w *builtin) Prepare(target workload.Target) (*workload.Step, error) {
	if err := fits(target, w.NeedBytes()); err != nil {
		return nil, err
	}
	file, err := fileName(target)
	if err != nil {
		return nil, err
	}
	return layoutStep(target, file, w.NeedBytes(), w.Engine, w.Direct), nil
}

// warm reads the whole file through the page cache, once from start to end; nil
// where the measured job goes past it or begins without.
func (w *builtin) warm(target workload.Target) (*workload.Step, error) {
	if w.Cache != warm {
		return nil, nil
	}
	file, err := fileName(target)
	if err != nil {
		return nil, err
	}
	text := fmt.Sprintf(`; plimsoll: read %s into the page cache
[global]
filename=%s
rw=read
bs=%d
size=%d
ioengine=psync
allow_file_create=0
; What other trials left in the cache stays.
invalidate=0
thread=1
group_reporting=1
disk_util=0

[warm]
`, formatSize(w.NeedBytes()), file, min(w.NeedBytes()&-w.NeedBytes(), mib), w.NeedBytes())
	return &workload.Step{
		Argv:    command(warmOutput, warmFileName),
		Files:   map[string][]byte{warmFileName: []byte(text)},
		Outputs: []string{warmOutput},
		Dir:     directory(target),
	}, nil
}

// fill writes a block device once.
func (w *builtin) fill(target workload.Target) (*workload.Step, error) {
	file, err := fileName(target)
	if err != nil {
		return nil, err
	}
	return layoutStep(target, file, target.SizeBytes, w.Engine, true), nil
}

// filled checks the outputs of fill.
func (w *builtin) filled(outputs map[string][]byte, exit workload.Exit) error {
	_, err := w.Read(outputs, exit)
	return err
}

// Drive is the measured step.
func (w *builtin) Drive(target workload.Target, t workload.Timing) (*workload.Step, error) {
	if err := fits(target, w.NeedBytes()); err != nil {
		return nil, err
	}
	file, err := fileName(target)
	if err != nil {
		return nil, err
	}
	if t.Sample > 0 {
		// Its statuses tell what belongs to the ramp, and how much that was.
		t.Ramp, t.Runtime = 0, t.Ramp+t.Runtime
	}
	step := &workload.Step{
		Argv:    command(outputName, jobFileName),
		Files:   map[string][]byte{jobFileName: []byte(w.jobFile(file, t))},
		Outputs: []string{outputName},
		Dir:     directory(target),
		Gate:    jobFileName,
	}
	if t.Sample > 0 {
		step.Argv, step.Live = command(outputName, jobFileName, statusInterval(t.Sample)), outputName
	}
	return step, nil
}

// Read implements workload.Workload.
func (w *builtin) Read(outputs map[string][]byte, exit workload.Exit) (result.Measurement, error) {
	r := w.reader()
	m, err := r.read(outputs, exit)
	if err == nil {
		r.addOpenLoop(&m)
	}
	return m, err
}

func (w *builtin) reader() reader {
	return reader{engine: w.Engine, direct: w.Direct, blockSize: w.BS, rate: w.Rate, jobs: w.Jobs}
}

// jobFile is the measured job. It depends on nothing but the declaration, the
// timing and, for a raw device, its path, so that all stacks of a comparison
// run the same text.
func (w *builtin) jobFile(file string, t workload.Timing) string {
	var b strings.Builder
	fmt.Fprintf(&b, "; plimsoll: %s\n", w.summary())
	fmt.Fprintf(&b, "; over %s that %s laid out. Sizes are in bytes: to fio, 4KiB would be 4000.\n",
		formatSize(w.NeedBytes()), layoutFileName)
	b.WriteString("[global]\n")
	w.load(&b, file)
	fmt.Fprintf(&b, `
; By the clock, not by volume: every stack gets the same time. What happens
; during the ramp is not measured.
time_based=1
runtime=%s
`, fioTime(t.Runtime))
	if t.Ramp > 0 {
		fmt.Fprintf(&b, "ramp_time=%s\n", fioTime(t.Ramp))
	}
	b.WriteString(measuredOptions)
	b.WriteString(w.start())
	b.WriteString(dataOptions)
	b.WriteString("\n[job]\n")
	return b.String()
}

// load writes the options of the declared load.
func (w *builtin) load(b *strings.Builder, file string) {
	set := func(key string, value any) { fmt.Fprintf(b, "%s=%v\n", key, value) }
	set("filename", file)
	set("rw", w.RW)
	if mixed(w.RW) {
		set("rwmixread", w.RWMixRead)
	}
	set("bs", w.BS)
	set("ioengine", w.Engine)
	set("iodepth", w.IODepth)
	set("direct", digit(w.Direct))
	set("numjobs", w.Jobs)
	if w.Rate > 0 {
		b.WriteString("; Requests of each job are due at random times, whether or not those before are done.\n")
		set("rate_iops", int64(w.Rate)/int64(w.Jobs))
		set("rate_process", "poisson")
	}
	for _, s := range w.syncs() {
		if s.interval > 0 {
			set(s.key, s.interval)
		}
	}
	if w.ThinkTime > 0 {
		b.WriteString("; Each job waits, in microseconds, before it asks for the next I/O.\n")
		set("thinktime", w.ThinkTime.Microseconds())
	}
	if sequential(w.RW) {
		b.WriteString("; Each job walks through a separate region.\n")
		set("size", w.region())
		if w.Jobs > 1 {
			set("offset_increment", w.region())
		}
		return
	}
	b.WriteString("; All jobs share the whole file.\n")
	set("size", w.region())
	b.WriteString(`; A block may be drawn again before all others were, as a database does. The
; sequence differs from trial to trial: a cache cannot have learnt it. The
; 64-bit generator reaches every block of any file.
norandommap=1
randrepeat=0
random_generator=tausworthe64
`)
}

// measuredOptions are the options of every measured job that precede its load.
const measuredOptions = `
; The file must be there: if fio laid it out now, the trial would measure that.
; fallocate is off because preallocated extents read as zeros without I/O.
allow_file_create=0
overwrite=1
fallocate=none
`

// start describes the state of the page cache when the measured job begins.
func (w *builtin) start() string {
	if w.Cache == warm {
		return `; What the page cache holds of the file stays: it was read before.
invalidate=0
`
	}
	return `; Start cold: drop what the page cache holds of the file.
invalidate=1
`
}

// dataOptions are the options of every measured job that follow its load.
const dataOptions = `
; Data that does not compress within a block, and differs from write to write
; by a stamp in every 512 bytes. Fresh random data for every write would cost
; more CPU (0.8 us per 4 KiB, measured) than many stacks take for the I/O.
zero_buffers=0
refill_buffers=0
scramble_buffers=1

; One process with threads: less memory than a process for each job, and a
; memory limit that bites ends all of them. When one job fails, all end.
thread=1
exitall_on_error=1

; All three latencies with their histograms, merged over jobs by fio itself.
; plimsoll reads the device counters, so fio need not.
group_reporting=1
slat_percentiles=1
clat_percentiles=1
lat_percentiles=1
disk_util=0
`

// layoutStep writes bytes of a file once, from start to end.
func layoutStep(target workload.Target, file string, bytes int64, engine string, direct bool) *workload.Step {
	block := min(bytes&-bytes, mib) // the largest power of two that divides bytes: fio drops what is left of a block
	depth := 8
	if synchronous(engine) {
		depth = 1
	}
	text := fmt.Sprintf(`; plimsoll: lay out %s, so that no measured I/O meets a hole or an unwritten extent
[global]
filename=%s
rw=write
; Large blocks: fast, and few extents.
bs=%d
size=%d
ioengine=%s
iodepth=%d
direct=%d
; Real extents, filled by real writes of data that does not compress.
fallocate=none
scramble_buffers=1
; Data and metadata are on the device before the measured job starts.
end_fsync=1
thread=1
group_reporting=1
disk_util=0

[layout]
`, formatSize(bytes), file, block, bytes, engine, depth, digit(direct))
	return &workload.Step{
		Argv:    command(layoutOutput, layoutFileName),
		Files:   map[string][]byte{layoutFileName: []byte(text)},
		Outputs: []string{layoutOutput},
		Dir:     directory(target),
	}
}

// command is fio's command line. No status line is printed while it runs.
func command(output, jobFile string, more ...string) []string {
	argv := []string{name, "--eta=never", "--output-format=json+", "--output=" + workload.ScratchDir + "/" + output}
	argv = append(argv, more...)
	return append(argv, workload.ScratchDir+"/"+jobFile)
}

// directory returns the working directory of a step: relative file names are on the stack. On a raw device, only the
// device is named.
func directory(target workload.Target) string {
	if target.Block {
		return ""
	}
	return target.Path
}

// fileName returns the name of the target in a job file.
func fileName(target workload.Target) (string, error) {
	if !target.Block {
		return dataFile, nil
	}
	return devicePath(target.Path)
}

// devicePath writes a path so that fio's job files take it as one file name:
// a colon would separate two names, and the other characters have no escape.
func devicePath(path string) (string, error) {
	if strings.ContainsAny(path, ";#$\\\"' \t\r\n") || !strings.HasPrefix(path, "/") {
		return "", failure(fmt.Sprintf("fio on %s", path),
			"fio's job files cannot hold this path",
			"name the device by another path, such as /dev/nvme0n1")
	}
	return strings.ReplaceAll(path, ":", `\:`), nil
}

// fits refuses a target that is too small. A size of 0 is not known.
func fits(target workload.Target, need int64) error {
	if target.SizeBytes <= 0 || need <= target.SizeBytes {
		return nil
	}
	return failure(fmt.Sprintf("fio on %s", target.Path),
		fmt.Sprintf("the workload takes %d bytes, and %d may be written there", need, target.SizeBytes),
		"give the stack a larger size or the workload a smaller one")
}

func digit(b bool) int {
	if b {
		return 1
	}
	return 0
}

func failure(what, why, remedy string) *problem.Problem {
	return problem.New(problem.Failed, what, why, remedy)
}
