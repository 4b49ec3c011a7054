package nvme

import (
	"encoding/binary"
	"math"
	"testing"
)

func TestTuningThatTheKernelCut(t *testing.T) {
	for _, test := range []struct {
		asked Tuning
		given Controller
		want  string
	}{
		{Tuning{}, Controller{Queues: 3, QueueSize: 128}, ""},
		{Tuning{IOQueues: 2}, Controller{Queues: 3, QueueSize: 128}, ""},
		{Tuning{IOQueues: 2, PollQueues: 1}, Controller{Queues: 4}, ""},
		{Tuning{PollQueues: 1}, Controller{Queues: 4}, ""}, // how many others there are is the kernel's choice
		{Tuning{IOQueues: 4}, Controller{Queues: 3}, "2 I/O queues where 4 were asked for"},
		{Tuning{IOQueues: 4}, Controller{}, ""}, // an old kernel does not say
		{Tuning{IOQueues: 1, QueueSize: 1024}, Controller{Queues: 3, QueueSize: 128},
			"2 I/O queues where 1 were asked for, and queues of 128 entries where 1024 were asked for"},
	} {
		if got := test.asked.Differs(test.given); got != test.want {
			t.Errorf("%+v of %+v: %q", test.given, test.asked, got)
		}
	}
}

func TestInCapsuleDataOfIdentify(t *testing.T) {
	for units, want := range map[uint32]int64{0: 0, 4: 0, 5: 16, 1028: 16384, math.MaxUint32: (1<<32-1)*16 - 64} {
		identify := make([]byte, identifyBytes)
		binary.LittleEndian.PutUint32(identify[capsuleUnits:], units)
		if got := inCapsuleData(identify); got != want {
			t.Errorf("a capsule of %d units holds %d bytes of data, not %d", units, got, want)
		}
	}
	if _, err := (Controller{Name: "nvme9999"}).InCapsuleData(t.TempDir()); err == nil {
		t.Error("a controller without a node was asked")
	}
}
