// Package kinds is the table of workloads. It is pure. A new kind is a folder
// beside it and one line here.
package kinds

import (
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/fio"
	"plimsoll/internal/workload/metadata"
	"plimsoll/internal/workload/ycsb"
)

// All returns every kind of workload, in the order of the help.
func All() []workload.Kind {
	return []workload.Kind{
		fio.Kind,
		ycsb.Kind,
		ycsb.TPCC,
		metadata.Kind,
	}
}
