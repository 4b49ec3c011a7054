package suggest

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestClosest(t *testing.T) {
	known := []string{"btrfs", "ext4", "xfs", "volume", "overlay2", "fuse-overlayfs"}
	for _, c := range []struct{ word, want string }{
		{"xsf", "xfs"},          // swapped
		{"XFS", "xfs"},          // shouted
		{"overlay", "overlay2"}, // forgotten
		{"volumes", "volume"},   // too many
		{"etx4", "ext4"},        // swapped
		{"fuseoverlayfs", "fuse-overlayfs"},
		{"zfs", "xfs"},    // replaced
		{"ntfs", "btrfs"}, // near enough
		{"cassandra", ""}, // nothing like it
		{"", ""},
	} {
		if got := Closest(c.word, known); got != c.want {
			t.Errorf("Closest(%q) = %q, want %q", c.word, got, c.want)
		}
	}
}

func TestNear(t *testing.T) {
	known := []string{"nvme10n1", "nvme1n1", "nvme2n1", "sda", "vda"}
	for _, c := range []struct {
		word string
		n    int
		want []string
	}{
		{"nvme1n1", 3, []string{"nvme1n1", "nvme10n1", "nvme2n1"}}, // the nearest first
		{"nvme3n1", 2, []string{"nvme1n1", "nvme2n1"}},
		{"SDA", 1, []string{"sda"}},
		{"cassandra", 3, nil},
		{"nvme1n1", 0, nil},
	} {
		if got := Near(c.word, known, c.n); !slices.Equal(got, c.want) {
			t.Errorf("Near(%q, %d) = %q, want %q", c.word, c.n, got, c.want)
		}
	}
}

func TestDidYouMean(t *testing.T) {
	for _, c := range []struct {
		word  string
		known []string
		want  string
	}{
		{"jbs", []string{"bs", "jobs"}, `did you mean "bs"? known are bs, jobs`},
		{"colour", []string{"bs", "jobs"}, "known are bs, jobs"},
		{"bs", nil, "none is known"},
	} {
		if got := DidYouMean(c.word, c.known); got != c.want {
			t.Errorf("DidYouMean(%q, %v) = %q, want %q", c.word, c.known, got, c.want)
		}
	}
}

func TestDistanceIsSymmetricAndBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[abc]{0,6}`)
		a, b := word.Draw(t, "a"), word.Draw(t, "b")
		d := distance(a, b)
		if back := distance(b, a); back != d {
			t.Fatalf("distance(%q, %q) = %d, but %d the other way", a, b, d, back)
		}
		if (d == 0) != (a == b) {
			t.Fatalf("distance(%q, %q) = %d", a, b, d)
		}
		if d > max(len(a), len(b)) {
			t.Fatalf("distance(%q, %q) = %d is more than the longer word", a, b, d)
		}
	})
}
