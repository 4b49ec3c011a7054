package fio

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"plimsoll/internal/problem"
	"plimsoll/internal/suggest"
)

// jobFile is a user's job file, parsed the way fio parses it.
type jobFile struct {
	jobs []section
}

// section is a job with the settings of the [global] sections above it.
type section struct {
	name     string
	line     int
	settings map[string]setting // by the option's first name
}

type setting struct {
	value string
	line  int
}

// maxLine bounds a line. fio reads lines into a buffer, and takes what does
// not fit for the next line; the smallest buffer of any version has 4096
// bytes.
const maxLine = 1000

var (
	sectionName = regexp.MustCompile(`^[A-Za-z0-9_.+ -]+$`)
	plainPath   = regexp.MustCompile(`^[A-Za-z0-9_./:+-]+$`)
)

// fileParser goes through a job file line by line.
type fileParser struct {
	file     jobFile
	global   map[string]setting
	current  *section // nil in [global], and before the first section
	inGlobal bool
	seen     map[string]bool
	mistakes problem.List
}

func (p *fileParser) mistake(line int, what, remedy string) {
	p.mistakes.InLine(line, what, remedy)
}

// parseJobFile parses and checks a user's job file. It gives all mistakes at
// once, and a job file only when there are none.
func parseJobFile(text []byte) (*jobFile, problem.List) {
	p := &fileParser{global: map[string]setting{}, seen: map[string]bool{}}
	if !utf8.Valid(text) {
		p.mistake(1, "this is not text in UTF-8", "")
		return nil, p.mistakes
	}
	number := 0
	for raw := range bytes.Lines(text) {
		number++
		p.line(number, strings.TrimSuffix(strings.TrimSuffix(string(raw), "\n"), "\r"))
	}
	p.close()
	if len(p.file.jobs) == 0 {
		p.mistake(max(number, 1), "no job: the file has no section but [global]", "add a section such as [randread]")
	}
	for _, j := range p.file.jobs {
		p.checkJob(j)
	}
	if len(p.mistakes) > 0 {
		return nil, slices.Compact(p.mistakes.Sorted())
	}
	return &p.file, nil
}

func (p *fileParser) line(number int, line string) {
	if len(line) > maxLine {
		p.mistake(number, fmt.Sprintf("a line of %d characters", len(line)),
			fmt.Sprintf("stay below %d: fio cuts long lines in two", maxLine))
		return
	}
	if i := strings.IndexFunc(line, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }); i >= 0 {
		p.mistake(number, fmt.Sprintf("a control character at column %d", i+1), "remove it")
		return
	}
	line = strings.Trim(line, " \t")
	switch {
	case line == "" || line[0] == ';' || line[0] == '#':
	case line[0] == '[':
		p.close()
		p.open(number, line)
	default:
		p.option(number, line)
	}
}

// open starts a section.
func (p *fileParser) open(number int, line string) {
	p.current, p.inGlobal = nil, false
	title, ok := strings.CutSuffix(line[1:], "]")
	if !ok || !sectionName.MatchString(title) || strings.Contains(title, "..") {
		p.mistake(number, fmt.Sprintf("section %s", line), "write [name] alone on its line, with a name of letters, "+
			"digits and . _ + -: fio makes file names of it")
		// Go on as if it were a job, so that its options are checked too.
		title = "?"
	}
	switch {
	case title == "global":
		p.inGlobal = true
		return
	case strings.HasPrefix(title, "global"):
		p.mistake(number, fmt.Sprintf("section [%s]", title),
			"fio takes every name that begins with global for [global]: choose another")
	case p.seen[title] && title != "?":
		p.mistake(number, fmt.Sprintf("a second section [%s]", title), "choose another name: the jobs would share a file")
	}
	p.seen[title] = true
	p.current = &section{name: title, line: number, settings: map[string]setting{}}
	for k, v := range p.global {
		p.current.settings[k] = v
	}
}

// close ends the section under way.
func (p *fileParser) close() {
	if p.current != nil {
		p.file.jobs = append(p.file.jobs, *p.current)
		p.current = nil
	}
}

