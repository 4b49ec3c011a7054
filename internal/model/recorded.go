package model

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
	"unicode"

	"plimsoll/internal/recording"
	"plimsoll/internal/result"
	"plimsoll/internal/stats"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
)

// Recorded is a recording of a running host to fit to.
type Recorded struct {
	Name      string // of its file or directory
	Recording *recording.Recording
}

// Basis is what a class was recorded as.
type Basis struct {
	Host   string `json:"host"`
	IOs    bool   `json:"ios"`    // an operation is a read or a write of a drive: those of the workload were not counted
	Levels string `json:"levels"` // "1, 2 and 3 instances"
	// Seconds is how long the intervals of all levels were.
	Seconds Number `json:"seconds"`
	Drive   string `json:"drive,omitempty"` // with most of its I/Os
	// MostIOs is the most I/Os per second that the drive did in an interval, for all containers.
	MostIOs Number `json:"most_ios_per_second,omitempty"`
	// BesideIOs and BesideCPUs are what other containers and the host used in the mean: I/Os per second of the drive, and
	// processors. The host of the class has what they left.
	BesideIOs  Number `json:"beside_ios_per_second,omitempty"`
	BesideCPUs Number `json:"beside_cpus,omitempty"`
	// Answers reports whether the levels show how demand falls if I/Os take longer. Else it is taken as constant.
	Answers bool `json:"demand_answers,omitempty"`
}

// Text is the basis in a sentence, without its end.
func (b *Basis) Text() string {
	of := "operations"
	if b.IOs {
		of = "I/Os, not operations,"
	}
	return fmt.Sprintf("of %s of %s as it ran, for %s at %s", of, cmp.Or(b.Host, "a host"),
		units.Elapsed(float64(b.Seconds)), b.Levels)
}

// Notes are what a reader of the model must know of the basis, in sentences.
func (b *Basis) Notes() (notes []string) {
	if b.IOs {
		notes = append(notes, "Its operations were not counted: an operation is a read or a write of "+
			cmp.Or(b.Drive, "a drive")+". How memory changes their number is not known.")
	}
	if b.BesideIOs >= 1 || b.BesideCPUs >= 0.01 {
		notes = append(notes, fmt.Sprintf(
			"Beside it, the host did %s I/Os a second in the mean and used %s. The model has the rest.",
			units.Rate(float64(b.BesideIOs)), units.Digits(float64(b.BesideCPUs))+" CPUs"))
	}
	if !b.Answers {
		notes = append(notes, "Its demand is taken as constant: no level shows whether it falls as I/Os take longer.")
	}
	return append(notes, fmt.Sprintf("The drive did up to %s I/Os a second. More is predicted only if the drive was "+
		"measured, or is named.", units.Rate(float64(b.MostIOs))))
}

// Bounds of stretches, which are the units of recorded points.
const (
	longestStretch   = 600.0 // seconds
	fewestInStretch  = 5     // intervals
	stretchesAtLevel = 12    // at most, of a level that is shorter than so many of the longest
	// seconds after the number of instances changed that are left out, up to a quarter of the level
	settling        = 60.0
	rateLevels      = 3    // of a service with few numbers of instances, each with a third of the stretches
	leastRateSpread = 1.25 // of the highest of these levels over the lowest
	leastShare      = 0.01 // of the host's I/Os: what does less is no class
	constantClients = 64   // of each instance, if demand is taken as constant
	mostClients     = 1024
)

// stretch is what a service did in intervals with one number of instances.
type stretch struct {
	instances               int
	seconds                 float64
	operations              float64
	reads, writes           float64
	readBytes, writeBytes   float64
	cpu                     float64 // processor seconds
	held, fixed             float64 // bytes of all instances, in the mean
	latency                 float64 // seconds of an operation
	besideCPU, besideIOs    float64 // processor seconds and I/Os of others
	besideMemory            float64 // bytes that others hold and no shortage takes
	counted                 float64 // operations of servers
	operationSeconds, timed float64 // of operations whose time was measured, and their number
}

func (s *stretch) each() float64 { return s.operations / s.seconds / float64(s.instances) }

