package ycsb

import "sync"

// Inserts numbers the records that are added, and has the number up to which all records exist. It is safe for
// concurrent use.
type Inserts struct {
	mu       sync.Mutex     // guards what follows
	next     int64          // not handed out yet
	again    []int64        // handed out, and not there
	ahead    map[int64]bool // there, beyond a number that is not
	complete int64          // all records below this number exist
}

// NewInserts returns the counter of a database that holds so many records.
func NewInserts(records int64) *Inserts {
	return &Inserts{next: records, complete: records, ahead: map[int64]bool{}}
}

// Take returns the number of a record to insert. It is followed by Done.
func (n *Inserts) Take() int64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	if last := len(n.again) - 1; last >= 0 {
		number := n.again[last]
		n.again = n.again[:last]
		return number
	}
	n.next++
	return n.next - 1
}

// Done records whether the record of a taken number now exists. A failed number is returned by a later Take. No record
// from that number on is requested before it exists.
func (n *Inserts) Done(number int64, exists bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !exists {
		n.again = append(n.again, number)
		return
	}
	n.ahead[number] = true
	for n.ahead[n.complete] {
		delete(n.ahead, n.complete)
		n.complete++
	}
}

// There returns the number of records that can be requested: all numbers below it exist.
func (n *Inserts) There() int64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.complete
}
