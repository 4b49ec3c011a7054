package export

import (
	"bytes"
	"errors"
	"io"
	"math"
	"testing"
	"time"

	"plimsoll/internal/result"
)

// sampled holds the samples of two trials.
func sampled() []TrialSeries {
	start := time.Date(2026, 3, 1, 12, 0, 0, 250_000_000, time.UTC)
	series := func(instance int, source, metric, unit string, values ...float64) result.Series {
		return result.Series{
			Instance: instance, Source: source, Metric: metric, Unit: unit, Start: start, Step: time.Second, Values: values,
		}
	}
	return []TrialSeries{
		{Trial: 1, Series: []result.Series{
			series(0, "instance", "cpu.user", "CPUs", 0.5, math.NaN(), 1),
			series(result.NoInstance, "device loop0", "io.read_bytes", "bytes/s", 4096),
		}},
		{Trial: 2, Series: []result.Series{
			series(1, "instance", "cpu.user", "CPUs", 0),
			series(result.NoInstance, "host", "pressure.io.some", "share"),
		}},
	}
}

func TestSeriesExports(t *testing.T) {
	for _, c := range []struct {
		name  string
		write func(io.Writer, []TrialSeries) error
		want  string
	}{
		{"CSV", SeriesCSV, `trial,time,source,instance,metric,unit,value
1,2026-03-01T12:00:01.250Z,instance,0,cpu.user,CPUs,0.5
1,2026-03-01T12:00:02.250Z,instance,0,cpu.user,CPUs,
1,2026-03-01T12:00:03.250Z,instance,0,cpu.user,CPUs,1
1,2026-03-01T12:00:01.250Z,device loop0,,io.read_bytes,bytes/s,4096
2,2026-03-01T12:00:01.250Z,instance,1,cpu.user,CPUs,0
`},
		{"NDJSON", SeriesNDJSON, `{"trial":1,"time":"2026-03-01T12:00:01.250Z","source":"instance","instance":0,"metric":"cpu.user","unit":"CPUs","value":0.5}
{"trial":1,"time":"2026-03-01T12:00:02.250Z","source":"instance","instance":0,"metric":"cpu.user","unit":"CPUs","value":null}
{"trial":1,"time":"2026-03-01T12:00:03.250Z","source":"instance","instance":0,"metric":"cpu.user","unit":"CPUs","value":1}
{"trial":1,"time":"2026-03-01T12:00:01.250Z","source":"device loop0","metric":"io.read_bytes","unit":"bytes/s","value":4096}
{"trial":2,"time":"2026-03-01T12:00:01.250Z","source":"instance","instance":1,"metric":"cpu.user","unit":"CPUs","value":0}
`},
		{"OpenMetrics", SeriesOpenMetrics, `# TYPE plimsoll_cpu_user_cpus gauge
# UNIT plimsoll_cpu_user_cpus cpus
plimsoll_cpu_user_cpus{trial="1",source="instance",instance="0"} 0.5 1772366401.250
plimsoll_cpu_user_cpus{trial="1",source="instance",instance="0"} 1 1772366403.250
plimsoll_cpu_user_cpus{trial="2",source="instance",instance="1"} 0 1772366401.250
# TYPE plimsoll_io_read_bytes_per_second gauge
# UNIT plimsoll_io_read_bytes_per_second bytes_per_second
plimsoll_io_read_bytes_per_second{trial="1",source="device",device="loop0"} 4096 1772366401.250
# TYPE plimsoll_pressure_io_some_ratio gauge
# UNIT plimsoll_pressure_io_some_ratio ratio
# EOF
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			if err := c.write(&out, sampled()); err != nil {
				t.Fatal(err)
			}
			if out.String() != c.want {
				t.Errorf("got:\n%s\nwant:\n%s", out.String(), c.want)
			}
			if err := c.write(fullDisk{}, sampled()); !errors.Is(err, errFull) {
				t.Errorf("on a full disk: %v", err)
			}
		})
	}
}

func TestOpenMetricsNamesEndInTheirUnit(t *testing.T) {
	for _, c := range []struct{ metric, unit, want string }{
		{"memory.file", "bytes", "plimsoll_memory_file_bytes"},
		{"memory.major_faults", "faults/s", "plimsoll_memory_major_faults_per_second"},
		{"io.reads", "ops/s", "plimsoll_io_reads_operations_per_second"},
		{"io.queue", "requests", "plimsoll_io_queue_requests"},
		{"toy.speed", "m/s", "plimsoll_toy_speed_m_s"},
	} {
		if got, _ := openMetricsName(c.metric, c.unit); got != c.want {
			t.Errorf("%s in %s is %s, want %s", c.metric, c.unit, got, c.want)
		}
	}
}

var errFull = errors.New("no space left")

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }
