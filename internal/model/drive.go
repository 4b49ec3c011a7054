package model

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/result"
	"plimsoll/internal/runview"
	"plimsoll/internal/stats"
	"plimsoll/internal/workload/fio"
)

// Drive has the rates and latencies of a device, fitted to runs of fio or taken from a data sheet. A 0 is not known,
// and bounds nothing.
type Drive struct {
	Name  string `json:"name"` // of the stack
	Line  string `json:"line,omitempty"`
	Host  string `json:"host,omitempty"`   // that had it
	On    string `json:"device,omitempty"` // the last one below the stack
	Read  Side   `json:"read"`
	Write Side   `json:"write"`

	// Competes is how much a write takes of what reads could have. It is 1 where a drive that writes for
	// half of its time reads for the other half. It is 0 where reads go on as if nothing was written, and
	// more than 1 where writes are worth more than their time.
	Competes Number `json:"competes"`
	Mixed    int    `json:"mixed_points"` // from which that is known; 0 where it is not

	Points []DrivePoint `json:"points,omitempty"`
	Off    Number       `json:"off"` // of rates, as a standard deviation of the logarithm
}

// Side has the limits of a drive for reads, or for writes.
type Side struct {
	IOPS      Number `json:"iops"`             // at most
	Bandwidth Number `json:"bytes_per_second"` // at most
	Latency   Number `json:"latency_seconds"`  // of an I/O that is alone
	Sharp     Number `json:"sharpness"`        // how late waiting begins
}

// DrivePoint is a measurement of fio on a drive, beside the fitted value.
type DrivePoint struct {
	Mix      string `json:"mix"`
	Block    int64  `json:"block_bytes"`
	InFlight int    `json:"in_flight"`
	Reads    Number `json:"reads"` // a second
	Writes   Number `json:"writes"`
	Said     Number `json:"said"` // of both together

	streams []stream
}

// stream is one workload of a point.
type stream struct {
	clients, share float64 // I/Os under way; of which reads
	block          float64
	sequential     bool
	rate           float64
}

// usualSharp is how late waiting begins where nobody knows.
const usualSharp = 3

func (s *Side) sharp() Number { return cmp.Or(s.Sharp, usualSharp) }

// Sequential requests of fewer bytes are merged on their way, and say nothing of IOPS or bandwidth.
const leastSequential = 64 << 10

// drivesOf returns the drives that fio measured in a run, and the workloads that told of them.
func drivesOf(run *result.Run) (all []Drive, told map[string]bool, reasons []string) {
	cells := runview.Of(run)
	told = map[string]bool{}
	for _, at := range cells.Points() {
		mix := mixOf(run, at.Mix)
		done := cells.Done(at)
		if isControl(run, at.Stack) || len(done) == 0 || mix.Host != nil && (mix.Host.Read != result.Rate{} ||
			mix.Host.Write != result.Rate{} || mix.Host.MemoryBytes > 0) {
			continue
		}
		p, ok := drivePoint(run, mix, done)
		if !ok {
			continue
		}
		i := slices.IndexFunc(all, func(d Drive) bool { return d.Name == at.Stack })
		if i < 0 {
			all = append(all, driveNamed(run, at.Stack))
			i = len(all) - 1
		}
		all[i].Points = append(all[i].Points, p)
	}
	fitted := all[:0]
	for _, d := range all {
		if why := d.fit(); why != "" {
			reasons = append(reasons, "the drive of "+d.Name+": "+why)
			continue
		}
		d.measure()
		fitted = append(fitted, d)
		for _, p := range d.Points {
			for _, t := range mixOf(run, p.Mix).Tenants {
				told[t.Workload] = true
			}
		}
	}
	return fitted, told, reasons
}

func driveNamed(run *result.Run, stack string) Drive {
	d := Drive{Name: stack, Host: run.Environment.Hostname}
	for _, s := range run.Stacks {
		if s.Name == stack {
			d.Line = s.Line
			d.On = below(s)
		}
	}
	return d
}

// below names the last device below a stack.
func below(s result.Stack) string {
	if len(s.Devices) == 0 {
		return ""
	}
	return s.Devices[len(s.Devices)-1].Name
}

