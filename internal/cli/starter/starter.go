// Package starter writes a first experiment file for a host: what the host can
// do stands in it, what it could be made to do stands in it as comments.
package starter

import (
	_ "embed"
	"fmt"
	"io"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"unicode"

	"plimsoll/internal/host/hostinfo"
	"plimsoll/internal/problem"
	"plimsoll/internal/units"
	"plimsoll/internal/workload/fio"
)

//go:embed experiment.yaml.tmpl
var text string

var page = template.Must(template.New("experiment").Funcs(template.FuncMap{"plain": plain}).Parse(text))

// Host is the host that a file is written for.
type Host struct {
	Report hostinfo.Report
	Mounts []hostinfo.Mount
	File   string // name of the file, as the user would type it
	Job    *Job   // a job file of fio that is to be run; nil for none
}

// Job is a job file of fio, as the file that is written names it.
type Job struct {
	File string            // relative to the folder of that file
	Env  map[string]string // values of its variables
	fio.Described
}

// quoted returns text as YAML takes it in a flow mapping: what Go escapes, YAML reads alike.
func quoted(text string) string { return strconv.Quote(strings.ToValidUTF8(text, "?")) }

// Write writes the file. It reads as an experiment whatever the host calls its
// devices.
func Write(w io.Writer, h Host) error { return page.Execute(w, fill(h)) }

// filled has the values of a template.
type filled struct {
	File, Host, Name  string
	Root, Loops, Here bool
	Problem           string // why nothing can be measured at all; "" when it can
	LoopSize, Size    string
	FileSystems       []string
	Data              string // the file system below containers; "" when there are no containers
	Drivers           []string
	Missing           problem.List
	Directories       []directory
	Devices           []device
	Protected         []device
	Command           string
	Job               *job
}

// job is a Job as the template shows it.
type job struct {
	File, Quoted, Env string
	Notes, Phases     []string
}

// runs has the experiment run a job file, on stacks that have room for it.
func (f *filled) runs(j *Job) {
	f.Job = &job{File: j.File, Quoted: quoted(j.File), Notes: j.Notes}
	for i, phase := range j.Phases {
		f.Job.Phases = append(f.Job.Phases, fmt.Sprintf("%d-%s", i+1, phase))
	}
	if len(j.Env) > 0 {
		var all []string
		for _, name := range slices.Sorted(maps.Keys(j.Env)) {
			all = append(all, name+": "+quoted(j.Env[name]))
		}
		f.Job.Env = "{" + strings.Join(all, ", ") + "}"
	}
	const gib = 1 << 30
	if need := j.NeedBytes; need > gib/2 {
		f.LoopSize = fmt.Sprintf("%dGiB", need*2/gib+1) // a file system leaves some of it to files
	}
	f.Name = name(strings.TrimSuffix(path.Base(j.File), path.Ext(j.File)))
}

type directory struct{ Name, Source, About string }

type device struct{ Name, Source, About, Destroy, Why string }

// item finds an answer of the report.
func item(r hostinfo.Report, section, name string) hostinfo.Item {
	for _, s := range r.Sections {
		for _, i := range s.Items {
			if strings.HasPrefix(s.Name, section) && i.Name == name {
				return i
			}
		}
	}
	return hostinfo.Item{Name: name, OK: hostinfo.No}
}

// has reports whether the host has something, perhaps for root alone.
func has(i hostinfo.Item) bool { return i.OK == hostinfo.Yes || i.OK == hostinfo.Limited }

func fill(h Host) filled {
	r := h.Report
	f := filled{File: h.File, Host: r.Environment.Hostname, Root: item(r, "rights", "root").OK == hostinfo.Yes,
		LoopSize: "1GiB", Size: "256MiB"}
	if f.Host == "" {
		f.Host = "this host"
	}
	f.Name = name("storage-of-" + r.Environment.Hostname)
	f.Command = "plimsoll"
	if fio := item(r, "fio", "fio"); !has(fio) {
		f.Problem = fmt.Sprintf("%s: %s", fio.Why, fio.Remedy)
	}
	f.Loops = has(item(r, "loop devices", "loop devices"))
	if item(r, "loop devices", "space").OK == hostinfo.No {
		f.LoopSize, f.Size = "512MiB", "128MiB"
	}
	lack := func(what string, i hostinfo.Item) { f.Missing = append(f.Missing, i.Problem(what)) }
	for _, known := range r.FileSystems {
		if i := item(r, "file systems", known.Name); has(i) {
			f.FileSystems = append(f.FileSystems, known.Name)
		} else {
			lack(known.Name, i)
		}
	}
	if f.Loops && len(f.FileSystems) > 0 {
		f.Command = "sudo plimsoll"
		f.containers(r, lack)
	} else {
		f.Loops = f.Loops && f.Root
	}
	f.Here = !f.Root || !f.Loops
	if h.Job != nil {
		f.runs(h.Job)
	}
	f.places(h)
	return f
}

