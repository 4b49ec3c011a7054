package runview

import (
	"testing"

	"plimsoll/internal/stack/line"
)

func TestCanonical(t *testing.T) {
	for _, pair := range [][2]string{
		{"loop(size=1GiB, direct-io=on)", "loop(size=1GiB)"},
		{"loop(direct-io=off,size=1GiB)", "loop(size=1GiB, direct-io=off)"},
		{"/dev/sdb > ext4(mount=\"a,b\")", "/dev/sdb > ext4(mount=\"b,a\")"},
		{"/dev/sdb > ext4(mount=\"\")", "/dev/sdb > ext4"},
	} {
		a, errA := line.Parse(pair[0])
		b, errB := line.Parse(pair[1])
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		if Canonical(a) != Canonical(b) {
			t.Errorf("%s and %s", Canonical(a), Canonical(b))
		}
	}
	a, _ := line.Parse("loop(size=1GiB, direct-io=off)")
	b, _ := line.Parse("loop(size=1GiB)")
	if Canonical(a) == Canonical(b) {
		t.Error("direct-io=off is no default")
	}
}
