package fact

// Neighbours has the load of other processes while a run was measured, as far as it matters to its findings.
type Neighbours struct {
	Disks []DiskNeighbours `json:"disks,omitempty"` // those that others used most first; only where that matters
	CPU   *CPUNeighbours   `json:"cpu,omitempty"`   // nil where it does not matter
	Runs  []string         `json:"runs,omitempty"`  // ids of other runs of plimsoll that were under way
}

// DiskNeighbours is how others used a disk. Shares are of I/Os or of bytes,
// whichever is more, over the trials of a stack, from 0 to 1.
type DiskNeighbours struct {
	Device  string   `json:"device"`          // kernel name
	Least   float64  `json:"least"`           // of the stack beside which they did the smallest share
	Most    float64  `json:"most"`            // of the stack beside which they did the largest
	Beside  string   `json:"beside"`          // that stack
	Stacks  []string `json:"stacks"`          // beside which they did enough to matter
	AtLeast bool     `json:"at_least"`        // the shares are lower bounds
	Names   []string `json:"names,omitempty"` // who they are, most often met first
}

// CPUNeighbours is how others used the processors: shares of all the time that
// these had while trials ran, from 0 to 1.
type CPUNeighbours struct {
	Others       float64 `json:"others"` // processes that are not the run's
	Steal        float64 `json:"steal"`  // taken by the hypervisor
	OthersMatter bool    `json:"others_matter"`
	StealMatters bool    `json:"steal_matters"`
}
