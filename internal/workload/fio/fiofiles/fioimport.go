// Package fiofiles converts files that fio wrote on any host, its JSON output and its logs, to a run. It is pure: names
// and contents in, a run out.
//
// Values that the files do not have stay empty, and the notes of the run name them. Every number carries
// result.MarkImported.
//
// Results are repeats of one workload if their jobs report equal options and they did not run at the same time. The
// spelling of options (bs=4k, blocksize=4096) and options that name files, logs or percentiles do not count. Jobs of
// equal name with different options become workloads named after these options: "randread bs=4096". A file without
// options is a repeat only with --workload.
//
// A result lasted its runtime until fio printed it; newer versions give job_start. Results that overlap are one trial
// of a mix, whose rates are added. Times in whole seconds must overlap by more than a second. A result that overlaps
// two results that do not overlap each other is refused. Four results of one job and one of another are the mix
// "log+oltp-4". Results are in the order in which fio printed them, if all files have that time.
//
// Percentiles come from histograms (json+), which merge. They are of completion latency, unless fio ran with
// --slat_percentiles=1 --lat_percentiles=1. Without histograms, a trial has fio's percentiles, neither merged nor
// averaged; those of several jobs are unknown.
//
// A log belongs to the result whose jobs name it, whose file has its name (x.json, x_lat.1.log), or that is alone in
// its directory; if several match, the import is refused. Logs without JSON are a result if they have I/Os and bytes:
// a line for each I/O, a histogram, or iops with bw. I/Os of a window are its rate times its length. Mean, least and
// greatest latency of a histogram log are right within 1.6%. CPU use is stored as 0.
package fiofiles

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"path"
	"slices"
	"strings"

	"plimsoll/internal/host/version"
	"plimsoll/internal/problem"
	"plimsoll/internal/result"
	"plimsoll/internal/units/plural"
	"plimsoll/internal/workload/fio"
)

// File is a file to import.
type File struct {
	Name string
	Text []byte
}

// Options supply what the files lack.
type Options struct {
	Stack    *result.Stack // that all results are of; nil: the files and devices that the jobs name stand for stacks
	Workload string        // name of the workload of all results; "" takes the jobs' names
}

// Recognized reports whether a file may be one that fio wrote: by its name, or by what is in it.
func Recognized(f File) bool {
	_, isLog := fio.ParseLogName(f.Name)
	return isLog || len(bytes.TrimSpace(f.Text)) > 0 && fio.IsOutput(f.Text)
}

// Import is a run made from files.
type Import struct {
	Run       result.Run     // without id, version, command and times, which the caller sets
	Artifacts map[int][]File // files to keep with each trial, by its Seq; base names
}

// Unknown is the name of a stack of which nothing is known.
const Unknown = "imported"

// Read converts files to a run. It returns every problem of every file instead if there is one, and neither for no
// files.
func Read(files []File, o Options) (*Import, problem.List) {
	m := importer{files: files, options: o}
	m.read()
	if len(m.problems) == 0 {
		m.attachLogs()
	}
	if len(m.problems) > 0 || len(m.items) == 0 {
		return nil, m.problems
	}
	if m.nameWorkloads(); len(m.problems) > 0 {
		return nil, m.problems
	}
	m.nameStacks()
	if m.groupTrials(); len(m.problems) > 0 {
		return nil, m.problems
	}
	return m.build(), nil
}

// importer builds a run from files.
type importer struct {
	files    []File
	options  Options
	items    []*item
	logs     []*logFile
	trials   [][]*item // results that were measured at the same time
	notes    []string
	problems problem.List
}

// item is one result: a trial to be.
type item struct {
	fio.Foreign
	file     *File // nil when there are only logs
	logs     []*logFile
	workload string
	stack    string
}

type logFile struct {
	*File
	*fio.Log
}

// name returns the name of an item in messages.
func (i *item) name() string {
	if i.file != nil {
		return i.file.Name
	}
	return i.logs[0].File.Name
}

