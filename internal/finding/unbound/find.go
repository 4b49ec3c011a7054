package unbound

import (
	"slices"

	"plimsoll/internal/fact"
	"plimsoll/internal/finding/elasticity"
	"plimsoll/internal/result"
	"plimsoll/internal/runview"
)

// From which share of a limit on something came near it. That is far below what binds: shares are
// of whole trials, and within one, bursts use more.
const (
	near       = 1.0 / 3
	nearerThan = 0.5 // of processors that each instance may use: the kernel tells if it was held back
)

// limitUse is the most that trials used of a limit.
type limitUse struct {
	Limit
	mixes []string
	last  *result.Trial // that was counted
	held  bool          // something came near it, or that nothing did is not known
}

// limitUses are those of a run, by whose limit it is and on what.
type limitUses []*limitUse

// Find names the limits that nothing came near, in any mix.
func Find(v *runview.View) []fact.Finding {
	facts := &Facts{limitsOf(v)}
	if len(facts.Limits) == 0 {
		return nil
	}
	f := fact.Finding{ID: "unbound", Case: "unbound", Kind: fact.KindCaveat, Facts: facts, Title: facts.title(),
		Why: facts.why()}
	for _, c := range v.All() {
		if c.Stack.Name != "" {
			f.Stacks = runview.AddNew(f.Stacks, c.Stack.Name)
		}
	}
	return []fact.Finding{f}
}

// limitsOf returns the limits that nothing came near in any mix: those of the scaled-down host first. Mixes
// that the run added to vary a limit are left out. So are limits of which a trial does not tell
// what was used, and those of the scaled-down host that count, as elasticity has it: bursts reach them.
func limitsOf(v *runview.View) (limits []Limit) {
	var uses limitUses
	for i := range v.Run.Trials {
		t := &v.Run.Trials[i]
		i := slices.IndexFunc(v.Run.Mixes, func(m result.Mix) bool { return m.Name == t.Mix })
		if i < 0 || v.Run.Mixes[i].Varies != nil || len(t.Instances) == 0 {
			continue
		}
		if t.Miniature != nil {
			uses.add(t, Limit{}, t.Miniature.ReadBack, t.Instances)
		}
		for j, in := range t.Instances {
			if in.Limited != nil {
				limit := Limit{Workload: in.Workload, Policy: policyOf(v.Run.Mixes[i], in.Tenant)}
				uses.add(t, limit, in.Limited.ReadBack, t.Instances[j:j+1])
			}
		}
	}
	counting := elasticity.MayCount(v)
	for _, ofInstance := range []bool{false, true} {
		for _, u := range uses {
			if u.held || (u.Workload != "") != ofInstance || !ofInstance && slices.Contains(counting, u.Resource) {
				continue
			}
			limits = append(limits, u.Limit)
		}
	}
	return limits
}

func policyOf(m result.Mix, tenant string) string {
	for _, t := range m.Tenants {
		if t.Name == tenant {
			return t.Policy
		}
	}
	return ""
}

// add counts what instances used of their limits in a trial.
func (u *limitUses) add(t *result.Trial, owner Limit, limits result.Limits, instances []result.Instance) {
	if limits.CPUs > 0 {
		used, known := usedBy(instances, cpusOf)
		use := u.get(owner, fact.Processors)
		use.count(t, used/limits.CPUs, known, owner.Workload != "")
		use.held = use.held || owner.Workload != "" && slices.ContainsFunc(instances, throttled)
	}
	if limits.MemoryBytes > 0 {
		used, known := usedBy(instances, peakMemory)
		use := u.get(owner, fact.Memory)
		use.count(t, used/float64(limits.MemoryBytes), known, false)
		use.held = use.held || slices.ContainsFunc(instances, wantedMemory)
	}
	for _, d := range runview.DeviceUses {
		limit := float64(d.Limit(limits))
		if limit > 0 { // what one instance did is at most what all did
			used, known := runview.DeviceRate(t, d.Counted)
			u.get(owner, d.Resource).count(t, used/limit, known, false)
		}
	}
}

// get returns the use of an owner's limit so far; a new one if there is none.
func (u *limitUses) get(owner Limit, resource fact.Resource) *limitUse {
	owner.Resource = resource
	for _, use := range *u {
		if use.Workload == owner.Workload && use.Policy == owner.Policy && use.Resource == resource {
			return use
		}
	}
	*u = append(*u, &limitUse{Limit: owner})
	return (*u)[len(*u)-1]
}

// count counts a share of the limit. burstsKnown is true if the kernel counts bursts that reach the limit. A limit of
// which a complete trial does not know the share counts as reached.
func (u *limitUse) count(t *result.Trial, share float64, known, burstsKnown bool) {
	if !known || !runview.Finite(share) {
		u.held = u.held || t.Status == result.TrialDone
		return
	}
	if share > u.Most || u.Mix == "" {
		u.Most, u.Mix = share, t.Mix
	}
	if !slices.Contains(u.mixes, t.Mix) {
		u.mixes = append(u.mixes, t.Mix)
	}
	u.Mixes = len(u.mixes)
	if u.last != t { // all instances of a trial follow each other
		u.last, u.Trials = t, u.Trials+1
	}
	u.held = u.held || share >= nearerThan || share >= near && !burstsKnown
}

// usedBy adds up what instances used; known is false where one does not tell.
func usedBy(instances []result.Instance, quantity func(*result.Usage) (float64, bool)) (sum float64, known bool) {
	for _, in := range instances {
		if in.Usage == nil {
			return 0, false
		}
		used, ok := quantity(in.Usage)
		if !ok {
			return 0, false
		}
		sum += used
	}
	return sum, true
}

func cpusOf(u *result.Usage) (float64, bool) { return u.CPUSeconds / u.Seconds, u.Seconds > 0 }

// peakMemory is what an instance had at most. Instances need not have had it at the same time,
// so that the sum of several is no less than what they had together.
func peakMemory(u *result.Usage) (float64, bool) {
	return float64(u.PeakMemoryBytes), u.PeakMemoryBytes > 0
}

func throttled(in result.Instance) bool { return in.Usage != nil && in.Usage.ThrottledSeconds > 0 }

func wantedMemory(in result.Instance) bool {
	return in.Usage != nil && (in.Usage.OOMKills > 0 || in.Usage.MemoryPressure >= runview.Starved)
}