// drivePoint returns what a mix of fio did; ok is false for what tells nothing of a drive: other
// workloads, what goes through the page cache, what waits between I/Os, and what is limited.
func drivePoint(run *result.Run, mix result.Mix, done []*result.Trial) (p DrivePoint, ok bool) {
	p.Mix = mix.Name
	reads, writes := 0.0, 0.0
	for _, t := range mix.Tenants {
		of, known := run.Workload(t.Workload)
		if !known || of.Kind != fio.Kind.Name || t.Limits != (result.Limits{}) || len(t.On) > 0 {
			return p, false
		}
		load, known := fio.LoadOf(of.Declared)
		if !known || !load.Direct || load.BlockBytes <= 0 {
			return p, false
		}
		tenant := t.Name
		if len(mix.Tenants) == 1 {
			tenant = ""
		}
		var r, w []float64
		for _, trial := range done {
			m := trial.CountsBy(func(in *result.Instance) bool { return tenant == "" || in.Tenant == tenant })
			if m == nil {
				continue
			}
			a, b := 0.0, 0.0
			for _, o := range m.Operations {
				switch o.Name {
				case result.Read:
					a += o.Rate
				case result.Write:
					b += o.Rate
				}
			}
			r, w = append(r, a), append(w, b)
		}
		if len(r) == 0 {
			return p, false
		}
		a, b := stats.Median(r), stats.Median(w)
		if !(a+b > 0) {
			return p, false
		}
		p.InFlight += load.InFlight() * t.Count
		p.Block = load.BlockBytes
		p.streams = append(p.streams, stream{float64(load.InFlight() * t.Count), a / (a + b), float64(load.BlockBytes),
			!strings.HasPrefix(load.Pattern, "rand"), a + b})
		reads, writes = reads+a, writes+b
	}
	p.Reads, p.Writes = Number(reads), Number(writes)
	return p, len(p.streams) > 0
}

// pure reports whether a point is of reads (1) or writes (0) alone.
func (p *DrivePoint) pure(share float64) bool {
	return len(p.streams) == 1 && p.streams[0].share == share && p.tells()
}

// tells reports whether a point says what a drive does: not of requests that are merged on their way.
func (p *DrivePoint) tells() bool {
	return !slices.ContainsFunc(p.streams, func(s stream) bool { return s.sequential && s.block < leastSequential })
}

// fit fits a drive to its points; why says why that cannot be.
func (d *Drive) fit() (why string) {
	d.Competes = 1
	for _, side := range []struct {
		of    *Side
		share float64
	}{{&d.Read, 1}, {&d.Write, 0}} {
		small, big, least := 0.0, 0.0, math.Inf(1)
		n := 0
		for _, p := range d.Points {
			if !p.pure(side.share) {
				continue
			}
			n++
			s := p.streams[0]
			least = min(least, s.clients/s.rate)
			if s.block >= leastSequential {
				big = max(big, s.rate*s.block)
			} else {
				small = max(small, s.rate)
			}
		}
		if n == 0 {
			continue
		}
		*side.of = Side{Number(small), Number(big), Number(least), usualSharp}
		d.search(side.of, side.share)
	}
	if d.Read.IOPS == 0 {
		return "no random reads of fio with direct I/O, of less than 64 KiB, show how many it does"
	}
	off := func(x float64) (sum float64) {
		d.Competes = Number(math.Exp(x))
		sum = x * x
		for i := range d.Points {
			if p := &d.Points[i]; !p.pure(0) && !p.pure(1) && p.tells() {
				z := math.Log(float64(d.said(p)) / float64(p.Reads+p.Writes))
				sum += z * z / (formNoise * formNoise)
			}
		}
		return sum
	}
	for i := range d.Points {
		if p := &d.Points[i]; !p.pure(0) && !p.pure(1) && p.tells() {
			d.Mixed++
		}
	}
	if d.Mixed > 0 && d.Write.IOPS > 0 {
		best, lowest := 0.0, math.Inf(1)
		for c := -3.0; c <= 1.5; c += 0.05 { // from a twentieth to four and a half times
			if o := off(c); o < lowest {
				best, lowest = c, o
			}
		}
		off(best)
	}
	return ""
}

