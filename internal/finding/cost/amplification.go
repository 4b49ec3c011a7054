package cost

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"plimsoll/internal/fact"
	"plimsoll/internal/fact/threshold"
	"plimsoll/internal/finding/prose"
	"plimsoll/internal/result"
	"plimsoll/internal/runview"
	"plimsoll/internal/stats"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
)

// Amplified is how much more a device does than fio asks for.
type Amplified struct {
	Direction string    `json:"direction"`         // reads, writes
	Counted   []Counted `json:"counted,omitempty"` // by the devices, top first; of writes only
	Bottom    *Counted  `json:"bottom,omitempty"`  // the device that holds the bytes
	Small     bool      `json:"small,omitempty"`   // it writes more often than fio, and about as many bytes
	Charged   *Charged  `json:"charged,omitempty"` // by traces; nil where none shows it
}

// Counted are the writes of devices for each write, and each byte, of fio.
type Counted struct {
	Devices []string `json:"devices"`
	IOs     float64  `json:"ios"`
	Bytes   float64  `json:"bytes"`
}

// Charged are the requests that devices served for each I/O, and each byte, of fio, by who is
// charged for it.
type Charged struct {
	Devices  []string      `json:"devices,omitempty"`
	All      fact.Estimate `json:"all"`
	AllBytes fact.Estimate `json:"all_bytes"`
	Own      fact.Estimate `json:"own"` // charged to fio
	OwnBytes fact.Estimate `json:"own_bytes"`
	Others   []Other       `json:"others,omitempty"` // who got most first, at most three
	Uncopied *Uncopied     `json:"uncopied,omitempty"`
}

// Other is someone else whom devices served.
type Other struct {
	Owner string  `json:"owner"`
	PerIO float64 `json:"per_io"` // requests for each I/O of fio: the median over the trials
}

// Uncopied is the same of the stack that only lacks copy-on-write.
type Uncopied struct {
	Stack    string        `json:"stack"`
	All      fact.Estimate `json:"all"`
	AllBytes fact.Estimate `json:"all_bytes"`
}

// Amplifications finds stacks that make the device write more than fio wrote:
// journals, checksums, metadata, copies. Traces tell for whom, and what was
// read beside.
func Amplifications(v *runview.View) []fact.Finding {
	var out []fact.Finding
	for _, c := range v.All() {
		writes := attributed(v, c, Directions[1])
		switch f, facts := counted(c); {
		case f != nil:
			if writes != nil {
				facts.Charged, f.Effect = writes.facts(), writes.effect
				remark(f, tracedCaveats(writes.span))
			}
			f.Why = facts.why()
			out = append(out, *f)
		case writes != nil && writes.amplified():
			out = append(out, writes.finding())
		}
		if reads := attributed(v, c, Directions[0]); reads != nil && reads.amplified() {
			out = append(out, reads.finding())
		}
	}
	return out
}

// counted is what device counters tell; nil when the device writes about as
// much as fio.
func counted(c *runview.Cell) (*fact.Finding, *Amplified) {
	devices := WritesPerWrite(c)
	bottom := slices.IndexFunc(devices, func(d DeviceWrites) bool { return d.Role == runview.RoleBottom })
	if bottom < 0 {
		return nil, nil
	}
	d := devices[bottom]
	if d.Ios <= threshold.Amplification && d.Bytes <= threshold.Amplification {
		return nil, nil
	}
	facts := &Amplified{Direction: "writes", Bottom: countedAt(d), Small: d.Bytes <= threshold.Amplification}
	for _, d := range devices {
		facts.Counted = append(facts.Counted, *countedAt(d))
	}
	f := fact.Finding{
		ID: "amplification/" + c.Stack.Name + "/" + c.Workload.Name, Case: "counted", Kind: fact.KindCaveat,
		Workload: c.Workload.Name, Stacks: []string{c.Stack.Name}, Facts: facts,
		Title: facts.title(c, d.Names, d.Ios, d.Bytes), Evidence: runview.Points(c), Caveats: runview.MarksOf(c),
	}
	if Below(c) {
		prose.Remark(&f, "caveat: shared disk", d.Names, fmt.Sprintf("%s also %s the host's file system, whose other writes are "+
			"counted too", plural.And(d.Names), plural.Choose(len(d.Names), "holds", "hold")))
	}
	return &f, facts
}

func countedAt(d DeviceWrites) *Counted { return &Counted{d.Names, d.Ios, d.Bytes} }

// place is where a device stands in the chain of a stack. It stays the same
// from trial to trial, while a name may change: a loop device can get another
// number when a run is resumed.
type place struct {
	Role string
	nth  int // of those of the role, from the top; 0 for all that hold the bytes side by side
}

// DeviceWrites counts the writes of the devices at a place for each write and each byte of fio.
type DeviceWrites struct {
	place
	Names      []string // in alphabetical order
	Ios, Bytes float64
}

