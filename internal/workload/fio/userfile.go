package fio

import (
	"bytes"
	"cmp"
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

// userFile is the workload of a user's job file, or a phase of it. Its own target is replaced by the stack. Options
// that the file leaves open come from the command line.
type userFile struct {
	name     string
	original []byte // the original file, with its includes inserted
	jobs     []section
	notes    []string
	plans    []plan
	phases   []workload.Phase // of a file whose jobs do not all run together
}

// plan holds the properties of a job that plimsoll depends on.
type plan struct {
	rw        string
	blockSize string // as written
	jobs      int64
	iodepth   string
	engine    string
	direct    bool
	filename  string // "" when fio makes names up
	size      quantity
	offset    quantity
	step      quantity // between the regions of clones
	runtime   time.Duration
	ramp      time.Duration
	hasRamp   bool
}

// quantity is a size, in bytes or as a share of the space.
type quantity struct {
	bytes int64
	share float64
}

// bytesOf returns the quantity in bytes, for a space of whole bytes.
func (q quantity) bytesOf(whole int64) int64 {
	if q.share == 0 {
		return q.bytes
	}
	return int64(q.share*float64(whole)) / blockAlign * blockAlign
}

// blockAlign is a multiple of all block sizes that devices have.
const blockAlign = 4096

// span returns the bytes from the start of the file to the end of the last clone's region, where the whole file would
// have so many.
func (pl plan) span(whole int64) int64 {
	return add(pl.size.bytesOf(whole), add(pl.offset.bytesOf(whole), multiply(pl.step.bytesOf(whole), pl.jobs-1)))
}

// ofFile returns the bytes of each file that a job names: its size is divided among them, and its offset is in each.
func (pl plan) ofFile(whole int64) int64 {
	files := int64(strings.Count(pl.filename, ":") + 1)
	all := pl.size.bytesOf(whole)
	return add(pl.span(whole)-all, all/files+min(all%files, 1))
}

// newUserFile parses a job file, and returns all its mistakes at once.
func newUserFile(from source) (*userFile, problem.List) {
	file, mistakes := parseJobFile(from)
	if len(mistakes) > 0 {
		return nil, mistakes
	}
	w := &userFile{name: from.name, original: from.text, jobs: file.jobs, notes: file.notes}
	for _, j := range file.jobs {
		w.plans = append(w.plans, newPlan(j, func(int, string, string) {}))
	}
	w.divide()
	return w, nil
}

// divide makes a workload of each phase, where there are several.
func (w *userFile) divide() {
	var phases []int
	for _, j := range w.jobs {
		if !slices.Contains(phases, j.phase) {
			phases = append(phases, j.phase)
		}
	}
	if len(phases) < 2 {
		return
	}
	slices.Sort(phases)
	for _, phase := range phases {
		part, called := &userFile{name: w.name, original: w.original, notes: w.notes}, ""
		for i, j := range w.jobs {
			if j.phase == phase {
				part.jobs, part.plans = append(part.jobs, j), append(part.plans, w.plans[i])
				called = cmp.Or(called, j.name)
			}
		}
		w.phases = append(w.phases, workload.Phase{Name: called, Workload: part})
	}
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
		filename:  s.text("filename"),
		runtime:   s.time("runtime"),
		ramp:      s.time("ramp_time"),
	}
	_, pl.hasRamp = j.find("ramp_time")
	if v, ok := j.find("rw"); ok {
		pl.rw, _, _ = strings.Cut(v.value, ":")
		if pl.rw == "readwrite" {
			pl.rw = "rw"
		}
	}
	for key, field := range map[string]*string{"bs": &pl.blockSize, "iodepth": &pl.iodepth, "ioengine": &pl.engine} {
		if v, ok := j.find(key); ok {
			*field = v.value
		}
	}
	pl.direct = s.text("direct") == "1" || s.text("buffered") == "0"

	size, sized := s.bytes("size")
	fileSize, fileSized := s.bytes("filesize")
	files := s.number("nrfiles", 1, 1<<20)
	if pl.filename != "" {
		files = int64(strings.Count(pl.filename, ":") + 1)
	}
	pl.size = size
	pl.size.bytes = max(size.bytes, multiply(fileSize.bytes, files))
	if !sized && !fileSized {
		pl.size = quantity{share: 1} // as fio has it of a device
	}
	pl.offset, _ = s.bytes("offset")
	pl.step, _ = s.bytes("offset_increment")
	if multiply(pl.span(0), pl.jobs) > pib {
		report(j.line, fmt.Sprintf("job [%s] takes more than 1 PiB", j.name), "give a smaller size")
	}
	return pl
}

