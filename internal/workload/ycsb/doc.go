// Package ycsb is the workload kind "ycsb": a YCSB core of our own, and the steps
// that have plimsoll itself generate its load against a database.
//
// The package is pure. It says which operations there are and which records they
// are about, writes the plan that "plimsoll generate" follows, and reads what
// that leaves. Internal/load does what the plan says.
//
// Hazards that its code has to know:
//
//   - The operations of a thread follow from the seed and the thread's number
//     alone, but for inserts: which number a new record gets depends on what
//     other threads do meanwhile.
//   - An open loop counts latencies from the moment at which an operation was to
//     begin. What came of that is "total"; what the server took once it was asked
//     is "completion".
package ycsb

// name is the key in experiment files, and result.Workload.Kind.
const name = "ycsb"

// Base names of the files of steps.
const (
	planName   = "load.json"
	readyName  = "ready.json"
	outputName = "load.ndjson"
	gateName   = "gate"
	loadedName = "loaded.json"

	answeredName = "answered.json"
	checkName    = "check.json"
	fillName     = "fill.json"
)

// ClientCPUName is the base name of the file with a result.ClientCPU, where another machine generated the load.
const ClientCPUName = "clients.json"
