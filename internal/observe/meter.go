package observe

import "plimsoll/internal/host/hostfs"

// Meter reads the metrics of a subject whenever it is asked, for programs that run for days: it keeps the last reading
// alone. Called serially.
type Meter struct{ recorder *Recorder }

// Reading is a metric over the time between two readings.
type Reading struct {
	Instance int // result.NoInstance for a device or the host
	Source   string
	Metric   string
	// Value is the mean over the time: of what grows a second, else of the level. NaN is unknown: there is no such file,
	// the group ended, or a counter went back.
	Value   float64
	Seconds float64 // of the time
}

// OpenMeter returns a meter that has read once.
func OpenMeter(subject Subject, roots hostfs.Roots) *Meter {
	m := &Meter{newRecorder(subject, roots, Every)}
	m.recorder.sample(0)
	return m
}

// Read calls use with each metric over the time since the last reading.
func (m *Meter) Read(use func(Reading)) {
	for _, c := range m.recorder.courses {
		began := c.time
		m.recorder.readCourse(c)
		seconds := c.time.Sub(began).Seconds()
		for i, metric := range c.metrics {
			use(Reading{Instance: c.instance, Source: c.source, Metric: metric.name,
				Value: metric.mean(c.latest[i], c.before[i], seconds), Seconds: seconds})
		}
	}
}

// Close closes the files.
func (m *Meter) Close() {
	for _, c := range m.recorder.courses {
		c.reader.close()
	}
}
