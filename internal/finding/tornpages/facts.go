// Package tornpages answers whether a database's pages need to be written twice on this host, and what that costs.
package tornpages

import (
	"plimsoll/internal/fact"
	"plimsoll/internal/result"
)

// Facts are the findings on mixes that differ in whether pages are written twice.
type Facts struct {
	Pairs []Pair `json:"pairs"` // in the order of the mixes, then of the stacks
}

// Pair is two mixes on one stack: with the option that writes pages twice, and without.
type Pair struct {
	Database  string `json:"database"` // its title: "MySQL"
	Option    string `json:"option"`   // "innodb_doublewrite"
	Stack     string `json:"stack"`
	PageBytes int64  `json:"page_bytes"` // of one write of a page

	// atomic writes that the kernel promises of the stack's files; nil if not known
	Files  *result.AtomicUnits `json:"files,omitempty"`
	Atomic bool                `json:"atomic,omitempty"` // the server asks for atomic writes (RWF_ATOMIC)
	Needed Need                `json:"needed,omitempty"` // why pages have to be written twice; "" if they need not be

	On  fact.Summary `json:"on"`
	Off fact.Summary `json:"off"` // compared with On
}

// Need is why pages have to be written twice.
type Need string

// The reasons, in the order in which they are looked for.
const (
	NotNeeded  Need = ""
	NotKnown   Need = "not known"    // the kernel did not say what it promises
	NoPromise  Need = "no promise"   // the kernel promises no atomic write of a page
	NotAskedBy Need = "not asked by" // it does, for writes with RWF_ATOMIC, and the server makes plain writes
)

// needOf returns why pages of so many bytes have to be written twice on files with these atomic writes.
func needOf(pageBytes int64, files *result.AtomicUnits, atomic bool) Need {
	switch {
	case files == nil:
		return NotKnown
	case !files.Hold(pageBytes):
		return NoPromise
	case !atomic:
		return NotAskedBy
	}
	return NotNeeded
}
