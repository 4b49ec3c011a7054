package follow

import (
	"plimsoll/internal/iotrace"
	"plimsoll/internal/iotrace/blktrace"
)

// event is a record with the follower's key for it.
type event struct {
	*blktrace.Record
	time int64
	key  uint64 // by which its bio is found: the sector, or flushKey
	op   iotrace.Op
}

// flushKey is the key of flushes, whose sector has no meaning: the kernel makes one, at sector 0, for all that wait.
const flushKey = ^uint64(0)

func (e *event) end() uint64 { return e.Sector + uint64(e.Bytes>>9) }

// hasNoPayload reports whether a remap or driver-data record lacks its payload.
func hasNoPayload(r *blktrace.Record) bool {
	switch r.Action.Event() {
	case blktrace.Remap:
		_, _, ok := r.RemappedFrom()
		return !ok
	case blktrace.DriverData:
		return !r.IsSubmit()
	}
	return false
}

// zones are the categories of zone management.
const zones = blktrace.CatZoneReset | blktrace.CatZoneResetAll | blktrace.CatZoneFinish | blktrace.CatZoneOpen |
	blktrace.CatZoneClose

// plainOps are the operations by CatRead and CatWrite.
var plainOps = [4]iotrace.Op{iotrace.Other, iotrace.Read, iotrace.Write, iotrace.Read}

// operation returns the operation of a request with these categories.
func operation(a blktrace.Action, bytes uint32) iotrace.Op {
	const special = blktrace.CatPassthrough | blktrace.CatDiscard | blktrace.CatFlush | zones
	switch {
	case a&special == 0: // nearly all
		return plainOps[a/blktrace.CatRead%4]
	case a&blktrace.CatPassthrough != 0:
		return iotrace.Other
	case a&blktrace.CatDiscard != 0:
		return iotrace.Discard
	case a&blktrace.CatFlush != 0 && bytes == 0:
		return iotrace.Flush
	case a&zones != 0:
		return iotrace.Other
	case a&blktrace.CatWrite != 0:
		return iotrace.Write
	case a&blktrace.CatRead != 0:
		return iotrace.Read
	}
	return iotrace.Other
}
