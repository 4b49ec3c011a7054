package blktrace

import (
	"errors"
	"io"
)

// Merge gives the records of several files in the order of time, those of one
// file in its own order, and what is at the same time in the order of the
// files. It holds a few records of each.
type Merge struct {
	heads  []head // a heap: the first is of the next record
	given  int    // records of the first head's file that were given out
	damage func(error)
}

// head is a file that is not at its end.
type head struct {
	time  uint64 // of its next record
	order int
	file  *file
}

type file struct {
	reader  *Reader
	records []Record // read, and not yet given out
	buf     [64]Record
}

// NewMerge begins to merge. Errors other than io.EOF go to damage, with the
// reading going on where it can.
func NewMerge(readers []*Reader, damage func(error)) *Merge {
	m := &Merge{damage: damage}
	for i, r := range readers {
		if f := (&file{reader: r}); m.read(f) {
			m.heads = append(m.heads, head{f.records[0].Time, i, f})
		}
	}
	for i := len(m.heads)/2 - 1; i >= 0; i-- {
		m.down(i)
	}
	return m
}

// read makes that a file has records; false at its end.
func (m *Merge) read(f *file) bool {
	f.records = f.buf[:m.some(f, f.buf[:])]
	return len(f.records) > 0
}

// some reads records of a file, and returns how many; 0 at its end.
func (m *Merge) some(f *file, records []Record) int {
	for {
		n, err := f.reader.Read(records)
		if err == nil {
			return n
		}
		if errors.Is(err, io.EOF) {
			return 0
		}
		m.damage(err)
		var format *FormatError
		if !errors.As(err, &format) {
			return 0
		}
	}
}

// Next gives the next records, at least one, which are good until the next
// call; none at the end.
func (m *Merge) Next() []Record {
	if m.given > 0 {
		m.pass()
	}
	if len(m.heads) == 0 {
		return nil
	}
	first := &m.heads[0]
	m.given = len(first.file.records)
	if len(m.heads) > 1 {
		second := &m.heads[1]
		if len(m.heads) > 2 && m.heads[2].before(second) {
			second = &m.heads[2]
		}
		m.given = first.until(second)
	}
	return first.file.records[:m.given]
}

// Fill copies the next records, at least one, and returns how many; 0 at the end.
// Their PDUs are good until the next call. Of a single file it is faster than Next
// for who keeps records.
func (m *Merge) Fill(records []Record) int {
	if len(m.heads) == 1 && m.given == len(m.heads[0].file.records) {
		if n := m.some(m.heads[0].file, records); n > 0 {
			return n
		}
		m.heads, m.given = nil, 0
		return 0
	}
	n := copy(records, m.Next())
	m.given = n
	return n
}

// pass goes on behind the records that were given out.
func (m *Merge) pass() {
	first := &m.heads[0]
	f := first.file
	f.records = f.records[m.given:]
	m.given = 0
	if len(f.records) > 0 || m.read(f) {
		first.time = f.records[0].Time
	} else {
		n := len(m.heads) - 1
		*first = m.heads[n]
		m.heads = m.heads[:n]
	}
	if len(m.heads) > 1 {
		m.down(0)
	}
}

func (m *Merge) down(i int) {
	moved := m.heads[i]
	for {
		child := 2*i + 1
		if child >= len(m.heads) {
			break
		}
		if right := child + 1; right < len(m.heads) && m.heads[right].before(&m.heads[child]) {
			child = right
		}
		if !m.heads[child].before(&moved) {
			break
		}
		m.heads[i] = m.heads[child]
		i = child
	}
	m.heads[i] = moved
}

func (h *head) before(o *head) bool {
	return h.time < o.time || h.time == o.time && h.order < o.order
}

// until is how many records of this file come before the other one's.
func (h *head) until(o *head) int {
	records := h.file.records
	n := 1
	for n < len(records) && (records[n].Time < o.time || records[n].Time == o.time && h.order < o.order) {
		n++
	}
	return n
}
