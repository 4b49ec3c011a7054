package follow

import (
	"os/exec"
	"testing"

	"plimsoll/internal/iotrace"
)

// TestWhereBttIsWrong holds docs/evidence/btt.csv to its word: each capture is the
// least that shows one difference, with what btt prints and what we do.
func TestWhereBttIsWrong(t *testing.T) {
	for _, program := range []string{"blkparse", "btt"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed: scripts/setup.sh test", program)
		}
	}
	us := func(least, mean, most string, n uint64) figures {
		return figures{"0.0000" + least, "0.0000" + mean, "0.0000" + most, n}
	}
	for _, c := range []struct {
		name       string
		story      string
		place      where
		btt, right figures
	}{
		{"two requests for the same sectors at once", `
			1 Q 8:0 R 100+8
			2 G 8:0 R 100+8
			3 D 8:0 R 100+8
			4 Q 8:0 R 100+8 pid=2
			5 G 8:0 R 100+8 pid=2
			6 D 8:0 R 100+8 pid=2
			10 C 8:0 R 100+8
			20 C 8:0 R 100+8`,
			where{"8:0", iotrace.Q2C}, us("06000", "06000", "06000", 1), us("09000", "12500", "16000", 2)},
		{"a bio that is split", `
			1 Q 8:0 R 100+16
			2 X 8:0 R 100+16 rest=108
			3 G 8:0 R 100+8
			4 G 8:0 R 108+8
			5 D 8:0 R 100+8
			6 D 8:0 R 108+8
			10 C 8:0 R 100+8
			20 C 8:0 R 108+8`,
			where{"8:0", iotrace.D2C}, figures{}, us("05000", "09500", "14000", 2)},
		{"a split one is left, and taken for the next at its sectors", `
			1 Q 8:0 R 100+16
			2 X 8:0 R 100+16 rest=108
			3 G 8:0 R 100+8
			4 G 8:0 R 108+8
			5 D 8:0 R 100+8
			6 D 8:0 R 108+8
			10 C 8:0 R 100+8
			20 C 8:0 R 108+8
			50 Q 8:0 R 108+8
			51 G 8:0 R 108+8
			52 D 8:0 R 108+8
			60 C 8:0 R 108+8`,
			where{"8:0", iotrace.Q2G}, us("02000", "18333", "50000", 3), us("01000", "02000", "03000", 3)},
		{"a virtio disk, of major 254", `
			1 Q 254:0 R 100+8
			2 G 254:0 R 100+8
			4 D 254:0 R 100+8
			10 C 254:0 R 100+8`,
			where{allDevices, iotrace.Q2C}, figures{}, us("09000", "09000", "09000", 1)},
		{"the time around a flush", `
			1 Q 8:0 W 100+8
			5 Q 8:0 FWS 0+0
			7 Q 8:0 W 108+8`,
			where{"8:0", iotrace.Q2Q}, us("06000", "06000", "06000", 1), us("02000", "03000", "04000", 2)},
		{"a request that is requeued", `
			1 Q 8:0 W 100+8
			2 G 8:0 W 100+8
			3 I 8:0 W 100+8
			4 D 8:0 W 100+8
			6 R 8:0 W 100+8
			7 I 8:0 W 100+8
			10 D 8:0 W 100+8
			20 C 8:0 W 100+8`,
			where{"8:0", iotrace.I2D}, us("01000", "02000", "03000", 2), us("07000", "07000", "07000", 1)},
		{"a cgroup's request", `
			1 Q 8:0 W 100+8 cgroup=7
			2 G 8:0 W 100+8 cgroup=7
			4 D 8:0 W 100+8
			20 C 8:0 W 100+8`,
			where{"8:0", iotrace.Q2C}, figures{}, us("19000", "19000", "19000", 1)},
		{"discards that do not follow each other", `
			1 Q 8:0 D 100+8
			2 G 8:0 D 100+8
			3 Q 8:0 D 500+8
			4 M 8:0 D 500+8
			10 D 8:0 D 100+16
			20 C 8:0 D 100+16`,
			where{"8:0", iotrace.D2C}, us("10000", "10000", "10000", 1), us("10000", "10000", "10000", 2)},
		{"multipath: a path without a Q", `
			1 Q 259:0 R 100+8
			2 A 259:1 R 100+8 from=259:0/100
			3 G 259:1 R 100+8
			4 D 259:1 R 100+8
			30 C 259:1 R 100+8
			31 C 259:0 R 100+8`,
			where{"259:1", iotrace.D2C}, figures{}, us("26000", "26000", "26000", 1)},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := write(t, c.story)
			if got := btt(t, dir)[c.place]; got != c.btt {
				t.Errorf("btt prints %+v, want %+v", got, c.btt)
			}
			a, err := Analyze(t.Context(), open(t, dir), Options{})
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range append(a.By(iotrace.ByDevice), a.By(iotrace.Total)...) {
				if got := print(r.Intervals[c.place.interval]); r.Label == c.place.device && got != c.right {
					t.Errorf("we have %+v, want %+v", got, c.right)
				}
			}
		})
	}
}
