package observe

var groupMemory = sampler{
	kind: ofGroup,
	metrics: []metric{
		{
			name: "memory.anonymous", unit: unitBytes, grow: holds, meaning: "memory of programs, outside of files",
			file: "`total_rss` of `memory.stat`; version 2: `anon`",
		},
		{
			name: "memory.file", unit: unitBytes, grow: holds, meaning: "page cache, tmpfs included",
			file: "`total_cache` of `memory.stat`; version 2: `file`",
		},
		{
			name: "memory.shared", unit: unitBytes, grow: holds,
			meaning: "part of memory.file that is shared memory and tmpfs, which is never reclaimed: often a database's buffers",
			file:    "`total_shmem` of `memory.stat`; version 2: `shmem`",
		},
		{
			name: "memory.dirty", unit: unitBytes, grow: holds, meaning: "page cache to be written back",
			file: "`total_dirty` of `memory.stat`; version 2: `file_dirty`",
		},
		{
			name: "memory.major_faults", unit: unitFaults, meaning: "page faults that needed a read",
			file: "`total_pgmajfault` of `memory.stat`; version 2: `pgmajfault`",
		},
		{
			name: "memory.active", unit: unitBytes, grow: holds, meaning: "page cache of files that was used more than once",
			file: "`total_active_file` of `memory.stat`; version 2: `active_file`",
		},
		{
			name: "memory.refaults", unit: unitFaults,
			meaning: "pages that were read again soon after they were taken from the page cache",
			file:    "`total_workingset_refault_file` of `memory.stat`; version 2: `workingset_refault_file`; Linux 5.9",
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
			keys: []string{"total_rss", "total_cache", "total_shmem", "total_dirty", "total_pgmajfault",
				"total_active_file", "total_workingset_refault_file"},
		}
	}
	return &groupMemoryReader{
		stat: o.open(o.group.Unified, "memory.stat"),
		keys: []string{"anon", "file", "shmem", "file_dirty", "pgmajfault", "active_file",
			"workingset_refault_file"},
	}
}

func (r *groupMemoryReader) read(values []float64) { keyed(r.stat.read(), 1, r.keys, values) }

func (r *groupMemoryReader) close() { r.stat.close() }
