package headroom

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/problem"
	"plimsoll/internal/recording"
	"plimsoll/internal/units/plural"
)

const (
	// busyEnough is the share of time that a drive is busy in at the answer's quantile, from which on the most that it
	// did may be near to what it can do. A drive that is idle more often has never shown it.
	busyEnough = 0.5
	// full is the share of a capacity from which on more may have been wanted.
	full = 0.98
	// mostServices is how many services are asked about if none is named.
	mostServices = 3
)

// Find returns what a recording says. The error is of an option that does not fit the recording.
func Find(r *recording.Recording, o Options) (*Answer, error) {
	s := newSeries(r)
	a := &Answer{Resources: []Use{}, Host: r.Header.Host, Source: r.Header.Source, IntervalSeconds: medianOf(s.seconds),
		RecordedSeconds: r.Recorded(), Torn: r.Torn, OutOfOrder: r.OutOfOrder, Resets: r.CounterResets(), Binding: -1,
		Unknown: slices.Clone(r.Header.Unknown), times: r.Times}
	if n := len(r.Times); n > 0 {
		a.From = r.Times[0].Add(-time.Duration(r.Seconds[0] * float64(time.Second)))
		a.To = r.Times[n-1]
	}
	for _, g := range r.Gaps {
		a.Gaps = append(a.Gaps, Gap{g.From, g.Seconds(), g.Why})
	}
	if problems := check(s, o); len(problems) > 0 {
		return nil, problems
	}
	for _, name := range s.strangers() {
		a.Unknown = append(a.Unknown, fmt.Sprintf("the container of server %q: the recording has none of this name", name))
	}
	mixes := a.addUses(s, o)
	a.Quantile = a.judged(o.Quantile)
	a.share(s)
	a.bind(s)
	a.addMore(s, o, mixes)
	a.addEnough(s, o, mixes)
	a.addTogether(s, o, mixes)
	a.addMemory(s, o)
	a.Unseen = unseen(a, s)
	return a, nil
}

func medianOf(values []float32) float64 {
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	if len(sorted) == 0 {
		return 0
	}
	return sortedQuantile(sorted, 0.5)
}

// check returns what is wrong with the options.
func check(s *series, o Options) (wrong problem.List) {
	if o.Quantile != 0 && !(o.Quantile >= 0.5 && o.Quantile < 1) {
		wrong = append(wrong, problem.Problem{Kind: problem.Invalid, What: fmt.Sprintf("quantile %g", o.Quantile),
			Why: "demand is compared with a capacity at a quantile from 50% to below 100%", Remedy: "write 99.9%"})
	}
	if o.Container != "" && s.find(o.Container) == nil {
		var names []string
		for _, service := range s.services {
			names = append(names, service.name)
		}
		known := "it has no container"
		if len(names) > 0 {
			known = "it has " + plural.And(names[:min(len(names), 20)])
		}
		wrong = append(wrong, problem.Problem{Kind: problem.Invalid, What: fmt.Sprintf("container %q", o.Container),
			Why: "the recording has no container of this name", Remedy: known})
	}
	for _, c := range o.Capacities {
		if s.recording.Find(recording.Key{Kind: recording.OfDrive, Name: c.Drive}) != nil {
			continue
		}
		var names []string
		for _, d := range s.recording.OfKind(recording.OfDrive) {
			names = append(names, d.Thing.Name)
		}
		wrong = append(wrong, problem.Problem{Kind: problem.Invalid, What: fmt.Sprintf("a capacity of drive %q", c.Drive),
			Why: "the recording has no such drive", Remedy: "it has " + plural.And(names)})
		break
	}
	return wrong
}

// find returns a service by its name, or by the end of one behind a slash that no other has.
func (s *series) find(name string) *service {
	var found []*service
	for _, service := range s.services {
		if service.name == name {
			return service
		}
		if strings.HasSuffix(service.name, "/"+name) {
			found = append(found, service)
		}
	}
	if len(found) == 1 {
		return found[0]
	}
	return nil
}

