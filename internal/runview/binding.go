package runview

import (
	"cmp"
	"math"

	"plimsoll/internal/fact"
	"plimsoll/internal/result"
	"plimsoll/internal/stats"
)

// What it takes for a resource to bind.
const (
	atLimit    = 0.9  // share of a limit that counts as reached
	busyDevice = 0.95 // of the time the device has a request under way, and
	waiting    = 0.5  // of the time each instance waits for I/O: one that works on many at a time is not full otherwise
	Starved    = 0.1  // of the time each instance waits for memory
	heldBack   = 0.2  // of the time each instance is held back by its own limit of CPUs, as where it works in bursts
)

// DeviceUse is a rate in which a device is limited.
type DeviceUse struct {
	Resource fact.Resource
	Counted  func(result.DeviceCounter) uint64
	Limit    func(result.Limits) int64
}

// DeviceUses are all of it, in the order of the file format.
var DeviceUses = []DeviceUse{
	{fact.Reads,
		func(d result.DeviceCounter) uint64 { return d.Reads },
		func(l result.Limits) int64 { return l.Read.OperationsPerSecond }},
	{fact.Writes,
		func(d result.DeviceCounter) uint64 { return d.Writes },
		func(l result.Limits) int64 { return l.Write.OperationsPerSecond }},
	{fact.ReadBytes,
		func(d result.DeviceCounter) uint64 { return d.ReadBytes },
		func(l result.Limits) int64 { return l.Read.BytesPerSecond }},
	{fact.WriteBytes,
		func(d result.DeviceCounter) uint64 { return d.WriteBytes },
		func(l result.Limits) int64 { return l.Write.BytesPerSecond }},
	{fact.IOs,
		func(d result.DeviceCounter) uint64 { return d.Reads + d.Writes },
		func(l result.Limits) int64 { return l.IO.OperationsPerSecond }},
	{fact.IOBytes,
		func(d result.DeviceCounter) uint64 { return d.ReadBytes + d.WriteBytes },
		func(l result.Limits) int64 { return l.IO.BytesPerSecond }},
}

// usesOf returns the use of each limited resource by the instances of a cell.
func (v *View) usesOf(host *result.Limits, c *Cell, p fact.ScalingPoint) (uses []fact.Use) {
	shared, ownLimits := limitsOf(host, c)
	add := func(of fact.Resource, used, limit float64) {
		if limit > 0 && Finite(used) {
			uses = append(uses, fact.Use{Resource: of, Used: used, Limit: limit, Binds: used >= atLimit*limit})
		}
	}
	add(fact.Processors, p.CPUs, cmp.Or(shared.CPUs, float64(v.Run.Environment.CPUs)))
	add(fact.OwnCPUs, p.CPUs/float64(p.Instances), ownLimits.CPUs)
	if ownLimits.CPUs > 0 && p.Throttled >= heldBack {
		uses[len(uses)-1].Binds = true
	}
	for _, d := range DeviceUses {
		limit := float64(d.Limit(shared))
		if together := float64(d.Limit(ownLimits)) * float64(p.Instances); limit == 0 || together > 0 && together < limit {
			limit = together
		}
		used, known := c.Median(func(t *result.Trial) (float64, bool) { return DeviceRate(t, d.Counted) })
		if known {
			add(d.Resource, used, limit)
		}
	}
	busy, known := c.Median(func(t *result.Trial) (float64, bool) { return t.DeviceBusy, t.DeviceBusy > 0 })
	if known {
		binds := busy >= busyDevice && p.IOPressure >= waiting
		uses = append(uses, fact.Use{Resource: fact.Device, Used: busy, Limit: 1, Binds: binds})
	}
	return uses
}

// limitsOf are the limits that instances share, and those of each: as the kernel says, and
// those of the scaled-down host as asked where nothing was read back.
func limitsOf(host *result.Limits, c *Cell) (shared, ownLimits result.Limits) {
	t := c.Trials[0]
	switch {
	case t.Miniature != nil:
		shared = t.Miniature.ReadBack
	case host != nil:
		shared = *host
	}
	for i, in := range t.Instances {
		switch {
		case in.Limited == nil || i > 0 && in.Limited.ReadBack != ownLimits:
			return shared, result.Limits{} // tenants with limits that differ have no limit in common
		case i == 0:
			ownLimits = in.Limited.ReadBack
		}
	}
	return shared, ownLimits
}

// DeviceRate returns the rate per second of the devices that hold the files, while instances were measured.
func DeviceRate(t *result.Trial, counted func(result.DeviceCounter) uint64) (perSecond float64, ok bool) {
	m := t.Counts()
	sum, known := 0.0, false
	for _, c := range t.Checks {
		for _, d := range c.Served {
			if d.Device.Depth == 0 {
				sum, known = sum+float64(counted(d)), true
			}
		}
	}
	if m == nil || m.IOs() == 0 {
		return 0, false
	}
	perSecond = sum / (float64(m.IOs()) * t.RampFactor()) * m.IOPS()
	return perSecond, known && Finite(perSecond)
}

// Median returns the median over setups of a value of trials. known is false if no trial has it.
func (c *Cell) Median(value func(*result.Trial) (float64, bool)) (median float64, known bool) {
	sample := Take(c.Trials, value)
	if len(sample) == 0 {
		return 0, false
	}
	median = stats.Median(sample.Values())
	return median, !math.IsNaN(median)
}

// BindingOf names what keeps so many instances from doing more together; "" for nothing that was
// measured. fewest is the point with the fewest instances.
func BindingOf(p, fewest fact.ScalingPoint) fact.Resource {
	for _, r := range AllBinding(p, fewest) {
		return r
	}
	return ""
}

// AllBinding names all that does. What does not fit into memory comes before the device, which only
// serves it again; a limit comes before the device itself.
func AllBinding(p, fewest fact.ScalingPoint) (binding []fact.Resource) {
	if Outgrown(p, fewest) || p.MemoryPressure >= Starved || p.Killed > 0 {
		binding = append(binding, fact.Memory)
	}
	for _, u := range p.Uses {
		if u.Binds {
			binding = append(binding, u.Resource)
		}
	}
	return binding
}

// OwnLimits are the resources that each instance has limits on.
func OwnLimits(host *result.Limits, c *Cell) (limited []fact.Resource) {
	_, ownLimits := limitsOf(host, c)
	if ownLimits.CPUs > 0 {
		limited = append(limited, fact.OwnCPUs)
	}
	if ownLimits.MemoryBytes > 0 {
		limited = append(limited, fact.Memory)
	}
	for _, d := range DeviceUses {
		if d.Limit(ownLimits) > 0 {
			limited = append(limited, d.Resource)
		}
	}
	return limited
}

// What it takes for files to outgrow the memory.
const (
	moreReads = 1.5  // device reads of an operation grew so many times,
	lessCache = 0.9  // and the page cache of an instance shrank to this share of it
	FewReads  = 0.01 // below which reads of an operation are none, and cannot have grown from
)

// Outgrown reports whether what instances read no longer fits into their page cache: the
// device reads more of an operation, and each instance has less of it cached.
func Outgrown(p, than fact.ScalingPoint) bool {
	grew := p.DeviceReads > FewReads && p.DeviceReads >= moreReads*than.DeviceReads
	shrank := p.CacheBytes > 0 && p.CacheBytes < lessCache*than.CacheBytes
	return grew && shrank
}
