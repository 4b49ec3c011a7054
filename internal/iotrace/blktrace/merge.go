package blktrace

import (
	"errors"
	"io"
)

// Merge gives the records of several files in the order of time, those of one
// file in its own order, and what is at the same time in the order of the
// files. It holds one record of each.
type Merge struct {
	heads  []head // a heap: the first is the next one
	given  bool   // the first head's record was given out
	damage func(error)
}

// head is the next record of a file.
type head struct {
	time  uint64
	order int
	file  *file
}

type file struct {
	reader *Reader
	record Record
}

// NewMerge begins to merge. Errors other than io.EOF go to damage, with the
// reading going on where it can.
func NewMerge(readers []*Reader, damage func(error)) *Merge {
	m := &Merge{damage: damage}
	for i, r := range readers {
		f := &file{reader: r}
		if m.sound(f, f.reader.Next(&f.record)) {
			m.heads = append(m.heads, head{f.record.Time, i, f})
		}
	}
	for i := len(m.heads)/2 - 1; i >= 0; i-- {
		m.down(i)
	}
	return m
}

// sound goes on until there is a record; false at the file's end.
func (m *Merge) sound(f *file, err error) bool {
	for err != nil {
		if errors.Is(err, io.EOF) {
			return false
		}
		m.damage(err)
		var format *FormatError
		if !errors.As(err, &format) {
			return false
		}
		err = f.reader.Next(&f.record)
	}
	return true
}

// Next gives the next record, which is good until the next call; nil at the
// end.
func (m *Merge) Next() *Record {
	if m.given {
		f := m.heads[0].file
		if err := f.reader.Next(&f.record); err == nil || m.sound(f, err) {
			m.heads[0].time = f.record.Time
		} else {
			n := len(m.heads) - 1
			m.heads[0] = m.heads[n]
			m.heads = m.heads[:n]
		}
		if len(m.heads) > 1 {
			m.down(0)
		}
	}
	m.given = len(m.heads) > 0
	if !m.given {
		return nil
	}
	return &m.heads[0].file.record
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
