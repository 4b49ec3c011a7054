package fio

import (
	"bytes"
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"plimsoll/internal/problem"
	"plimsoll/internal/problem/suggest"
)

// jobFile is a user's job file, parsed as fio parses it, without the options that name its target.
type jobFile struct {
	jobs  []section
	notes []string // options left out, with their replacements: "my.fio:3: filename=/dev/sda: ..."
}

// section is a job with the settings of the [global] sections above it.
type section struct {
	name     string
	line     int
	phase    int // jobs of one phase run together, after those of the phase before
	settings []setting
}

// setting is an option that fio gets.
type setting struct {
	key      string // the option's first name
	value    string
	assigned bool // it was written with a value
	line     int
}

// find returns a setting; the last one of a name holds.
func (s section) find(key string) (setting, bool) {
	at := slices.IndexFunc(s.settings, func(o setting) bool { return o.key == key })
	if at < 0 {
		return setting{}, false
	}
	return s.settings[at], true
}

// set adds a setting, and replaces an earlier one of that name. Files add up, those of [global] included, as in fio.
func (s *section) set(o setting) {
	if was, _ := s.find(o.key); o.key == "filename" && was.value != "" && o.value != "" {
		o.value = was.value + ":" + o.value
	}
	s.settings = append(slices.DeleteFunc(s.settings, func(was setting) bool { return was.key == o.key }), o)
}

// maxLine bounds a line. fio reads lines into a buffer, and takes what does
// not fit for the next line; the smallest buffer of any version has 4096
// bytes.
const maxLine = 1000

// maxIncludes bounds how many files are included, maxSections how many jobs there are, maxFiles how many a job names,
// and mostMistakes how many are reported.
const (
	maxIncludes  = 32
	maxFiles     = 1024
	maxSections  = 256
	mostMistakes = 100
)

var (
	sectionName = regexp.MustCompile(`^[A-Za-z0-9_.+ -]+$`)
	notInNames  = regexp.MustCompile(`[^A-Za-z0-9_.+-]+`)
	variable    = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)
	// plainValue matches the permitted values of a variable: no blank, no comment, no further variable.
	plainValue = regexp.MustCompile(`^[A-Za-z0-9_.:,/%+-]*$`)
)

// template matches what template engines replace. No option of fio has it.
var template = regexp.MustCompile(`\{\{|\{%`)

// source provides the files to parse.
type source struct {
	name string
	text []byte
	env  map[string]string                 // values of ${VAR}
	open func(name string) ([]byte, error) // reads an included file; nil where includes are not allowed
}

// fileParser parses a job file line by line.
type fileParser struct {
	source
	file     jobFile
	global   section
	current  *section // nil in [global], and before the first section
	inGlobal bool
	foreign  bool // the section's engine is none that works on files: its own options are not looked at
	// globalForeign is foreign of [global], which holds for sections that name no engine.
	globalForeign bool
	names         map[string]string // of files, by what the job file calls them
	within        string            // "included.fio:3: " while an included file is read
	line          int               // of the job file itself
	deep          int               // of files that include each other
	included      int
	mistakes      problem.List
	noted         map[string]bool // texts of notes
	taken         map[string]bool // names that files have
	next          map[string]int  // number that the next file of a name gets
}

func (p *fileParser) mistake(line int, what, remedy string) {
	p.mistakes.InLine(line, p.within+what, remedy)
}

// note records that a line's option was left out.
func (p *fileParser) note(line int, subject, why string) {
	text := fmt.Sprintf("%s:%d: %s%s: %s", p.name, line, p.within, subject, why)
	if !p.noted[text] {
		p.noted[text] = true
		p.file.notes = append(p.file.notes, text)
	}
}

// parseJobFile parses and checks a user's job file. It returns all mistakes at once, up to mostMistakes, and a job file
// only when there are none. No mistake repeats a line that is no option: an experiment of another user's may name any
// file that its reader can read.
func parseJobFile(from source) (*jobFile, problem.List) {
	if at := template.FindIndex(from.text); at != nil {
		var unrendered problem.List
		unrendered.InLine(lineAt(from.text, at[0]), "this is a template, with {{ }} or {% %}",
			"render it first, and take the file that this makes")
		return nil, unrendered
	}
	p := &fileParser{source: from, names: map[string]string{}, noted: map[string]bool{}, taken: map[string]bool{},
		next: map[string]int{}}
	p.read(from.text)
	p.close()
	if len(p.file.jobs) == 0 && len(p.mistakes) == 0 {
		p.mistake(max(p.line, 1), "no job: the file has no section but [global]", "add a section such as [randread]")
	}
	p.order()
	p.startTogether()
	for _, j := range p.file.jobs {
		newPlan(j, p.mistake)
	}
	if len(p.mistakes) > 0 {
		return nil, slices.Compact(p.mistakes.Sorted())
	}
	return &p.file, nil
}

