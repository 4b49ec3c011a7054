package iotrace

import "testing"

func TestRowsSumUpCells(t *testing.T) {
	cell := func(device string, op Op, size SizeClass, owner Owner, times ...uint64) Cell {
		c := Cell{Key: Key{device, op, size, owner}, Requests: uint64(len(times)), Bytes: uint64(size) * uint64(len(times))}
		c.Intervals[Q2C] = new(Dist)
		for _, ns := range times {
			c.Intervals[Q2C].Add(ns)
		}
		return c
	}
	fio, db := Owner{PID: 7, Command: "fio"}, Owner{Container: "db", PID: 8}
	a := &Account{Cells: []Cell{
		cell("sda", Read, 4096, fio, 10, 20),
		cell("sda", Write, 8192, db, 30, 40, 50),
		cell("sdb", Read, 4096, Owner{Container: "db", PID: 9}, 60),
		cell("sdb", Flush, 0, Owner{}, 70),
	}}
	for dimension, want := range map[Dimension][]struct {
		label    string
		requests uint64
		sum      uint64
	}{
		Total:    {{"all", 7, 280}},
		ByDevice: {{"sda", 5, 150}, {"sdb", 2, 130}},
		ByOp:     {{"read", 3, 90}, {"write", 3, 120}, {"flush", 1, 70}},
		BySize:   {{"no data", 1, 70}, {"up to 4 KiB", 3, 90}, {"up to 8 KiB", 3, 120}},
		ByOwner:  {{"container db", 4, 180}, {"fio (7)", 2, 30}, {"not attributed", 1, 70}},
	} {
		rows := a.By(dimension)
		if len(rows) != len(want) {
			t.Errorf("dimension %d: %d rows, want %d", dimension, len(rows), len(want))
			continue
		}
		for i, w := range want {
			if r := rows[i]; r.Label != w.label || r.Requests != w.requests || r.Intervals[Q2C].SumNS != w.sum ||
				r.Intervals[D2C] != nil {
				t.Errorf("dimension %d: %s has %d requests, %d ns; want %+v", dimension, r.Label, r.Requests,
					r.Intervals[Q2C].SumNS, w)
			}
		}
	}
	nobodys := cell("sdb", Flush, 0, Owner{})
	nobodys.Intervals[Q2C], nobodys.Intervals[D2C] = nil, new(Dist)
	nobodys.Intervals[D2C].Add(80)
	a.Cells = append(a.Cells, nobodys)
	a.Cells[0].Intervals[D2C] = new(Dist)
	a.Cells[0].Intervals[D2C].Add(5)
	if r := a.By(Total)[0]; r.Intervals[D2C].SumNS != 85 || r.UnqueuedNS[D2C] != 80 {
		t.Errorf("%d ns in the device, %d of them for nobody", r.Intervals[D2C].SumNS, r.UnqueuedNS[D2C])
	}
	if a.Cells[0].Intervals[Q2C].Count != 2 {
		t.Error("summing up changed a cell")
	}
}

func TestOwnersAreNamed(t *testing.T) {
	for want, o := range map[string]Owner{
		"not attributed":        {},
		"process (7)":           {PID: 7},
		"fio (7), cgroup 42":    {PID: 7, Command: "fio", Cgroup: 42},
		"cgroup 42":             {Cgroup: 42},
		"/docker/abc":           {Path: "/docker/abc", Cgroup: 42, PID: 7},
		"container cassandra-1": {Container: "cassandra-1", Path: "/docker/abc"},
		"(other processes)":     {Command: "(other processes)"},
	} {
		if got := o.String(); got != want {
			t.Errorf("%+v is named %q, want %q", o, got, want)
		}
	}
}
