package container

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestReason(t *testing.T) {
	for _, test := range []struct {
		name, log, want string
		refused         bool
	}{
		{
			name:    "wrong file system",
			log:     "time=\"2026-11-21T07:31:54Z\" level=info msg=\"Starting up\"\nfailed to start daemon: error initializing graphdriver: prerequisites for driver not satisfied (wrong filesystem?)\n",
			want:    "prerequisites for driver not satisfied (wrong filesystem?)",
			refused: true,
		},
		{
			name: "kernel without it",
			log: "time=\"2026-11-21T07:32:01Z\" level=warning msg=\"[graphdriver] WARNING: the aufs storage-driver is deprecated\"\n" +
				"time=\"2026-11-21T07:32:01Z\" level=error msg=\"AUFS was not found in /proc/filesystems\" storage-driver=aufs\n" +
				"failed to start daemon: error initializing graphdriver: driver not supported\n",
			want:    "driver not supported: AUFS was not found in /proc/filesystems",
			refused: true,
		},
		{
			name: "unknown driver",
			log: "time=\"2026-11-21T07:32:09Z\" level=error msg=\"Failed to GetDriver graph\" driver=nonsense error=\"graphdriver plugins are only supported with experimental mode\" home-dir=/d\n" +
				"failed to start daemon: error initializing graphdriver: driver not supported\n",
			want:    "driver not supported: Failed to GetDriver graph: graphdriver plugins are only supported with experimental mode",
			refused: true,
		},
		{
			name: "no space is no refusal",
			log:  "failed to start daemon: error initializing graphdriver: mkdir /d/overlay2: no space left on device\n",
			want: "mkdir /d/overlay2: no space left on device",
		},
		{
			name: "what is not about the driver is no refusal",
			log:  "failed to start daemon: containerd is not supported today\n",
			want: "containerd is not supported today",
		},
		{
			name: "panic",
			log:  "panic: runtime error\n\ngoroutine 1 [running]:\nexit status 2\n",
			want: "it ended before it was ready: exit status 2",
		},
		{
			name: "silence",
			want: "it ended before it was ready: nothing",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, refused := reason(test.log)
			if got != test.want || refused != test.refused {
				t.Errorf("got %q, refused %v", got, refused)
			}
		})
	}
}

func TestLibraries(t *testing.T) {
	got, err := parseLibraries("\tlinux-vdso.so.1 (0x00007ffc)\n\tlibaio.so.1 => /lib/x86_64-linux-gnu/libaio.so.1 (0x00007f3a)\n\t/lib64/ld-linux-x86-64.so.2 (0x00007f3b)\n")
	if want := []string{"/lib/x86_64-linux-gnu/libaio.so.1", "/lib64/ld-linux-x86-64.so.2"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v", got, err)
	}
	_, err = parseLibraries("\tlibgone.so.2 => not found\n")
	if err == nil || err.Error() != "library libgone.so.2: not found" {
		t.Errorf("got %v", err)
	}
}

func TestImageIsMadeOnceAndTheSameEachTime(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	first, err := images.get(t.Context(), []string{"sh"}, dir)
	if err != nil {
		t.Fatal(err)
	}
	again, err := images.get(t.Context(), []string{"sh"}, dir)
	if err != nil || again.tar != first.tar {
		t.Errorf("got %+v, %v", again, err)
	}
	elsewhere, err := images.get(t.Context(), []string{"sh"}, other)
	if err != nil || elsewhere.ref != first.ref || filepath.Dir(elsewhere.tar) != other {
		t.Errorf("got %+v, %v, want the same content in another directory", elsewhere, err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 1 {
		t.Errorf("files %q, want one archive", left)
	}
}

func TestImageOfMissingProgramsNamesAllOfThem(t *testing.T) {
	_, err := images.get(t.Context(), []string{"no-such-a", "sh", "no-such-b"}, t.TempDir())
	for _, name := range []string{"no-such-a is not installed", "no-such-b is not installed"} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v, want it to say that %s", err, name)
		}
	}
}
