package ycsb

import (
	"strconv"

	"plimsoll/internal/workload"
)

// scale returns the workload with so many threads, and with so many records that their values take so many
// bytes, rounded up to whole records.
func (w *driven) scale(jobs int, bytes int64) (workload.Workload, error) {
	values := map[string]string{}
	if jobs > 0 {
		values["threads"] = strconv.Itoa(jobs)
	}
	if bytes > 0 && w.Warehouses > 0 {
		each := w.dataset().RecordBytes()
		values["warehouses"] = strconv.FormatInt((bytes-1)/each+1, 10)
	} else if bytes > 0 {
		record := w.dataset().RecordBytes()
		values["records"] = strconv.FormatInt((bytes-1)/record+1, 10)
	}
	declared, err := workload.Redeclare(w.declared, values)
	if err != nil {
		return nil, err
	}
	read := decode
	if w.Warehouses > 0 {
		read = decodeTPCC
	}
	scaled, problems := read(declared, w.databases)
	return scaled, problems.Unplaced().Err()
}

// records returns those of each server; none of TPC-C, which counts warehouses.
func (w *driven) records() workload.Records {
	if w.Warehouses > 0 {
		return workload.Records{}
	}
	d := w.dataset()
	return workload.Records{Count: d.Records, Bytes: d.RecordBytes()}
}