// observeRecorded returns the classes of recordings with their points, and why services were left out. Recordings of
// one host are as one.
func observeRecorded(all []Recorded) (observed []Observed, bases map[Class]*Basis, left []string) {
	bases = map[Class]*Basis{}
	type key struct{ host, service string }
	services := map[key][]*recordedService{}
	var order []key
	for _, r := range all {
		host := r.Recording.Header.Host.Name
		copies := map[string][]*recording.Course{}
		var names []string
		for _, c := range r.Recording.OfKind(recording.OfContainer) {
			if copies[c.Thing.Name] == nil {
				names = append(names, c.Thing.Name)
			}
			copies[c.Thing.Name] = append(copies[c.Thing.Name], c)
		}
		for _, name := range names {
			k := key{host, name}
			if services[k] == nil {
				order = append(order, k)
			}
			services[k] = append(services[k], &recordedService{recording: r.Recording, run: r.Name, name: name,
				copies: copies[name]})
		}
		if len(names) == 0 {
			left = append(left, r.Name+" has no container")
		}
	}
	small := map[string]int{}
	for _, k := range order {
		o, basis, why := observeService(services[k])
		switch {
		case why == tooSmall:
			small[k.host]++
		case why != "":
			left = append(left, k.service+": "+why)
		default:
			observed, bases[o.Class] = append(observed, o), basis
		}
	}
	for _, host := range slices.Sorted(maps.Keys(small)) {
		left = append(left, fmt.Sprintf("%s of %s with less than %s of its I/Os", plural.Count(small[host], "container"),
			cmp.Or(host, "a host"), units.Percent(leastShare)))
	}
	return observed, bases, left
}

const tooSmall = "too small"

// recordedService is the copies of one container in a recording.
type recordedService struct {
	recording *recording.Recording
	run       string // name of the recording
	name      string
	copies    []*recording.Course

	uses     []*recording.Course // of all copies
	servers  []*recording.Course // whose operations were counted
	drive    string              // with most of its I/Os
	counted  bool                // operations were
	totalIOs float64
}

// observeService returns the points of a service by recordings of one host. why says why there are none.
func observeService(parts []*recordedService) (o Observed, basis *Basis, why string) {
	last := parts[len(parts)-1]
	host := last.recording.Header.Host
	total, ofHost, counted := 0.0, 0.0, true
	for _, s := range parts {
		if why := s.look(); why != "" {
			return o, nil, why
		}
		total, ofHost, counted = total+s.totalIOs, ofHost+s.hostIOs(), counted && s.counted
	}
	if total == 0 || total < leastShare*ofHost {
		return o, nil, tooSmall
	}
	var stretches []stretch
	basis = &Basis{Host: host.Name, IOs: !counted, Drive: last.drive}
	for _, s := range parts {
		s.counted = counted
		stretches = append(stretches, s.stretches()...)
		basis.MostIOs = max(basis.MostIOs, s.mostIOs())
	}
	if len(stretches) == 0 {
		return o, nil, fmt.Sprintf("it did nothing for as long as a level takes: %d intervals", fewestInStretch)
	}
	var levels []recordedLevel
	if levels, basis.Levels, why = levelsOf(stretches); why != "" {
		return o, nil, why
	}
	operation := "operations"
	if !counted {
		operation = "I/Os"
	}
	o.Class = Class{Workload: className(last.name), Stack: cmp.Or(className(host.Name), "recorded"),
		Declared: "recorded " + operation + " of " + last.name}
	left := hostOfRecorded(host, stretches, basis)
	var clients int
	clients, basis.Answers = clientsOf(stretches)
	for _, l := range levels {
		p := Point{Run: last.run, Mix: l.name, Instances: l.stretches[0].instances, Host: left, Own: last.ownLimits(),
			Clients: clients, Think: thinkOf(l.demand, float64(clients))}
		for i := range l.stretches {
			basis.Seconds += Number(l.stretches[i].seconds)
			p.Units = append(p.Units, l.stretches[i].unit())
		}
		o.Points = append(o.Points, p)
	}
	return o, basis, ""
}

