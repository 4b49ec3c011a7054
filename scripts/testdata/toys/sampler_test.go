package observe

import (
	"testing"
	"time"

	"plimsoll/internal/host/hostfs"
)

func TestToy(t *testing.T) {
	recorder, err := Start(Subject{Host: true}, hostfs.Default(), 20*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(100 * time.Millisecond)
	for _, s := range recorder.Stop() {
		if s.Source == HostSource && s.Metric == "toy" && len(s.Values) > 0 && s.Values[0] >= 0 {
			return
		}
	}
	t.Error("the host has no series of the toy's metric")
}
