package target

import (
	"context"
	"net"
	"runtime"
	"testing"
	"time"

	"plimsoll/internal/observe"
)

// What this host tells is what a run reads: processors that work show as busy.
func TestProcessorTimeThatIsToldIsRead(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	listens, ended := make(chan net.Addr, 1), make(chan error, 1)
	go func() { ended <- ServeMetrics(ctx, "127.0.0.1:0", func(at net.Addr) { listens <- at }) }()
	url := "http://" + (<-listens).String() + "/metrics"
	before, err := observe.ReadTargetCPU(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	for sum, until := 0, time.Now().Add(300*time.Millisecond); time.Now().Before(until); sum++ {
		_ = sum
	}
	after, err := observe.ReadTargetCPU(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	busy, passed := after.BusySeconds-before.BusySeconds, after.At.Sub(before.At).Seconds()
	// The kernel counts in hundredths of a second, and others work here too.
	if busy < 0.1 || busy > passed*float64(after.CPUs)+0.1*float64(after.CPUs) {
		t.Errorf("%.2f s busy in %.2f s of %d processors", busy, passed, after.CPUs)
	}
	if after.CPUs < runtime.NumCPU() {
		t.Errorf("%d processors, and this process alone may use %d", after.CPUs, runtime.NumCPU())
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("ends with %v", err)
	}
	if _, err := observe.ReadTargetCPU(t.Context(), url); err == nil {
		t.Error("it answers when it has ended")
	}
}
