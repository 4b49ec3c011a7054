package model

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"unicode"

	"plimsoll/internal/recording"
	"plimsoll/internal/result"
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

// className returns a name that a mix can hold.
func className(name string) string {
	return strings.Map(func(r rune) rune {
		if r == ':' || r == ',' || r == '@' || r == '#' || unicode.IsSpace(r) || !unicode.IsPrint(r) {
			return '-'
		}
		return r
	}, name)
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
