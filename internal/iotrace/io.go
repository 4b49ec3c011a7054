package iotrace

// IO is one request or bio, with the times of its events in nanoseconds since
// the trace began; -1 for an event that it did not have, or that was not seen.
type IO struct {
	Device string // kernel name where known, else "MAJ:MIN"
	Op     Op
	Sector uint64 // of 512 bytes
	Bytes  uint64
	Owner  Owner
	CPU    uint32 // where it was queued

	Q, G, I, M, D, N, C int64
	Merged              uint32 // bios that were merged into it
	Requeued            uint32
	Error               int32 // errno of its completion; 0 for success
}
