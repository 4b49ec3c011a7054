package model

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/experiment"
	"plimsoll/internal/problem"
	"plimsoll/internal/result"
	"plimsoll/internal/stats"
	"plimsoll/internal/units"
)

// mostInstances is more than any host runs.
const mostInstances = 100_000

// ParseMix reads what a command line says of tenants: classes and how many of each, "C: 4 on a,
// A: 2", or "C" for one whose number is asked for. Behind "on" is the drive of the host that they stand on.
func (m *Model) ParseMix(text string) (all []Tenant, err error) {
	var problems problem.List
	for part := range strings.SplitSeq(text, ",") {
		name, number, given := strings.Cut(part, ":")
		number, drive, _ := strings.Cut(number, " on ")
		name, number = strings.TrimSpace(name), strings.TrimSpace(number)
		t := Tenant{Class: name, Count: 1, Drive: strings.TrimSpace(drive), Think: -1}
		if _, err := m.Find(name); err != nil {
			problems.InLine(0, "the mix: "+err.Error(), `write "C: 4" for four instances of C`)
			continue
		}
		if given {
			n, err := strconv.Atoi(number)
			if err != nil || n < 0 || n > mostInstances {
				problems.InLine(0, fmt.Sprintf("the mix: %s: %q is no number of instances", name, number),
					`write "C: 4" for four instances of C`)
				continue
			}
			if t.Count = n; n == 0 {
				continue // for scripts, which write all classes
			}
		}
		for _, other := range all {
			if other.Class == name && other.Drive == t.Drive {
				problems.InLine(0, "the mix names "+name+" twice", "name it once for each drive, with all of its instances")
			}
		}
		all = append(all, t)
	}
	if len(problems) == 0 && len(all) == 0 {
		problems.InLine(0, "the mix has no instance", `write "C: 4" for four instances of C`)
	}
	if len(problems) > 0 {
		return nil, problems.Sorted().Within("")
	}
	return all, nil
}

// Over is a factor that a prediction is made over, and its values.
type Over struct {
	Factor string    `json:"factor"` // "n", "clients" of each instance, or the key of a limit
	Values []float64 `json:"values"`
	Unit   string    `json:"unit"` // "B", "B/s", "" for a bare number
}

// steps is how many values there are of a limit from one to another.
const steps = 9

// ParseOver reads what a command line says of a factor: "n=1..16", "memory=1GiB..8GiB".
func ParseOver(text string) (o Over, err error) {
	wrong := func(why string) (Over, error) {
		return Over{}, fmt.Errorf("--over %s: %s; write n=1..16, or the key of a limit such as memory=1GiB..8GiB", text, why)
	}
	factor, span, _ := strings.Cut(text, "=")
	from, to, ok := strings.Cut(span, "..")
	if !ok {
		return wrong("it is no factor with two ends")
	}
	o.Factor = strings.TrimSpace(factor)
	if o.Factor == "n" || o.Factor == "clients" {
		low, err := strconv.Atoi(from)
		high, err2 := strconv.Atoi(to)
		if err != nil || err2 != nil || low < 1 || high < low || high > 4096 {
			return wrong("numbers of instances and clients are whole, from 1 to 4096")
		}
		for n := low; n <= high; n += max(1, (high-low)/64) {
			o.Values = append(o.Values, float64(n))
		}
		return o, nil
	}
	var low, high float64
	for _, end := range []struct {
		text  string
		value *float64
	}{{from, &low}, {to, &high}} {
		l, err := parseLimit(o.Factor, end.text)
		if err != nil {
			return wrong(err.Error())
		}
		*end.value, o.Unit = limitOf(l, o.Factor)
	}
	switch {
	case !(low > 0 && high >= low):
		return wrong("an end is not above 0, or the second is less than the first")
	case low == high:
		o.Values = []float64{low}
		return o, nil
	}
	for i := range steps {
		o.Values = append(o.Values, low*math.Pow(high/low, float64(i)/(steps-1)))
	}
	return o, nil
}

// parseLimit reads a limit of a host by its key.
func parseLimit(key, text string) (result.Limits, error) {
	if f, ok := ioKeys.Find(key); ok {
		var h Host
		err := f.Set(&h, text)
		return h.limits(), err
	}
	return experiment.ParseLimits("--over", key+": "+text)
}