// settings reads typed values of a job.
type settings struct {
	section
	report func(line int, what, remedy string)
}

// text returns the value of a setting, "" for none.
func (s settings) text(key string) string {
	v, _ := s.find(key)
	return v.value
}

func (s settings) number(key string, fallback, high int64) int64 {
	v, ok := s.find(key)
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

// bytes reads a size as fio does: in bytes, or as a percentage of the file; of a range "4k-64k" the upper end.
func (s settings) bytes(key string) (quantity, bool) {
	v, ok := s.find(key)
	if !ok {
		return quantity{}, false
	}
	value := v.value
	if key == "filesize" {
		value = value[strings.IndexByte(value, '-')+1:]
	}
	if percent, ok := strings.CutSuffix(value, "%"); ok {
		n, err := strconv.Atoi(percent)
		if err != nil || n < 0 || n > 100 {
			s.report(v.line, fmt.Sprintf("%s %q", key, v.value), "write a whole percentage up to 100%")
		}
		return quantity{share: float64(n) / 100}, true
	}
	n, err := fioSize(value)
	if err != nil {
		s.report(v.line, fmt.Sprintf("%s %q: %v", key, v.value, err),
			"write bytes, a whole number with k, m, g or t, or a percentage")
	}
	return quantity{bytes: n}, true
}

func (s settings) time(key string) time.Duration {
	v, ok := s.find(key)
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
		Declared: string(w.text(workload.Target{}))}
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
			bs = formatSize(n)
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

// leastWhole is the least that a file has whose size is that of the stack.
const leastWhole = 16 * mib

// NeedBytes is an upper bound: jobs that name the same file share it, the
// clones of a job that names none have a file each.
func (w *userFile) NeedBytes() int64 { return w.needs(leastWhole) }

// needs returns the bytes of all files, where files of the stack's size have whole bytes.
func (w *userFile) needs(whole int64) int64 {
	var need int64
	shared := map[string]int64{}
	for _, pl := range w.plans {
		if pl.filename == "" {
			need = add(need, multiply(pl.span(whole), pl.jobs))
		} else {
			for _, name := range strings.Split(pl.filename, ":") {
				shared[name] = max(shared[name], pl.ofFile(whole))
			}
		}
	}
	for _, bytes := range shared {
		need = add(need, bytes)
	}
	return need
}

// stackFileSize returns the size of a file of the stack's size on a target, whose space all such files share; 0 where
// it is unknown.
func (w *userFile) stackFileSize(target workload.Target) int64 {
	if target.Block || target.SizeBytes <= 0 {
		return max(0, target.SizeBytes)
	}
	fixed := w.needs(0)
	files := float64(w.needs(gib)-fixed) / float64(gib)
	return int64(float64(target.SizeBytes-fixed)/max(files, 1)) / mib * mib
}

// Layout is the job file's own: it may name its files as it likes.
func (w *userFile) Layout() string { return string(w.text(workload.Target{})) }

// region returns how much of a raw device the jobs use: they share its bytes.
func (w *userFile) region(whole int64) int64 {
	var region int64
	for _, pl := range w.plans {
		region = max(region, pl.span(whole))
	}
	return region
}

// ofDirectories are options that a device has no use for.
var ofDirectories = words("filename nrfiles openfiles file_service_type filesize unique_filename create_serialize " +
	"create_fsync create_on_open fallocate overwrite")

// text is the job file that fio gets on a target; without one, as it is declared. Sizes that are the stack's are
// written out.
func (w *userFile) text(target workload.Target) []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, "; %s as plimsoll runs it\n", w.name)
	for _, note := range w.notes {
		fmt.Fprintf(&out, "; %s\n", strings.NewReplacer(";", ",", "#", "").Replace(note))
	}
	whole := w.stackFileSize(target)
	for i, j := range w.jobs {
		pl := w.plans[i]
		fmt.Fprintf(&out, "[%s]\n", j.name)
		sizes := map[string]quantity{"size": pl.size, "offset": pl.offset, "offset_increment": pl.step}
		_, sized := j.find("size")
		_, fileSized := j.find("filesize")
		if !sized && (!fileSized || target.Block) {
			j.settings = append(slices.Clone(j.settings), setting{key: "size", value: "100%", assigned: true})
			if fileSized {
				sizes["size"] = quantity{bytes: pl.span(0)}
			}
		}
		for _, o := range j.settings {
			q, resized := sizes[o.key]
			switch {
			case o.key == "stonewall" || o.key == "wait_for" || target.Block && slices.Contains(ofDirectories, o.key):
			case resized && (whole > 0 && q.share > 0 || q.share == 0 && strings.HasSuffix(o.value, "%")):
				fmt.Fprintf(&out, "%s=%d\n", o.key, q.bytesOf(whole))
			case o.assigned:
				fmt.Fprintf(&out, "%s=%s\n", o.key, o.value)
			default:
				fmt.Fprintln(&out, o.key)
			}
		}
	}
	return out.Bytes()
}

