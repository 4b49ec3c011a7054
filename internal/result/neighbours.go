package result

// Neighbours accounts for the use of disks and processors by other processes while a trial ran.
type Neighbours struct {
	// the disks that hold the stack's bytes; empty where their use is unknown
	Disks []DiskShare `json:"disks,omitempty"`
	CPU   *CPUShare   `json:"cpu,omitempty"`  // nil where the host does not report it
	Runs  []string    `json:"runs,omitempty"` // ids of other runs of plimsoll that were under way
}

// How it is known who used a disk.
const (
	ByControlGroup = "control groups" // each bio that was queued was counted by who asked for it
	ByCounters     = "counters"       // the disk's, less those of what stands on it: Others is a lower bound
)

// DiskShare splits the I/Os of a disk during a trial by who caused them. I/Os in All that are in neither Own nor
// Others were the kernel's and could not be attributed: journals and late writeback.
type DiskShare struct {
	Device string  `json:"device"` // kernel name of the whole disk
	How    string  `json:"how"`
	All    IOCount `json:"all"`
	Own    IOCount `json:"own"`    // the trial's, down to what a loop device made of it
	Others IOCount `json:"others"` // at least
	// the largest of the others, first the one with most I/O: commands and their cgroups
	Names []string `json:"names,omitempty"`
}

// IOCount counts I/Os.
type IOCount struct {
	Reads      uint64 `json:"reads"`
	Writes     uint64 `json:"writes"`
	ReadBytes  uint64 `json:"read_bytes"`
	WriteBytes uint64 `json:"write_bytes"`
}

// Add returns the sum of c and d.
func (c IOCount) Add(d IOCount) IOCount {
	return IOCount{c.Reads + d.Reads, c.Writes + d.Writes, c.ReadBytes + d.ReadBytes, c.WriteBytes + d.WriteBytes}
}

// Sub returns c less d, with 0 for fields that would be negative.
func (c IOCount) Sub(d IOCount) IOCount {
	return IOCount{
		c.Reads - min(c.Reads, d.Reads), c.Writes - min(c.Writes, d.Writes),
		c.ReadBytes - min(c.ReadBytes, d.ReadBytes), c.WriteBytes - min(c.WriteBytes, d.WriteBytes),
	}
}

// IOs returns the number of reads and writes.
func (c IOCount) IOs() uint64 { return c.Reads + c.Writes }

// Bytes returns the bytes read and written.
func (c IOCount) Bytes() uint64 { return c.ReadBytes + c.WriteBytes }

// OthersShare returns the shares of the I/Os and of the bytes that are others',
// each from 0 to 1.
func (d DiskShare) OthersShare() (ios, bytes float64) {
	share := func(part, all uint64) float64 {
		if all == 0 {
			return 0
		}
		return min(1, float64(part)/float64(all))
	}
	return share(d.Others.IOs(), d.All.IOs()), share(d.Others.Bytes(), d.All.Bytes())
}

// CPUShare splits the processor time of the host during a trial by who used it.
type CPUShare struct {
	CPUs          int     `json:"cpus"`           // online logical CPUs
	Seconds       float64 `json:"seconds"`        // that passed
	BusySeconds   float64 `json:"busy_seconds"`   // of all of them, in interrupts too; without what was stolen
	OwnSeconds    float64 `json:"own_seconds"`    // the workload's, its container engine's and plimsoll's
	KernelSeconds float64 `json:"kernel_seconds"` // kernel threads and interrupts, on behalf of anyone
	OthersSeconds float64 `json:"others_seconds"` // all other processes
	StealSeconds  float64 `json:"steal_seconds"`  // in which a hypervisor ran something else
}

// Capacity returns the processor time available: CPUs times Seconds.
func (c CPUShare) Capacity() float64 { return float64(c.CPUs) * c.Seconds }

// OthersShare returns the shares of the processor time that there was that
// others used, and that a hypervisor took.
func (c CPUShare) OthersShare() (others, steal float64) {
	if c.Capacity() <= 0 {
		return 0, 0
	}
	return min(1, c.OthersSeconds/c.Capacity()), min(1, c.StealSeconds/c.Capacity())
}
