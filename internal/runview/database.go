package runview

import (
	"slices"
	"strings"

	"plimsoll/internal/database"
	"plimsoll/internal/workload/ycsb"
)

// Asked returns the load of a workload on a database. ok is false for workloads without one.
func (v *View) Asked(workload string) (l ycsb.Load, ok bool) {
	asked := Once(v, "load of "+workload, func() (asked loadAsked) {
		w, known := v.Run.Workload(workload)
		if known && slices.Contains([]string{ycsb.Kind.Name, ycsb.TPCC.Name}, w.Kind) {
			asked.load, asked.known = ycsb.LoadOf(w.Declared)
		}
		return asked
	})
	return asked.load, asked.known
}

// loadAsked is what View.Asked returns.
type loadAsked struct {
	load  ycsb.Load
	known bool
}

// Server returns the database that a workload drives. ok is false for workloads without one.
func (v *View) Server(workload string) (server database.Server, ok bool) {
	w, known := v.Run.Workload(workload)
	if !known || !slices.Contains([]string{ycsb.Kind.Name, ycsb.TPCC.Name}, w.Kind) {
		return nil, false
	}
	return ycsb.ServerOf(w.Declared)
}

// DatabaseTitle returns the display name of a database.
func DatabaseTitle(name string) string {
	for _, k := range database.All() {
		if k.Name == name {
			return k.Title
		}
	}
	if name == "" {
		return ""
	}
	return strings.ToUpper(name[:1]) + name[1:]
}