// Timing returns the file's own times, and the experiment's where it has none.
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

// Prepare makes fio lay out the files that the jobs read. fio does not lay out files that are only written, unless
// the job has overwrite. On a raw device it writes the jobs' region, so that reads return data.
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
		region := w.region(w.stackFileSize(target))
		return layoutStep(target, device, roundUpWithin(region, target.SizeBytes), "psync", true), nil
	}
	options = append(options, "--create_only=1")
	return &workload.Step{
		Argv:    command(layoutOutput, jobFileName, options...),
		Files:   map[string][]byte{jobFileName: w.text(target)},
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
		Files:   map[string][]byte{jobFileName: w.text(target), givenName: w.original},
		Gate:    jobFileName,
		Outputs: []string{outputName},
		Dir:     directory(target),
	}, nil
}

// givenName is the base name of the user's own file among the artifacts of a trial.
const givenName = "given.fio"

// onTarget checks the target, and returns the options that point the jobs to it.
func (w *userFile) onTarget(target workload.Target) ([]string, error) {
	if !target.Block {
		return nil, fits(target, w.NeedBytes())
	}
	if err := fits(target, w.region(leastWhole)); err != nil {
		return nil, err
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

// Described holds the properties of a job file.
type Described struct {
	Notes     []string // what of it is not run as it was written, and why
	Phases    []string // the first job of each phase, where its jobs do not all run together
	NeedBytes int64    // that its largest phase takes at least
}

// Describe reads a job file. env has the values of its ${NAME}; open reads files that it includes.
func Describe(
	name string, text []byte, env map[string]string, open func(name string) ([]byte, error),
) (d Described, mistakes problem.List) {
	w, mistakes := newUserFile(source{name: name, text: text, env: env, open: open})
	if len(mistakes) > 0 {
		return d, mistakes
	}
	d = Described{Notes: w.notes, NeedBytes: w.NeedBytes()}
	for _, p := range w.phases {
		d.Phases = append(d.Phases, p.Name)
	}
	return d, nil
}

// Variables returns the names of the ${NAME} in a job file.
func Variables(text []byte) (names []string) {
	for _, found := range variable.FindAllSubmatch(text, -1) {
		if name := string(found[1]); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
