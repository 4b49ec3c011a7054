package database

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"

	"plimsoll/internal/units"
)

// TPCC is the dataset of a number of warehouses: what TPC-C's tables hold in the beginning (clause
// 4.3). Its records are warehouses.
func TPCC(warehouses int) Dataset {
	return Dataset{Records: int64(warehouses), Fields: 1, FieldBytes: warehouseBytes, Warehouses: warehouses}
}

// TPCCDatabase is the database of TPC-C's tables.
const TPCCDatabase = "tpcc"

// warehouseBytes are about those of a warehouse's rows: 500,000 of them, most in stock (35 MB),
// customer and order_line (20 MB each).
const warehouseBytes = 80 << 20

// MaxWarehouses is the most that a dataset has.
const MaxWarehouses = 100_000

// Bounds of a dataset.
const (
	MaxRecords     = int64(1e12)
	MaxFields      = 1024
	MaxRecordBytes = int64(1) << 20
	maxBytes       = int64(1) << 50 // what no host of today holds is a slip of the fingers
)

// KeyBytes is the length of every key.
const KeyBytes = len(keyPrefix) + keyDigits

const (
	keyPrefix = "user" // YCSB's
	keyDigits = 19     // of the largest number
)

// RecordBytes returns the size of one record's values.
func (d Dataset) RecordBytes() int64 { return int64(d.Fields) * int64(d.FieldBytes) }

// Check returns an error for an invalid dataset, as a sentence without its full stop.
func (d Dataset) Check() error {
	switch {
	case d.Warehouses > 0 && d != TPCC(d.Warehouses), d.Warehouses < 0, d.Warehouses > MaxWarehouses:
		return fmt.Errorf("%d warehouses of TPC-C: write a number from 1 to %d", d.Warehouses, MaxWarehouses)
	case d.Warehouses > 0:
		return nil
	case d.Records < 1 || d.Records > MaxRecords:
		return fmt.Errorf("%d records: write a number from 1 to %d", d.Records, MaxRecords)
	case d.Fields < 1 || d.Fields > MaxFields:
		return fmt.Errorf("%d fields: write a number from 1 to %d", d.Fields, MaxFields)
	case d.FieldBytes < 1 || int64(d.FieldBytes) > MaxRecordBytes:
		return fmt.Errorf("fields of %d bytes: write a size from 1B to %s", d.FieldBytes,
			units.FormatSize(MaxRecordBytes))
	case d.RecordBytes() > MaxRecordBytes:
		return fmt.Errorf("%d fields of %s make records of %s: stay below %s", d.Fields,
			units.FormatSize(int64(d.FieldBytes)), units.FormatSize(d.RecordBytes()), units.FormatSize(MaxRecordBytes))
	case d.Records > maxBytes/d.RecordBytes():
		return fmt.Errorf("%d records of %s are more than %s", d.Records, units.FormatSize(d.RecordBytes()),
			units.Bytes(uint64(maxBytes)))
	}
	return nil
}

// Key appends the key of a record to dst: "user" and the number, from 0 on, in so
// many digits that keys sort as numbers do. Which record is read when, and how
// scrambled, is up to those who draw the numbers.
func Key(dst []byte, number int64) []byte {
	dst = append(dst, keyPrefix...)
	var room [keyDigits]byte
	digits := strconv.AppendInt(room[:0], number, 10)
	dst = append(dst, zeros[len(digits):]...)
	return append(dst, digits...)
}

const zeros = "0000000000000000000"

// Value appends the fields of a record, one after the other, to dst. The bytes
// follow from the seed and the number, and nothing makes them smaller: a server that
// compresses, or a device that does, has no advantage from them.
func Value(dst []byte, d Dataset, number int64) []byte {
	state := mixed(d.Seed ^ mixed(uint64(number)+splitMixIncrement))
	begin, end := len(dst), len(dst)+int(d.RecordBytes())
	dst = slices.Grow(dst, end-begin)[:end]
	left := dst[begin:]
	for ; len(left) >= 8; left = left[8:] {
		state += splitMixIncrement
		binary.LittleEndian.PutUint64(left, mixed(state))
	}
	last := mixed(state + splitMixIncrement)
	for i := range left {
		left[i] = byte(last)
		last >>= 8
	}
	return dst
}

// splitMixIncrement is the increment of splitmix64 (Steele, Lea and Flood: Fast splittable pseudorandom number
// generators, 2014), and mixed its output function.
const splitMixIncrement = 0x9e3779b97f4a7c15

func mixed(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
