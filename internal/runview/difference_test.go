package runview

import (
	"testing"

	"plimsoll/internal/stack/line"
)

func TestDifference(t *testing.T) {
	for _, c := range []struct{ a, b, want string }{
		{"loop(size=1GiB)", "loop(size=1GiB, direct-io=off)", "direct-io=off of loop"},
		{"loop(size=1GiB, direct-io=on)", "loop(direct-io=off, size=1GiB)", "direct-io=on or direct-io=off of loop"},
		{"loop > btrfs", "loop > btrfs(nodatacow)", "nodatacow of btrfs"},
		{"loop > xfs", "loop > xfs > volume", "the layer volume"},
		{"loop > btrfs", "loop > btrfs > btrfs", "the layer btrfs"},
		{"loop", "loop > xfs(mount=noatime)", "the layer xfs"},
		{"loop > xfs > volume", "loop > xfs > overlay2", "what the workload sees, volume or overlay2"},
		{"loop > btrfs(nodatacow) > volume", "loop > btrfs > volume", "nodatacow of btrfs"},
		{"dir:/a > volume", "dir:/a > btrfs", "what the workload sees, volume or btrfs"},
		{"loop > ext4(mount=a, mount=b)", "loop > ext4(mount=a)", "mount=b of ext4"},
		// More than one thing, another thing altogether, or nothing.
		{"loop > xfs", "loop > ext4", ""},
		{"loop > xfs", "loop > xfs", ""},
		{"loop", "loop > xfs > volume", ""},
		{"loop > xfs", "loop(size=2GiB) > xfs > volume", ""},
		{"loop > ext4(mount=a, mkfs=b)", "loop > ext4", ""},
		{"loop > ext4(mount=a)", "loop > ext4(mkfs=b)", ""},
		{"/dev/a > xfs", "/dev/b > xfs", ""},
		{"dir:/a", "dir:/b", ""},
		{"loop > xfs", "tmpfs > xfs", ""},
	} {
		a, errA := line.Parse(c.a)
		b, errB := line.Parse(c.b)
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		if got, ok := Difference(a, b); got != c.want || ok != (c.want != "") {
			t.Errorf("%s against %s: %q, want %q", c.a, c.b, got, c.want)
		}
		if _, ok := Difference(b, a); ok != (c.want != "") {
			t.Errorf("%s against %s: the order matters", c.b, c.a)
		}
	}
}