func (m *importer) problem(file string, line int, what, remedy string) {
	m.problems = append(m.problems, problem.Problem{
		Kind: problem.Invalid, At: problem.Position{In: file, Line: line}, What: what, Remedy: remedy,
	})
}

// read reads every file.
func (m *importer) read() {
	seen := map[[sha256.Size]byte]string{}
	for i := range m.files {
		f := &m.files[i]
		sum := sha256.Sum256(f.Text)
		if first, twice := seen[sum]; twice && len(f.Text) > 0 {
			m.problem(f.Name, 0, "the same as "+first, "name each result once: a copy is no second measurement")
			continue
		}
		seen[sum] = f.Name
		if name, ok := fio.ParseLogName(f.Name); ok {
			m.readLog(f, name)
			continue
		}
		results, problems := fio.ReadForeign(f.Text)
		m.problems = append(m.problems, problems.Within(f.Name)...)
		for _, r := range results {
			m.items = append(m.items, &item{Foreign: r, file: f})
		}
	}
	m.sameDocument()
}

func (m *importer) readLog(f *File, name fio.LogName) {
	if name.Kind == fio.LogSubmission && len(bytes.TrimSpace(f.Text)) == 0 {
		m.notes = append(m.notes, path.Base(f.Name)+" is empty: its engine submits and completes in one call")
		return
	}
	log, problems := fio.ReadLog(name, f.Text)
	m.problems = append(m.problems, problems.Within(f.Name)...)
	if log != nil {
		m.logs = append(m.logs, &logFile{f, log})
	}
}

// sameDocument finds results that are given twice within other text.
func (m *importer) sameDocument() {
	first := map[[sha256.Size]byte]*item{}
	for _, i := range m.items {
		sum := sha256.Sum256(i.Document)
		was := first[sum]
		if was == nil {
			first[sum] = i
			continue
		}
		if was.file != i.file || was.Line != i.Line { // other groups of one document are other results
			m.problem(i.file.Name, i.Line, fmt.Sprintf("the same result as in %s:%d", was.file.Name, was.Line),
				"name each result once: a copy is no second measurement")
		}
	}
}

// attachLogs assigns every log to its result. A log without one becomes a result of its own.
func (m *importer) attachLogs() {
	var alone []*logFile
	for _, l := range m.logs {
		owner, found := m.owner(l)
		switch {
		case owner != nil:
			owner.logs = append(owner.logs, l)
		case !found:
			alone = append(alone, l)
		}
	}
	for _, i := range m.items {
		m.addHistograms(i)
	}
	m.addLogsAlone(alone)
	// In the order in which they were measured, if that is known of all.
	if !slices.ContainsFunc(m.items, func(i *item) bool { return i.Written.IsZero() }) {
		slices.SortStableFunc(m.items, func(a, b *item) int { return a.Written.Compare(b.Written) })
	}
}

// owner returns the result that a log belongs to: the result whose jobs name the log, or whose file has a similar name,
// or the only result. If several results claim the log, owner is nil and found is true.
func (m *importer) owner(l *logFile) (owner *item, found bool) {
	dir := path.Dir(l.File.Name)
	match := func(is func(*item) bool) []*item {
		var matches []*item
		for _, i := range m.items {
			if is(i) {
				matches = append(matches, i)
			}
		}
		near := slices.DeleteFunc(slices.Clone(matches), func(i *item) bool { return path.Dir(i.file.Name) != dir })
		if len(near) > 0 {
			return near
		}
		return matches
	}
	candidates := match(func(i *item) bool { return slices.Contains(i.Logs, l.Log.Name.Prefix) })
	if len(candidates) == 0 {
		candidates = match(func(i *item) bool {
			base := path.Base(i.file.Name)
			return strings.TrimSuffix(base, path.Ext(base)) == l.Log.Name.Prefix
		})
	}
	if len(candidates) == 0 {
		candidates = match(func(i *item) bool { return path.Dir(i.file.Name) == dir && len(i.Logs) == 0 })
		if slices.ContainsFunc(candidates, func(i *item) bool { return i.file != candidates[0].file }) {
			candidates = nil // several results, and nothing that connects
		}
	}
	if len(candidates) > 1 {
		candidates = slices.DeleteFunc(slices.Clone(candidates),
			func(i *item) bool { return !slices.Contains(i.Threads, l.Log.Name.Thread) })
		if len(candidates) != 1 {
			m.problem(l.File.Name, 0, "several of the results may have written this log",
				"import the results one by one, each with its own logs, or leave the log out")
			return nil, true
		}
	}
	if len(candidates) == 0 {
		return nil, false
	}
	return candidates[0], true
}