// read parses the job file, or an included one, whose problems are reported at the line that includes it.
func (p *fileParser) read(text []byte) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if !utf8.Valid(text) {
		p.mistake(max(p.line, 1), "this is not text in UTF-8", "")
		return
	}
	included, number := p.within, 0
	for raw := range bytes.Lines(text) {
		if len(p.mistakes) >= mostMistakes {
			break
		}
		number++
		if p.deep == 0 {
			p.line = number
		} else {
			p.within = fmt.Sprintf("%s%d: ", included, number)
		}
		p.readLine(strings.TrimSuffix(strings.TrimSuffix(string(raw), "\n"), "\r"))
	}
	p.within = included
}

func (p *fileParser) readLine(line string) {
	if len(line) > maxLine {
		p.mistake(p.line, fmt.Sprintf("a line of %d characters", len(line)),
			fmt.Sprintf("stay below %d: fio cuts long lines in two", maxLine))
		return
	}
	if i := strings.IndexFunc(line, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }); i >= 0 {
		p.mistake(p.line, fmt.Sprintf("a control character at column %d", i+1), "remove it")
		return
	}
	if i := strings.IndexAny(line, ";#"); i >= 0 { // as fio does, wherever it stands
		line = line[:i]
	}
	line = strings.Trim(line, " \t")
	switch {
	case line == "":
	case line[0] == '[':
		p.close()
		p.openSection(line)
	case strings.HasPrefix(line, "include ") || strings.HasPrefix(line, "include\t"):
		p.include(strings.Trim(strings.TrimPrefix(line, "include"), " \t"))
	default:
		p.option(line)
	}
}

// include reads another file in the place of a line, as fio does.
func (p *fileParser) include(name string) {
	switch {
	case p.included == maxIncludes:
		p.mistake(p.line, fmt.Sprintf("include %s: more than %d files are included", name, maxIncludes), "")
		return
	case p.open == nil || path.IsAbs(name) || slices.Contains(strings.Split(name, "/"), ".."):
		p.mistake(p.line, fmt.Sprintf("include %q leaves the folder of the experiment", name),
			"put the file into the directory of the job file, and write its name alone")
		return
	}
	text, err := p.open(path.Join(path.Dir(p.name), name))
	if err != nil {
		p.mistake(p.line, fmt.Sprintf("include %s cannot be read: %v", name, err),
			"its name is relative to the job file")
		return
	}
	was := p.within
	p.deep, p.included = p.deep+1, p.included+1
	p.within = name + ":"
	p.read(text)
	p.within = was
	p.deep--
}

// openSection starts a section.
func (p *fileParser) openSection(line string) {
	p.current, p.inGlobal, p.foreign = nil, false, p.globalForeign
	title, _, closed := strings.Cut(line[1:], "]")
	switch {
	case !closed || title == "":
		p.mistake(p.line, "a section without a name, or without ]", "write [name] on a separate line")
		title = "?" // as if it were a job, so that its options are checked too
	case strings.HasPrefix(title, "global"): // to fio, every name that begins so
		p.inGlobal = true
		return
	case len(p.file.jobs) == maxSections:
		p.mistake(p.line, fmt.Sprintf("more than %d jobs", maxSections), "write numjobs for jobs that are the same")
		p.inGlobal = true // so that their options are checked, too
		return
	}
	name := strings.Trim(title, " ")
	if !sectionName.MatchString(name) || strings.Contains(name, "..") {
		name = strings.ReplaceAll(strings.Trim(notInNames.ReplaceAllString(name, "_"), "_."), "..", "_")
	}
	if name == "" {
		name = "job"
	}
	first := name
	for i := 2; slices.ContainsFunc(p.file.jobs, func(j section) bool { return j.name == name }); i++ {
		name = first + "-" + strconv.Itoa(i)
	}
	if name != title {
		p.note(p.line, "["+title+"]", "it runs as ["+name+"]: files are named after it")
	}
	p.current = &section{name: name, line: p.line, settings: slices.Clone(p.global.settings)}
}

// close ends the section under way.
func (p *fileParser) close() {
	if p.current != nil {
		p.file.jobs = append(p.file.jobs, *p.current)
		p.current = nil
	}
}

