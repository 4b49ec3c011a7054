package blktrace

import (
	"errors"
	"io"
	"math"
	"math/bits"
)

// Merge yields the records of several files ordered by time. It keeps the order within a file, and takes records of
// equal time in the order of the files.
//
// The files play a tournament for who has the next record: each node of a tree keeps who lost there, and who won all
// has only the nodes on its way to pass again. A player is one number, the time above the number of the file, so that
// a match, whose winner can hardly be predicted, is played without a branch. Most records are decoded when they have
// won, from the file's bytes.
type Merge struct {
	files    []*file
	nodes    []uint64 // players, from 1 on: those below n are 2n and 2n+1, and then the files
	winner   uint64
	fileBits int
	base     uint64 // time of a player's lowest number
	used     bool   // the winner's file must be read further
	batch    []Record
	damage   func(error)
}

type file struct {
	*Reader
	records []Record // read, and not yet given out
	buf     []Record // for them
}

// NewMerge begins to merge. Errors other than io.EOF go to damage; reading goes on after them if possible.
func NewMerge(readers []*Reader, damage func(error)) *Merge {
	m := &Merge{damage: damage, batch: make([]Record, 256), fileBits: bits.Len(uint(max(1, len(readers)) - 1))}
	width := 1 << m.fileBits
	times := make([]uint64, width)
	base := uint64(math.MaxUint64)
	hasRecord := make([]bool, width)
	for i, r := range readers {
		r.block = min(max(leastBlock, sharedBlocks/len(readers)), r.block)
		m.files = append(m.files, &file{Reader: r})
		times[i], hasRecord[i] = m.next(m.files[i])
		if hasRecord[i] {
			base = min(base, times[i])
		}
	}
	// Years lie on either side: what is beyond is damage, and comes first or last.
	m.base = base - min(base, 1<<(63-m.fileBits))
	m.nodes = make([]uint64, width)
	winners := make([]uint64, 2*width) // of each node, and the files
	for i := range width {
		winners[width+i] = m.player(times[i], i)
		if !hasRecord[i] {
			winners[width+i] = m.ended() | uint64(i)
		}
	}
	for n := width - 1; n > 0; n-- {
		winners[n], m.nodes[n] = min(winners[2*n], winners[2*n+1]), max(winners[2*n], winners[2*n+1])
	}
	m.winner = winners[1]
	return m
}

// ended is the least player whose file has ended.
func (m *Merge) ended() uint64 { return ^uint64(0) << m.fileBits }

// player returns a file's number in the tournament.
func (m *Merge) player(time uint64, file int) uint64 {
	time = min(max(time, m.base)-m.base, ^uint64(0)>>m.fileBits-1)
	return time<<m.fileBits | uint64(file)
}

// next reads a file that has no record at hand, and returns the time of its next one; ok is false at its end.
func (m *Merge) next(f *file) (time uint64, ok bool) {
	if time, ok = f.peekFurther(); ok {
		return time, true
	}
	if f.buf == nil {
		f.buf = make([]Record, 64)
	}
	f.records = f.buf[:m.read(f.Reader, f.buf)]
	if len(f.records) == 0 {
		return 0, false
	}
	return f.records[0].Time, true
}

// read reads records of a file, and returns how many; 0 at its end.
func (m *Merge) read(r *Reader, records []Record) int {
	for {
		n, err := r.Read(records)
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

// Next returns the next records, at least one, which are valid until the next call; none at the end.
func (m *Merge) Next() []Record { return m.batch[:m.Fill(m.batch)] }

// Fill stores the next records, at least one, and returns their number; 0 at the end. Their PDUs are valid until the
// next call: it ends where a file must be read further, which moves its earlier records.
func (m *Merge) Fill(records []Record) (n int) {
	if m.used && len(m.files) == 1 {
		return m.read(m.files[0].Reader, records)
	}
	if m.used {
		m.used = false
		i := int(m.winner & (1<<m.fileBits - 1))
		if time, ok := m.next(m.files[i]); ok {
			m.replay(m.player(time, i))
		} else {
			m.replay(m.ended() | uint64(i))
		}
	}
	for n < len(records) && m.winner < m.ended() {
		i := int(m.winner & (1<<m.fileBits - 1))
		f := m.files[i]
		var time uint64
		var ok bool
		if len(f.records) == 0 {
			time, ok = f.take(&records[n])
		} else {
			time, ok = f.takeRead(&records[n])
		}
		n++
		if !ok {
			m.used = true
			break
		}
		m.replay(m.player(time, i))
	}
	return n
}

// takeRead is take for records that are read already.
func (f *file) takeRead(r *Record) (next uint64, ok bool) {
	*r = f.records[0]
	f.records = f.records[1:]
	if len(f.records) > 0 {
		return f.records[0].Time, true
	}
	return f.peek()
}

// replay plays the matches of a file again, with its new player.
func (m *Merge) replay(p uint64) {
	nodes := m.nodes
	for n := (uint64(len(nodes)) + p&uint64(len(nodes)-1)) >> 1; n > 0; n >>= 1 {
		o := &nodes[n&uint64(len(nodes)-1)]
		p, *o = min(p, *o), max(p, *o)
	}
	m.winner = p
}