// look finds what there is of the service. why says why nothing can be known.
func (s *recordedService) look() (why string) {
	r := s.recording
	if r.Header.UsesUnknown || slices.ContainsFunc(s.copies, func(c *recording.Course) bool { return c.Thing.IOUnknown }) {
		return "its reads and writes were not counted: record with --follow"
	}
	for _, u := range r.OfKind(recording.OfUse) {
		if u.Thing.Name == s.name {
			s.uses = append(s.uses, u)
		}
	}
	s.findDrive()
	for _, c := range r.OfKind(recording.OfServer) {
		if c.Thing.Name == s.name && slices.ContainsFunc(c.Values(recording.Operations),
			func(v float32) bool { return v > 0 }) {
			s.servers = append(s.servers, c)
		}
	}
	s.counted = len(s.servers) > 0 && len(s.servers) == len(s.copies)
	return ""
}

// className returns a name that a mix can hold.
func className(name string) string {
	return strings.Map(func(r rune) rune {
		if r == ':' || r == ',' || r == '@' || r == '#' || unicode.IsSpace(r) || !unicode.IsPrint(r) {
			return '-'
		}
		return r
	}, name)
}

// findDrive finds the drive with most I/Os of the service.
func (s *recordedService) findDrive() {
	byDrive := map[string]float64{}
	for _, u := range s.uses {
		for _, m := range []recording.Metric{recording.Reads, recording.Writes} {
			for _, v := range u.Values(m) {
				if v > 0 {
					byDrive[u.Thing.Drive] += float64(v)
					s.totalIOs += float64(v)
				}
			}
		}
	}
	for _, drive := range slices.Sorted(maps.Keys(byDrive)) {
		if s.drive == "" || byDrive[drive] > byDrive[s.drive] {
			s.drive = drive
		}
	}
}

func (s *recordedService) driveCourse() *recording.Course {
	return s.recording.Find(recording.Key{Kind: recording.OfDrive, Name: s.drive})
}

// hostIOs returns the I/Os of all drives.
func (s *recordedService) hostIOs() (sum float64) {
	for _, d := range s.recording.OfKind(recording.OfDrive) {
		for _, m := range []recording.Metric{recording.Reads, recording.Writes} {
			for _, v := range d.Values(m) {
				if v > 0 {
					sum += float64(v)
				}
			}
		}
	}
	return sum
}

// mostIOs returns the most I/Os per second of the drive in an interval; 0 for unknown.
func (s *recordedService) mostIOs() (most Number) {
	d := s.driveCourse()
	reads, writes := d.Values(recording.Reads), d.Values(recording.Writes)
	for i := range reads {
		if v := Number(float64(reads[i]+writes[i]) / s.recording.Seconds[i]); v > most {
			most = v
		}
	}
	return most
}

// running returns how many copies ran in an interval.
func (s *recordedService) running(i int) (n int) {
	for _, c := range s.copies {
		if values := c.Values(recording.CPU); i < len(values) && values[i] == values[i] {
			n++
		}
	}
	return n
}

// stretches divides the recording into stretches of one number of instances.
func (s *recordedService) stretches() (all []stretch) {
	r := s.recording
	instances := make([]int, len(r.Times))
	atLevel := map[int]float64{}
	for i := range instances {
		instances[i] = s.running(i)
		atLevel[instances[i]] += r.Seconds[i]
	}
	gap := func(i int) bool {
		begins := r.Times[i].Add(-time.Duration(r.Seconds[i] * float64(time.Second)))
		return begins.Sub(r.Times[i-1]).Seconds() > max(r.Header.Interval, r.Seconds[i])/2
	}
	for from := 0; from < len(instances); {
		to, seconds := from+1, r.Seconds[from]
		for to < len(instances) && instances[to] == instances[from] && !gap(to) {
			seconds += r.Seconds[to]
			to++
		}
		if instances[from] > 0 {
			first, skipped := from, 0.0
			for from > 0 && first < to && skipped+r.Seconds[first] <= min(settling, seconds/4) {
				skipped += r.Seconds[first]
				first++
			}
			all = append(all, s.cut(first, to, instances[from], min(longestStretch,
				atLevel[instances[from]]/stretchesAtLevel))...)
		}
		from = to
	}
	return all
}

