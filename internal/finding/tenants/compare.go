package tenants

import (
	"slices"

	"plimsoll/internal/fact"
	"plimsoll/internal/fact/threshold"
	"plimsoll/internal/result"
	"plimsoll/internal/runview"
	"plimsoll/internal/stats"
)

// What it takes for a tenant to be told of as slower than alone, beside significance.
const (
	lessThanAlone   = 0.95 // of its throughput, or
	longerThanAlone = 1.5  // times its p99
)

// tenancy is what tenants are compared in.
type tenancy struct{ runview.Tenancy }

func (t tenancy) facts() Tenants {
	f := Tenants{Stack: t.Stack.Name, Host: runview.HostText(t.Host), Imported: t.View.Run.Imported != nil}
	for _, m := range t.Mixes {
		f.Mixes = append(f.Mixes, t.mix(m))
	}
	var effects []*fact.Effect
	for i := range f.Mixes {
		for j := range f.Mixes[i].Tenants {
			s := &f.Mixes[i].Tenants[j]
			if s.Alone == "" {
				continue
			}
			effects = append(effects, &s.Rate, s.P99)
		}
	}
	t.View.AdjustTogether(effects)
	for i, m := range t.Mixes {
		t.conclude(&f.Mixes[i], m)
	}
	return f
}

// mix compares each tenant of a mix with its workload alone.
func (t tenancy) mix(m result.Mix) Mix {
	c := t.Cell(m.Name)
	f := Mix{Mix: m.Name, BringUps: c.Point.N}
	for i, tenant := range m.Tenants {
		s := Share{Mix: m.Name, Tenant: tenant.Name, Workload: tenant.Workload, Count: tenant.Count}
		for j, other := range m.Tenants {
			if j != i {
				s.Beside = append(s.Beside, Beside{Tenant: other.Name, Workload: other.Workload, Count: other.Count})
			}
		}
		s.Use = useOf(c, tenant)
		s.Each, _ = c.Median(eachRate(tenant))
		s.P99NS = tailOf(c, tenant).Median()
		alone, cell := t.Alone(tenant)
		if cell != nil {
			t.against(&s, c, tenant, alone, cell)
		}
		f.Tenants = append(f.Tenants, s)
	}
	t.shareDevice(c, f.Tenants)
	f.Fair = t.fairness(c, m)
	return f
}

func (t tenancy) against(s *Share, c *runview.Cell, tenant result.Tenant, alone result.Mix, cell *runview.Cell) {
	other := alone.Tenants[0]
	s.Alone, s.AloneCount = alone.Name, other.Count
	s.Rate, _ = t.View.Effect(runview.IOPS, s.Mix, alone.Name, runview.Take(c.Trials, eachRate(tenant)),
		runview.Take(cell.Trials, eachRate(other)))
	s.EachAlone, _ = cell.Median(eachRate(other))
	s.P99AloneNS = tailOf(cell, other).Median()
	p99, ok := t.View.Effect("p99", s.Mix, alone.Name, tailOf(c, tenant), tailOf(cell, other))
	if ok {
		s.P99 = &p99
	}
	use := useOf(cell, other)
	for _, d := range devicePerOperation {
		*d.counter(&use), _ = cell.Median(func(t *result.Trial) (float64, bool) {
			rate, ok := runview.DeviceRate(t, d.counted)
			return rate / t.Counts().IOPS(), ok && t.Counts().IOPS() > 0
		})
	}
	s.UseAlone = &use
}

// eachRate is the rate of an instance of a tenant, on average.
func eachRate(of result.Tenant) func(*result.Trial) (float64, bool) {
	return func(t *result.Trial) (float64, bool) {
		rate, ok := runview.Rate.Of(t, of.Name)
		return rate / float64(of.Count), ok
	}
}

func tailOf(c *runview.Cell, of result.Tenant) runview.Sample {
	return runview.P99.Sample(c.Trials, of.Name)
}

// useOf is what an instance of a tenant used, on average: the median of setups.
func useOf(c *runview.Cell, tenant result.Tenant) Usage {
	median := func(quantity func(*result.Usage) float64) float64 {
		value, _ := c.Median(func(t *result.Trial) (sum float64, ok bool) {
			counted, instances := 0, 0
			for _, in := range t.Instances {
				if in.Tenant != tenant.Name {
					continue
				}
				instances++
				if in.Usage != nil {
					sum += quantity(in.Usage)
					counted++
				}
			}
			// If some instances ran on another host, those that were measured count for all of the tenant.
			return sum / float64(counted) * float64(instances) / float64(tenant.Count), counted > 0
		})
		if !runview.Finite(value) {
			return 0
		}
		return value
	}
	return Usage{
		CacheBytes:     median(func(u *result.Usage) float64 { return float64(u.CacheBytes) }),
		CPUs:           median(func(u *result.Usage) float64 { return u.CPUSeconds / max(u.Seconds, 1e-9) }),
		IOPressure:     median(func(u *result.Usage) float64 { return u.IOPressure }),
		CPUPressure:    median(func(u *result.Usage) float64 { return u.CPUPressure }),
		MemoryPressure: median(func(u *result.Usage) float64 { return u.MemoryPressure }),
	}
}

