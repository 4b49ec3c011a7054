package model

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/field"
	"plimsoll/internal/result"
	"plimsoll/internal/runview"
	"plimsoll/internal/stats"
	"plimsoll/internal/workload/fio"
	"plimsoll/internal/workload/ycsb"
)

// Point has the measurements of one number of instances of a class, which fits are made of.
type Point struct {
	Run       string `json:"run"` // id
	Mix       string `json:"mix"`
	Instances int    `json:"instances"`

	Host Host          `json:"host"`
	Own  result.Limits `json:"own,omitzero"` // of each instance

	Clients int     `json:"clients"`         // of each instance
	Think   float64 `json:"think,omitempty"` // seconds between two operations of a client

	// Had is the memory that an instance had beside those of other classes: what it held. 0 where it was alone.
	Had float64 `json:"had_bytes,omitempty"`

	Others float64 `json:"others,omitempty"` // share of the clients on the host that were of other classes

	Units []Unit `json:"units"` // one for each setup

	on *HostKind // the host with the drive that it stood on, where that is known
}

// Unit has the measurements of one setup. NaN, stored as null, stands for an unknown number.
type Unit struct {
	Rate       Number `json:"rate"`         // operations per second, of all instances
	Mean       Number `json:"mean"`         // latency, s
	P99        Number `json:"p99"`          // s
	Reads      Number `json:"reads"`        // device reads per operation
	Writes     Number `json:"writes"`       // device writes per operation
	ReadBytes  Number `json:"read_bytes"`   // per operation
	WriteBytes Number `json:"write_bytes"`  // per operation
	CPU        Number `json:"cpu_seconds"`  // of instances, per operation
	HostCPU    Number `json:"host_seconds"` // of the machine, per operation
	Held       Number `json:"held_bytes"`   // memory of all instances, page cache included, at most
	Fixed      Number `json:"fixed_bytes"`  // that no shortage takes from all instances: heaps, buffers, connections
}

// numbers are the fields of a unit and the metrics that they are.
var numbers = []struct {
	metric runview.Metric
	field  func(*Unit) *Number
	scale  float64
	shared bool // counted of all tenants together
}{
	{runview.Rate, func(u *Unit) *Number { return &u.Rate }, 1, false},
	{runview.MeanLatency, func(u *Unit) *Number { return &u.Mean }, 1e-9, false},
	{runview.P99, func(u *Unit) *Number { return &u.P99 }, 1e-9, false},
	{runview.DeviceReads, func(u *Unit) *Number { return &u.Reads }, 1, true},
	{runview.DeviceWrites, func(u *Unit) *Number { return &u.Writes }, 1, true},
	{runview.DeviceReadBytes, func(u *Unit) *Number { return &u.ReadBytes }, 1, true},
	{runview.DeviceWriteBytes, func(u *Unit) *Number { return &u.WriteBytes }, 1, true},
	{runview.CPUPerOp, func(u *Unit) *Number { return &u.CPU }, 1, false},
	{runview.HostCPUPerOp, func(u *Unit) *Number { return &u.HostCPU }, 1, true},
	{runview.PeakMemory, func(u *Unit) *Number { return &u.Held }, 1, false},
	{runview.FixedMemory, func(u *Unit) *Number { return &u.Fixed }, 1, false},
}

// Memory returns how many bytes each instance of a point may hold: its own limit, or its share of the host's memory. 0
// where neither is known.
func (p Point) Memory() float64 {
	if p.Had > 0 {
		return p.Had
	}
	return memoryOf(p.Host, p.Own, float64(p.Instances))
}

// need is how much memory an instance of a class needs at least for all that it has in it,
// where nothing was seen to outgrow its memory: the most that one held; 0 where nobody knows.
func need(points []Point) (bytes float64) {
	for _, p := range points {
		if held := p.median(func(u *Unit) *Number { return &u.Held }) / float64(p.Instances); held > bytes {
			bytes = held
		}
	}
	return bytes
}

// fixed is how much memory no shortage takes from an instance: the least that one was seen to need
// for itself; 0 where nobody knows.
func fixed(points []Point) (bytes float64) {
	for _, p := range points {
		own := p.median(func(u *Unit) *Number { return &u.Fixed }) / float64(p.Instances)
		if own > 0 && (bytes == 0 || own < bytes) {
			bytes = own
		}
	}
	return bytes
}

// leastMemory is the least that an instance of points had.
func leastMemory(points []Point) float64 {
	least := math.Inf(1)
	for _, p := range points {
		least = min(least, p.Memory())
	}
	return least
}

func memoryOf(h Host, own result.Limits, instances float64) float64 {
	share := float64(h.MemoryBytes) / instances
	limit := float64(own.MemoryBytes)
	if share == 0 || limit > 0 && limit < share {
		return limit
	}
	return share
}

// median is the median of a field over setups; NaN where none tells.
func (p Point) median(of func(*Unit) *Number) float64 {
	var all []float64
	for i := range p.Units {
		if v := float64(*of(&p.Units[i])); !math.IsNaN(v) {
			all = append(all, v)
		}
	}
	if len(all) == 0 {
		return math.NaN()
	}
	return stats.Median(all)
}