// cut returns the stretches of some length in intervals with one number of instances. The rest at the end belongs to
// none.
func (s *recordedService) cut(from, to, instances int, length float64) (all []stretch) {
	begin, seconds := from, 0.0
	for i := from; i < to; i++ {
		seconds += s.recording.Seconds[i]
		if seconds >= length*(1-1e-6) && i+1-begin >= fewestInStretch {
			if one, ok := s.sum(begin, i+1, instances); ok {
				all = append(all, one)
			}
			begin, seconds = i+1, 0
		}
	}
	return all
}

// sum adds up the intervals of a stretch; ok is false if there was no operation, or an amount is not known.
func (s *recordedService) sum(from, to, instances int) (one stretch, ok bool) {
	r := s.recording
	one.instances = instances
	for i := from; i < to; i++ {
		one.seconds += r.Seconds[i]
	}
	known := func(c *recording.Course, m recording.Metric) (sum float64) { // of intervals without a value, 0
		values := c.Values(m)
		for i := from; i < min(to, len(values)); i++ {
			if values[i] == values[i] {
				sum += float64(values[i])
			}
		}
		return sum
	}
	share := 1 / float64(to-from)
	for _, u := range s.uses {
		one.reads += known(u, recording.Reads)
		one.writes += known(u, recording.Writes)
		one.readBytes += known(u, recording.ReadBytes)
		one.writeBytes += known(u, recording.WriteBytes)
	}
	for _, c := range s.copies {
		one.cpu += known(c, recording.CPU) / 1e6
		fixed := 1024 * share * (known(c, recording.Anonymous) + known(c, recording.SharedMemory))
		one.fixed += fixed
		one.held += fixed + 1024*share*known(c, recording.ActiveFile)
	}
	complete := true // operations of all that ran, in all intervals
	for _, c := range s.servers {
		one.counted += known(c, recording.Operations)
		one.timed += known(c, recording.Timed)
		one.operationSeconds += known(c, recording.OperationTime) / 1e6
	}
	for i := from; i < to && s.counted; i++ {
		n := 0
		for _, c := range s.servers {
			if v := c.Values(recording.Operations)[i]; v == v {
				n++
			}
		}
		complete = complete && n == instances
	}
	host, drive := r.Find(recording.Key{Kind: recording.OfHost}), s.driveCourse()
	one.besideCPU = max(0, known(host, recording.CPU)/1e6-one.cpu)
	ofDrive := known(drive, recording.Reads) + known(drive, recording.Writes)
	ios := one.reads + one.writes
	one.besideIOs = max(0, ofDrive-ios)
	if available := 1024 * share * known(host, recording.Available); available > 0 {
		one.besideMemory = max(0, r.Header.Host.MemoryBytes-available-one.fixed)
	}
	one.operations = ios
	each := known(drive, recording.RequestTime) / 1e6 / ofDrive
	one.latency = each
	if s.counted {
		one.operations = one.counted
		one.latency = one.operationSeconds / one.timed
		if !(one.latency > 0) { // not measured: I/Os and processor time of an operation, in sequence
			one.latency = (ios*each + one.cpu) / one.operations
		}
	}
	return one, complete && one.operations > 0 && one.seconds > 0 && !math.IsInf(one.latency, 0)
}

// unit returns the measurements of a stretch.
func (s *stretch) unit() Unit {
	per := func(amount float64) Number { return Number(amount / s.operations) }
	u := Unit{Rate: Number(s.operations / s.seconds), Mean: Number(math.NaN()), P99: Number(math.NaN()),
		Reads: per(s.reads), Writes: per(s.writes), ReadBytes: per(s.readBytes), WriteBytes: per(s.writeBytes),
		CPU: Number(math.NaN()), HostCPU: Number(math.NaN()), Held: Number(math.NaN()), Fixed: Number(math.NaN())}
	for _, known := range []struct {
		to    *Number
		value float64
	}{{&u.Mean, s.latency}, {&u.CPU, s.cpu / s.operations}, {&u.Held, s.held}, {&u.Fixed, s.fixed}} {
		if known.value > 0 {
			*known.to = Number(known.value)
		}
	}
	return u
}

