package tenants

import (
	"plimsoll/internal/fact"
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
func (t tenancy) blame(s Share, shares []Share, uses []fact.Use) (out []Blame) {
	alone := *s.UseAlone
	point := func(u Usage) fact.ScalingPoint {
		return fact.ScalingPoint{DeviceReads: u.DeviceReads, CacheBytes: u.CacheBytes}
	}
	memory := false
	switch {
	case runview.Outgrown(point(s.Use), point(alone)):
		memory = true
		out = append(out, Blame{Resource: fact.Memory, How: BlameTaken,
			By: mostOf(s, shares, func(o Share) float64 { return o.Use.CacheBytes })})
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
		out = append(out, Blame{Resource: u.Resource, How: BlameLimit, Use: &u, By: usesMost(s, shares, u.Resource)})
	}
	switch {
	case memory || limited:
	case waitsFor(s.Use.CPUPressure, alone.CPUPressure) && s.Use.CPUPressure >= s.Use.IOPressure:
		out = append(out, Blame{Resource: fact.Processors, How: BlameWaits, By: usesMost(s, shares, fact.Processors)})
	case waitsFor(s.Use.IOPressure, alone.IOPressure):
		out = append(out, Blame{Resource: fact.Device, How: BlameWaits})
	}
	return out
}

func waitsFor(now, alone float64) bool { return now >= leastWait && now >= waitsMore*alone }

// needs reports whether a tenant uses a resource at all: what it does not use it does not lack,
// however full that is.
func needs(s Share, resource fact.Resource) bool {
	switch resource {
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
func usesMost(s Share, shares []Share, resource fact.Resource) string {
	return mostOf(s, shares, func(o Share) float64 {
		switch resource {
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

// mostOf returns the other tenant whose instances together have most of a quantity.
func mostOf(s Share, shares []Share, quantity func(Share) float64) (tenant string) {
	highest := 0.0
	for _, o := range shares {
		if has := quantity(o) * float64(o.Count); o.Tenant != s.Tenant && has > highest {
			highest, tenant = has, o.Tenant
		}
	}
	return tenant
}
