package measured

import (
	"plimsoll/internal/finding/fact"
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
func (t tenancy) blame(s fact.TenantShare, all []fact.TenantShare, uses []fact.Use) (out []fact.Blame) {
	alone := *s.UseAlone
	reads := s.Use.DeviceReads > fewReads && s.Use.DeviceReads >= moreReads*alone.DeviceReads
	memory := false
	switch {
	case reads && s.Use.CacheBytes > 0 && s.Use.CacheBytes < lessCache*alone.CacheBytes:
		memory = true
		out = append(out, fact.Blame{Resource: fact.Memory, How: fact.BlameTaken,
			By: mostOf(s, all, func(o fact.TenantShare) float64 { return o.Use.CacheBytes })})
	case waitsFor(s.Use.MemoryPressure, alone.MemoryPressure):
		memory = true
		out = append(out, fact.Blame{Resource: fact.Memory, How: fact.BlameWaits})
	}
	limited := false
	for _, u := range uses {
		if !u.Binds || !needs(s, u.Resource) {
			continue
		}
		limited = true
		out = append(out, fact.Blame{Resource: u.Resource, How: fact.BlameLimit, Use: &u, By: usesMost(s, all, u.Resource)})
	}
	switch {
	case memory || limited:
	case waitsFor(s.Use.CPUPressure, alone.CPUPressure) && s.Use.CPUPressure >= s.Use.IOPressure:
		out = append(out, fact.Blame{Resource: fact.Processors, How: fact.BlameWaits, By: usesMost(s, all, fact.Processors)})
	case waitsFor(s.Use.IOPressure, alone.IOPressure):
		out = append(out, fact.Blame{Resource: fact.Device, How: fact.BlameWaits})
	}
	return out
}

func waitsFor(now, alone float64) bool { return now >= leastWait && now >= waitsMore*alone }

// needs reports whether a tenant uses a resource at all: what it does not use it does not lack,
// however full that is.
func needs(s fact.TenantShare, of fact.Resource) bool {
	switch of {
	case fact.Reads, fact.ReadBytes:
		return s.Use.DeviceReads > fewReads
	case fact.Writes, fact.WriteBytes:
		return s.Use.DeviceWrites > fewReads
	case fact.OwnCPUs:
		return false // it has as many alone
	}
	return true
}

// usesMost is the other tenant that has most of a resource; "" where that is not known.
func usesMost(s fact.TenantShare, all []fact.TenantShare, of fact.Resource) string {
	return mostOf(s, all, func(o fact.TenantShare) float64 {
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
func mostOf(s fact.TenantShare, all []fact.TenantShare, of func(fact.TenantShare) float64) (tenant string) {
	most := 0.0
	for _, o := range all {
		if has := of(o) * float64(o.Count); o.Tenant != s.Tenant && has > most {
			most, tenant = has, o.Tenant
		}
	}
	return tenant
}