// recordedLevel is the stretches of one level.
type recordedLevel struct {
	name      string
	stretches []stretch
	demand    demandOf
}

// demandOf is what an instance does per second, at the latency that it was seen to do so.
type demandOf struct{ rate, latency float64 }

// demandIn returns the demand of stretches.
func demandIn(some []stretch) demandOf {
	var rates, latencies []float64
	for i := range some {
		rates = append(rates, some[i].each())
		if some[i].latency > 0 {
			latencies = append(latencies, some[i].latency)
		}
	}
	d := demandOf{rate: stats.Median(rates)}
	if len(latencies) > 0 {
		d.latency = stats.Median(latencies)
	}
	return d
}

// thinkOf returns how long each client thinks between two operations, in seconds.
func thinkOf(d demandOf, clients float64) float64 { return max(0, clients/d.rate-d.latency) }

// levelsOf divides stretches into levels: numbers of instances, and rates if there are few of these. text names them.
// why says why there are too few.
func levelsOf(all []stretch) (levels []recordedLevel, text, why string) {
	byNumber := map[int][]stretch{}
	for i := range all {
		byNumber[all[i].instances] = append(byNumber[all[i].instances], all[i])
	}
	numbers := slices.Sorted(maps.Keys(byNumber))
	var words []string
	for _, n := range numbers {
		words = append(words, fmt.Sprint(n))
	}
	text = plural.And(words) + " " + plural.Of(numbers[len(numbers)-1], "instance")
	if len(numbers) >= FewestPoints {
		demand := demandIn(fastestHalf(all))
		for _, n := range numbers {
			levels = append(levels, recordedLevel{plural.Count(n, "instance"), byNumber[n], demand})
		}
		return levels, text, ""
	}
	spread := 1.0
	for _, n := range numbers {
		some := byNumber[n]
		slices.SortStableFunc(some, func(a, b stretch) int { return cmp.Compare(b.each(), a.each()) })
		if len(some) < 2*rateLevels {
			continue
		}
		size := len(some) / rateLevels
		for k := range rateLevels {
			part := some[k*size : min((k+1)*size, len(some))]
			if k == rateLevels-1 {
				part = some[k*size:]
			}
			name := [rateLevels]string{"busiest", "middle", "calmest"}[k] + " third at " + plural.Count(n, "instance")
			levels = append(levels, recordedLevel{name, part, demandIn(part)})
		}
		first, last := levels[len(levels)-rateLevels], levels[len(levels)-1]
		spread = max(spread, first.demand.rate/last.demand.rate)
	}
	switch {
	case len(levels) < FewestPoints:
		return nil, "", fmt.Sprintf("it ran at %s for too short: a level takes %d stretches, or record other numbers of "+
			"instances", text, 2*rateLevels)
	case spread < leastRateSpread:
		return nil, "", fmt.Sprintf("it ran at %s, and its rate hardly changed (its busiest third did %s times what its "+
			"calmest did): record other numbers of instances, or busier hours", text, units.Digits(spread))
	}
	return levels, text + ", each at three rates", ""
}

// fastestHalf returns the half of stretches with the lower latency: what instances ask for if they wait least.
func fastestHalf(all []stretch) []stretch {
	sorted := slices.Clone(all)
	slices.SortStableFunc(sorted, func(a, b stretch) int { return cmp.Compare(a.latency, b.latency) })
	return sorted[:(len(sorted)+1)/2]
}

// How much longer operations must have taken, and how much nearer to a number of clients rates must be, to show that
// demand falls as they take longer.
const (
	leastLatencySpread = 1.5
	nearerClients      = 0.7
)

