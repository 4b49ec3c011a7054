package blktrace

import (
	"errors"
	"io"
	"math"
	"math/bits"
)

// Merge gives the records of several files in the order of time, those of one
// file in its own order, and what is at the same time in the order of the
// files. It holds a few records of each.
//
// The files play a tournament for who has the next record: each node of a tree
// keeps who lost there, and who won all has only the nodes on its way to pass
// again. Who wins a match can hardly be predicted, so it is played without a branch.
type Merge struct {
	files  []*file
	nodes  []player // from 1 on: those below n are 2n and 2n+1, and then the files
	winner player
	used   bool // the winner's records are given out
	batch  []*Record
	damage func(error)
}

// player is a file in the tournament.
type player struct {
	time uint64 // of its next record
	file uint64 // its number; with ended, at its end
}

const ended = 1 << 32

type file struct {
	reader  *Reader
	records []Record // read, and not yet given out
	buf     [64]Record
}

// NewMerge begins to merge. Errors other than io.EOF go to damage, with the
// reading going on where it can.
func NewMerge(readers []*Reader, damage func(error)) *Merge {
	m := &Merge{damage: damage, batch: make([]*Record, 0, 256)}
	width := 1
	for width < len(readers) {
		width *= 2
	}
	m.nodes = make([]player, width)
	winners := make([]player, 2*width) // of each node, and the files
	for i := range width {
		winners[width+i] = player{math.MaxUint64, uint64(i) | ended}
		if i < len(readers) {
			f := &file{reader: readers[i]}
			m.files = append(m.files, f)
			winners[width+i] = m.next(i)
		}
	}
	for n := width - 1; n > 0; n-- {
		winners[n], m.nodes[n] = winners[2*n], winners[2*n+1]
		if m.nodes[n].before(winners[n]) {
			winners[n], m.nodes[n] = m.nodes[n], winners[n]
		}
	}
	m.winner = winners[1]
	return m
}

func (p player) before(o player) bool {
	return p.time < o.time || p.time == o.time && p.file < o.file
}

// next reads records of a file that has none left, and returns how it plays on.
func (m *Merge) next(i int) player {
	f := m.files[i]
	f.records = f.buf[:m.read(f, f.buf[:])]
	if len(f.records) == 0 {
		return player{math.MaxUint64, uint64(i) | ended}
	}
	return player{f.records[0].Time, uint64(i)}
}

// read reads records of a file, and returns how many; 0 at its end.
func (m *Merge) read(f *file, records []Record) int {
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
func (m *Merge) Next() []*Record { return m.take(cap(m.batch)) }

// take gives at most so many records. It ends where a file has to be read on,
// which takes those before from their places.
func (m *Merge) take(most int) []*Record {
	m.batch = m.batch[:0]
	if m.used {
		m.used = false
		m.play(m.next(int(m.winner.file)))
	}
	for len(m.batch) < most && m.winner.file < ended {
		i := m.winner.file
		f := m.files[i]
		m.batch = append(m.batch, &f.records[0])
		f.records = f.records[1:]
		if len(f.records) == 0 {
			m.used = true
			break
		}
		m.play(player{f.records[0].Time, i})
	}
	return m.batch
}

// play has the winner's file play again.
func (m *Merge) play(p player) {
	nodes := m.nodes
	for n := (uint64(len(nodes)) + p.file&(ended-1)) >> 1; n > 0; n >>= 1 {
		o := &nodes[n&uint64(len(nodes)-1)]
		_, less := bits.Sub64(o.file, p.file, 0)
		_, less = bits.Sub64(o.time, p.time, less)
		swap := -less // all bits where the other one is before
		time, file := (o.time^p.time)&swap, (o.file^p.file)&swap
		o.time ^= time
		o.file ^= file
		p.time ^= time
		p.file ^= file
	}
	m.winner = p
}

// Fill copies the next records, at least one, and returns how many; 0 at the end.
// Their PDUs are good until the next call. Of a single file it is faster than Next
// for who keeps records.
func (m *Merge) Fill(records []Record) int {
	if len(m.files) == 1 && m.used {
		return m.read(m.files[0], records)
	}
	next := m.take(min(len(records), cap(m.batch)))
	for i, r := range next {
		records[i] = *r
	}
	return len(next)
}
