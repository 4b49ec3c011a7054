package observe

import "bytes"

var hostCPU = sampler{
	kind: ofHost,
	metrics: []metric{
		{name: "cpu.user", unit: unitCPUs, meaning: "CPU time in programs", file: "`/proc/stat`: user, nice"},
		{
			name: "cpu.system", unit: unitCPUs, meaning: "CPU time in the kernel, interrupts included",
			file: "system, irq, softirq",
		},
		{
			name: "cpu.iowait", unit: unitCPUs, meaning: "idle CPU time while tasks waited for I/O",
			file: "iowait",
		},
		{name: "cpu.steal", unit: unitCPUs, meaning: "CPU time that a hypervisor took", file: "steal"},
		{name: "cpu.irq", unit: unitCPUs, meaning: "part of cpu.system in interrupts", file: "irq, softirq"},
	},
	open: func(o origin) reader { return hostCPUReader{o.open(o.roots.Proc, "stat")} },
}

// hostCPUReader reads the first line of /proc/stat, which is of all processors.
type hostCPUReader struct{ stat *file }

func (r hostCPUReader) read(values []float64) {
	const user, nice, system, iowait, irq, softirq, steal, fields = 0, 1, 2, 4, 5, 6, 7, 8
	const perSecond = 100 // USER_HZ
	line, found := bytes.CutPrefix(r.stat.read(), []byte("cpu "))
	if !found {
		return
	}
	var n [fields]float64
	for i := range n {
		var field []byte
		field, line = cutField(line)
		n[i] = number(field) / perSecond
	}
	values[0], values[1] = n[user]+n[nice], n[system]+n[irq]+n[softirq]
	values[2], values[3], values[4] = n[iowait], n[steal], n[irq]+n[softirq]
}

func (r hostCPUReader) close() { r.stat.close() }
