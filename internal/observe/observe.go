// Package observe samples what instances, devices and the host do while a trial runs, as series of values over time.
//
// A sampler is one file and one line of the table in sampler.go; docs/reference/metrics.md lists what each of them
// takes.
//
// It only reads, and it must not disturb what it watches: files stay open and are read again from their beginning,
// into one buffer; nothing is parsed but what is wanted. (Package procfs opens, reads and parses whole files each
// time, and allocates for every line; it is used where a file is read once.) Once a second, 16 instances cost well
// under one percent of a processor: see BenchmarkSample.
//
// Hazards. A series says what the kernel tells: a file that is missing, a group that is gone, or a counter that went
// back gives NaN for the intervals that it spoils, and never an error. What a value means on version 1 and version 2
// of control groups is not always the same: docs/reference/metrics.md says where.
package observe

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"plimsoll/internal/host/blockdev"
	"plimsoll/internal/host/hostfs"
	"plimsoll/internal/result"
)

// Every is how long the intervals of a series are where nothing else is asked for.
const Every = time.Second

// shortest is the shortest interval: one that costs more would load what it measures.
const shortest = 10 * time.Millisecond

// Sources of a result.Series; that of a device is DeviceSource.
const (
	InstanceSource  = "instance"
	MiniatureSource = "miniature"
	HostSource      = "host"
)

// DeviceSource returns the Source of the series of a device.
func DeviceSource(d result.Device) string { return "device " + d.Name }

// Subject is whose series are wanted.
type Subject struct {
	Instances []Instance
	Miniature *Group          // the group that stands for a smaller host; nil for none
	Devices   []result.Device // as blockdev.Chain has them
	Host      bool

	// NoGroupIO leaves out I/O of instances, for callers that read it by device.
	NoGroupIO bool
}

// Instance is one instance, and where what it does is counted.
type Instance struct {
	Index int
	Group Group // a directory that another instance has too is left out: what is counted there is neither's

	// Devices are the MAJ:MIN of those whose I/O is the instance's: where its file system lies, and not what is under
	// them, which counts the same I/O again. Nil is for the devices at depth 0 of the Subject, and where it has none,
	// for all.
	Devices []string
}

// Recorder samples until it is stopped. Stop may be called concurrently. Its own goroutine alone has the courses and
// their readers, until ended is closed.
type Recorder struct {
	interval time.Duration
	started  time.Time
	courses  []*course

	now   func() time.Time
	stop  chan struct{}
	ended chan struct{}
	once  sync.Once
}

// course is the series that one sampler takes of one instance, device or host.
type course struct {
	instance int
	source   string
	metrics  []metric
	reader   reader

	time   time.Time   // when before was read
	before []float64   // values of the last reading
	latest []float64   // values of the reading in progress; after it, of the last but one
	values [][]float64 // by metric
}

// Start begins to sample a subject, with intervals of that length; 0 is for Every. The series begin when it returns.
func Start(subject Subject, roots hostfs.Roots, interval time.Duration) (*Recorder, error) {
	if interval == 0 {
		interval = Every
	}
	if interval < shortest {
		return nil, fmt.Errorf("samples every %v: more often than every %v, sampling would be among what is measured",
			interval, shortest)
	}
	seen := map[int]bool{}
	for _, i := range subject.Instances {
		if i.Index < 0 || seen[i.Index] {
			return nil, fmt.Errorf("samples of instance %d: each instance has an index of its own, from 0", i.Index)
		}
		seen[i.Index] = true
	}
	r := newRecorder(subject, roots, interval)
	r.begin()
	go r.run()
	return r, nil
}

// newRecorder opens the files that the samplers read.
func newRecorder(subject Subject, roots hostfs.Roots, interval time.Duration) *Recorder {
	r := &Recorder{interval: interval, now: time.Now, stop: make(chan struct{}), ended: make(chan struct{})}
	buffer := new([]byte)
	var tops []string
	for _, d := range subject.Devices {
		if d.Depth == 0 && d.MajMin != "" {
			tops = append(tops, d.MajMin)
		}
	}
	tops = wholeDisks(roots, tops)
	groups := ownDirectories(subject.Instances)
	for n, i := range subject.Instances {
		from := origin{roots: roots, buffer: buffer, group: groups[n], devices: wholeDisks(roots, i.Devices)}
		if i.Devices == nil {
			from.devices = tops
		}
		r.add(ofGroup, i.Index, InstanceSource, from, subject.NoGroupIO)
	}
	if subject.Miniature != nil {
		from := origin{roots: roots, buffer: buffer, group: *subject.Miniature, devices: tops}
		r.add(ofGroup, result.NoInstance, MiniatureSource, from, subject.NoGroupIO)
	}
	for _, d := range subject.Devices {
		r.add(ofDevice, result.NoInstance, DeviceSource(d), origin{roots: roots, buffer: buffer, device: d}, false)
	}
	if subject.Host {
		r.add(ofHost, result.NoInstance, HostSource, origin{roots: roots, buffer: buffer}, false)
	}
	return r
}

