package measured

import (
	"cmp"
	"math"

	samples "plimsoll/internal/cell"
	"plimsoll/internal/finding/fact"
	"plimsoll/internal/result"
	"plimsoll/internal/stats"
)

// What it takes for a resource to bind.
const (
	atLimit    = 0.9  // of what it allows is used
	busyDevice = 0.95 // of the time the device has a request under way, and
	waiting    = 0.5  // of the time each instance waits for I/O: one that works on many at a time is not full otherwise
	starved    = 0.1  // of the time each instance waits for memory
	heldBack   = 0.2  // of the time each instance is held back by its own limit of CPUs, as where it works in bursts
)

// Usage of a device for each operation of instances, by what it is limited in.
var deviceUses = []struct {
	resource fact.Resource
	counted  func(result.DeviceCounter) uint64
	limit    func(result.Limits) int64
}{
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
}

// UsesOf is how much so many instances use of what has a limit.
func (v *View) UsesOf(host *result.Limits, c *Cell, p fact.ScalingPoint) (uses []fact.Use) {
	shared, own := limitsOf(host, c)
	add := func(of fact.Resource, used, limit float64) {
		if limit > 0 && Finite(used) {
			uses = append(uses, fact.Use{Resource: of, Used: used, Limit: limit, Binds: used >= atLimit*limit})
		}
	}
	add(fact.Processors, p.CPUs, cmp.Or(shared.CPUs, float64(v.Run.Environment.CPUs)))
	add(fact.OwnCPUs, p.CPUs/float64(p.Instances), own.CPUs)
	if own.CPUs > 0 && p.Throttled >= heldBack {
		uses[len(uses)-1].Binds = true
	}
	for _, d := range deviceUses {
		limit := float64(d.limit(shared))
		if each := float64(d.limit(own)) * float64(p.Instances); limit == 0 || each > 0 && each < limit {
			limit = each
		}
		used, known := medianOf(c, func(t *result.Trial) (float64, bool) { return deviceRate(t, d.counted) })
		if known {
			add(d.resource, used, limit)
		}
	}
	busy, known := medianOf(c, func(t *result.Trial) (float64, bool) { return t.DeviceBusy, t.DeviceBusy > 0 })
	if known {
		binds := busy >= busyDevice && p.IOPressure >= waiting
		uses = append(uses, fact.Use{Resource: fact.Device, Used: busy, Limit: 1, Binds: binds})
	}
	return uses
}

// limitsOf are the limits that instances share, and those of each: as the kernel says, and
// those of the miniature as asked where nothing was read back.
func limitsOf(host *result.Limits, c *Cell) (shared, own result.Limits) {
	t := c.Trials[0]
	switch {
	case t.Miniature != nil:
		shared = t.Miniature.ReadBack
	case host != nil:
		shared = *host
	}
	for i, in := range t.Instances {
		switch {
		case in.Limited == nil || i > 0 && in.Limited.ReadBack != own:
			return shared, result.Limits{} // tenants with limits that differ have no limit in common
		case i == 0:
			own = in.Limited.ReadBack
		}
	}
	return shared, own
}

// deviceRate is what the devices that files lie on did a second, while instances were
// measured.
func deviceRate(t *result.Trial, counted func(result.DeviceCounter) uint64) (perSecond float64, ok bool) {
	m := t.Measured()
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

func medianOf(c *Cell, of func(*result.Trial) (float64, bool)) (median float64, known bool) {
	sample := samples.Take(c.Trials, of)
	if len(sample) == 0 {
		return 0, false
	}
	median = stats.Median(sample.Means())
	return median, !math.IsNaN(median)
}

// BindingOf names what keeps so many instances from doing more together. What does not fit
// into memory comes before the device, which only serves it again; a limit comes before the
// device itself. fewest is the point with the fewest instances.
func BindingOf(p, fewest fact.ScalingPoint) fact.Resource {
	if outgrown(p, fewest) || p.MemoryPressure >= starved || p.Killed > 0 {
		return fact.Memory
	}
	for _, u := range p.Uses {
		if u.Binds {
			return u.Resource
		}
	}
	return ""
}

// outgrown reports whether what instances read no longer fits into their page cache: the
// device reads more of an operation, and each instance has less of it cached.
func outgrown(p, than fact.ScalingPoint) bool {
	grew := p.DeviceReads > fewReads && p.DeviceReads >= moreReads*than.DeviceReads
	shrank := p.CacheBytes > 0 && p.CacheBytes < lessCache*than.CacheBytes
	return grew && shrank
}