// option reads "key=value" or a bare key.
func (p *fileParser) option(line string) {
	key, value, assigned := strings.Cut(line, "=")
	key, value = strings.TrimRight(key, " \t"), strings.Trim(value, " \t")
	if strings.Contains(key, "$") {
		if strings.Contains(variable.ReplaceAllString(key, ""), "$") {
			p.mistake(p.line, "a $ in the name of an option", "write the name")
			return
		}
		var ok bool
		if line, ok = p.substitute(line); !ok || line == "" {
			return
		}
		key, value, assigned = strings.Cut(line, "=")
	}
	r, known := rules[key]
	if p.current == nil && !p.inGlobal {
		if !known {
			key = "a line"
		}
		p.mistake(p.line, key+" stands before the first section", "begin with [global]")
		return
	}
	if !known {
		if !p.foreign {
			p.unknown(key)
		}
		return
	}
	switch key {
	case "filename", "wait_for":
		r.fate = runs // under names of ours
	case "startdelay":
		r.fate = runs // startTogether looks at those of all jobs
	}
	fate := r.fateOf(value)
	if !assigned {
		fate = r.fateOf("1") // a flag
	}
	switch fate {
	case ignored:
		return
	case replaced:
		p.note(p.line, line, "left out: "+r.why)
		if key == "fill_device" || key == "fill_fs" {
			p.set(setting{"size", "100%", true, p.line})
		}
		return
	case refused:
		p.mistake(p.line, fmt.Sprintf("option %q is refused: it %s", line, r.why), r.do)
		return
	}
	ok := true
	if key != "filename" {
		value, ok = p.substitute(value)
	}
	if !ok {
		return
	}
	if assigned && value == "" && key != "filename" {
		p.mistake(p.line, key+" has no value", "")
		return
	}
	if !assigned {
		value = "1"
	}
	if first, ok := aliases[key]; ok {
		key = first
	}
	if key == "filename" {
		value = p.plainNames(value)
		if was, _ := p.section().find(key); strings.Count(was.value+value, ":") >= maxFiles {
			p.mistake(p.line, fmt.Sprintf("more than %d files of one job", maxFiles), "write nrfiles for equal files")
			return
		}
	}
	if first, ok := engineAliases[value]; ok && key == "ioengine" {
		p.note(p.line, "ioengine="+value, "it runs as "+first+", as fio takes it")
		value = first
	}
	if !p.checkValue(key, value) {
		return
	}
	p.set(setting{key, value, assigned, p.line})
}

// section returns the one that is read.
func (p *fileParser) section() *section {
	if p.current != nil {
		return p.current
	}
	return &p.global
}

// set adds a setting to the current section.
func (p *fileParser) set(o setting) { p.section().set(o) }

// substitute replaces variables by their values.
func (p *fileParser) substitute(text string) (string, bool) {
	ok := true
	text = variable.ReplaceAllStringFunc(text, func(v string) string {
		name := v[2 : len(v)-1]
		value, given := p.env[name]
		switch {
		case !given:
			ok = false
			p.mistake(p.line, v+" has no value here: fio would take it from the environment, and the workload would differ "+
				"from host to host", fmt.Sprintf("write env: {%s: VALUE} next to file", name))
		case !plainValue.MatchString(value):
			ok = false
			p.mistake(p.line, fmt.Sprintf("%s means %q", v, value),
				"a value has letters, digits and _ . : , / % + - only")
		}
		return value
	})
	if ok && strings.Contains(text, "$") {
		p.mistake(p.line, fmt.Sprintf("%q has a $", text), "write the value: fio would compute it on this host, by a shell, "+
			"and the workload would differ from host to host")
		return "", false
	}
	return text, ok
}

// unknown adds the mistake for a line that is no known option. Its name is repeated only where it looks like one.
func (p *fileParser) unknown(key string) {
	const leaveOut = "leave it out: plimsoll runs only what is known to stay on the stack"
	if near := suggest.Closest(key, optionNames()); near != "" {
		p.mistake(p.line, fmt.Sprintf("unknown option %q", key), fmt.Sprintf("did you mean %q? otherwise %s", near, leaveOut))
		return
	}
	p.mistake(p.line, "no option that is known", leaveOut)
}

// plainNames returns names in the directory of the stack for the files that an option names, separated by colons as
// fio's are: the same name for the same file, wherever that was.
func (p *fileParser) plainNames(value string) string {
	var names []string
	for _, part := range strings.Split(strings.ReplaceAll(value, `\:`, "_"), ":") {
		if part == "" {
			continue
		}
		name, known := p.names[part]
		if !known {
			name = strings.Trim(notInNames.ReplaceAllString(path.Base(part), "_"), "_.-")
			if name == "" {
				name = "file"
			}
			first := name
			for p.taken[name] {
				p.next[first]++
				name = first + "-" + strconv.Itoa(p.next[first]+1)
			}
			p.names[part], p.taken[name] = name, true
		}
		if name != part {
			p.note(p.line, "filename="+part, "the stack is the target: there it is "+name+", or the device")
		}
		names = append(names, name)
	}
	return strings.Join(names, ":")
}

