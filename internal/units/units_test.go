package units

import (
	"math"
	"testing"
)

func TestUnits(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Rate(0), "0"}, {Rate(0.5), "0.5"}, {Rate(9.994), "9.99"}, {Rate(950.4), "950"}, {Rate(999.6), "1.00k"},
		{Rate(4021), "4.02k"}, {Rate(12345), "12.3k"}, {Rate(99_960), "100k"}, {Rate(1_234_567), "1.23M"},
		{Rate(2.5e12), "2.50T"},
		{Bandwidth(950), "950 B/s"}, {Bandwidth(3.31e9), "3.31 GB/s"}, {Bandwidth(0), "0 B/s"},
		{Elapsed(0.5), "500 ms"}, {Elapsed(3.2), "3.20 s"}, {Elapsed(42.4), "42 s"}, {Elapsed(59.6), "1 min 0 s"},
		{Elapsed(171), "2 min 51 s"}, {Elapsed(7500), "2 h 5 min"},
		{Latency(0), "0 ns"}, {Latency(850), "850 ns"}, {Latency(1100), "1.10 µs"}, {Latency(3.9e6), "3.90 ms"},
		{Latency(1.2e9), "1.20 s"}, {Latency(999_600), "1.00 ms"},
		{Times(0.0043), "0.0043"}, {Times(0.1), "0.10"}, {Times(0.974), "0.97"}, {Times(1.996), "2.0"},
		{Times(4.86), "4.9"}, {Times(9.96), "10"}, {Times(123.4), "123"},
		{Percent(1), "100%"}, {Percent(0.9997), "99.97%"}, {Percent(0.99999), "99.99%"}, {Percent(0.5), "50%"},
		{Percent(0.0014), "0.14%"}, {Percent(1.18), "118%"}, {Percent(4e-16), "0%"},
		{Percent(10), "1000%"}, {Percent(math.Inf(1)), "more than ten times"},
		{Setting(0.05), "5%"}, {Setting(0.125), "12.5%"}, {P(0.029), "0.029"}, {P(0.00001), "< 0.0001"}, {P(1), "1.00"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}