// option reads "key=value" or a bare key.
func (p *fileParser) option(number int, line string) {
	if strings.Contains(line, "$") {
		p.mistake(number, "$ in an option", "write the value: fio would take it from the environment or from this "+
			"host, and the workload would differ from host to host")
		return
	}
	key, value, assigned := strings.Cut(line, "=")
	key = strings.TrimRight(key, " \t")
	if i := strings.IndexAny(value, ";#"); i >= 0 {
		value = value[:i]
	}
	blank := strings.HasPrefix(value, " ") || strings.HasPrefix(value, "\t")
	value = strings.Trim(value, " \t")
	if strings.HasPrefix(key, "include") {
		key = "include" // fio needs no more than the beginning
	}
	if key == "name" && p.inGlobal {
		p.checkLabel(number, value)
		return
	}
	if !p.known(number, key) {
		return
	}
	if assigned && value == "" {
		p.mistake(number, key+" has no value", "")
		return
	}
	if blank && (value[0] < '0' || value[0] > '9') {
		p.mistake(number, fmt.Sprintf("a blank before the value of %s", key),
			fmt.Sprintf("write %s=%s: fio would take the blank for a part of it", key, value))
	}
	if !assigned {
		value = "1" // a flag
	}
	if slices.Contains(pathOptions, key) {
		p.checkPath(number, key, value, line)
	}
	p.checkValue(number, key, value)
	if first, ok := aliases[key]; ok {
		key = first
	}
	switch {
	case p.current != nil:
		p.current.settings[key] = setting{value, number}
	case p.inGlobal:
		p.global[key] = setting{value, number}
	default:
		p.mistake(number, key+" stands before the first section", "begin with [global]")
	}
}

// checkLabel takes the name that [global] gives to the whole file, as nearly all
// published job files have it. fio prints it and uses it for nothing else: jobs
// and their files are named after their sections.
func (p *fileParser) checkLabel(number int, name string) {
	if !sectionName.MatchString(name) {
		p.mistake(number, fmt.Sprintf("name %q", name), "use letters, digits and . _ + - and blanks only")
	}
}

func (p *fileParser) known(number int, key string) bool {
	if slices.Contains(passed, key) {
		return true
	}
	if reason, ok := refused[key]; ok {
		p.mistake(number, fmt.Sprintf("option %q is refused: it %s", key, reason), "leave it out")
		return false
	}
	remedy := "leave it out: plimsoll runs only what is known to stay on the stack"
	if c := suggest.Closest(key, passed); c != "" {
		remedy = fmt.Sprintf("did you mean %q? otherwise %s", c, remedy)
	}
	p.mistake(number, fmt.Sprintf("unknown option %q", key), remedy)
	return false
}

// checkPath refuses names that may lie outside the directory of the stack.
func (p *fileParser) checkPath(number int, key, value, line string) {
	if !plainPath.MatchString(value) || strings.ContainsAny(line, ";#") {
		p.mistake(number, fmt.Sprintf("%s %q", key, value),
			"use letters, digits and . _ + - / only, and put comments on lines of their own")
		return
	}
	for part := range strings.SplitSeq(value, ":") {
		switch {
		case part == "" || part == "-":
			p.mistake(number, fmt.Sprintf("%s %q names no file", key, value), "")
		case path.IsAbs(part):
			p.mistake(number, fmt.Sprintf("%s %q leaves the stack: it is absolute", key, part),
				"write a name relative to the stack's directory; on a raw device leave filename out")
		case slices.Contains(strings.Split(part, "/"), ".."):
			p.mistake(number, fmt.Sprintf("%s %q leaves the stack", key, part), "write a name without ..")
		}
	}
}

// checkValue refuses values of single options.
func (p *fileParser) checkValue(number int, key, value string) {
	if f, ok := fixed[key]; ok && value != f.value {
		p.mistake(number, fmt.Sprintf("%s=%s %s", key, value, f.reason), fmt.Sprintf("leave it out, or write %s", f.value))
	}
	switch key {
	case "ioengine":
		if !slices.Contains(fileEngines, value) {
			p.mistake(number, fmt.Sprintf("ioengine %q does no I/O on the stack's files, or is not known", value),
				suggest.DidYouMean(value, fileEngines))
		}
	case "rw", "readwrite":
		pattern, _, _ := strings.Cut(value, ":")
		if !slices.Contains(filePatterns, pattern) {
			p.mistake(number, fmt.Sprintf("%s %q cannot be measured", key, value), suggest.DidYouMean(pattern, filePatterns))
		}
	case "mem", "iomem":
		if strings.ContainsAny(value, ":/") {
			p.mistake(number, fmt.Sprintf("%s %q maps a file of the host", key, value), "leave the file name out")
		}
	case "lockfile":
		if !slices.Contains([]string{"none", "exclusive", "readwrite"}, value) {
			p.mistake(number, fmt.Sprintf("%s %q", key, value), "write none, exclusive or readwrite")
		}
	}
	if m := decimalUnit.FindStringSubmatch(value); m != nil && key != "description" {
		p.mistake(number, fmt.Sprintf("%s %q: to fio, an iB unit is a power of 1000", key, value),
			fmt.Sprintf("write %s for the power of 1024", strings.ToLower(m[1])))
	}
}
