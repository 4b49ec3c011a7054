package model

import (
	"maps"
	"math"
	"slices"
	"time"

	"plimsoll/internal/recording"
	"plimsoll/internal/result"
)

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
