package observe

import (
	"bytes"
	"strconv"
)

var toy = sampler{
	kind:    ofHost,
	metrics: []metric{{name: "toy", unit: "tasks", grow: holds, meaning: "load average", file: "`/proc/loadavg`"}},
	open:    func(o origin) reader { return toyReader{o.open(o.roots.Proc, "loadavg")} },
}

type toyReader struct{ loadavg *file }

func (r toyReader) read(values []float64) {
	minute, _, _ := bytes.Cut(r.loadavg.read(), []byte(" "))
	load, err := strconv.ParseFloat(string(minute), 64)
	if err == nil {
		values[0] = load
	}
}

func (r toyReader) close() { r.loadavg.close() }
