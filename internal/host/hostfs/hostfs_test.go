package hostfs

import "testing"

func TestPathsAreFoundBelowOtherRoots(t *testing.T) {
	recorded := Roots{Proc: "/tmp/a/proc", Sys: "/tmp/a/sys"}
	for _, c := range []struct{ path, local, elsewhere string }{
		{"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu", "/tmp/a/sys/fs/cgroup/cpu"},
		{"/proc/1/cgroup", "/proc/1/cgroup", "/tmp/a/proc/1/cgroup"},
		{"/system/x", "/system/x", "/system/x"},
		{"/cgroup/memory", "/cgroup/memory", "/cgroup/memory"},
	} {
		if got := Default().Path(c.path); got != c.local {
			t.Errorf("%s is %s here, want %s", c.path, got, c.local)
		}
		if got := recorded.Path(c.path); got != c.elsewhere {
			t.Errorf("%s is %s in a recorded tree, want %s", c.path, got, c.elsewhere)
		}
	}
}
