package fio

import (
	"strconv"

	"go.yaml.in/yaml/v3"
)

// Load describes a workload's load, as far as conclusions about published results depend on it.
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
// it cannot be read, declares jobs that differ, has a rate, or jobs that wait between I/Os:
// these ask for as much as they like, not for as much as a stack can do.
func LoadOf(declared string) (l Load, ok bool) {
	var doc yaml.Node
	if yaml.Unmarshal([]byte(declared), &doc) == nil && len(doc.Content) == 1 && doc.Content[0].Kind == yaml.MappingNode {
		return loadOfOptions(doc.Content[0])
	}
	return loadOfJobFile([]byte(declared))
}

// Buffered reports whether a declaration, as LoadOf takes it, uses the page cache, also for jobs that wait between
// I/Os.
func Buffered(declared string) bool {
	var doc yaml.Node
	if yaml.Unmarshal([]byte(declared), &doc) == nil && len(doc.Content) == 1 && doc.Content[0].Kind == yaml.MappingNode {
		d := decoder{p: defaults()}
		d.read(doc.Content[0])
		return d.Good["rw"] && !d.p.Direct
	}
	l, ok := loadOfJobFile([]byte(declared))
	return ok && !l.Direct
}

func loadOfOptions(node *yaml.Node) (Load, bool) {
	d := decoder{p: defaults()}
	d.read(node)
	if !d.Good["rw"] || len(d.Problems) > 0 || d.p.ThinkTime > 0 || d.p.Rate > 0 {
		return Load{}, false
	}
	return Load{Pattern: d.p.RW, BlockBytes: d.p.BS, Jobs: d.p.Jobs, Depth: depth(d.p.Engine, d.p.IODepth),
		Direct: d.p.Direct}, true
}

func loadOfJobFile(text []byte) (Load, bool) {
	w, mistakes := newUserFile(source{text: text})
	if len(mistakes) > 0 || len(w.plans) != 1 {
		return Load{}, false
	}
	for _, key := range paceOptions {
		if o, ok := w.jobs[0].find(key); ok && o.value != "0" {
			return Load{}, false
		}
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

// depth returns the number of I/Os that a job keeps in flight, which some engines limit.
func depth(engine string, asked int) int {
	if synchronous(engine) {
		return 1
	}
	return asked
}