// clientsOf returns how many clients an instance is taken to have. answers reports whether stretches show it: how
// their rates fall as operations take longer. Otherwise demand is as good as constant.
func clientsOf(all []stretch) (clients int, answers bool) {
	low, high, most := math.Inf(1), 0.0, 0.0
	for i := range all {
		if l := all[i].latency; l > 0 {
			low, high = min(low, l), max(high, l)
			most = max(most, l*all[i].each())
		}
	}
	constant := constantClients
	for float64(constant) < 8*most && constant < mostClients {
		constant *= 2
	}
	if !(high > leastLatencySpread*low) {
		return constant, false
	}
	demand := demandIn(fastestHalf(all))
	off := func(clients float64) (squares float64) {
		think := thinkOf(demand, clients)
		for i := range all {
			z := math.Log(all[i].each() * (think + all[i].latency) / clients)
			squares += z * z
		}
		return squares
	}
	best, least := constant, off(float64(constant))
	limit := nearerClients * least
	for c := 1; c < constant; c *= 2 {
		if float64(c) <= most {
			continue
		}
		if squares := off(float64(c)); squares < limit && squares < least {
			best, least, answers = c, squares, true
		}
	}
	return best, answers
}

// hostOfRecorded returns the resources of the host that other containers do not use.
func hostOfRecorded(machine recording.Host, all []stretch, basis *Basis) (h Host) {
	var seconds, cpu, ios, memory float64
	for i := range all {
		seconds += all[i].seconds
		cpu += all[i].besideCPU
		ios += all[i].besideIOs
		memory += all[i].besideMemory * all[i].seconds
	}
	basis.BesideCPUs, basis.BesideIOs = Number(cpu/seconds), Number(ios/seconds)
	if machine.CPUs > 0 {
		h.CPUs = max(machine.CPUs-cpu/seconds, machine.CPUs/100)
	}
	if machine.MemoryBytes > 0 {
		h.MemoryBytes = int64(max(machine.MemoryBytes-memory/seconds, 0))
	}
	return h
}

// ownLimits returns the limits in force of each instance: the largest of its copies, and none if a copy has none.
func (s *recordedService) ownLimits() (l result.Limits) {
	held := func(of string) (most float64) {
		for _, c := range s.copies {
			i := slices.IndexFunc(c.Thing.Limits, func(l recording.Limit) bool {
				return l.Of == of && (l.Drive == "" || l.Drive == s.drive)
			})
			if i < 0 {
				return 0
			}
			most = max(most, c.Thing.Limits[i].Value)
		}
		return most
	}
	l.CPUs, l.MemoryBytes = held("cpus"), int64(held("memory"))
	for _, rate := range []struct {
		to  *result.Rate
		key string
	}{{&l.Read, "read-"}, {&l.Write, "write-"}, {&l.IO, ""}} {
		rate.to.OperationsPerSecond = int64(held(rate.key + "iops"))
		rate.to.BytesPerSecond = int64(held(rate.key + "bandwidth"))
	}
	return l
}

// recordedDrive returns the name of the drive that a recorded class stood on: one of the model's, of that device of
// that host. Other containers used it as well. The class then stands on what they left, which is added as a drive.
func (m *Model) recordedDrive(b *Basis) string {
	i := slices.IndexFunc(m.Drives, func(d Drive) bool { return d.On != "" && d.On == b.Drive && d.Host == b.Host })
	if i < 0 {
		return ""
	}
	d := m.Drives[i]
	most := Number(math.Inf(1))
	for _, side := range []Side{d.Read, d.Write} {
		if side.IOPS > 0 {
			most = min(most, side.IOPS)
		}
	}
	const fewBeside = 0.01
	share := b.BesideIOs / most
	if !(share > fewBeside) {
		return d.Name
	}
	left := max(1-share, fewBeside)
	d.Name += " beside " + units.Rate(float64(b.BesideIOs)) + " I/Os"
	d.Points = nil
	for _, n := range []*Number{&d.Read.IOPS, &d.Read.Bandwidth, &d.Write.IOPS, &d.Write.Bandwidth} {
		*n *= left
	}
	if !slices.ContainsFunc(m.Drives, func(other Drive) bool { return other.Name == d.Name }) {
		m.Drives = append(m.Drives, d)
	}
	return d.Name
}

