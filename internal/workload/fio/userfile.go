package fio

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/problem"
	"plimsoll/internal/result"
	"plimsoll/internal/workload"
)

// userFile is the workload that a user's job file declares. The text is run
// as it is; what it leaves open comes from the command line.
type userFile struct {
	name  string
	text  []byte
	plans []plan
}

// plan is what plimsoll has to know of a job.
type plan struct {
	rw        string
	blockSize string // as written
	jobs      int64
	iodepth   string
	engine    string
	direct    bool
	filename  string // "" when fio makes names up
	names     string // the setting that names files or their directory: "filename=data"; "" for none
	span      int64  // bytes from the start of the file to the end of the last clone's region
	total     int64  // bytes of all clones, when each has its own file
	runtime   time.Duration
	ramp      time.Duration
	hasRamp   bool
}

// newUserFile parses a job file, and gives all its mistakes at once.
func newUserFile(name string, text []byte) (*userFile, problem.List) {
	file, mistakes := parseJobFile(text)
	if len(mistakes) > 0 {
		return nil, mistakes
	}
	w := &userFile{name: name, text: text}
	for _, j := range file.jobs {
		w.plans = append(w.plans, newPlan(j, func(int, string, string) {}))
	}
	return w, nil
}

// checkJob reports what is wrong with a job as a whole.
func (p *fileParser) checkJob(j section) {
	if s, ok := j.settings["stonewall"]; ok && s.value != "0" && len(p.file.jobs) > 1 {
		p.mistake(s.line, "stonewall runs jobs one after another, and one measurement cannot tell them apart",
			"declare a workload for each")
	}
	newPlan(j, p.mistake)
}

// newPlan resolves the settings of a job, with fio's defaults.
func newPlan(j section, report func(line int, what, remedy string)) plan {
	s := settings{j, report}
	pl := plan{
		rw:        "read",
		blockSize: "4k",
		jobs:      max(s.number("numjobs", 1, 4096), 1),
		iodepth:   "1",
		engine:    "psync",
		filename:  j.settings["filename"].value,
		runtime:   s.time("runtime"),
		ramp:      s.time("ramp_time"),
	}
	for _, key := range []string{"directory", "filename"} {
		if v, ok := j.settings[key]; ok {
			pl.names = key + "=" + v.value
		}
	}
	_, pl.hasRamp = j.settings["ramp_time"]
	if v, ok := j.settings["rw"]; ok {
		pl.rw, _, _ = strings.Cut(v.value, ":")
		if pl.rw == "readwrite" {
			pl.rw = "rw"
		}
	}
	for key, field := range map[string]*string{"bs": &pl.blockSize, "iodepth": &pl.iodepth, "ioengine": &pl.engine} {
		if v, ok := j.settings[key]; ok {
			*field = v.value
		}
	}
	pl.direct = j.settings["direct"].value == "1" || j.settings["buffered"].value == "0"

	size, sized := s.bytes("size")
	fileSize, fileSized := s.bytes("filesize")
	if !sized && !fileSized {
		report(j.line, fmt.Sprintf("job [%s] has no size", j.name), "give one: plimsoll must know what the workload takes")
	}
	files := s.number("nrfiles", 1, 1<<20)
	offset, _ := s.bytes("offset")
	step, _ := s.bytes("offset_increment")
	pl.span = max(size, multiply(fileSize, files))
	pl.span = add(pl.span, add(offset, multiply(step, pl.jobs-1)))
	pl.total = multiply(pl.span, pl.jobs)
	if pl.total > pib {
		report(j.line, fmt.Sprintf("job [%s] takes more than 1 PiB", j.name), "give a smaller size")
	}
	return pl
}

// settings reads typed values of a job.
type settings struct {
	section
	report func(line int, what, remedy string)
}

func (s settings) number(key string, fallback, high int64) int64 {
	v, ok := s.settings[key]
	if !ok {
		return fallback
	}
	n, err := strconv.ParseInt(v.value, 10, 64)
	if err != nil || n < 1 || n > high {
		s.report(v.line, fmt.Sprintf("%s %q", key, v.value), fmt.Sprintf("write a whole number from 1 to %d", high))
		return fallback
	}
	return n
}

