package tenants

import (
	"plimsoll/internal/finding/fact"
	"plimsoll/internal/runview"
)

// waitsMore is how many times as much as alone a tenant waits for what it is said to lack, and
// leastWait the share of the time that it does so at least.
const (
	waitsMore = 2
	leastWait = 0.1
)

// blame names for want of what a tenant is slower than alone, what explains most first: memory
// that others took comes before the device, which only serves again what does not fit; and what
// is at its limit before what is waited for.
func (t tenancy) blame(s Share, all []Share, uses []fact.Use) (out []Blame) {
	alone := *s.UseAlone
	point := func(u Usage) fact.ScalingPoint {
		return fact.ScalingPoint{DeviceReads: u.DeviceReads, CacheBytes: u.CacheBytes}
	}
	memory := false
	switch {
	case runview.Outgrown(point(s.Use), point(alone)):
		memory = true
		out = append(out, Blame{Resource: fact.Memory, How: BlameTaken,
			By: mostOf(s, all, func(o Share) float64 { return o.Use.CacheBytes })})
	case waitsFor(s.Use.MemoryPressure, alone.MemoryPressure):
		memory = true
		out = append(out, Blame{Resource: fact.Memory, How: BlameWaits})
	}
	limited := false
	for _, u := range uses {
		if !u.Binds || !needs(s, u.Resource) {
			continue
		}
		limited = true
		out = append(out, Blame{Resource: u.Resource, How: BlameLimit, Use: &u, By: usesMost(s, all, u.Resource)})
	}
	switch {
	case memory || limited:
	case waitsFor(s.Use.CPUPressure, alone.CPUPressure) && s.Use.CPUPressure >= s.Use.IOPressure:
		out = append(out, Blame{Resource: fact.Processors, How: BlameWaits, By: usesMost(s, all, fact.Processors)})
	case waitsFor(s.Use.IOPressure, alone.IOPressure):
		out = append(out, Blame{Resource: fact.Device, How: BlameWaits})
	}
	return out
}

func waitsFor(now, alone float64) bool { return now >= leastWait && now >= waitsMore*alone }

// needs reports whether a tenant uses a resource at all: what it does not use it does not lack,
// however full that is.
func needs(s Share, of fact.Resource) bool {
	switch of {
	case fact.Reads, fact.ReadBytes:
		return s.Use.DeviceReads > runview.FewReads
	case fact.Writes, fact.WriteBytes:
		return s.Use.DeviceWrites > runview.FewReads
	case fact.OwnCPUs:
		return false // it has as many alone
	}
	return true
}

// usesMost is the other tenant that has most of a resource; "" where that is not known.
func usesMost(s Share, all []Share, of fact.Resource) string {
	return mostOf(s, all, func(o Share) float64 {
		switch of {
		case fact.Processors:
			return o.Use.CPUs
		case fact.Reads, fact.ReadBytes:
			return o.Use.DeviceReads * o.Each
		case fact.Writes, fact.WriteBytes:
			return o.Use.DeviceWrites * o.Each
		}
		return 0
	})
}

// mostOf is the other tenant all instances of which have most of something.
func mostOf(s Share, all []Share, of func(Share) float64) (tenant string) {
	most := 0.0
	for _, o := range all {
		if has := of(o) * float64(o.Count); o.Tenant != s.Tenant && has > most {
			most, tenant = has, o.Tenant
		}
	}
	return tenant
}
