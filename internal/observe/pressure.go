package observe

import (
	"bytes"
	"fmt"
)

// Resources that programs wait for, as the kernel names them.
var resources = []string{"cpu", "memory", "io"}

var groupPressure = sampler{
	kind:    ofGroup,
	metrics: pressureMetrics("version 2: `%s.pressure`"),
	open: func(o origin) reader {
		return openPressure(o, o.group.Unified, ".pressure")
	},
}

var hostPressure = sampler{
	kind:    ofHost,
	metrics: pressureMetrics("`/proc/pressure/%s`"),
	open: func(o origin) reader {
		return openPressure(o, o.roots.InProc("pressure"), "")
	},
}

func pressureMetrics(file string) []metric {
	var metrics []metric
	for _, r := range resources {
		path := fmt.Sprintf(file, r)
		metrics = append(metrics,
			metric{
				name: "pressure." + r + ".some", unit: unitShare, file: path,
				meaning: "time with a task that waited for " + waitedFor[r],
			},
			metric{
				name: "pressure." + r + ".full", unit: unitShare, file: path,
				meaning: "time in which all non-idle tasks waited for " + waitedFor[r],
			},
		)
	}
	return metrics
}

// waitedFor says what a resource is.
var waitedFor = map[string]string{"cpu": "a processor", "memory": "memory", "io": "I/O"}

// pressureReader reads pressure stall information: a file for each resource.
type pressureReader files

func openPressure(o origin, dir, suffix string) reader {
	var r pressureReader
	for _, name := range resources {
		r = append(r, o.open(dir, name+suffix))
	}
	return r
}

func (r pressureReader) read(values []float64) {
	for i, f := range r {
		for line := range bytes.Lines(f.read()) {
			_, total, found := bytes.Cut(line, []byte("total="))
			if !found {
				continue
			}
			switch line[0] {
			case 's': // some
				values[2*i] = 1e-6 * number(total)
			case 'f': // full
				values[2*i+1] = 1e-6 * number(total)
			}
		}
	}
}

func (r pressureReader) close() { files(r).close() }