// latency is the median of the mean latency; by Little's law where nobody measured it. It is not above 0
// where clients think longer than their rate leaves time for.
func (p Point) latency() float64 {
	if mean := p.median(func(u *Unit) *Number { return &u.Mean }); mean > 0 {
		return mean
	}
	return float64(p.Clients*p.Instances)/p.Rate() - p.Think
}

// Rate is the median of operations per second over setups.
func (p Point) Rate() float64 { return p.median(func(u *Unit) *Number { return &u.Rate }) }

// Counts reports whether a point says how much of a resource an operation takes.
func (f *Fitted) Counts(of Resource) bool {
	field := map[Resource]func(*Unit) *Number{
		Processors: func(u *Unit) *Number { return &u.CPU },
		Reads:      func(u *Unit) *Number { return &u.Reads }, ReadBytes: func(u *Unit) *Number { return &u.ReadBytes },
		Writings: func(u *Unit) *Number { return &u.Writes }, WriteBytes: func(u *Unit) *Number { return &u.WriteBytes },
	}[of]
	return field != nil && slices.ContainsFunc(f.Points, func(p Point) bool { return !math.IsNaN(p.median(field)) })
}

// Class names what the same parameters are fitted to: a workload on a stack.
type Class struct {
	Workload string `json:"workload"`
	Stack    string `json:"stack"`
	Declared string `json:"declared"`                     // the workload's own parameters
	Levels   bool   `json:"clients_are_levels,omitempty"` // these are without the number of clients
}

// Observed is the points of one class.
type Observed struct {
	Class  Class   `json:"class"`
	Points []Point `json:"points"`
}

// Together has the measurements of several classes at the same time.
type Together struct {
	Run     string        `json:"run"`
	Mix     string        `json:"mix"`
	Tenants []TenantPoint `json:"tenants"`
	Reads   Number        `json:"reads"` // of the devices, a second, of all; NaN where nobody knows
}

// TenantPoint has those of one class. Counters of devices do not say who read them.
type TenantPoint struct {
	Class Class `json:"class"`
	Point
}

// Observe returns the points of runs by class, of mixes whose clients wait for answers; and
// apart those of several tenants. Why others were left out is said in reasons, each once.
func Observe(runs ...*result.Run) (all []Observed, mixed []Together, reasons []string) {
	leave := func(why string) {
		if !slices.Contains(reasons, why) {
			reasons = append(reasons, why)
		}
	}
	for _, run := range runs {
		cells := runview.Of(run)
		for _, at := range cells.Points() {
			mix := mixOf(run, at.Mix)
			if isControl(run, at.Stack) {
				continue
			}
			tenants, why := tenantsOf(run, cells, at, mix)
			if why != "" {
				leave(why)
				continue
			}
			if len(tenants) > 1 {
				t := Together{run.ID, at.Mix, tenants, Number(math.NaN())}
				if reads := cells.Sample(at, "", runview.DeviceReads); len(reads) > 0 {
					t.Reads = Number(stats.Median(reads.Values()) * stats.Median(cells.Sample(at, "", runview.Rate).Values()))
				}
				mixed = append(mixed, t)
				continue
			}
			class, p := tenants[0].Class, tenants[0].Point
			i := slices.IndexFunc(all, func(o Observed) bool { return o.Class == class })
			if i < 0 {
				all = append(all, Observed{Class: class})
				i = len(all) - 1
			}
			all[i].Points = append(all[i].Points, p)
		}
	}
	all = byClients(all, mixed)
	for _, o := range all {
		slices.SortStableFunc(o.Points, func(a, b Point) int {
			return cmp.Or(cmp.Compare(a.Instances, b.Instances), cmp.Compare(a.Memory(), b.Memory()),
				cmp.Compare(a.Clients, b.Clients))
		})
	}
	return all, mixed, reasons
}

// tenantsOf returns what each tenant of a mix did. why says why that teaches nothing.
func tenantsOf(run *result.Run, cells runview.Cells, at result.Point, mix result.Mix) (all []TenantPoint, why string) {
	done := cells.Done(at)
	if len(done) == 0 {
		return nil, "no trial of " + at.Mix + " on " + at.Stack + " was completed"
	}
	for _, tenant := range mix.Tenants {
		if len(tenant.On) > 0 {
			return nil, "mixes on stacks of their own are not fitted to"
		}
		class, clients, think, why := classOf(run, tenant, at.Stack)
		if why != "" {
			return nil, why
		}
		name := tenant.Name
		if len(mix.Tenants) == 1 {
			name = "" // all of a trial is its: devices and the host, too
		}
		p := Point{Run: run.ID, Mix: at.Mix, Instances: tenant.Count, Clients: clients, Think: think,
			Host: hostOf(run, mix, done[0]), Own: ownOf(tenant, done[0]), Units: unitsOf(cells, at, name)}
		if math.IsNaN(p.Rate()) || !(p.Rate() > 0) {
			return nil, tenant.Name + " did nothing in " + at.Mix
		}
		all = append(all, TenantPoint{class, p})
	}
	return all, ""
}