// addUses adds the use of each resource, and returns the mixtures of drives.
func (a *Answer) addUses(s *series, o Options) map[string]mixture {
	add := func(u Use, mix mixture) {
		u.total = s.ofHost(&u, mix)
		numbers := known(u.total)
		if len(numbers) == 0 {
			return
		}
		for _, v := range numbers {
			u.Most = max(u.Most, float64(v))
		}
		for _, q := range UsualQuantiles {
			u.Quantiles = append(u.Quantiles, quantileOf(numbers, q, a.IntervalSeconds))
		}
		if u.Capacity.Source == "" {
			u.Capacity = Capacity{Drive: u.Drive, Resource: u.Resource, Value: u.Most, Source: MostSeen}
		}
		if u.Drive != "" && u.Most == 0 {
			return // it was idle
		}
		a.Resources = append(a.Resources, u)
	}
	host := s.recording.Header.Host
	if host.CPUs > 0 {
		add(Use{Resource: CPU, Capacity: Capacity{Resource: CPU, Value: host.CPUs, Source: Machine}}, mixture{})
	}
	if host.MemoryBytes > 0 {
		add(Use{Resource: Memory, Capacity: Capacity{Resource: Memory, Value: host.MemoryBytes, Source: Machine}},
			mixture{})
	}
	mixes := map[string]mixture{}
	for _, d := range s.recording.OfKind(recording.OfDrive) {
		drive := d.Thing.Name
		mix := mixture{}
		for _, resource := range []Resource{Operations, Bandwidth, Reads, Writes, ReadBandwidth, WriteBandwidth} {
			c, given := capacityOf(o.Capacities, drive, resource)
			switch {
			case given && resource == Reads:
				mix.reads = c.Value
			case given && resource == Writes:
				mix.writes = c.Value
			}
			if given || resource == Operations || resource == Bandwidth {
				add(Use{Drive: drive, Resource: resource, Capacity: c, besides: !given && knowsDrive(o.Capacities, drive)},
					mixture{})
			}
		}
		if mix.reads > 0 && mix.writes > 0 {
			mixes[drive] = mix
			reads, _ := capacityOf(o.Capacities, drive, Reads)
			add(Use{Drive: drive, Resource: Mixed, Capacity: Capacity{Drive: drive, Resource: Mixed, Value: 1,
				Source: reads.Source, From: reads.From}}, mix)
		}
	}
	return mixes
}

// knowsDrive reports whether any capacity of a drive is known.
func knowsDrive(capacities []Capacity, drive string) bool {
	return slices.ContainsFunc(capacities, func(c Capacity) bool { return c.Drive == drive })
}

// capacityOf returns the capacity that is known of a drive: what is given counts before what was measured.
func capacityOf(capacities []Capacity, drive string, resource Resource) (found Capacity, ok bool) {
	for _, c := range capacities {
		if c.Drive == drive && c.Resource == resource && (!ok || c.Source == Given) {
			found, ok = c, true
		}
	}
	return found, ok
}

// judged returns the quantile that demand is compared with capacities at; 0 if none is known.
func (a *Answer) judged(asked float64) float64 {
	n := a.intervals()
	for _, q := range []float64{asked, 0.999, 0.99} {
		if q > 0 && n*(1-q) >= FewestAbove-1e-9 {
			return q
		}
		if q == asked && asked > 0 {
			return 0
		}
	}
	return 0
}

// intervals returns how many intervals the resource that was seen longest has: a drive may be there for a moment.
func (a *Answer) intervals() (longest float64) {
	for _, u := range a.Resources {
		longest = max(longest, float64(len(known(u.total))))
	}
	return longest
}

// share sets the shares of capacities that are used at the answer's quantile, and what drives show beside them.
func (a *Answer) share(s *series) {
	for i := range a.Resources {
		u := &a.Resources[i]
		numbers := known(u.total)
		if u.Capacity.Source != MostSeen {
			index := 0
			for _, v := range numbers {
				if float64(v) >= full*u.Capacity.Value {
					index++
				}
			}
			u.AtCapacity = float64(index) / float64(len(numbers))
		}
		if a.Quantile == 0 || float64(len(numbers))*(1-a.Quantile) < FewestAbove-1e-9 {
			continue
		}
		slices.Sort(numbers)
		share := sortedQuantile(numbers, a.Quantile) / u.Capacity.Value
		u.Share = &share
		if u.Drive != "" {
			u.Busy, u.LatencyRatio = s.shownByDrive(u.Drive, a.Quantile)
		}
	}
}