// checkValue reports whether the option may have this value, and adds a problem if not.
func (p *fileParser) checkValue(key, value string) bool {
	before := len(p.mistakes)
	switch key {
	case "ioengine":
		p.foreign = !slices.Contains(fileEngines, value)
		if p.foreign {
			why, remedy := notOnFiles(value)
			p.mistake(p.line, fmt.Sprintf("ioengine %q %s", value, why), remedy)
		}
		if p.inGlobal {
			p.globalForeign = p.foreign
		}
	case "rw":
		pattern, _, _ := strings.Cut(value, ":")
		if !slices.Contains(filePatterns, pattern) {
			p.mistake(p.line, fmt.Sprintf("rw %q cannot be measured", value), suggest.DidYouMean(pattern, filePatterns))
		}
	case "mem":
		if strings.ContainsAny(value, ":/") {
			p.mistake(p.line, fmt.Sprintf("mem %q maps a file of the host", value), "leave the file name out")
		}
	case "buffer_pattern":
		if strings.Contains(value, "'") {
			p.mistake(p.line, fmt.Sprintf("buffer_pattern %s reads a file of the host", value),
				`write the bytes: 0xdeadbeef, or "text"`)
		}
	case "lockfile":
		if !slices.Contains([]string{"none", "exclusive", "readwrite"}, value) {
			p.mistake(p.line, fmt.Sprintf("lockfile %q", value), "write none, exclusive or readwrite")
		}
	}
	if m := decimalUnit.FindStringSubmatch(value); m != nil && key != "description" {
		p.mistake(p.line, fmt.Sprintf("%s %q: to fio, an iB unit is a power of 1000", key, value),
			fmt.Sprintf("write %s for the power of 1024", strings.ToLower(m[1])))
	}
	return len(p.mistakes) == before
}

// order puts jobs into phases: with stonewall a job waits for all jobs before it, with wait_for for one job.
func (p *fileParser) order() {
	phase := 0
	for i := range p.file.jobs {
		j := &p.file.jobs[i]
		wall, _ := j.find("stonewall")
		if wall.value != "" && wall.value != "0" && i > 0 {
			phase = p.last(i) + 1
		}
		j.phase = phase
		if w, ok := j.find("wait_for"); ok {
			index := slices.IndexFunc(p.file.jobs[:i], func(k section) bool { return k.name == w.value })
			if index < 0 {
				p.mistake(w.line, fmt.Sprintf("wait_for=%s: no job above [%s] has that name", w.value, j.name), "")
				continue
			}
			j.phase = max(j.phase, p.file.jobs[index].phase+1)
		}
	}
}

// last returns the last phase of the jobs before one.
func (p *fileParser) last(before int) (phase int) {
	for _, j := range p.file.jobs[:before] {
		phase = max(phase, j.phase)
	}
	return phase
}

// startTogether leaves out delays that all jobs of a phase have alike, and reports others.
func (p *fileParser) startTogether() {
	delays := map[int]map[string]bool{}
	for _, j := range p.file.jobs {
		if delays[j.phase] == nil {
			delays[j.phase] = map[string]bool{}
		}
		delays[j.phase][startDelay(j)] = true
	}
	for i := range p.file.jobs {
		j := &p.file.jobs[i]
		delay, ok := j.find("startdelay")
		if !ok {
			continue
		}
		r := rules["startdelay"]
		switch _, err := fioDuration(delay.value); {
		case err != nil || len(delays[j.phase]) > 1 && startDelay(*j) != startDelay(section{}):
			p.mistake(delay.line, fmt.Sprintf("option %q is refused: it %s", "startdelay="+delay.value, r.why), r.do)
		case startDelay(*j) != startDelay(section{}):
			p.note(delay.line, "startdelay="+delay.value, "left out: all jobs that run together wait as long")
		}
		j.settings = slices.DeleteFunc(j.settings, func(o setting) bool { return o.key == delay.key })
	}
}

// startDelay returns the time after which a job starts: one text for one time.
func startDelay(j section) string {
	delay, _ := j.find("startdelay")
	if d, err := fioDuration(cmp.Or(delay.value, "0")); err == nil {
		return d.String()
	}
	return delay.value
}