// limitOf is the value of a limit by its key.
func limitOf(l result.Limits, key string) (value float64, unit string) {
	switch key {
	case "cpus":
		return l.CPUs, ""
	case "memory":
		return float64(l.MemoryBytes), "B"
	case "read-iops":
		return float64(l.Read.OperationsPerSecond), ""
	case "write-iops":
		return float64(l.Write.OperationsPerSecond), ""
	case "read-bandwidth":
		return float64(l.Read.BytesPerSecond), "B/s"
	case "write-bandwidth":
		return float64(l.Write.BytesPerSecond), "B/s"
	case "iops":
		return float64(l.IO.OperationsPerSecond), ""
	case "bandwidth":
		return float64(l.IO.BytesPerSecond), "B/s"
	}
	return 0, ""
}

// At returns the ask with the factor at a value.
func (o Over) At(ask Ask, value float64) Ask {
	h := &ask.Host
	switch o.Factor {
	case "n":
		t := ask.Tenants[0]
		t.Count = int(value)
		ask.Tenants = []Tenant{t}
	case "cpus":
		if h.Machine > 0 && value > h.Machine {
			h.Machine *= value / h.CPUs
		}
		h.CPUs = value
	case "memory":
		h.MemoryBytes = int64(value)
	case "read-iops":
		h.Read.OperationsPerSecond = int64(value)
	case "write-iops":
		h.Write.OperationsPerSecond = int64(value)
	case "read-bandwidth":
		h.Read.BytesPerSecond = int64(value)
	case "write-bandwidth":
		h.Write.BytesPerSecond = int64(value)
	case "iops":
		h.IO.OperationsPerSecond = int64(value)
	case "bandwidth":
		h.IO.BytesPerSecond = int64(value)
	case "clients":
		ask.Tenants = slices.Clone(ask.Tenants)
		for i := range ask.Tenants {
			ask.Tenants[i].Clients = int(value)
		}
	}
	return ask
}

// Text is a value of the factor, for people.
func (o Over) Text(value float64) string {
	switch o.Unit {
	case "B":
		return units.Bytes(uint64(value))
	case "B/s":
		return units.Bandwidth(value)
	}
	return strconv.FormatFloat(math.Round(100*value)/100, 'f', -1, 64)
}

// Times returns the host with so many times as much of a limit, by its key; false where it has
// no such limit. Processors that would be more than those of the machine come with their share of
// those that ask.
func (h Host) Times(key string, by float64) (Host, bool) {
	value, _ := limitOf(h.limits(), key)
	if value == 0 {
		return h, false
	}
	return Over{Factor: key}.At(Ask{Host: h}, value*by).Host, true
}

// HostOf returns the host that most of a class's points were measured on, with the drive that it stood on where
// the model knows it.
func (m *Model) HostOf(f *Fitted) (k HostKind) {
	k.Host = f.Measured()
	if d, err := m.Drive(f.Drive); err == nil {
		k.Drives = []HostDrive{{Name: d.Name, Is: d}}
	}
	return k
}

// Speed returns how fast a processor of a run's host is beside those that the model's classes were measured on: what
// an operation of the same class takes of each.
func (m *Model) Speed(run *result.Run) (float64, error) {
	observed, _, left := Observe(run)
	var all []float64
	for _, o := range observed {
		f := m.like(o.Class)
		if f == nil {
			continue
		}
		for _, p := range o.Points {
			took := p.median(func(u *Unit) *Number { return &u.CPU })
			if speed := f.Params.CPU.At(f.Params.Reads.At(p.Memory())) / took; speed > 0 && !math.IsInf(speed, 0) {
				all = append(all, speed)
			}
		}
	}
	if len(all) == 0 {
		return 0, fmt.Errorf("run %s does not show processor time: it has no class of the model whose processor time was "+
			"measured. %s", run.ID, strings.Join(left, "; "))
	}
	return stats.Median(all), nil
}

// load returns how many clients most of a class's points had of each instance, of equals the most, and how long they
// thought.
func (f *Fitted) load() (clients int, think float64) {
	most := 0
	for _, p := range f.Points {
		n := 0
		for _, q := range f.Points {
			if q.Clients == p.Clients && q.Think == p.Think {
				n++
			}
		}
		if n > most || n == most && p.Clients > clients {
			most, clients, think = n, p.Clients, p.Think
		}
	}
	return clients, think
}

// Measured returns the host that most of a class's points were measured on.
func (f *Fitted) Measured() Host {
	best, most := Host{}, 0
	for _, p := range f.Points {
		n := 0
		for _, q := range f.Points {
			if q.Host == p.Host {
				n++
			}
		}
		if n > most {
			best, most = p.Host, n
		}
	}
	return best
}
