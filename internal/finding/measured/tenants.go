package measured

import (
	"slices"

	samples "plimsoll/internal/cell"
	"plimsoll/internal/finding/fact"
	"plimsoll/internal/result"
	"plimsoll/internal/stats"
)

// What it takes for a tenant to be told of as slower than alone, beside significance.
const (
	lessThanAlone   = 0.95 // of its throughput, or
	longerThanAlone = 1.5  // times its p99
)

// tenancy is mixes of several tenants on one stack and one host.
type tenancy struct {
	view  *View
	stack *Stack
	host  *result.Limits
	mixes []result.Mix
}

// Tenants returns what tenants do to each other: on each stack and host, in the order of the mixes.
func (v *View) Tenants() (all []fact.Tenants) {
	for _, t := range v.tenancies() {
		all = append(all, t.facts())
	}
	return all
}

// Sharing reports whether a mix has several tenants, or is what one of these is held against: it is
// about what tenants do to each other, and not about which stack.
func (v *View) Sharing(mix string) bool { return v.shares(mix, false) }

// shares is Sharing; with known, only of mixes of which some tenant was measured alone.
func (v *View) shares(mix string, known bool) bool {
	return slices.ContainsFunc(v.tenancies(), func(t tenancy) bool {
		return slices.ContainsFunc(t.mixes, func(m result.Mix) bool {
			alone := t.alones(m)
			return m.Name == mix && (!known || len(alone) > 0) || slices.Contains(alone, mix)
		})
	})
}

// alones are the mixes that the tenants of a mix are held against.
func (t tenancy) alones(m result.Mix) (mixes []string) {
	for _, of := range m.Tenants {
		if alone, cell := t.alone(of); cell != nil {
			mixes = append(mixes, alone.Name)
		}
	}
	return mixes
}

func (v *View) tenancies() []tenancy {
	var all families[tenancy]
	for _, m := range v.Run.Mixes {
		if len(m.Tenants) < 2 || m.Varies != nil {
			continue
		}
		for _, s := range v.Stacks {
			if v.Cell(s.Name, m.Name) == nil {
				continue
			}
			one := all.of(s.Name+"\x00"+hostText(m.Host), tenancy{view: v, stack: s, host: m.Host})
			one.mixes = append(one.mixes, m)
		}
	}
	return all.all
}

func hostText(host *result.Limits) string {
	if host == nil {
		return ""
	}
	return host.String()
}

func (t tenancy) facts() fact.Tenants {
	f := fact.Tenants{Stack: t.stack.Name, Host: hostText(t.host)}
	for _, m := range t.mixes {
		f.Mixes = append(f.Mixes, t.mix(m))
	}
	var effects []*fact.Effect
	for i := range f.Mixes {
		for j := range f.Mixes[i].Tenants {
			s := &f.Mixes[i].Tenants[j]
			if s.Alone == "" {
				continue
			}
			effects = append(effects, &s.Rate)
			if s.P99 != nil {
				effects = append(effects, s.P99)
			}
		}
	}
	adjustTogether(effects)
	for i, m := range t.mixes {
		t.conclude(&f.Mixes[i], m)
	}
	return f
}

// mix compares each tenant of a mix with its workload alone.
func (t tenancy) mix(m result.Mix) fact.TenantMix {
	c := t.view.Cell(t.stack.Name, m.Name)
	f := fact.TenantMix{Mix: m.Name, BringUps: c.Point.N}
	for i, of := range m.Tenants {
		s := fact.TenantShare{Mix: m.Name, Tenant: of.Name, Workload: of.Workload, Count: of.Count}
		for j, other := range m.Tenants {
			if j != i {
				s.Beside = append(s.Beside, fact.Beside{Tenant: other.Name, Workload: other.Workload, Count: other.Count})
			}
		}
		s.Use = useOf(c, of)
		s.Each, _ = medianOf(c, eachRate(of))
		s.P99NS, _ = medianOf(c, tailOf(of))
		alone, cell := t.alone(of)
		if cell != nil {
			t.against(&s, c, of, alone, cell)
		}
		f.Tenants = append(f.Tenants, s)
	}
	t.shareDevice(c, f.Tenants)
	f.Fair = t.fairness(c, m)
	return f
}

// alone returns the mix of the same workload alone, under the same limits, on the same stack and
// host: with as many instances, else with one. cell is nil where there is none.
func (t tenancy) alone(of result.Tenant) (mix result.Mix, cell *Cell) {
	for _, m := range t.view.Run.Mixes {
		if len(m.Tenants) != 1 || m.Varies != nil || hostText(m.Host) != hostText(t.host) {
			continue
		}
		other := m.Tenants[0]
		c := t.view.Cell(t.stack.Name, m.Name)
		same := other.Workload == of.Workload && other.Limits == of.Limits && slices.Equal(other.On, of.On)
		if c == nil || !same {
			continue
		}
		if other.Count == of.Count {
			return m, c
		}
		if other.Count == 1 {
			mix, cell = m, c
		}
	}
	return mix, cell
}

func (t tenancy) against(s *fact.TenantShare, c *Cell, of result.Tenant, alone result.Mix, cell *Cell) {
	other := alone.Tenants[0]
	s.Alone, s.AloneCount = alone.Name, other.Count
	s.Rate, _ = t.view.Effect(IOPS, s.Mix, alone.Name, samples.Take(c.Trials, eachRate(of)), samples.Take(cell.Trials, eachRate(other)))
	s.EachAlone, _ = medianOf(cell, eachRate(other))
	s.P99Alone, _ = medianOf(cell, tailOf(other))
	p99, ok := t.view.Effect("p99", s.Mix, alone.Name, samples.Take(c.Trials, tailOf(of)), samples.Take(cell.Trials, tailOf(other)))
	if ok {
		s.P99 = &p99
	}
	use := useOf(cell, other)
	for _, d := range devicePerOperation {
		*d.of(&use), _ = medianOf(cell, func(t *result.Trial) (float64, bool) {
			rate, ok := deviceRate(t, d.counted)
			return rate / t.Measured().IOPS(), ok && t.Measured().IOPS() > 0
		})
	}
	s.UseAlone = &use
}

