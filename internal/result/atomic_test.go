package result

import (
	"math"
	"testing"
)

func TestAtomicWritesOfStacks(t *testing.T) {
	for _, u := range []AtomicUnits{{}, {512, 512}, {4096, 1 << 20}, {1, math.MaxInt64}} {
		s := Stack{Facts: []Fact{{Name: "mount options", Value: "rw"}, AtomicFact(u)}}
		if got, known := s.AtomicWrites(); got != u || !known {
			t.Errorf("%v: read back as %v, known %v", u, got, known)
		}
	}
	for _, text := range []string{"", "4096 to 16384", "16384 to 4096 bytes", "-1 to 5 bytes", "0 to 4096 bytes",
		"4096 to 99999999999999999999 bytes", "NaN to 4096 bytes", "4096 to 16384 bytes or more", "none\n"} {
		s := Stack{Facts: []Fact{{Name: atomicFact, Value: text}}}
		if got, known := s.AtomicWrites(); known || got != (AtomicUnits{}) {
			t.Errorf("%q is taken for %v", text, got)
		}
	}
	if _, known := (Stack{}).AtomicWrites(); known {
		t.Error("units of a stack that has no such fact")
	}
}

func TestAtomicUnitsHold(t *testing.T) {
	u := AtomicUnits{Min: 4096, Max: 16384}
	for bytes, want := range map[int64]bool{0: false, 512: false, 4096: true, 8192: true, 16384: true, 32768: false} {
		if u.Hold(bytes) != want {
			t.Errorf("%d bytes: want %v", bytes, want)
		}
	}
	if (AtomicUnits{}).Hold(0) || (AtomicUnits{}).Hold(4096) {
		t.Error("nothing is promised, and a write is held for atomic")
	}
}
