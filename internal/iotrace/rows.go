package iotrace

import (
	"cmp"
	"fmt"
	"slices"

	"plimsoll/internal/units"
)

// Dimension is the key by which rows group cells.
type Dimension uint8

// The dimensions.
const (
	Total Dimension = iota // all in one row
	ByDevice
	ByOp
	BySize
	ByOwner // by container, and what is in none by process
)

// Row is the sum of the cells that are alike in one dimension.
type Row struct {
	Label string // "sda", "read", "4 KiB", "fio (4711)"
	Key   Key    // only the dimension's part is set
	Requests,
	Bytes uint64
	Intervals [Intervals]*Dist // nil for what never occurred, or cannot be known

	// UnqueuedNS is the part of each interval's sum that comes from cells without a Q2C: from requests that no one
	// queued, such as flushes that the kernel adds.
	UnqueuedNS [Intervals]uint64
}

// By sums up the cells by a dimension, ascending by Key; but owners come by
// descending bytes. An account without requests has no rows.
func (a *Account) By(dimension Dimension) []Row {
	index := map[Key]int{}
	var rows []Row
	for i := range a.Cells {
		c := &a.Cells[i]
		key := c.project(dimension)
		position, ok := index[key]
		if !ok {
			position = len(rows)
			index[key] = position
			rows = append(rows, Row{Label: key.label(dimension), Key: key})
		}
		r := &rows[position]
		r.Requests += c.Requests
		r.Bytes += c.Bytes
		for i, d := range c.Intervals {
			if d == nil {
				continue
			}
			if r.Intervals[i] == nil {
				r.Intervals[i] = new(Dist)
			}
			r.Intervals[i].Merge(d)
			if c.Intervals[Q2C] == nil {
				r.UnqueuedNS[i] += d.SumNS
			}
		}
	}
	slices.SortStableFunc(rows, func(x, y Row) int {
		if dimension == ByOwner {
			return cmp.Or(-cmp.Compare(x.Bytes, y.Bytes), x.Key.compare(y.Key))
		}
		return x.Key.compare(y.Key)
	})
	return rows
}

// project returns the key reduced to a dimension.
func (k Key) project(dimension Dimension) Key {
	switch dimension {
	case ByDevice:
		return Key{Device: k.Device}
	case ByOp:
		return Key{Op: k.Op}
	case BySize:
		return Key{Size: k.Size}
	case ByOwner:
		if o := k.Owner; o.Container != "" { // all of its processes
			return Key{Owner: Owner{Container: o.Container, Path: o.Path, Cgroup: o.Cgroup}}
		}
		return Key{Owner: k.Owner}
	}
	return Key{}
}

func (k Key) label(dimension Dimension) string {
	switch dimension {
	case ByDevice:
		return k.Device
	case ByOp:
		return k.Op.String()
	case BySize:
		return k.Size.String()
	case ByOwner:
		return k.Owner.String()
	}
	return "all"
}

// String is "up to 4 KiB", or "no data".
func (s SizeClass) String() string {
	if s == 0 {
		return "no data"
	}
	return "up to " + units.Bytes(uint64(s))
}

// String names the owner: its container, cgroup or process, as far as known.
func (o Owner) String() string {
	name := o.Command
	if o.PID != 0 {
		if name == "" {
			name = "process"
		}
		name = fmt.Sprintf("%s (%d)", name, o.PID)
	}
	switch {
	case o.Container != "":
		return "container " + o.Container
	case o.Path == "/" && name != "": // everybody's
		return name
	case o.Path != "":
		return o.Path
	case o.Cgroup != 0 && name != "":
		return fmt.Sprintf("%s, cgroup %d", name, o.Cgroup)
	case o.Cgroup != 0:
		return fmt.Sprintf("cgroup %d", o.Cgroup)
	case name != "":
		return name
	}
	return "not attributed"
}

func (k Key) compare(o Key) int {
	return cmp.Or(cmp.Compare(k.Device, o.Device), cmp.Compare(k.Op, o.Op), cmp.Compare(k.Size, o.Size),
		k.Owner.compare(o.Owner))
}

func (o Owner) compare(p Owner) int {
	return cmp.Or(cmp.Compare(o.Container, p.Container), cmp.Compare(o.Path, p.Path), cmp.Compare(o.Cgroup, p.Cgroup),
		cmp.Compare(o.Command, p.Command), cmp.Compare(o.PID, p.PID))
}

// SortCells puts the cells in the order of their keys.
func (a *Account) SortCells() {
	slices.SortFunc(a.Cells, func(x, y Cell) int { return x.compare(y.Key) })
}
