package container

import (
	"testing"
)

func TestReason(t *testing.T) {
	for _, test := range []struct {
		name, log, want string
		refused         bool
	}{
		{
			name: "wrong file system",
			log: "time=\"2026-11-21T07:31:54Z\" level=info msg=\"Starting up\"\nfailed to start daemon: error " +
				"initializing graphdriver: prerequisites for driver not satisfied (wrong filesystem?)\n",
			want:    "prerequisites for driver not satisfied (wrong filesystem?)",
			refused: true,
		},
		{
			name: "kernel without it",
			log: "time=\"2026-11-21T07:32:01Z\" level=warning msg=\"[graphdriver] WARNING: the aufs storage-driver " +
				"is deprecated\"\n" +
				"time=\"2026-11-21T07:32:01Z\" level=error msg=\"AUFS was not found in /proc/filesystems\" storage-driver=aufs\n" +
				"failed to start daemon: error initializing graphdriver: driver not supported\n",
			want:    "driver not supported: AUFS was not found in /proc/filesystems",
			refused: true,
		},
		{
			name: "unknown driver",
			log: "time=\"2026-11-21T07:32:09Z\" level=error msg=\"Failed to GetDriver graph\" driver=nonsense " +
				"error=\"graphdriver plugins are only supported with experimental mode\" home-dir=/d\n" +
				"failed to start daemon: error initializing graphdriver: driver not supported\n",
			want: "driver not supported: Failed to GetDriver graph: graphdriver plugins are only supported with " +
				"experimental mode",
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