// search fits the side of a drive to points of reads or writes alone.
func (d *Drive) search(of *Side, share float64) {
	expect := *of
	fields := []*Number{&of.IOPS, &of.Bandwidth, &of.Latency, &of.Sharp}
	starts := []Number{expect.IOPS, expect.Bandwidth, expect.Latency, expect.Sharp}
	spread := []float64{0.3, 0.3, 0.5, 1}
	x := make([]float64, len(fields))
	off := func(x []float64) (sum float64) {
		for i, f := range fields {
			*f = starts[i] * Number(math.Exp(x[i]))
			z := x[i] / spread[i]
			sum += z * z
			if math.Abs(z) > farthestPrior {
				return math.Inf(1)
			}
		}
		for i := range d.Points {
			if p := &d.Points[i]; p.pure(share) {
				z := math.Log(float64(d.said(p) / (p.Reads + p.Writes)))
				sum += z * z / (formNoise * formNoise)
			}
		}
		return sum
	}
	if found, err := minimize(off, x, 2000); err == nil {
		off(found)
	}
}

// said returns the fitted I/Os a second of a point, reads and writes together; NaN where no solution is found.
func (d *Drive) said(p *DrivePoint) Number {
	n := &network{}
	at := n.driveAt(0, &HostDrive{})
	for _, s := range p.streams {
		first := len(n.uses)
		reads, writes := s.share, 1-s.share
		readBytes, writeBytes := reads*s.block, writes*s.block
		if s.block >= leastSequential && d.Read.IOPS > 0 && s.sequential {
			reads, writes = 0, 0 // bytes bound it
		}
		n.drive(at, d, demanded{reads: reads, readBytes: readBytes, writes: writes, writeBytes: writeBytes}, false)
		base := s.share*float64(d.Read.Latency) + (1-s.share)*float64(d.Write.Latency)
		n.flows = append(n.flows, flow{clients: s.clients, count: 1, base: base, uses: n.uses[first:len(n.uses):len(n.uses)]})
	}
	rates, _, ok := n.solve(nil)
	if !ok {
		return Number(math.NaN())
	}
	sum := 0.0
	for _, r := range rates {
		sum += r
	}
	return Number(sum)
}

// measure notes what is said of each point, and how far off that is.
func (d *Drive) measure() {
	squares, n := 0.0, 0.0
	for i := range d.Points {
		p := &d.Points[i]
		p.Said = d.said(p)
		if p.tells() {
			z := math.Log(float64(p.Said / (p.Reads + p.Writes)))
			squares, n = squares+z*z, n+1
		}
	}
	d.Off = Number(math.Sqrt(squares / n))
}

// Drive returns the drive of that name.
func (m *Model) Drive(name string) (Drive, error) {
	var names []string
	for _, d := range m.Drives {
		if d.Name == name {
			d.Points = nil
			return d, nil
		}
		names = append(names, d.Name)
	}
	if len(names) == 0 {
		return Drive{}, fmt.Errorf("the model knows no drives: fit it to a `plimsoll run devices` as well")
	}
	return Drive{}, fmt.Errorf("the model knows no drive %q: it knows %s", name, strings.Join(names, ", "))
}

// wrong says what a drive cannot be; "" for nothing.
func (d *Drive) wrong() string {
	for _, of := range []struct {
		name  string
		value Number
		most  float64
	}{
		{"read.iops", d.Read.IOPS, 1e12}, {"read.bytes_per_second", d.Read.Bandwidth, 1e15},
		{"read.latency_seconds", d.Read.Latency, 1e6}, {"read.sharpness", d.Read.Sharp, 1e6},
		{"write.iops", d.Write.IOPS, 1e12}, {"write.bytes_per_second", d.Write.Bandwidth, 1e15},
		{"write.latency_seconds", d.Write.Latency, 1e6}, {"write.sharpness", d.Write.Sharp, 1e6},
		{"competes", d.Competes, 1000}, {"off", d.Off, 1e6},
	} {
		if v := float64(of.value); !(v >= 0 && v <= of.most) {
			return fmt.Sprintf("%s is %v, and can be from 0 to %v", of.name, v, of.most)
		}
	}
	return ""
}
