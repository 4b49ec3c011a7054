package database

func cassandraLayout(p *CassandraParams) *string { return &p.Layout }

// Values that completed computes from the heap.
const (
	quarterOfHeap   = 0
	twentiethOfHeap = -1
)

// cassandraLayouts are the defaults of versions, from their cassandra.yaml, cassandra-env.sh and table options.
//
//   - The heap is a quarter of the host's memory, at most 8 GiB; memtables take a quarter of it, and the key cache
//     a twentieth of the heap, at most 100 MiB.
//   - Tables are compressed by LZ4 in chunks of 64 KiB: a read takes a whole chunk from the device.
//   - disk_access_mode is auto, which maps all files; until 2.2 compressed data was still read through buffers, and
//     only the index was mapped.
//   - concurrent_compactors is the number of processors in 2.0 (32 on the host of that study), and from 2.1 on the
//     number of drives, at least 2.
//   - Nothing compacts a table after it was filled.
var cassandraLayouts = []versionLayout[CassandraParams]{
	{
		version: "2.0", defaults: cassandraOfThen, differs: cassandraDiffers,
		settings: Settings{"commitlog_total_space": "1024MiB", "commitlog_segment_size": "32MiB",
			"concurrent_compactors": "32", "compaction_throughput": "16MiB/s", "disk_access_mode": "mmap_index_only"},
	},
	{
		version: "2.1", defaults: cassandraOfThen, differs: cassandraDiffers,
		settings: Settings{"commitlog_total_space": "8192MiB", "commitlog_segment_size": "32MiB",
			"concurrent_compactors": "2", "compaction_throughput": "16MiB/s", "disk_access_mode": "mmap_index_only"},
	},
	{
		version: "3.0", defaults: cassandraOfThen, differs: cassandraDiffers,
		settings: Settings{"commitlog_total_space": "8192MiB", "commitlog_segment_size": "32MiB",
			"concurrent_compactors": "2", "compaction_throughput": "16MiB/s", "disk_access_mode": "mmap"},
	},
}

func cassandraOfThen(p *CassandraParams) {
	p.Heap, p.Memtable, p.KeyCache = 8<<30, quarterOfHeap, twentiethOfHeap
	p.Compacted, p.Compression, p.Chunk, p.JIT = false, "lz4", 64<<10, "full"
}

// cassandraDiffers is what Cassandra of today does in another way than all of these.
var cassandraDiffers = []string{
	"the collector is G1, then ParNew and CMS, which the Java of today lacks",
	"the heap is touched as a whole when the server starts",
	"files have the format of the version that runs, and data is loaded without the commit log",
	"values do not compress, so that compressed chunks are as large as the data",
}

// completed returns the parameters with sizes that follow from the heap, and the settings of the layout.
func (p CassandraParams) completed() CassandraParams {
	l, ok := findLayout(cassandraLayouts, p.Layout)
	if !ok {
		return p
	}
	if p.Memtable == quarterOfHeap {
		p.Memtable = p.Heap / 4
	}
	if p.KeyCache == twentiethOfHeap {
		p.KeyCache = min(p.Heap/20, 100<<20)
	}
	p.Set = p.Set.over(l.settings)
	return p
}

// LayoutVersion implements Layouted.
func (c *cassandra) LayoutVersion() string {
	l, _ := findLayout(cassandraLayouts, c.CassandraParams.Layout)
	return l.version
}

// LayoutDiffers implements Layouted.
func (c *cassandra) LayoutDiffers() []string {
	l, _ := findLayout(cassandraLayouts, c.CassandraParams.Layout)
	return l.differs
}

// IsLayoutDefault implements Layouted. Sizes that follow from the heap follow from the server's own.
func (c *cassandra) IsLayoutDefault(parameter string) bool {
	l, ok := findLayout(cassandraLayouts, c.CassandraParams.Layout)
	if !ok {
		return false
	}
	plain := cassandraDefaults
	l.defaults(&plain)
	plain.Layout = l.version
	if parameter != "heap" {
		plain.Heap = c.Heap
	}
	plain = plain.completed()
	value, known := cassandraParams.All(&c.CassandraParams)[parameter]
	return known && value == cassandraParams.All(&plain)[parameter]
}