// shownByDrive returns the share of time in which a drive had a request under way, at a quantile, and the time of its
// requests in the busiest intervals as a multiple of the median.
func (s *series) shownByDrive(drive string, q float64) (busy, latency float64) {
	c := s.recording.Find(recording.Key{Kind: recording.OfDrive, Name: drive})
	if times := known(s.rates(c, perMicro, recording.Busy)); len(times) > 0 {
		slices.Sort(times)
		busy = min(1, sortedQuantile(times, q))
	}
	operations := s.rates(c, 1, recording.Reads, recording.Writes)
	requestTime := s.rates(c, perMicro, recording.RequestTime)
	numbers := known(operations)
	if requestTime == nil || len(numbers) == 0 {
		return busy, 0
	}
	slices.Sort(numbers)
	middle, top := float32(sortedQuantile(numbers, 0.5)), float32(sortedQuantile(numbers, 1-busiest))
	var usualTimes, busiestTimes []float32
	for i, n := range operations {
		if !(n > 0) || !(requestTime[i] >= 0) {
			continue
		}
		if n >= middle {
			usualTimes = append(usualTimes, requestTime[i]/n)
		}
		if n > top {
			busiestTimes = append(busiestTimes, requestTime[i]/n)
		}
	}
	if len(busiestTimes) < fewestBusy || medianOf(usualTimes) == 0 {
		return busy, 0
	}
	return busy, medianOf(busiestTimes) / medianOf(usualTimes)
}

// mayBind reports whether the capacity of a resource says anything.
func (u *Use) mayBind() bool {
	return u.Capacity.Source != MostSeen || !u.besides && u.Busy >= busyEnough
}

// Binds returns the resource that binds first; nil if that is not known.
func (a *Answer) Binds() *Use {
	if a.Binding < 0 {
		return nil
	}
	return &a.Resources[a.Binding]
}

// bind finds the resource with the largest share.
func (a *Answer) bind(s *series) {
	for i, u := range a.Resources {
		if u.Share == nil || !u.mayBind() {
			continue
		}
		if a.Binding < 0 || *u.Share > *a.Resources[a.Binding].Share {
			a.Binding = i
		}
	}
	u := a.Binds()
	if u == nil {
		return
	}
	a.When = peak(s.recording.Times, u.total)
	a.Shape = byHour(s.recording.Times, s.seconds, u.total)
	a.Days = byDay(s.recording.Times, s.seconds, u.total)
}

// asked returns the services that are asked about: the one that is named, or those that use most of what binds.
func (a *Answer) asked(s *series, o Options, mixes map[string]mixture) []*service {
	if o.Container != "" {
		return []*service{s.find(o.Container)}
	}
	u := a.Binds()
	if u == nil {
		return nil
	}
	services := s.largest(u, mixes[u.Drive], mostServices)
	for _, service := range s.services { // somebody wants to know about those with servers
		if !slices.Contains(services, service) && s.serversOf(service, a.IntervalSeconds) != nil {
			services = append(services, service)
		}
	}
	return services
}

// largest returns the services that use most of a resource.
func (s *series) largest(u *Use, mix mixture, limitCount int) []*service {
	sums := map[*service]float64{}
	var used []*service
	for _, service := range s.services {
		for _, t := range service.copies {
			for _, v := range s.ofCopy(t, u, mix) {
				sums[service] += float64(v)
			}
		}
		if sums[service] > 0 {
			used = append(used, service)
		}
	}
	slices.SortStableFunc(used, func(x, y *service) int { return cmp.Compare(sums[y], sums[x]) })
	return used[:min(len(used), limitCount)]
}

