package follow

import "plimsoll/internal/iotrace"

// never is the time of an event that was not seen.
const never = int64(-1) << 63

// state is the progress of a bio, or of the request that it begins.
type state uint8

const (
	free     state = iota
	remapped       // known by a remap onto this device alone
	queued
	held   // has a request: waits in a plug or a scheduler
	merged // into another one's request
	issued // begins a request that the driver has
	requeued
	member // of an issued or requeued request that another one begins; not in the table
)

// finishedBio is a bio that has completed or was merged.
type finishedBio struct {
	q, g, i, m, d, n int64
	c                int64 // never: it was not completed when the trace ended
	q2q              int64 // since the device's previous Q
	sector           uint64
	bytes            uint32
	total            uint32 // bytes of its request
	cpu              uint32
	merges           uint32 // bios that its request has beside it; of a device's own flush: those that wait for it
	tick             uint32 // events that its device had had at its last one
	errno            uint16
	device           uint16
	owner            uint16
	requeues         uint16 // times requeued
	op               iotrace.Op
	leads            bool // begins its request
	doubtful         uint8
}

// bio is a bio under way. From D on, the first of a request represents all of it.
type bio struct {
	finishedBio
	key           uint64 // sector by which it is found: the end of the last partial completion
	older         uint32
	newer         uint32
	hash          uint32 // the next one of the same bucket
	nextInRequest uint32 // the next one of the same request
	bytesLeft     uint32 // bytes not completed: of the request, if the bio begins one
	state         state
}

// begin sets a bio of which only one event is known. The table sets the links.
func (b *bio) begin(device uint16, e *event, s state) {
	b.q, b.g, b.i, b.m, b.d, b.n, b.c = never, never, never, never, never, never, never
	b.q2q, b.key, b.sector = never, e.key, e.Sector
	b.bytes, b.bytesLeft, b.total = e.Bytes, e.Bytes, e.Bytes
	b.cpu, b.merges, b.errno, b.device, b.owner, b.requeues = e.CPU, 0, 0, device, nobody, 0
	b.op, b.leads, b.nextInRequest, b.state = e.op, false, 0, s
	b.doubtful = 0
}

// table holds the bios in flight, found by device and sector, and by age. An
// index of 0 is none.
type table struct {
	bios           []bio
	heads          []uint32
	shift          uint8
	unused         uint32 // linked by hash
	count          int
	oldest, newest uint32
	cursor         uint32 // of expire; 0: begins anew
}

// maxInFlight bounds the table; beyond it, the oldest bio is given up.
const maxInFlight = 1 << 17

func newTable() table {
	return table{bios: make([]bio, 1, 1024), heads: make([]uint32, 1024), shift: 64 - 10}
}

func (t *table) bucket(device uint16, key uint64) *uint32 {
	return &t.heads[(key^uint64(device)<<44)*0x9e3779b97f4a7c15>>t.shift]
}

// add makes room for a bio, which its user fills and enters.
func (t *table) add() uint32 {
	if t.count >= len(t.heads) {
		t.grow()
	}
	index := t.unused
	if index != 0 {
		t.unused = t.bios[index].hash
	} else {
		t.bios = append(t.bios, bio{})
		index = uint32(len(t.bios) - 1)
	}
	t.count++
	return index
}

// enter makes a bio findable, as the newest. The bio must not be part of another bio's request.
func (t *table) enter(index uint32) {
	b := &t.bios[index]
	b.older, b.newer = t.newest, 0
	if t.newest != 0 {
		t.bios[t.newest].newer = index
	} else {
		t.oldest = index
	}
	t.newest = index
	t.link(index)
}

// join appends a bio, which is unlinked, to another one's request.
func (t *table) join(at uint32) {
	t.unlinkAge(at)
	t.bios[at].state = member
}

// unlinkAge removes a bio from the list ordered by age.
func (t *table) unlinkAge(index uint32) {
	b := &t.bios[index]
	if index == t.cursor {
		t.cursor = b.newer
	}
	if b.older != 0 {
		t.bios[b.older].newer = b.newer
	} else {
		t.oldest = b.newer
	}
	if b.newer != 0 {
		t.bios[b.newer].older = b.older
	} else {
		t.newest = b.older
	}
}

func (t *table) link(at uint32) {
	b := &t.bios[at]
	head := t.bucket(b.device, b.key)
	b.hash, *head = *head, at
}

// unlink removes a bio from the hash table.
func (t *table) unlink(index uint32) {
	b := &t.bios[index]
	for p := t.bucket(b.device, b.key); *p != 0; p = &t.bios[*p].hash {
		if *p == index {
			*p = b.hash
			return
		}
	}
}

// remove forgets a bio that is unlinked.
func (t *table) remove(index uint32) {
	b := &t.bios[index]
	if b.state != member {
		t.unlinkAge(index)
	}
	b.state, b.hash = free, t.unused
	t.unused = index
	t.count--
}

func (t *table) grow() {
	t.heads = make([]uint32, 2*len(t.heads))
	t.shift--
	for at := t.oldest; at != 0; at = t.bios[at].newer { // so that the newest is found first
		t.link(at)
	}
}

// states is a set of them: 1<<queued | 1<<held.
type states uint16

func (s states) has(one state) bool { return s>>one&1 != 0 }

// newestAt finds the newest bio at a sector that is in one of the states, one
// of the given size before others.
func (t *table) newestAt(device uint16, key uint64, bytes uint32, s states) uint32 {
	var found uint32
	for index := *t.bucket(device, key); index != 0; index = t.bios[index].hash {
		if b := &t.bios[index]; b.key == key && b.device == device && s.has(b.state) {
			if b.bytes == bytes {
				return index
			}
			if found == 0 {
				found = index
			}
		}
	}
	return found
}

// oldestAt finds the oldest bio, or request, at a sector that is in one of the
// states: one of the same operation and size before others.
func (t *table) oldestAt(device uint16, key uint64, bytes uint32, op iotrace.Op, s states) uint32 {
	index := *t.bucket(device, key)
	if b := &t.bios[index]; b.hash == 0 { // it is alone, as most are, or the 0th, which is free
		if b.key != key || b.device != device || !s.has(b.state) {
			return 0
		}
		return index
	}
	var found uint32
	best := -1
	for ; index != 0; index = t.bios[index].hash {
		b := &t.bios[index]
		if b.key != key || b.device != device || !s.has(b.state) {
			continue
		}
		fit := 0
		if b.op == op {
			fit += 2
		}
		if b.bytesLeft == bytes {
			fit++
		}
		if fit >= best { // those behind are older
			found, best = index, fit
		}
	}
	return found
}
