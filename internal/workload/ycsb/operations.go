package ycsb

import (
	"math/rand/v2"
	"slices"

	"plimsoll/internal/result"
)

// The operations, by the names that measurements have them.
const (
	Read            = "read"
	Update          = "update"
	Insert          = "insert"
	Scan            = "scan"
	ReadModifyWrite = "read-modify-write"
)

// The transactions of TPC-C (revision 5.11, clause 2), likewise.
const (
	NewOrder    = "new-order"
	Payment     = "payment"
	OrderStatus = "order-status"
	Delivery    = "delivery"
	StockLevel  = "stock-level"
)

// The operations on files, likewise. A file is created with its bytes; fsync is of one that was created; open reads and
// closes it, too; overwrite opens one, writes its first 4 KiB, and closes it, and
// is a first write until all files had one.
const (
	Create     = "create"
	Fsync      = result.Fsync
	Stat       = "stat"
	Open       = "open"
	FirstWrite = "first-write"
	Overwrite  = "overwrite"
	Unlink     = "unlink"
)

// ofRecords are YCSB's operations, in the order of tables.
var ofRecords = []string{Read, Update, Insert, Scan, ReadModifyWrite}

// OfFiles are the operations on files, in the order in which a file meets them.
var OfFiles = []string{Create, Fsync, Stat, Open, FirstWrite, Overwrite, Unlink}

// Names are all operations, in the order of tables.
var Names = slices.Concat(ofRecords, []string{NewOrder, Payment, OrderStatus, Delivery, StockLevel},
	OfFiles)

// Mix maps kinds of operations to their shares, by name.
type Mix map[string]float64

// preset is a workload that has a name.
type preset struct {
	mix              Mix
	distribution     Distribution
	maxScan          int
	updatesAllFields bool // an update replaces all fields
}

// presets are YCSB's workloads A to F, and the writes and reads of cassandra-stress, which are of
// whole records: its writes go through all of them in order.
var presets = map[string]preset{
	"A": {Mix{Read: 0.5, Update: 0.5}, Zipfian, 0, false},
	"B": {Mix{Read: 0.95, Update: 0.05}, Zipfian, 0, false},
	"C": {Mix{Read: 1}, Zipfian, 0, false},
	"D": {Mix{Read: 0.95, Insert: 0.05}, Latest, 0, false},
	"E": {Mix{Scan: 0.95, Insert: 0.05}, Zipfian, 100, false},
	"F": {Mix{Read: 0.5, ReadModifyWrite: 0.5}, Zipfian, 0, false},

	"stress-write": {Mix{Update: 1}, Sequential, 0, true},
	"stress-read":  {Mix{Read: 1}, Gaussian, 0, true},
}

// AllFields is the field of whole records, as the clients of databases have it.
const AllFields = -1

// Operation is one thing to do.
type Operation struct {
	Kind    int   // index into Names
	Record  int64 // its number; of an insert, the one that Inserts gave
	Records int   // that a scan reads
	Field   int   // that is read: AllFields, or one
	Write   int   // field that is written, as Field is
}

// Operations generates the operations of one thread. It is not safe for concurrent use.
type Operations struct {
	plan    *Plan
	random  *rand.Rand
	keys    keys
	inserts *Inserts
	bounds  []float64 // running sum of the mix
}

// Operations returns the operations of a thread, 0 to Threads-1. Inserts is shared by
// all.
func (p *Plan) Operations(thread int, inserts *Inserts) *Operations {
	o := &Operations{plan: p, random: rand.New(rand.NewPCG(p.Seed, uint64(thread))), keys: p.newKeys(thread, inserts),
		inserts: inserts}
	sum := 0.0
	for _, name := range Names {
		sum += p.Mix[name]
		o.bounds = append(o.bounds, sum)
	}
	return o
}

// Next returns the next operation. After an insert, Inserts.Done says how it ended.
func (o *Operations) Next() Operation {
	op := Operation{Kind: o.kind()}
	switch Names[op.Kind] {
	case Insert:
		op.Record = o.inserts.Take()
		op.Field, op.Write = AllFields, AllFields
		return op
	case Scan:
		op.Records = 1 + o.random.IntN(o.plan.MaxScan)
	}
	op.Record = o.keys.next(o.random)
	op.Field, op.Write = AllFields, AllFields
	if o.plan.ReadOne {
		op.Field = o.random.IntN(o.plan.Dataset.Fields)
	}
	if !o.plan.UpdateAll {
		op.Write = o.random.IntN(o.plan.Dataset.Fields)
	}
	return op
}

// kind draws from the mix.
func (o *Operations) kind() int {
	u := o.random.Float64() * o.bounds[len(o.bounds)-1]
	kind := 0
	for i, bound := range o.bounds {
		if o.plan.Mix[Names[i]] > 0 {
			kind = i
			if u < bound {
				break
			}
		}
	}
	return kind
}
