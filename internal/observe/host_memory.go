package observe

var hostMemory = sampler{
	kind: ofHost,
	metrics: []metric{
		{
			name: "memory.available", unit: unitBytes, grow: holds, meaning: "memory that is free for programs without swapping",
			file: "`/proc/meminfo`: MemAvailable",
		},
		{
			name: "memory.file", unit: unitBytes, grow: holds, meaning: "page cache, block devices and tmpfs included",
			file: "Cached, Buffers",
		},
		{
			name: "memory.dirty", unit: unitBytes, grow: holds, meaning: "page cache to be written back", file: "Dirty",
		},
	},
	open: func(o origin) reader { return hostMemoryReader{o.open(o.roots.Proc, "meminfo")} },
}

// hostMemoryReader reads /proc/meminfo.
type hostMemoryReader struct{ meminfo *file }

func (r hostMemoryReader) read(values []float64) {
	const kib = 1024
	n := []float64{unknown, unknown, unknown, unknown}
	keyed(r.meminfo.read(), kib, []string{"MemAvailable:", "Cached:", "Buffers:", "Dirty:"}, n)
	values[0], values[1], values[2] = n[0], n[1]+n[2], n[3]
}

func (r hostMemoryReader) close() { r.meminfo.close() }