// containers fills in what a container can see.
func (f *filled) containers(r hostinfo.Report, lack func(string, hostinfo.Item)) {
	if engine := item(r, "Docker", "private engines"); engine.OK == hostinfo.No {
		lack("containers", engine)
		return
	}
	f.Data = f.FileSystems[0]
	if slices.Contains(f.FileSystems, "xfs") {
		f.Data = "xfs"
	}
	for _, driver := range []string{"overlay2", "fuse-overlayfs"} {
		if has(item(r, "storage drivers", driver)) {
			f.Drivers = append(f.Drivers, driver)
		}
	}
}

// places fills in directories and devices.
func (f *filled) places(h Host) {
	taken := map[string]bool{"here": true, "raw": true, "volume": true}
	for _, used := range append(slices.Clone(f.FileSystems), f.Drivers...) {
		taken[used] = true
	}
	unique := func(text string) string {
		made := name(text)
		for n := 2; taken[made]; n++ {
			made = name(fmt.Sprintf("%.50s-%d", name(text), n))
		}
		taken[made] = true
		return made
	}
	for _, m := range h.Mounts {
		if !quotable(m.Dir) {
			continue
		}
		label := strings.Trim(m.Dir, "/")
		if label == "" {
			label = "root-directory"
		}
		d := directory{unique(label), source("dir:" + m.Dir), m.FSType}
		if m.FreeBytes > 0 {
			d.About += ", " + units.Bytes(m.FreeBytes) + " free"
		}
		f.Directories = append(f.Directories, d)
	}
	serials := map[string]int{}
	for _, d := range h.Report.Devices {
		serials[d.Serial]++
	}
	for _, d := range h.Report.Devices {
		if d.Partition || strings.HasPrefix(d.Name, "loop") || strings.HasPrefix(d.Name, "zram") || !quotable(d.Path) {
			continue
		}
		out := device{Name: unique(d.Name), Source: source(d.Path), Destroy: d.Path, About: units.Bytes(d.SizeBytes)}
		if d.Serial != "" && serials[d.Serial] == 1 && simple.MatchString(d.Serial) {
			out.Source, out.Destroy = "serial:"+d.Serial, d.Serial
		}
		if d.Model != "" {
			out.About += ", " + d.Model
		}
		overlook := []string{}
		for _, p := range d.Problems {
			if p.Cause == hostinfo.CausePartitioned || p.Cause == hostinfo.CauseSignature {
				overlook = append(overlook, string(p.Cause))
				out.About += "; " + p.Why
			} else if out.Why == "" {
				out.Why = p.Why
			}
		}
		if out.Why != "" {
			f.Protected = append(f.Protected, device{Source: d.Path, About: out.About, Why: out.Why})
			continue
		}
		if len(overlook) > 0 {
			out.Destroy += "=" + strings.Join(overlook, ",")
		}
		f.Devices = append(f.Devices, out)
	}
}

var (
	simple  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)
	unfit   = regexp.MustCompile(`[^A-Za-z0-9._-]+`)
	without = regexp.MustCompile(`^[^A-Za-z0-9]+`)
)

// name makes a name of an experiment or a stack.
func name(text string) string {
	text = without.ReplaceAllString(unfit.ReplaceAllString(text, "-"), "")
	text = strings.TrimRight(text[:min(len(text), 60)], "-._")
	if text == "" {
		return "x"
	}
	return text
}

// quotable reports whether a path can stand in a stack, within quotes at worst.
func quotable(path string) bool {
	return !strings.ContainsFunc(path,
		func(r rune) bool { return r == '"' || r == '\'' || r == '\\' || r == '$' || !unicode.IsPrint(r) })
}

// source writes a path as YAML and stacks take it.
func source(text string) string {
	if regexp.MustCompile(`^[A-Za-z0-9/._:-]+$`).MatchString(text) {
		return text
	}
	if kind, path, ok := strings.Cut(text, ":"); ok && kind == "dir" {
		return `'dir:"` + path + `"'`
	}
	return `'"` + text + `"'`
}

// plain keeps a text that the host made within its comment.
func plain(text string) string {
	return strings.Join(strings.FieldsFunc(text,
		func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }), " ")
}