// nameWorkloads finds which results are of the same workload.
func (m *importer) nameWorkloads() {
	if m.options.Workload != "" {
		m.nameOneWorkload()
		return
	}
	var groups [][]*item
	known := map[string]int{}
	for _, i := range m.items {
		key := identity(i)
		index, repeats := known[key]
		if key == "" || !repeats { // without options nobody knows whether it is a repeat
			index = len(groups)
			groups = append(groups, nil)
			if key != "" {
				known[key] = index
			}
		}
		groups[index] = append(groups[index], i)
	}
	taken := map[string]bool{}
	for _, group := range groups {
		name := group[0].Job
		if others := namesakes(groups, group); len(others) > 0 {
			name += differences(group[0], others)
		}
		for n, plain := 2, name; taken[name]; n++ {
			name = fmt.Sprintf("%s %d", plain, n)
		}
		taken[name] = true
		for _, i := range group {
			i.workload = name
		}
	}
}

// nameOneWorkload gives all results the workload name that the user chose. It reports a problem if their options show
// that they are of several workloads.
func (m *importer) nameOneWorkload() {
	first := m.items[0]
	for _, i := range m.items {
		i.workload = m.options.Workload
		if identity(first) == "" {
			first = i
		}
		if a, b := identity(first), identity(i); a != "" && b != "" && a != b {
			m.problem(i.name(), i.Line,
				fmt.Sprintf("another workload than in %s: here%s, there%s", first.name(),
					differences(i, []*item{first}), differences(first, []*item{i})),
				"import the workloads one by one, or leave --workload out and keep the jobs' names")
		}
	}
}

// identity returns the options of the jobs in canonical form, to compare workloads by; "" where the file lacks them.
func identity(i *item) string {
	if len(i.Options) == 0 {
		return ""
	}
	var sorts []string
	for _, options := range i.Options {
		var words []string
		for k, v := range options {
			words = append(words, fmt.Sprintf("%q=%q", k, v))
		}
		slices.Sort(words)
		sorts = append(sorts, strings.Join(words, " "))
	}
	slices.Sort(sorts)
	return fmt.Sprintf("%s: %s", plural.Count(max(len(i.Hosts), 1), "host"), strings.Join(sorts, "; "))
}

// namesakes returns one result of each other workload whose jobs have the same name.
func namesakes(groups [][]*item, group []*item) []*item {
	var sameName []*item
	for _, other := range groups {
		if other[0] != group[0] && other[0].Job == group[0].Job {
			sameName = append(sameName, other[0])
		}
	}
	return sameName
}

// differences returns the options in which a result differs from one of its namesakes: " bs=4096 iodepth=32".
func differences(i *item, namesakes []*item) string {
	options := func(i *item) map[string]string {
		if len(i.Options) == 1 {
			return i.Options[0]
		}
		return nil
	}
	keys := map[string]bool{}
	mine := options(i)
	for _, o := range namesakes {
		theirs := options(o)
		for key := range mine {
			keys[key] = keys[key] || mine[key] != theirs[key]
		}
		for key := range theirs {
			keys[key] = keys[key] || mine[key] != theirs[key]
		}
	}
	var words []string
	for key, differs := range keys {
		if differs && mine[key] != "" {
			words = append(words, " "+key+"="+mine[key])
		}
	}
	slices.Sort(words)
	if hosts := len(i.Hosts); hosts > 1 &&
		slices.ContainsFunc(namesakes, func(o *item) bool { return len(o.Hosts) != hosts }) {
		words = append(words, " on "+plural.Count(hosts, "host"))
	}
	return strings.Join(words, "")
}