// devicePerOperation are what the device does for each operation of a tenant.
var devicePerOperation = []struct {
	counted func(result.DeviceCounter) uint64
	counter func(*Usage) *float64
}{
	{func(d result.DeviceCounter) uint64 { return d.Reads }, func(u *Usage) *float64 { return &u.DeviceReads }},
	{func(d result.DeviceCounter) uint64 { return d.Writes }, func(u *Usage) *float64 { return &u.DeviceWrites }},
}

// shareDevice gives each tenant of a mix what the device did for it: of all that it did, what the
// others do not do alone for as many operations. Where some tenant was not measured alone, that of
// none is known.
func (t tenancy) shareDevice(c *runview.Cell, shares []Share) {
	for _, s := range shares {
		if s.UseAlone == nil {
			return
		}
	}
	for _, d := range devicePerOperation {
		total, known := c.Median(func(t *result.Trial) (float64, bool) { return runview.DeviceRate(t, d.counted) })
		for i := range shares {
			left := total
			for j, other := range shares {
				if j != i {
					left -= *d.counter(other.UseAlone) * other.Each * float64(other.Count)
				}
			}
			if done := shares[i].Each * float64(shares[i].Count); known && done > 0 {
				*d.counter(&shares[i].Use) = max(0, left) / done
			}
		}
	}
}

// fairness is Jain's index over the slowdowns of the tenants of a mix, of each block of trials that
// all were in, alone too. nil where there is none.
func (t tenancy) fairness(c *runview.Cell, m result.Mix) *fact.Estimate {
	slow := map[int][]float64{} // by block, of the tenants so far
	for i, tenant := range m.Tenants {
		alone, cell := t.Alone(tenant)
		if cell == nil {
			return nil
		}
		together := runview.Take(c.Trials, eachRate(tenant))
		apart := runview.Take(cell.Trials, eachRate(alone.Tenants[0]))
		if !together.Nested() || !apart.Nested() {
			return nil
		}
		for _, block := range blocksOf(together) {
			x, y := runview.Pairs(inBlock(together, block), inBlock(apart, block))
			if len(x) == 1 && x[0] > 0 && y[0] > 0 && len(slow[block]) == i {
				slow[block] = append(slow[block], y[0]/x[0])
			}
		}
	}
	var indices []float64
	for _, block := range blocksOf(runview.Take(c.Trials, eachRate(m.Tenants[0]))) {
		if len(slow[block]) == len(m.Tenants) {
			indices = append(indices, stats.Jain(slow[block]))
		}
	}
	if len(indices) == 0 {
		return nil
	}
	e := runview.Estimate(indices)
	return &e
}

func blocksOf(s runview.Sample) (blocks []int) {
	for _, u := range s {
		if !slices.Contains(blocks, u.Round) {
			blocks = append(blocks, u.Round)
		}
	}
	return blocks
}

func inBlock(s runview.Sample, block int) runview.Sample {
	return slices.DeleteFunc(slices.Clone(s), func(u runview.Unit) bool { return u.Round != block })
}

// conclude finds who is slower than alone, and what is to blame.
func (t tenancy) conclude(f *Mix, m result.Mix) {
	c := t.Cell(m.Name)
	least := 1.0
	var uses []fact.Use
	for i := range f.Tenants {
		s := &f.Tenants[i]
		s.Loses = s.Rate.Differs && s.Rate.Ratio <= lessThanAlone
		s.Open = s.Known() && !s.Loses && !s.Rate.TooFew && (!s.Rate.HasInterval() || s.Rate.Low < 1-threshold.LargeRateChange)
		s.Waits = s.P99 != nil && s.P99.Differs && s.P99.Ratio >= longerThanAlone
		if s.Loses && s.Rate.Ratio < least {
			least, f.Suffers = s.Rate.Ratio, s.Tenant
		}
		if !s.Loses && !s.Waits {
			continue
		}
		if uses == nil {
			uses = t.View.PointOf(t.Host, c).Uses
		}
		s.Blame = t.blame(*s, f.Tenants, uses)
	}
}
