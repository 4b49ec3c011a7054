package observe

var groupMemory = sampler{
	of: ofGroup,
	metrics: []metric{
		{
			name: "memory.anonymous", unit: unitBytes, grow: holds, meaning: "memory that is in no file",
			file: "`total_rss` of `memory.stat`; version 2: `anon`",
		},
		{
			name: "memory.file", unit: unitBytes, grow: holds, meaning: "page cache, that of tmpfs too",
			file: "`total_cache` of `memory.stat`; version 2: `file`",
		},
		{
			name: "memory.shared", unit: unitBytes, grow: holds,
			meaning: "of that, memory that programs share and tmpfs, never reclaimed: a database's buffers may be there",
			file:    "`total_shmem` of `memory.stat`; version 2: `shmem`",
		},
		{
			name: "memory.dirty", unit: unitBytes, grow: holds, meaning: "page cache that is not written yet",
			file: "`total_dirty` of `memory.stat`; version 2: `file_dirty`",
		},
		{
			name: "memory.major_faults", unit: unitFaults, meaning: "faults of pages that had to be read",
			file: "`total_pgmajfault` of `memory.stat`; version 2: `pgmajfault`",
		},
	},
	open: openGroupMemory,
}

// groupMemoryReader reads the memory of a group and of those below it.
type groupMemoryReader struct {
	stat *file
	keys []string
}

func openGroupMemory(o origin) reader {
	if o.group.Memory != "" {
		return &groupMemoryReader{
			stat: o.open(o.group.Memory, "memory.stat"),
			keys: []string{"total_rss", "total_cache", "total_shmem", "total_dirty", "total_pgmajfault"},
		}
	}
	return &groupMemoryReader{
		stat: o.open(o.group.Unified, "memory.stat"),
		keys: []string{"anon", "file", "shmem", "file_dirty", "pgmajfault"},
	}
}

func (r *groupMemoryReader) read(values []float64) { keyed(r.stat.read(), 1, r.keys, values) }

func (r *groupMemoryReader) close() { r.stat.close() }
