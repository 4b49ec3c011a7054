package usage

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/host/hostfs"
)

// A pod's group is found by either driver of cgroups, and nothing else is taken for it.
func TestFind(t *testing.T) {
	const uid = "338dafea-4e00-4545-bd4b-690f462b46e9"
	for _, path := range []string{
		"/kubepods/burstable/pod" + uid,
		"/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod338dafea_4e00_4545_bd4b_690f462b46e9.slice",
		"/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod338dafea_4e00_4545_bd4b_690f462b46e9.slice",
	} {
		tree := t.TempDir()
		for _, dir := range []string{path, "/kubepods/podother", "/a/b/c/d/e/f/g/h/i/j/pod" + uid + "x"} {
			if err := os.MkdirAll(filepath.Join(tree, dir, "container"), 0o750); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := find(tree, uid); err != nil || got != path {
			t.Errorf("%q, %v, and not %s", got, err, path)
		}
		if got, err := find(tree, "338dafea-4e00-4545-bd4b-690f462b46e"); err != nil || got != "" {
			t.Errorf("%q is another's: %v", got, err)
		}
	}
}

// The id of a pod is no path and no pattern.
func TestAttackRead(t *testing.T) {
	for _, uid := range []string{"", "/", "../../etc", "*", "x y", strings.Repeat("a", 1<<20), "338dafea\n"} {
		if _, err := Read(hostfs.Default(), uid); err == nil || !strings.Contains(err.Error(), "is no id of a pod") {
			t.Errorf("%.20q: %v", uid, err)
		}
	}
	if _, err := Read(hostfs.Default(), "00000000-0000-0000-0000-000000000000"); err == nil {
		t.Error("a pod that is not there has a sample")
	}
}
