package database

import (
	"fmt"
	"path"
	"strconv"

	"plimsoll/internal/units"
	"plimsoll/internal/workload"
)

// pebbleKind is the embedded server's entry in the table.
var pebbleKind = Kind{
	Name:    "pebble",
	Title:   "the embedded server (pebble)",
	Summary: "a key-value store inside this program, for experiments that run anywhere with nothing installed",
	Decode:  decodePebble,
	Schema:  schemaOf(pebbleParams, PebbleDefaults()),
}

// pebble is this program itself, which serves a store of cockroachdb/pebble.
type pebble struct{ PebbleParams }

// What the commands that serve and load are called, and their flags beside those of
// the parameters.
const (
	PebbleServe = "serve-pebble"
	PebbleLoad  = "load-pebble"
)

// PebbleFacts is the base name of the file of statistics that a server writes when it ends well.
const PebbleFacts = "pebble.json"

// PebbleFormat is the number of how data is laid out: another number, other bytes.
const PebbleFormat = 1

// Parameters implements Server.
func (p *pebble) Parameters() map[string]string { return pebbleParams.All(&p.PebbleParams) }

// Layout returns the parameters that the loaded bytes depend on. Loading only writes the last level, which has no
// filters.
func (p *pebble) Layout() string { return PebbleLayout(p.PebbleParams) }

// PebbleLayout is the layout of data that is loaded with these parameters.
func PebbleLayout(p PebbleParams) string {
	return fmt.Sprintf("pebble-%d-%s-%s", PebbleFormat, p.Compression, units.FormatSize(p.FileSize))
}

// Settings implements Server: all that it takes has a parameter.
func (p *pebble) Settings() Settings { return nil }

// NeedMemory implements Server: its heap is held to what there is.
func (p *pebble) NeedMemory(int) int64 { return 0 }

// Client implements Server.
func (p *pebble) Client() Client { return Client{Name: "pebble"} }

// pebbleSocket is the base name of the socket that it answers on.
const pebbleSocket = "server.sock"

// Address implements Server.
func (p *pebble) Address() Address { return Address{Socket: pebbleSocket} }

// Image implements Server: it is in this program.
func (p *pebble) Image() *workload.Image { return nil }

// NeedBytes returns, for written data, the sum of twice the data, since compactions write new files before they
// remove the old ones; of level 0 when it makes writes wait; and of the log of memtables.
func (p *pebble) NeedBytes(d Dataset, written bool) int64 {
	if !written {
		return PebbleLoadBytes(d) + openBytes
	}
	return 2*PebbleLoadBytes(d) + int64(p.L0Stop+PebbleMemtables+1)*p.Memtable + reserveBytes
}

// openBytes is how much a server writes whose data is only read: a log, and the list of files.
const openBytes = 1 << 20

// PebbleMemtables is how many memtables are in use at most; one more is kept to be
// used again.
const PebbleMemtables = 4

// reserveBytes is the space for manifests, logs kept for reuse, and the file system's own needs.
const reserveBytes = 64 << 20

// PebbleLoadBytes is about what loading writes: records, what their blocks and
// indexes take, a 64th more.
func PebbleLoadBytes(d Dataset) int64 {
	const entry = 24 // of a block or an index, for a record, at the most
	bytes := d.Records * (d.RecordBytes() + int64(KeyBytes) + entry)
	return bytes + bytes/64 + 1<<20
}

// Load implements Server.
func (p *pebble) Load(dir string, d Dataset) workload.Step {
	return workload.Step{Argv: append([]string{workload.Self, PebbleLoad, "--dir", dir,
		"--records", strconv.FormatInt(d.Records, 10),
		"--fields", strconv.Itoa(d.Fields),
		"--field-bytes", strconv.Itoa(d.FieldBytes),
		"--seed", strconv.FormatUint(d.Seed, 10)}, p.flags()...)}
}

// Serve implements Server.
func (p *pebble) Serve(dir string) workload.Step {
	return workload.Step{
		Argv: append([]string{workload.Self, PebbleServe, "--dir", dir,
			"--listen", path.Join(workload.ScratchDir, pebbleSocket),
			"--facts", path.Join(workload.ScratchDir, PebbleFacts)}, p.flags()...),
		Outputs: []string{PebbleFacts},
	}
}

// flags are all parameters: what runs must not depend on the defaults of the program
// that runs it.
func (p *pebble) flags() []string {
	var flags []string
	for _, key := range PebbleKeys() {
		flags = append(flags, "--"+key+"="+p.Get(key))
	}
	return flags
}
