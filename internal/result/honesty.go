package result

// Source names what answered the I/Os of a trial: the device, a cache, a database server, or a file system.
type Source string

// What the honesty check concludes.
const (
	SourceDevice  Source = "device"  // the device served about what fio issued
	SourceMemory  Source = "memory"  // the device served far less: a cache answered
	SourceUnknown Source = "unknown" // no device counter could be read
	SourceServer  Source = "server"  // a database, from its caches and the device: its operations are not the device's
	SourceFiles   Source = "files"   // a file system did operations on files, in memory and on the device
)

// Operations reports whether what was counted are operations of a server or on files, and no I/Os of the device.
func (s Source) Operations() bool { return s == SourceServer || s == SourceFiles }

// Words returns what answered, as tables have it.
func (s Source) Words() string {
	switch s {
	case SourceMemory:
		return "from memory"
	case SourceDevice, SourceServer, SourceFiles:
		return string(s)
	}
	return string(SourceUnknown)
}

// doubt orders sources by how much they speak against a trial.
func (s Source) doubt() int {
	switch s {
	case SourceDevice, SourceServer, SourceFiles:
		return 0
	case SourceMemory:
		return 2
	}
	return 1
}

// Honesty compares the I/Os that the workloads on a stack report with the counters of its devices.
type Honesty struct {
	Stack  string `json:"stack,omitempty"` // the stack's name
	Source Source `json:"source"`
	Reason string `json:"reason"` // "loop7 counted 258100 reads, vda under it 367"
	// I/Os that the stack served, at the device of its chain that counted least, per operation of the workloads; nil when
	// unknown
	Ratio  *float64        `json:"ratio"`
	Served []DeviceCounter `json:"served"` // top first
}

// DeviceCounter counts the requests that one device of the stack completed during a trial.
type DeviceCounter struct {
	Device     Device  `json:"device"`
	Reads      uint64  `json:"reads"`
	Writes     uint64  `json:"writes"`
	ReadBytes  uint64  `json:"read_bytes"`
	WriteBytes uint64  `json:"write_bytes"`
	Flushes    uint64  `json:"flushes,omitempty"` // of its write cache; 0 also where the kernel counts none (before 5.5)
	PerIO      float64 `json:"per_io"`            // (reads + writes) per I/O that fio issued
	ARC        *ARC    `json:"arc,omitempty"`     // of ZFS above the device; absent without ZFS
}

// ARC counts what the cache of ZFS did during a trial.
type ARC struct {
	Hits         uint64 `json:"hits"`          // blocks of files that were in memory, of all pools of the host
	Misses       uint64 `json:"misses"`        // blocks that were not, or were being read, of all pools
	DirectReads  uint64 `json:"direct_reads"`  // of the pool, past the cache; 0 before OpenZFS 2.3
	DirectWrites uint64 `json:"direct_writes"` // of the pool, past the cache; 0 before OpenZFS 2.3
}
