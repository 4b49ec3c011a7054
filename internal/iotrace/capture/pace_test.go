package capture

import (
	"testing"
	"time"
)

// Slices become longer when there are many, up to a limit.
func TestSliceLength(t *testing.T) {
	for number, want := range map[uint32]time.Duration{
		1: firstSlice, ofALength: firstSlice, ofALength + 1: 2 * firstSlice, 2 * ofALength: 2 * firstSlice,
		2*ofALength + 1: lastSlice, 3*ofALength + 1: lastSlice, 1 << 31: lastSlice, 1<<32 - 1: lastSlice,
	} {
		if got := sliceLength(number); got != want {
			t.Errorf("slice %d lasts %s, want %s", number, got, want)
		}
	}
}