// build makes the run.
func (m *importer) build() *Import {
	imp := &Import{Artifacts: map[int][]File{}}
	run := &imp.Run
	run.Schema, run.Status = result.SchemaVersion, result.RunComplete
	repeats := map[[2]string]int{}
	for _, i := range m.items {
		if !slices.ContainsFunc(run.Stacks, func(s result.Stack) bool { return s.Name == i.stack }) {
			run.Stacks = append(run.Stacks, m.stack(i.stack))
		}
		if !slices.ContainsFunc(run.Workloads, func(w result.Workload) bool { return w.Name == i.workload }) {
			w := i.Info
			w.Name, w.Identity = i.workload, identity(m.withOptions(i))
			run.Workloads = append(run.Workloads, w)
		}
	}
	mixed := len(m.trials) < len(m.items)
	for _, group := range m.trials {
		t := newTrial(group)
		t.Seq = len(run.Trials) + 1
		if mixed {
			t.Mix = mixOf(run, group, t.Stack)
		}
		key := [2]string{t.Stack, t.Mix}
		repeats[key]++
		t.Block, t.Repeat = repeats[key], repeats[key]
		run.Experiment.Repeat = max(run.Experiment.Repeat, t.Repeat)
		run.Trials = append(run.Trials, t)
		imp.Artifacts[t.Seq] = artifacts(group)
	}
	run.Experiment.Name = Unknown
	run.Experiment.Question = fmt.Sprintf("What %s %s imported from fio say?",
		plural.Choose(len(m.items), "does", "do"), plural.Count(len(m.items), "result"))
	run.Environment.FioVersion = m.versions()
	run.Environment.Notes = m.environmentNotes()
	for _, f := range m.files {
		run.Imported = append(run.Imported, result.NewInputFile(f.Name, f.Text))
	}
	return imp
}

// withOptions returns the first result of the same workload that reports its options.
func (m *importer) withOptions(i *item) *item {
	at := slices.IndexFunc(m.items, func(o *item) bool { return o.workload == i.workload && identity(o) != "" })
	if at < 0 {
		return i
	}
	return m.items[at]
}

// nameStacks decides what each result is a result of.
func (m *importer) nameStacks() {
	for _, i := range m.items {
		switch {
		case m.options.Stack != nil:
			i.stack = m.options.Stack.Name
		case len(i.Targets) > 0:
			i.stack = strings.Join(i.Targets, " ")
		default:
			i.stack = Unknown
		}
	}
}

func (m *importer) stack(name string) result.Stack {
	s := result.Stack{Name: name}
	if m.options.Stack != nil {
		s = *m.options.Stack
	}
	s.Marks = append([]result.Mark{result.MarkImported}, s.Marks...)
	return s
}

// artifacts returns the files that results were read from, each once, and the results' series.
func artifacts(items []*item) []File {
	var files []File
	add := func(name string, text []byte) {
		plain := name
		for n := 2; slices.ContainsFunc(files, func(f File) bool { return f.Name == name }); n++ {
			name = fmt.Sprintf("%d-%s", n, plain)
		}
		files = append(files, File{name, text})
	}
	var added []*File
	for _, i := range items {
		if i.file != nil && !slices.Contains(added, i.file) {
			add(path.Base(i.file.Name), i.file.Text)
			added = append(added, i.file)
		}
		for _, l := range i.logs {
			add(path.Base(l.File.Name), l.Text)
		}
		if len(i.Series) > 0 {
			add("series.csv", series(i.Series, i.Measurement))
		}
	}
	return files
}

// versions returns the distinct versions of fio, oldest first.
func (m *importer) versions() string {
	var versions []version.Version
	for _, i := range m.items {
		if i.file != nil && !slices.Contains(versions, i.Version) {
			versions = append(versions, i.Version)
		}
	}
	slices.SortFunc(versions, version.Version.Compare)
	words := make([]string, len(versions))
	for i, v := range versions {
		words[i] = v.String()
	}
	return strings.Join(words, ", ")
}
