package runview

import (
	"slices"

	"plimsoll/internal/result"
)

// Tenancy is mixes of several tenants on one stack and one host.
type Tenancy struct {
	View  *View
	Stack *Stack
	Host  *result.Limits
	Mixes []result.Mix
}

// ApartLimits reports whether a scaled-down host has limits of its own for reads, and for writes, on devices: then
// readers and writers never compete for its drive, as they would on a real one.
func ApartLimits(host *result.Limits) bool {
	return host != nil && host.Read != (result.Rate{}) && host.Write != (result.Rate{})
}

// Sharing reports whether a mix has several tenants, or is what one of these is held against: it is
// about what tenants do to each other, and not about which stack.
func (v *View) Sharing(mix string) bool { return v.shares(mix, false) }

// shares is Sharing; with known, only of mixes of which some tenant was measured alone.
func (v *View) shares(mix string, known bool) bool {
	return slices.ContainsFunc(v.Tenancies(), func(t Tenancy) bool {
		return slices.ContainsFunc(t.Mixes, func(m result.Mix) bool {
			alone := t.alones(m)
			return m.Name == mix && (!known || len(alone) > 0) || slices.Contains(alone, mix)
		})
	})
}

// alones are the mixes that the tenants of a mix are held against.
func (t Tenancy) alones(m result.Mix) (mixes []string) {
	for _, of := range m.Tenants {
		if alone, cell := t.Alone(of); cell != nil {
			mixes = append(mixes, alone.Name)
		}
	}
	return mixes
}

// Tenancies returns them in the order of the mixes.
func (v *View) Tenancies() []Tenancy {
	var groups orderedGroups[Tenancy]
	for _, m := range v.Run.Mixes {
		if len(m.Tenants) < 2 || m.Varies != nil {
			continue
		}
		for _, s := range v.Stacks {
			if v.Cell(s.Name, m.Name) == nil {
				continue
			}
			tenancy := groups.group(s.Name+"\x00"+HostText(m.Host), Tenancy{View: v, Stack: s, Host: m.Host})
			tenancy.Mixes = append(tenancy.Mixes, m)
		}
	}
	return groups.groups
}

// HostText returns a scaled-down host for people; "" for the host itself.
func HostText(host *result.Limits) string {
	if host == nil {
		return ""
	}
	return host.String()
}

// Cell returns the cell of a mix.
func (t Tenancy) Cell(mix string) *Cell { return t.View.Cell(t.Stack.Name, mix) }

// Alone returns the mix of the same workload alone, under the same limits, on the same stack and host: with as many
// instances, or else with one. cell is nil where there is none.
func (t Tenancy) Alone(tenant result.Tenant) (mix result.Mix, cell *Cell) {
	for _, m := range t.View.Run.Mixes {
		if len(m.Tenants) != 1 || m.Varies != nil || HostText(m.Host) != HostText(t.Host) {
			continue
		}
		other := m.Tenants[0]
		c := t.Cell(m.Name)
		isAlone := other.Workload == tenant.Workload && other.Limits == tenant.Limits && other.LoadOf() == tenant.LoadOf() &&
			slices.Equal(other.On, tenant.On)
		if c == nil || !isAlone {
			continue
		}
		if other.Count == tenant.Count {
			return m, c
		}
		if other.Count == 1 {
			mix, cell = m, c
		}
	}
	return mix, cell
}
