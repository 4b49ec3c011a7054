package observe

import (
	"bytes"
	"fmt"
)

// Resources that programs wait for, as the kernel names them.
var resources = []string{"cpu", "memory", "io"}

var groupPressure = sampler{
	of: ofGroup,
	metrics: pressureMetrics(
		"`%s.pressure` of version 2, also where controllers are on version 1 and the group has a directory there"),
	open: func(o origin) reader {
		return openPressure(o, o.group.Unified, ".pressure")
	},
}

var hostPressure = sampler{
	of:      ofHost,
	metrics: pressureMetrics("`/proc/pressure/%s`"),
	open: func(o origin) reader {
		return openPressure(o, o.roots.InProc("pressure"), "")
	},
}

func pressureMetrics(file string) []metric {
	var all []metric
	for _, r := range resources {
		at := fmt.Sprintf(file, r)
		all = append(all,
			metric{
				name: "pressure." + r + ".some", unit: unitShare, file: at,
				meaning: "share of the time in which at least one task waited for " + waitedFor[r],
			},
			metric{
				name: "pressure." + r + ".full", unit: unitShare, file: at,
				meaning: "share of the time in which every task that had work waited for " + waitedFor[r],
			},
		)
	}
	return all
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
