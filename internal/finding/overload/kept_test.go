package overload

import "testing"

// Which rate is kept, where each is kept (y), not done (n), or done with a p99 above the objective (s).
func TestKeptUpTo(t *testing.T) {
	rates := []float64{1, 2, 4, 8}
	for fates, want := range map[string][2]float64{
		"yyyy": {8, 0}, "yyny": {2, 4}, "nyyy": {0, 1}, "nnnn": {0, 1},
		"yyys": {4, 8}, "ssss": {0, 1}, "syys": {4, 8}, "ysys": {4, 8}, "sssy": {8, 0}, "yssn": {1, 2}, "snyy": {0, 1},
		"sysn": {2, 4},
	} {
		var kept, done []bool
		for _, fate := range fates {
			kept, done = append(kept, fate == 'y'), append(done, fate != 'n')
		}
		if up, breaks := keptUpTo(rates, kept, done); up != want[0] || breaks != want[1] {
			t.Errorf("%s: up to %v, and %v breaks, want %v", fates, up, breaks, want)
		}
	}
}