// addMore adds how many more of the services fit.
func (a *Answer) addMore(s *series, o Options, mixes map[string]mixture) {
	for _, service := range a.asked(s, o, mixes) {
		m := More{Service: service.name, Copies: len(service.copies)}
		for _, t := range service.copies {
			for i, v := range s.recording.Find(t.Key()).Values(recording.CPU) {
				if v == v {
					m.Seconds += float64(s.seconds[i])
				}
			}
		}
		m.Server = s.serversOf(service, a.IntervalSeconds)
		fits := a.fittings(s, service, mixes, &m)
		m.Limits = a.limits(s, service)
		switch {
		case a.Quantile == 0:
			m.Unknown = "the recording is too short for the quantile"
		case m.Seconds < fewestRan:
			m.Unknown = fmt.Sprintf("it ran for %.0f s of the recording: at least %d s show its peaks", m.Seconds, fewestRan)
		default:
			fit, low, high, inStep, binding, ok := moreOf(fits, a.Quantile, a.IntervalSeconds, o.Seed)
			if !ok {
				m.Unknown = "no resource with a known capacity has a known use by it"
				break
			}
			m.Fit, m.Low, m.High, m.InStep = &fit, low, high, inStep
			if binding >= 0 {
				u := fits[binding].use
				m.Binds, m.Drive, m.AtLeast = u.Resource, u.Drive, u.Capacity.Source == MostSeen
			}
		}
		a.More = append(a.More, m)
	}
}

// fittings returns the resources that another copy of a service needs.
func (a *Answer) fittings(s *series, subject *service, mixes map[string]mixture, m *More) (fits []fitting) {
	for i := range a.Resources {
		u := &a.Resources[i]
		f := fitting{use: u, total: filled(u.total), capacity: u.Capacity}
		sum, unknown := 0.0, false
		for _, t := range subject.copies {
			values := s.ofCopy(t, u, mixes[u.Drive])
			unknown = unknown || values == nil
			if len(values) > 0 {
				f.copies = append(f.copies, values)
			}
			for _, v := range values {
				sum += float64(v)
			}
		}
		switch {
		case unknown || len(f.copies) == 0:
			m.Missing = append(m.Missing, u.Label()+": its use by the container was not counted")
		case sum == 0:
		case u.Share == nil:
			m.Missing = append(m.Missing, u.Label()+": it was there for too short")
		case u.besides:
			m.Missing = append(m.Missing, u.Label()+": its capacity is unknown")
		case !u.mayBind():
			m.Missing = append(m.Missing, fmt.Sprintf("%s: its capacity is unknown, and the drive was busy for only "+
				"%.0f%% of the time", u.Label(), 100*u.Busy))
		default:
			fits = append(fits, f)
		}
	}
	return fits
}

// filled returns values in which what is unknown is the value before it.
func filled(values []float32) []float32 {
	out := slices.Clone(values)
	first := slices.IndexFunc(out, func(v float32) bool { return v == v })
	for i := range out {
		switch {
		case out[i] == out[i]:
		case i > first:
			out[i] = out[i-1]
		default:
			out[i] = out[first]
		}
	}
	return out
}

// Label names the resource, with its drive.
func (u *Use) Label() string { return labelOf(u.Drive, u.Resource) }

func labelOf(drive string, resource Resource) string {
	if drive == "" {
		return resource.words()
	}
	return drive + " " + resource.words()
}

// limits returns the use of limits in force by the copies of a service: the fullest copy counts.
func (a *Answer) limits(s *series, subject *service) (uses []LimitUse) {
	for _, t := range subject.copies {
		for _, l := range s.recording.Find(t.Key()).Thing.Limits {
			if a.exceedsHost(l) {
				continue
			}
			u := LimitUse{Resource: Resource(l.Of), Drive: l.Drive, Value: l.Value}
			values := s.ofCopy(t, &Use{Drive: l.Drive, Resource: u.Resource}, mixture{})
			if len(values) > 0 && a.Quantile > 0 && float64(len(values))*(1-a.Quantile) >= FewestAbove-1e-9 {
				slices.Sort(values)
				share := sortedQuantile(values, a.Quantile) / l.Value
				u.Share = &share
			}
			index := slices.IndexFunc(uses, func(v LimitUse) bool {
				return v.Resource == u.Resource && v.Drive == u.Drive && v.Value == u.Value
			})
			switch {
			case index < 0:
				uses = append(uses, u)
			case u.Share != nil && (uses[index].Share == nil || *u.Share > *uses[index].Share):
				uses[index] = u
			}
		}
	}
	return uses
}

// exceedsHost reports whether a limit is of as much as the host has, or more, which limits nothing.
func (a *Answer) exceedsHost(l recording.Limit) bool {
	switch Resource(l.Of) {
	case CPU:
		return a.Host.CPUs > 0 && l.Value >= a.Host.CPUs
	case Memory:
		return a.Host.MemoryBytes > 0 && l.Value >= a.Host.MemoryBytes
	}
	return false
}