// eachRate is the rate of an instance of a tenant, on average.
func eachRate(of result.Tenant) func(*result.Trial) (float64, bool) {
	return func(t *result.Trial) (float64, bool) {
		rate, ok := samples.Rate.Of(t, of.Name)
		return rate / float64(of.Count), ok
	}
}

func tailOf(of result.Tenant) func(*result.Trial) (float64, bool) {
	return func(t *result.Trial) (float64, bool) { return samples.P99.Of(t, of.Name) }
}

// useOf is what an instance of a tenant used, on average: the median of bring-ups.
func useOf(c *Cell, of result.Tenant) fact.TenantUse {
	median := func(what func(*result.Usage) float64) float64 {
		value, _ := medianOf(c, func(t *result.Trial) (sum float64, ok bool) {
			n := 0
			for _, in := range t.Instances {
				if in.Tenant == of.Name && in.Usage != nil {
					sum += what(in.Usage)
					n++
				}
			}
			return sum / float64(n), n > 0
		})
		if !Finite(value) {
			return 0
		}
		return value
	}
	return fact.TenantUse{
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
	of      func(*fact.TenantUse) *float64
}{
	{func(d result.DeviceCounter) uint64 { return d.Reads }, func(u *fact.TenantUse) *float64 { return &u.DeviceReads }},
	{func(d result.DeviceCounter) uint64 { return d.Writes }, func(u *fact.TenantUse) *float64 { return &u.DeviceWrites }},
}

// shareDevice gives each tenant of a mix what the device did for it: of all that it did, what the
// others do not do alone for as many operations. Where some tenant was not measured alone, that of
// none is known.
func (t tenancy) shareDevice(c *Cell, shares []fact.TenantShare) {
	for _, s := range shares {
		if s.UseAlone == nil {
			return
		}
	}
	for _, d := range devicePerOperation {
		all, known := medianOf(c, func(t *result.Trial) (float64, bool) { return deviceRate(t, d.counted) })
		for i := range shares {
			left := all
			for j, other := range shares {
				if j != i {
					left -= *d.of(other.UseAlone) * other.Each * float64(other.Count)
				}
			}
			if done := shares[i].Each * float64(shares[i].Count); known && done > 0 {
				*d.of(&shares[i].Use) = max(0, left) / done
			}
		}
	}
}

// fairness is Jain's index over the slowdowns of the tenants of a mix, of each block of trials that
// all were in, alone too. nil where there is none.
func (t tenancy) fairness(c *Cell, m result.Mix) *fact.Estimate {
	slow := map[int][]float64{} // by block, of the tenants so far
	for i, of := range m.Tenants {
		alone, cell := t.alone(of)
		if cell == nil {
			return nil
		}
		together := samples.Take(c.Trials, eachRate(of))
		apart := samples.Take(cell.Trials, eachRate(alone.Tenants[0]))
		if !together.Nested() || !apart.Nested() {
			return nil
		}
		for _, block := range blocksOf(together) {
			x, y := samples.Pairs(inBlock(together, block), inBlock(apart, block))
			if len(x) == 1 && x[0] > 0 && y[0] > 0 && len(slow[block]) == i {
				slow[block] = append(slow[block], y[0]/x[0])
			}
		}
	}
	var indices []float64
	for _, block := range blocksOf(samples.Take(c.Trials, eachRate(m.Tenants[0]))) {
		if len(slow[block]) == len(m.Tenants) {
			indices = append(indices, stats.Jain(slow[block]))
		}
	}
	if len(indices) == 0 {
		return nil
	}
	e := Estimate(indices)
	return &e
}

func blocksOf(s samples.Sample) (blocks []int) {
	for _, u := range s {
		if !slices.Contains(blocks, u.Block) {
			blocks = append(blocks, u.Block)
		}
	}
	return blocks
}

func inBlock(s samples.Sample, block int) samples.Sample {
	return slices.DeleteFunc(slices.Clone(s), func(u samples.Unit) bool { return u.Block != block })
}

// conclude finds who is slower than alone, and what is to blame.
func (t tenancy) conclude(f *fact.TenantMix, m result.Mix) {
	c := t.view.Cell(t.stack.Name, m.Name)
	least := 1.0
	var uses []fact.Use
	for i := range f.Tenants {
		s := &f.Tenants[i]
		s.Loses = s.Rate.Differs && s.Rate.Ratio <= lessThanAlone
		s.Open = s.Known() && !s.Loses && !s.Rate.TooFew && (!s.Rate.HasInterval() || s.Rate.Low < 1-mayMatter)
		s.Waits = s.P99 != nil && s.P99.Differs && s.P99.Ratio >= longerThanAlone
		if s.Loses && s.Rate.Ratio < least {
			least, f.Suffers = s.Rate.Ratio, s.Tenant
		}
		if !s.Loses && !s.Waits {
			continue
		}
		if uses == nil {
			count := 0
			for _, of := range m.Tenants {
				count += of.Count
			}
			uses = t.view.UsesOf(t.host, c, PointOf(c, count))
		}
		s.Blame = t.blame(*s, f.Tenants, uses)
	}
}