// mixOf returns the mix of that name; what the run does not declare is one instance of a workload.
func mixOf(run *result.Run, name string) result.Mix {
	m, ok := run.Mix(name)
	if !ok {
		return result.Workload{Name: name}.Alone()
	}
	return m
}

func isControl(run *result.Run, stack string) bool {
	s, _ := run.Stack(stack)
	return s.Control != ""
}

// classOf returns the class of a tenant, how many clients ask an instance, and how long
// each of them thinks, in seconds. why says why there is none.
func classOf(run *result.Run, of result.Tenant, stack string) (c Class, clients int, think float64, why string) {
	workload := of.Workload
	w, ok := run.Workload(workload)
	if !ok {
		return c, 0, 0, "the run does not say what " + workload + " is"
	}
	c = Class{Workload: workload, Stack: stack, Declared: w.Declared}
	if of.Load != nil {
		return c, of.Load.Clients, of.Load.ThinkSeconds, ""
	}
	if l, ok := ycsb.LoadOf(w.Declared); ok && w.Kind != fio.Kind.Name {
		if l.Open {
			return c, 0, 0, workload + " begins operations at a rate: the most that it could do is not known"
		}
		return c, l.Clients, l.Think.Seconds(), ""
	}
	if l, ok := fio.LoadOf(w.Declared); ok {
		return c, l.InFlight(), 0, ""
	}
	return c, 0, 0, "nothing shows how many operations " + workload + " keeps under way at a time"
}

// hostOf returns the host that the instances of a trial shared: the limits that the kernel read back, and the machine
// under them.
func hostOf(run *result.Run, mix result.Mix, t *result.Trial) Host {
	machine := float64(run.Environment.CPUs)
	h := Host{CPUs: machine, Machine: machine, MemoryBytes: int64(run.Environment.MemoryBytes)}
	var shared result.Limits
	switch {
	case t.Miniature != nil:
		shared = t.Miniature.ReadBack
	case mix.Host != nil:
		shared = *mix.Host
	}
	h.CPUs = cmp.Or(shared.CPUs, h.CPUs)
	h.MemoryBytes = cmp.Or(shared.MemoryBytes, h.MemoryBytes)
	h.Read, h.Write, h.IO = shared.Read, shared.Write, shared.IO
	return h
}

// ownOf is the limit of each instance, as the kernel said.
func ownOf(tenant result.Tenant, t *result.Trial) result.Limits {
	for _, in := range t.Instances {
		if in.Limited != nil && in.Tenant == tenant.Name {
			own := in.Limited.ReadBack
			set, _ := field.ProcessorSet(own.CPUSet)
			own.CPUs, own.CPUSet = cmp.Or(own.CPUs, float64(len(set))), "" // which ones they are, no prediction asks
			return own
		}
	}
	own := tenant.Limits
	own.CPUs, own.Pinned = cmp.Or(own.CPUs, float64(own.Pinned)), 0
	return own
}

// unitsOf returns what each setup of a point measured. What not all of them know is
// known of none, nor of one of several tenants what was counted of all: "" stands for all.
func unitsOf(cells runview.Cells, at result.Point, tenant string) []Unit {
	all := make([]Unit, len(cells.Sample(at, tenant, runview.Rate)))
	for _, n := range numbers {
		sample := cells.Sample(at, tenant, n.metric)
		for i := range all {
			*n.field(&all[i]) = Number(math.NaN())
			if len(sample) == len(all) && (tenant == "" || !n.shared) {
				*n.field(&all[i]) = Number(sample[i].Value() * n.scale)
			}
		}
	}
	return all
}

// distinct returns units without those that are equal to an earlier one in all that is known: a table that was imported
// twice, or a row that is there twice, measured nothing new.
func distinct(units []Unit) (some []Unit) {
	for _, u := range units {
		if !slices.ContainsFunc(some, func(v Unit) bool { return u.equal(&v) }) {
			some = append(some, u)
		}
	}
	return some
}

// equal reports whether two setups measured the same.
func (u *Unit) equal(v *Unit) bool {
	for _, n := range numbers {
		a, b := float64(*n.field(u)), float64(*n.field(v))
		if a != b && !(math.IsNaN(a) && math.IsNaN(b)) {
			return false
		}
	}
	return true
}

// Merged returns points of which no two have the same instances on the same host: their
// setups are one point's.
func Merged(points []Point) (all []Point) {
	for _, p := range points {
		same := func(q Point) bool {
			return q.Instances == p.Instances && q.Host == p.Host && q.Own == p.Own && q.Clients == p.Clients &&
				q.Think == p.Think
		}
		p.Units = distinct(p.Units)
		if i := slices.IndexFunc(all, same); i >= 0 {
			all[i].Units = distinct(append(slices.Clip(all[i].Units), p.Units...))
			if !slices.Contains(strings.Fields(all[i].Run), p.Run) {
				all[i].Run += " " + p.Run
			}
			continue
		}
		all = append(all, p)
	}
	return all
}