// WritesPerWrite returns medians over the trials of a cell for each place, top
// first.
func WritesPerWrite(c *runview.Cell) []DeviceWrites {
	byPlace := map[place][]DeviceWrites{}
	for _, t := range c.Trials {
		for p, w := range writesIn(t) {
			byPlace[p] = append(byPlace[p], w)
		}
	}
	var out []DeviceWrites
	for p, trials := range byPlace {
		median := DeviceWrites{place: p}
		var ios, bytes []float64
		for _, w := range trials {
			ios, bytes, median.Names = append(ios, w.Ios), append(bytes, w.Bytes), append(median.Names, w.Names...)
		}
		slices.Sort(median.Names)
		median.Names = slices.Compact(median.Names)
		median.Ios, median.Bytes = stats.Median(ios), stats.Median(bytes)
		out = append(out, median)
	}
	slices.SortFunc(out, func(a, b DeviceWrites) int {
		byPlace := cmp.Compare(slices.Index(runview.Roles, a.Role), slices.Index(runview.Roles, b.Role))
		return cmp.Or(byPlace, cmp.Compare(a.Role, b.Role), cmp.Compare(a.nth, b.nth))
	})
	return out
}

// writesIn returns what the devices wrote in one trial; nothing when fio wrote
// nothing.
func writesIn(t *result.Trial) map[place]DeviceWrites {
	m := t.Counts()
	if t.Honesty() == nil || m.Operation(result.Write).Count == 0 || m.Operation(result.Write).Bytes == 0 {
		return nil
	}
	out, met := map[place]DeviceWrites{}, map[string]int{}
	for _, d := range t.Honesty().Served {
		p := place{d.Device.Role, met[d.Device.Role]}
		if p.Role == runview.RoleBottom {
			p.nth = 0
		}
		met[p.Role]++
		w := out[p]
		w.Names = append(w.Names, d.Device.Name)
		if counted := d.Reads + d.Writes; counted > 0 {
			// Counters also cover the ramp, which fio's numbers leave out;
			// PerIO has that corrected, so counts are scaled as it is.
			measured := d.PerIO * float64(m.IOs()) / float64(counted)
			w.Ios += float64(d.Writes) * measured / float64(m.Operation(result.Write).Count)
			w.Bytes += float64(d.WriteBytes) * measured / float64(m.Operation(result.Write).Bytes)
		}
		out[p] = w
	}
	maps.DeleteFunc(out, func(_ place, w DeviceWrites) bool {
		return !runview.Finite(w.Ios) || !runview.Finite(w.Bytes)
	})
	return out
}

// Below reports whether the device at the bottom carries a file system of the
// host: the stack is a loop device's file or a directory on it.
func Below(c *runview.Cell) bool {
	return slices.Contains(c.Stack.Marks, result.MarkLoop) || slices.Contains(c.Stack.Marks, result.MarkShared)
}

// title says how much more devices do than fio.
func (a *Amplified) title(c *runview.Cell, devices []string, ios, bytes float64) string {
	subject := plural.And(devices)
	if len(devices) == 0 {
		subject = "its device"
	}
	return fmt.Sprintf("%s makes %s %s %sx as often and %sx as much as fio does: %s", c.Stack.Name, subject,
		strings.TrimSuffix(a.Direction, "s"), units.Times(ios), units.Times(bytes), c.Workload.Name)
}

func (a *Amplified) why() string {
	var sentences []string
	if len(a.Counted) > 0 {
		sentences = append(sentences, "Per write and byte of fio, in the median of the trials: "+joined(a.Counted, ", ")+".")
	}
	if a.Small {
		sentences = append(sentences, "The bytes are about fio's own, so these are flushes, small metadata writes, or "+
			"fio's writes split into "+
			"smaller ones.")
	}
	if a.Charged != nil {
		sentences = append(sentences, a.Charged.traced(a.Direction))
	}
	return strings.Join(sentences, " ")
}

// String says what devices wrote.
func (c Counted) String() string {
	return fmt.Sprintf("%s %s writes and %s bytes", plural.And(c.Devices), units.Times(c.IOs), units.Times(c.Bytes))
}

// traced says what devices served, and for whom.
func (c *Charged) traced(direction string) string {
	factor := func(e fact.Estimate) string { return prose.Estimate("factor", e) }
	text := fmt.Sprintf("Traced: %s as many %s as the application's, and %s as many bytes, all charged to it",
		factor(c.Own),
		direction, factor(c.OwnBytes))
	if len(c.Devices) > 0 {
		text = fmt.Sprintf("Traced at %s: %s as many %s as the application's, and %s as many bytes; %s and %s are charged "+
			"to the "+
			"application", plural.And(c.Devices), factor(c.All), direction, factor(c.AllBytes), factor(c.Own), factor(c.OwnBytes))
	}
	if len(c.Others) > 0 {
		text += ", " + plural.List(c.Others, func(o Other) string { return units.Times(o.PerIO) + "x to " + o.Owner })
	}
	text += "."
	if u := c.Uncopied; u != nil {
		text += fmt.Sprintf(" Without copy-on-write, on %s, it is %s and %s.", u.Stack, factor(u.All), factor(u.AllBytes))
	}
	return text
}
