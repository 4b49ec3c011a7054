package overload

import "testing"

// Which rate is kept, where each is kept (y), not done (n), or done with a p99 above the objective (s)
// or of too few operations to be judged (u).
func TestKeptUpTo(t *testing.T) {
	rates := []float64{1, 2, 4, 8}
	for fates, want := range map[string][2]float64{
		"yyyy": {8, 0}, "yyny": {2, 4}, "nyyy": {0, 1}, "nnnn": {0, 1},
		"yyys": {4, 8}, "ssss": {0, 1}, "syys": {4, 8}, "ysys": {4, 8}, "sssy": {8, 0}, "yssn": {1, 2}, "snyy": {0, 1},
		"sysn": {2, 4}, "uuuu": {0, 0}, "yuuu": {1, 0}, "uyun": {2, 8}, "uuun": {0, 8}, "ysuu": {1, 2}, "uuus": {0, 8},
	} {
		var kept, done, unjudged []bool
		for _, fate := range fates {
			kept, done, unjudged = append(kept, fate == 'y'), append(done, fate != 'n'), append(unjudged, fate == 'u')
		}
		if up, breaks := keptUpTo(rates, kept, done, unjudged); up != want[0] || breaks != want[1] {
			t.Errorf("%s: up to %v, and %v breaks, want %v", fates, up, breaks, want)
		}
	}
}
