package section

import "testing"

func TestPercentilesAreNamed(t *testing.T) {
	for u, want := range map[float64]string{0: "p0", 0.5: "p68", 1: "p90", 1.5: "p96.8", 2: "p99", 2.1: "p99.21",
		3: "p99.9", 3.2: "p99.937", 4: "p99.99"} {
		if got := percentileName(u); got != want {
			t.Errorf("%g is called %s, want %s", u, got, want)
		}
	}
}