// recordedLine is LoadLine of a recorded class: the largest number at which each does 90% of its recorded rate. Its
// interval is of demand that is known as far as levels agree, and, if no level shows how demand falls as I/Os take
// longer, of any number of clients.
func (m *Model) recordedLine(q question, line LoadLine) (LoadLine, error) {
	f, t := q.classes[0], &q.ask.Tenants[0]
	demand, latency := f.demand(t)
	line.Demand = Number(demand)
	var why string
	carried := func(p *Params, clients int, demand float64, known bool) int {
		t.Clients, t.Think = clients, max(0, float64(clients)/demand-latency)
		for n := range line.Most {
			t.Count = n + 1
			if q.overfull() != "" {
				return n
			}
			o := q.outcome(func(*Fitted) *Params { return p }, q.ask.Kind())
			if known && o.solved {
				if why = q.unrecorded(o); why != "" {
					return n
				}
			}
			if !(o.rates[0] >= asMuch*demand*float64(n+1)) {
				return n
			}
		}
		return line.Most
	}
	clients := t.Clients
	line.Instances = carried(&f.Params, clients, demand, true)
	if why != "" {
		return line, &noLoadLine{fmt.Sprintf("up to %s, each does what it did. With one more, %s",
			plural.Count(line.Instances, "instance"), why)}
	}
	var all []float64
	for d := range draws {
		rng := rand.New(rand.NewPCG(m.Seed, uint64(d)))
		drawn := demand * math.Exp(float64(f.Check.Between.Off)*rng.NormFloat64())
		some := clients
		if !f.Basis.Answers {
			some = max(clients>>(d%shrinks), int(math.Ceil(2*demand*latency)), 1)
		}
		all = append(all, float64(carried(f.draw(d), some, drawn, false)))
	}
	line.Low, line.High = numbersBetween(all, line.Instances)
	line.Peak, line.PeakLow, line.PeakHigh = line.Instances, line.Low, line.High
	return line, nil
}

// shrinks is how often a number of clients that is not known is halved at most.
const shrinks = 6

// demand returns what an instance of a recorded class does per second, and how many seconds an operation takes, where
// it waits for nothing but its own I/Os.
func (f *Fitted) demand(t *Tenant) (rate, latency float64) {
	latency = math.Inf(1)
	for i := range f.Points {
		latency = min(latency, f.Points[i].latency())
	}
	return float64(t.Clients) / (t.Think + latency), latency
}

// memorySlack is the share of memory by which less is no less.
const memorySlack = 0.02

// unrecorded says what the recordings of classes cannot show of an outcome; "" for nothing.
func (q question) unrecorded(best outcome) string {
	for i, f := range q.classes {
		if f.Basis == nil {
			continue
		}
		in := &best.in[i]
		wants, least := need(f.Points), f.memory().least
		if f.Basis.IOs && in.memory > 0 && in.memory < (1-memorySlack)*min(least, max(wants, 1)) {
			return fmt.Sprintf("it is not known how many more I/Os %s does with %s of memory each: it used %s, and its "+
				"recording counts I/Os, which the page cache saves, and no operations. Ask about more memory, or measure with "+
				"`plimsoll run density`", f.Name, units.Bytes(uint64(in.memory)), units.Bytes(uint64(wants)))
		}
		if why := q.beyondDrive(i, f, best); why != "" {
			return why
		}
	}
	return ""
}

// beyondDrive says why nothing is known of a drive that does more than a recording saw of it; "" for nothing.
func (q question) beyondDrive(i int, f *Fitted, best outcome) string {
	none := result.Rate{}
	h, own := q.ask.Host, q.ask.Tenants[i].Own
	switch {
	case q.drives[i] >= 0 || f.Params.Drive > 0:
		return ""
	case h.IO != none || h.Read != none || h.Write != none || own.IO != none || own.Read != none || own.Write != none:
		return ""
	}
	in := &best.in[i]
	each := best.rates[i] / in.count
	ios := best.rates[i]*(f.Params.Reads.At(in.memory)+f.Params.Writes.At(each)) + float64(f.Basis.BesideIOs)
	if !(ios > float64(f.Basis.MostIOs)) {
		return ""
	}
	return fmt.Sprintf("%s I/Os a second would reach the drive, and the recording never saw more than %s: what the drive "+
		"can do is not known. Fit the recording together with a `plimsoll run devices` of this host, or name what there is: "+
		"--read-iops, --write-iops, or iops in --host-file", units.Rate(ios), units.Rate(float64(f.Basis.MostIOs)))
}