// bytes reads a size as fio does; of a range "4k-64k" the upper end.
func (s settings) bytes(key string) (int64, bool) {
	v, ok := s.settings[key]
	if !ok {
		return 0, false
	}
	value := v.value
	if key == "filesize" {
		if _, high, ranged := strings.Cut(value, "-"); ranged {
			value = high
		}
	}
	n, err := fioSize(value)
	if err != nil {
		s.report(v.line, fmt.Sprintf("%s %q: %v", key, v.value, err),
			"write bytes, or a whole number with k, m, g or t: plimsoll must know what the workload takes")
	}
	return n, true
}

func (s settings) time(key string) time.Duration {
	v, ok := s.settings[key]
	if !ok {
		return 0
	}
	d, err := fioDuration(v.value)
	if err != nil || d > maxRuntime {
		s.report(v.line, fmt.Sprintf("%s %q", key, v.value),
			fmt.Sprintf("write seconds, or a whole number with ms, s, m or h, up to %v", maxRuntime))
		return 0
	}
	return d
}

// fioSize reads a size with fio's suffixes: k, kb and ki are 1024.
func fioSize(text string) (int64, error) {
	number, unit := splitNumber(text)
	unit = strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(unit), "b"), "i")
	factor, known := map[string]int64{"": 1, "k": kib, "m": mib, "g": gib, "t": tib, "p": pib}[unit]
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || !known {
		return 0, fmt.Errorf("no size")
	}
	if n > pib/factor {
		return 0, fmt.Errorf("more than 1 PiB")
	}
	return n * factor, nil
}

// fioDuration reads a time with fio's suffixes; without one it is in seconds.
func fioDuration(text string) (time.Duration, error) {
	number, unit := splitNumber(text)
	factor, known := map[string]time.Duration{
		"": time.Second, "us": time.Microsecond, "ms": time.Millisecond, "s": time.Second,
		"m": time.Minute, "h": time.Hour, "d": 24 * time.Hour,
	}[strings.ToLower(unit)]
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || !known || n > int64(math.MaxInt64/factor) {
		return 0, fmt.Errorf("no time")
	}
	return time.Duration(n) * factor, nil
}