// addEnough adds which provisioned amounts would have been enough: of the host, and of the service that is asked about.
func (a *Answer) addEnough(s *series, o Options, mixes map[string]mixture) {
	for i := range a.Resources {
		u := &a.Resources[i]
		if u.Resource == Mixed {
			continue
		}
		a.enough(s, cmp.Or(u.Drive, "host"), u, u.total, o.Seed)
	}
	subject := s.find(o.Container)
	if o.Container == "" || subject == nil {
		return
	}
	for i := range a.Resources {
		u := &a.Resources[i]
		if u.Resource == Mixed {
			continue
		}
		if total := s.ofService(subject, u, mixes[u.Drive]); total != nil {
			a.enough(s, subject.name, u, total, o.Seed)
		}
	}
}

// ofService returns the use of a resource by the copy of a service that ran longest, over all intervals; nil if that is
// unknown. Intervals in which it did not run have NaN.
func (s *series) ofService(subject *service, u *Use, mix mixture) (longest []float32) {
	longestRun := 0
	for _, t := range subject.copies {
		values := s.ofCopy(t, u, mix)
		if len(values) <= longestRun {
			continue
		}
		longestRun = len(values)
		longest = make([]float32, len(s.seconds))
		index := 0
		for i, ran := range s.recording.Find(t.Key()).Values(recording.CPU) {
			longest[i] = float32(math.NaN())
			if ran == ran && index < len(values) {
				longest[i] = values[index]
				index++
			}
		}
	}
	return longest
}

func (a *Answer) enough(s *series, subject string, u *Use, total []float32, seed uint64) {
	var rates, seconds []float32
	requests, amount := 0.0, 0.0
	operations := s.rates(s.recording.Find(recording.Key{Kind: recording.OfDrive, Name: u.Drive}), 1, recording.Reads,
		recording.Writes)
	for i, v := range total {
		if v != v {
			continue
		}
		rates, seconds = append(rates, v), append(seconds, s.seconds[i])
		amount += float64(v)
		if operations != nil && operations[i] > 0 {
			requests += float64(operations[i])
		}
	}
	sorted := slices.Clone(rates)
	slices.Sort(sorted)
	add := func(e Enough, value float64) {
		e.Value = &value
		if u.Drive != "" && value > 0 {
			unit := 1.0
			if strings.Contains(string(u.Resource), string(Bandwidth)) && requests > 0 {
				unit = max(512, amount/requests)
			}
			r := replay(rates, seconds, value, unit, seed)
			e.Replay = &r
		}
		a.Enough = append(a.Enough, e)
	}
	e := Enough{Subject: subject, Drive: u.Drive, Resource: u.Resource}
	if subject == u.Drive {
		e.Drive = ""
	}
	for _, q := range EnoughQuantiles {
		e.Share = q
		if need := math.Ceil(FewestAbove/(1-q) - 1e-6); float64(len(rates)) < need {
			short := e
			short.MoreSeconds = (need - float64(len(rates))) * a.IntervalSeconds
			a.Enough = append(a.Enough, short)
			continue
		}
		add(e, sortedQuantile(sorted, q))
	}
	if u.Drive != "" && u.Capacity.Source == Given && len(sorted) > 0 {
		within := 0
		for _, v := range sorted {
			if float64(v) <= u.Capacity.Value {
				within++
			}
		}
		e.Share, e.Given = float64(within)/float64(len(sorted)), true
		add(e, u.Capacity.Value)
	}
}

// addTogether adds the services that peak together in the use of what binds.
func (a *Answer) addTogether(s *series, o Options, mixes map[string]mixture) {
	u := a.Binds()
	if u == nil || u.Resource == Memory {
		return
	}
	var demands []demandOf
	for _, subject := range s.largest(u, mixes[u.Drive], mostTogether) {
		sum := make([]float32, len(s.seconds))
		for _, t := range subject.copies {
			values, index := s.ofCopy(t, u, mixes[u.Drive]), 0
			for i, ran := range s.recording.Find(t.Key()).Values(recording.CPU) {
				if ran == ran && index < len(values) {
					sum[i] += values[index]
					index++
				}
			}
		}
		demands = append(demands, demandOf{subject.name, sum})
	}
	a.Together = peakTogether(demands, u.Drive, u.Resource, o.Seed)
}
