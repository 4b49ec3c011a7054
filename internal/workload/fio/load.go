package fio

import (
	"strconv"

	"go.yaml.in/yaml/v3"
)

// Load is what a workload does to a stack, as far as conclusions about
// published results ask.
type Load struct {
	Pattern    string // fio's rw: randread, randwrite, read, write, randrw, rw
	BlockBytes int64
	Jobs       int
	Depth      int // I/Os that each job keeps in flight
	Direct     bool
}

// InFlight is the number of I/Os that all jobs together keep in flight.
func (l Load) InFlight() int { return l.Jobs * l.Depth }

// LoadOf reads the load back from a declaration, as result.Workload.Declared
// keeps it: the options of an experiment file, or a job file. ok is false when
// it cannot be read, declares jobs that differ, or jobs that wait between I/Os:
// these ask for as much as they like, not for as much as a stack can do.
func LoadOf(declared string) (l Load, ok bool) {
	var doc yaml.Node
	if yaml.Unmarshal([]byte(declared), &doc) == nil && len(doc.Content) == 1 && doc.Content[0].Kind == yaml.MappingNode {
		return loadOfOptions(doc.Content[0])
	}
	return loadOfJobFile([]byte(declared))
}

// Buffered reports whether a declaration, as LoadOf takes it, goes through the
// page cache: also of jobs that wait between I/Os.
func Buffered(declared string) bool {
	var doc yaml.Node
	if yaml.Unmarshal([]byte(declared), &doc) == nil && len(doc.Content) == 1 && doc.Content[0].Kind == yaml.MappingNode {
		d := decoder{p: defaults(), line: map[string]int{}, good: map[string]bool{}}
		d.mapping(doc.Content[0])
		return d.good["rw"] && !d.p.Direct
	}
	l, ok := loadOfJobFile([]byte(declared))
	return ok && !l.Direct
}

func loadOfOptions(node *yaml.Node) (Load, bool) {
	d := decoder{p: defaults(), line: map[string]int{}, good: map[string]bool{}}
	d.mapping(node)
	if !d.good["rw"] || len(d.problems) > 0 || d.p.ThinkTime > 0 {
		return Load{}, false
	}
	return Load{Pattern: d.p.RW, BlockBytes: int64(d.p.BS), Jobs: d.p.Jobs, Depth: depth(d.p.Engine, d.p.IODepth),
		Direct: d.p.Direct}, true
}

func loadOfJobFile(text []byte) (Load, bool) {
	w, mistakes := newUserFile("", text)
	if len(mistakes) > 0 || len(w.plans) != 1 {
		return Load{}, false
	}
	p := w.plans[0]
	block, errBlock := fioSize(p.blockSize)
	inFlight, errDepth := strconv.Atoi(p.iodepth)
	if errBlock != nil || errDepth != nil || inFlight < 1 {
		return Load{}, false
	}
	return Load{Pattern: p.rw, BlockBytes: block, Jobs: int(p.jobs), Depth: depth(p.engine, inFlight),
		Direct: p.direct}, true
}

// depth is how many I/Os a job keeps in flight, whatever it was asked for.
func depth(engine string, asked int) int {
	if synchronous(engine) {
		return 1
	}
	return asked
}