func add(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

func multiply(a, b int64) int64 {
	if a > 0 && b > math.MaxInt64/a {
		return math.MaxInt64
	}
	return a * b
}

// Info implements workload.Workload.
func (w *userFile) Info() result.Workload {
	return result.Workload{Kind: name, Summary: w.name + ": " + w.summary(), Pattern: w.pattern(),
		Declared: string(w.text)}
}

// pattern is the access pattern that all jobs have, or "".
func (w *userFile) pattern() string {
	for _, pl := range w.plans {
		if pl.rw != w.plans[0].rw {
			return ""
		}
	}
	return w.plans[0].rw
}

func (w *userFile) summary() string {
	if len(w.plans) == 1 {
		pl := w.plans[0]
		bs := pl.blockSize
		if n, err := fioSize(bs); err == nil {
			bs = Size(n).String()
		}
		threads := fmt.Sprintf("%d jobs", pl.jobs)
		if pl.jobs == 1 {
			threads = "1 job"
		}
		return fmt.Sprintf("%s %s, %s x depth %s, %s, %s", pl.rw, bs, threads, pl.iodepth, pl.engine,
			directOrBuffered(pl.direct))
	}
	var kinds []string
	for _, pl := range w.plans {
		if !slices.Contains(kinds, pl.rw) {
			kinds = append(kinds, pl.rw)
		}
	}
	return fmt.Sprintf("%d jobs: %s", len(w.plans), strings.Join(kinds, ", "))
}

// Programs implements workload.Workload.
func (w *userFile) Programs() []string { return []string{name} }

// NeedBytes is an upper bound: jobs that name the same file share it, the
// clones of a job that names none have a file each.
func (w *userFile) NeedBytes() int64 {
	var need int64
	shared := map[string]int64{}
	for _, pl := range w.plans {
		if pl.filename == "" {
			need = add(need, pl.total)
		} else {
			shared[pl.filename] = max(shared[pl.filename], pl.span)
		}
	}
	for _, bytes := range shared {
		need = add(need, bytes)
	}
	return need
}

// Layout is the job file's own: it may name its files as it likes.
func (w *userFile) Layout() string { return string(w.text) }

// region is what the jobs use of a raw device: they share its bytes.
func (w *userFile) region() int64 {
	var region int64
	for _, pl := range w.plans {
		region = max(region, pl.span)
	}
	return region
}

// Timing takes the file's own times, and the experiment's where it has none.
func (w *userFile) Timing(experiment workload.Timing) workload.Timing {
	var t workload.Timing
	for _, pl := range w.plans {
		runtime, ramp := pl.runtime, pl.ramp
		if runtime == 0 {
			runtime = experiment.Runtime
		}
		if !pl.hasRamp {
			ramp = experiment.Ramp
		}
		t.Runtime, t.Ramp = max(t.Runtime, runtime), max(t.Ramp, ramp)
	}
	return t
}

// Prepare lets fio lay out the files that the jobs read. fio does not lay out
// files that are only written, unless the job says overwrite. On a raw device
// the region of the jobs is written, so that reads meet data.
func (w *userFile) Prepare(target workload.Target) (*workload.Step, error) {
	options, err := w.onTarget(target)
	if err != nil {
		return nil, err
	}
	if target.Block {
		device, err := devicePath(target.Path)
		if err != nil {
			return nil, err
		}
		return layoutStep(target, device, roundUpWithin(w.region(), target.SizeBytes), "psync", true), nil
	}
	options = append(options, "--create_only=1")
	return &workload.Step{
		Argv:    command(layoutOutput, jobFileName, options...),
		Files:   map[string][]byte{jobFileName: w.text},
		Outputs: []string{layoutOutput},
		Dir:     directory(target),
	}, nil
}

// roundUpWithin rounds up to whole MiB, which is fast to lay out, unless the
// device ends before that.
func roundUpWithin(bytes, limit int64) int64 {
	if up := roundUp(bytes, mib); limit <= 0 || up <= limit {
		return up
	}
	return roundUp(bytes, 512)
}

// Drive is the measured step.
func (w *userFile) Drive(target workload.Target, t workload.Timing) (*workload.Step, error) {
	options, err := w.onTarget(target)
	if err != nil {
		return nil, err
	}
	// Options on the command line are defaults to fio: the file's own win.
	options = append(options, "--slat_percentiles=1", "--clat_percentiles=1", "--lat_percentiles=1", "--disk_util=0")
	if slices.ContainsFunc(w.plans, func(pl plan) bool { return pl.runtime == 0 }) {
		options = append(options, "--runtime="+fioTime(t.Runtime), "--time_based=1")
	}
	if t.Ramp > 0 && slices.ContainsFunc(w.plans, func(pl plan) bool { return !pl.hasRamp }) {
		options = append(options, "--ramp_time="+fioTime(t.Ramp))
	}
	return &workload.Step{
		Argv:    command(outputName, jobFileName, options...),
		Files:   map[string][]byte{jobFileName: w.text},
		Gate:    jobFileName,
		Outputs: []string{outputName},
		Dir:     directory(target),
	}, nil
}

// onTarget checks the target, and gives the options that point the jobs to it.
func (w *userFile) onTarget(target workload.Target) ([]string, error) {
	if !target.Block {
		return nil, fits(target, w.NeedBytes())
	}
	if err := fits(target, w.region()); err != nil {
		return nil, err
	}
	for _, pl := range w.plans {
		if pl.names != "" {
			return nil, failure(fmt.Sprintf("fio on %s", target.Path),
				fmt.Sprintf("%s sets %s, and a raw device has no files", w.name, pl.names),
				"leave it out of the job file: plimsoll gives the device's name; or put a file system on the stack")
		}
	}
	device, err := devicePath(target.Path)
	if err != nil {
		return nil, err
	}
	return []string{"--filename=" + device}, nil
}

// Read implements workload.Workload.
func (w *userFile) Read(outputs map[string][]byte, exit workload.Exit) (result.Measurement, error) {
	r := reader{engine: w.plans[0].engine, direct: w.plans[0].direct}
	for _, pl := range w.plans {
		if pl.engine != r.engine {
			r.engine = ""
		}
		r.direct = r.direct && pl.direct
	}
	return r.read(outputs, exit)
}