// wholeDisks returns the disks of partitions, and other devices as they are: groups' I/O is counted by disk.
func wholeDisks(roots hostfs.Roots, devices []string) []string {
	var disks []string
	for _, d := range devices {
		whole, err := blockdev.WholeDisk(roots, result.Device{Name: d, MajMin: d})
		if err == nil {
			d = whole.MajMin
		}
		if !slices.Contains(disks, d) {
			disks = append(disks, d)
		}
	}
	return disks
}

// add adds the courses of every sampler of that kind.
func (r *Recorder) add(kind kind, instance int, source string, from origin, noIO bool) {
	for _, s := range samplers {
		if s.kind != kind || noIO && s.metrics[0] == groupIO.metrics[0] {
			continue
		}
		n := len(s.metrics)
		r.courses = append(r.courses, &course{
			instance: instance, source: source, metrics: s.metrics, reader: s.open(from),
			before: make([]float64, n), latest: make([]float64, n), values: make([][]float64, n),
		})
	}
}

// begin takes what the first intervals begin with.
func (r *Recorder) begin() {
	r.started = r.now()
	r.sample(0)
}

// run samples at the end of each interval, until Stop.
func (r *Recorder) run() {
	defer close(r.ended)
	taken := 0
	timer := time.NewTimer(r.interval)
	defer timer.Stop()
	for {
		select {
		case <-r.stop:
			r.last(taken)
			return
		case <-timer.C:
		}
		// A host that is overloaded wakes us late: the intervals that passed have the mean of them all.
		due := int(r.now().Sub(r.started) / r.interval)
		if due > taken {
			r.sample(due - taken)
			taken = due
		}
		next := r.started.Add(time.Duration(taken+1) * r.interval)
		timer.Reset(next.Sub(r.now()))
	}
}

// last takes the interval that is not over yet, when most of it has passed, or when there is no other.
func (r *Recorder) last(taken int) {
	due := int(r.now().Sub(r.started).Round(r.interval) / r.interval)
	if taken == 0 {
		due = max(due, 1)
	}
	if due > taken {
		r.sample(due - taken)
	}
}

// sample reads all metrics, and adds a value for each of the intervals to each series.
func (r *Recorder) sample(intervals int) {
	for _, c := range r.courses {
		began := c.time
		r.readCourse(c)
		seconds := c.time.Sub(began).Seconds()
		for i, m := range c.metrics {
			for range intervals {
				c.values[i] = append(c.values[i], m.mean(c.latest[i], c.before[i], seconds))
			}
		}
	}
}

// readCourse reads the metrics of a course into before; latest is what before was.
func (r *Recorder) readCourse(c *course) {
	now := r.now()
	for i := range c.latest {
		c.latest[i] = unknown
	}
	c.reader.read(c.latest)
	c.time = now
	c.before, c.latest = c.latest, c.before
}

// Stop ends sampling and returns the series: of the instances in the order of the Subject, of the scaled-down host, the
// devices and the host. An interval that most of is missing is left out, unless it is the only one.
func (r *Recorder) Stop() []result.Series {
	r.once.Do(func() {
		close(r.stop)
		<-r.ended
		for _, c := range r.courses {
			c.reader.close()
		}
	})
	return r.series()
}

func (r *Recorder) series() []result.Series {
	var series []result.Series
	for _, c := range r.courses {
		for i, m := range c.metrics {
			series = append(series, result.Series{
				Instance: c.instance, Source: c.source, Metric: m.name, Unit: m.unit,
				Start: r.started.Round(0), Step: r.interval, Values: c.values[i],
			})
		}
	}
	return series
}
