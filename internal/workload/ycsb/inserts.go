package ycsb

import "sync"

// Inserts numbers the records that are added, and knows up to which number all
// are there. It is safe for concurrent use.
type Inserts struct {
	mu    sync.Mutex
	next  int64          // not handed out yet
	again []int64        // handed out, and not there
	ahead map[int64]bool // there, beyond a number that is not
	there int64          // all numbers below are there
}

// NewInserts returns the counter of a database that holds so many records.
func NewInserts(records int64) *Inserts {
	return &Inserts{next: records, there: records, ahead: map[int64]bool{}}
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

// Done records whether the record of a taken number now exists. One that failed is returned by a later take, and no
// record from it on is requested before it exists.
func (n *Inserts) Done(number int64, there bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !there {
		n.again = append(n.again, number)
		return
	}
	n.ahead[number] = true
	for n.ahead[n.there] {
		delete(n.ahead, n.there)
		n.there++
	}
}

// There returns the number of records that can be requested: all numbers below it exist.
func (n *Inserts) There() int64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.there
}
