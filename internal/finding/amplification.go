package finding

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"plimsoll/internal/plural"
	"plimsoll/internal/result"
	"plimsoll/internal/stats"
	"plimsoll/internal/units"
)

// amplified is how much the device may write per write of fio before it is
// said.
const amplified = 1.2

// amplification finds stacks that make the device write more than fio wrote:
// journals, checksums, metadata, copies. Traces tell for whom, and what was
// read beside.
func amplification(v *view) []Finding {
	var out []Finding
	for _, c := range v.all() {
		writes := v.attributed(c, directions[1])
		switch f := counted(c); {
		case f != nil:
			if writes != nil {
				writes.explain(f)
			}
			out = append(out, *f)
		case writes != nil && writes.amplified():
			out = append(out, writes.finding())
		}
		if reads := v.attributed(c, directions[0]); reads != nil && reads.amplified() {
			out = append(out, reads.finding())
		}
	}
	return out
}

// counted is what device counters tell; nil when the device writes about as
// much as fio.
func counted(c *cell) *Finding {
	devices := writesPerWrite(c)
	bottom := slices.IndexFunc(devices, func(d deviceWrites) bool { return d.role == roleBottom })
	if bottom < 0 {
		return nil
	}
	d := devices[bottom]
	if d.ios <= amplified && d.bytes <= amplified {
		return nil
	}
	var each []string
	for _, d := range devices {
		each = append(each, fmt.Sprintf("%s %s writes and %s bytes", plural.And(d.names), units.Times(d.ios), units.Times(d.bytes)))
	}
	why := "Per write and byte of fio, in the median of the trials: " + strings.Join(each, ", ") + "."
	if d.bytes <= amplified {
		why += " The bytes are about fio's own, so these are flushes, small metadata writes, or fio's writes split into smaller ones."
	}
	f := Finding{
		ID: "amplification/" + c.stack.Name + "/" + c.workload.Name, Kind: KindCaveat,
		Workload: c.workload.Name, Stacks: []string{c.stack.Name},
		Title: fmt.Sprintf("%s makes %s write %sx as often and %sx as much as fio does: %s",
			c.stack.Name, plural.And(d.names), units.Times(d.ios), units.Times(d.bytes), c.workload.Name),
		Why:      why,
		Evidence: points(c),
		Caveats:  marksOf(c),
	}
	if c.below() {
		f.Caveats = append(f.Caveats, plural.And(d.names)+" also "+plural.Choose(len(d.names), "holds", "hold")+" the host's file system, whose other writes are counted too")
	}
	return &f
}

// place is where a device stands in the chain of a stack. It stays the same
// from trial to trial, while a name may change: a loop device can get another
// number when a run is resumed.
type place struct {
	role string
	nth  int // of those of the role, from the top; 0 for all that hold the bytes side by side
}

// deviceWrites is what the devices at a place wrote per write and per byte
// that fio wrote.
type deviceWrites struct {
	place
	names      []string // in alphabetical order
	ios, bytes float64
}

// writesPerWrite gives medians over the trials of a cell for each place, top
// first.
func writesPerWrite(c *cell) []deviceWrites {
	at := map[place][]deviceWrites{}
	for _, t := range c.trials {
		for p, w := range writesIn(t) {
			at[p] = append(at[p], w)
		}
	}
	var out []deviceWrites
	for p, trials := range at {
		median := deviceWrites{place: p}
		var ios, bytes []float64
		for _, w := range trials {
			ios, bytes, median.names = append(ios, w.ios), append(bytes, w.bytes), append(median.names, w.names...)
		}
		slices.Sort(median.names)
		median.names = slices.Compact(median.names)
		median.ios, median.bytes = stats.Median(ios), stats.Median(bytes)
		out = append(out, median)
	}
	slices.SortFunc(out, func(a, b deviceWrites) int {
		return cmp.Or(cmp.Compare(slices.Index(roles, a.role), slices.Index(roles, b.role)), cmp.Compare(a.role, b.role), cmp.Compare(a.nth, b.nth))
	})
	return out
}

// writesIn gives what the devices wrote in one trial; nothing when fio wrote
// nothing.
func writesIn(t *result.Trial) map[place]deviceWrites {
	m := t.Measurement
	if t.Honesty == nil || m.Write.IOs == 0 || m.Write.Bytes == 0 {
		return nil
	}
	out, met := map[place]deviceWrites{}, map[string]int{}
	for _, d := range t.Honesty.Served {
		p := place{d.Device.Role, met[d.Device.Role]}
		if p.role == roleBottom {
			p.nth = 0
		}
		met[p.role]++
		w := out[p]
		w.names = append(w.names, d.Device.Name)
		if counted := d.Reads + d.Writes; counted > 0 {
			// Counters also cover the ramp, which fio's numbers leave out;
			// PerIO has that corrected, so counts are scaled as it is.
			measured := d.PerIO * float64(m.IOs()) / float64(counted)
			w.ios += float64(d.Writes) * measured / float64(m.Write.IOs)
			w.bytes += float64(d.WriteBytes) * measured / float64(m.Write.Bytes)
		}
		out[p] = w
	}
	maps.DeleteFunc(out, func(_ place, w deviceWrites) bool { return !finite(w.ios) || !finite(w.bytes) })
	return out
}

// below tells whether the device at the bottom carries a file system of the
// host: the stack is a loop device's file or a directory on it.
func (c *cell) below() bool {
	return slices.Contains(c.stack.Marks, result.MarkLoop) || slices.Contains(c.stack.Marks, result.MarkShared)
}
