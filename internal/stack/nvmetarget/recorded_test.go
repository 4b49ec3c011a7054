package nvmetarget

import (
	"errors"
	"math"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"plimsoll/internal/iotrace"
	"plimsoll/internal/iotrace/capture"
	"plimsoll/internal/problem"
	"plimsoll/internal/stack/nvmetarget/metrics"
)

const (
	testNQN  = "nqn.2026-01.test"
	testUUID = "5ad9a0c6-8a3c-4a56-9a3b-2d6f6f6a9a11" // that exports gives
)

// Exports are chosen by whatever they are known by, and named after their
// devices, where these tell them apart.
func TestRecordedExports(t *testing.T) {
	targets := exports(t, "/dev/drive1")
	for _, name := range []string{testNQN, strings.ToUpper(testUUID), "/dev/drive1", All} {
		r, err := targets.Select([]string{name})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !slices.Equal(r.Devices, []string{"/dev/drive1"}) || len(r.Titles) != 1 {
			t.Errorf("%s: devices %q, titles %q", name, r.Devices, r.Titles)
		}
		if is, known := r.Name(capture.Namespace{NQN: testNQN, ID: 1, UUID: testUUID}); is != "nvmet:drive1" || !known {
			t.Errorf("%s: it is %q, %t", name, is, known)
		}
		if is, known := r.Name(capture.Namespace{NQN: "nqn.later", ID: 2}); known != (name == All) || known &&
			is != "nqn.later/2" {
			t.Errorf("%s: what comes later is %q, %t", name, is, known)
		}
	}
	_, err := targets.Select([]string{"nqn.2026-01.tset", "all", "/dev/none"})
	if !errors.Is(err, problem.Invalid) || !strings.Contains(err.Error(), "/dev/none") ||
		!strings.Contains(err.Error(), testNQN) {
		t.Errorf("the error is %v", err)
	}
	if _, err := exports(t, "").Select([]string{All}); !errors.Is(err, problem.Unsupported) {
		t.Errorf("the error is %v", err)
	}
	// The same device, exported once more.
	again := filepath.Join(targets.Configfs, "nvmet/subsystems/nqn.again/namespaces/3")
	if err := os.MkdirAll(again, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"device_path": "/dev/drive1", "enable": "1"} {
		if err := os.WriteFile(filepath.Join(again, name), []byte(value+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r, err := targets.Select([]string{"nqn.again", testUUID})
	if err != nil || len(r.Devices) != 1 || len(r.Titles) != 2 {
		t.Fatalf("%+v, %v", r, err)
	}
	if is, _ := r.Name(capture.Namespace{NQN: "nqn.again", ID: 3}); is != "nqn.again/3" {
		t.Errorf("it is %q", is)
	}
}

// sums is a recorder that has recorded.
type sums []capture.NamespaceRequests

func (s sums) Requests() ([]capture.NamespaceRequests, error) { return s, nil }
func (s sums) Lost() (uint64, error)                          { return 3, nil }

// What was recorded of a target is what a run reads, sizes together; what was
// not asked for yet is there with nothing.
func TestRequestsThatAreToldAreRead(t *testing.T) {
	var recorded sums
	for _, size := range []iotrace.SizeClass{4096, 8192} {
		n := capture.NamespaceRequests{Namespace: capture.Namespace{NQN: testNQN, ID: 1, UUID: testUUID},
			Op: iotrace.Read, Size: size}
		for i, ns := range map[iotrace.Interval]uint64{iotrace.T: 90e3, iotrace.A2Q: 20e3, iotrace.Q2C: 70e3} {
			n.Intervals[i] = new(iotrace.Dist)
			n.Intervals[i].Add(ns)
			n.Intervals[i].Add(ns * uint64(size) / 4096)
		}
		recorded = append(recorded, n)
	}
	registry := prometheus.NewPedanticRegistry()
	busy := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "node_cpu_seconds_total"}, []string{"cpu", "mode"})
	busy.WithLabelValues("0", "user").Add(1)
	registry.MustRegister(busy, requests{exports(t, "/dev/drive1"), recorded})
	server := httptest.NewServer(promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	defer server.Close()
	target, err := metrics.Read(t.Context(), server.URL)
	if err != nil {
		t.Fatal(err)
	}
	ns := target.Namespace(testNQN, testUUID)
	if ns.Read == nil || ns.Write == nil || *ns.Write != (metrics.Requests{}) || target.Lost != 3 {
		t.Fatalf("%+v of reads, %+v of writes, %g lost", ns.Read, ns.Write, target.Lost)
	}
	near := func(is, want float64) bool { return math.Abs(is-want) < 1e-9 }
	if r := *ns.Read; r.Count != 4 || r.DeviceCount != 4 || !near(r.Seconds, 450e-6) ||
		!near(r.DeviceSeconds, 350e-6) || !near(r.OwnSeconds, 100e-6) || r.OwnCount != 4 {
		t.Errorf("%+v of reads", r)
	}
	counted := buckets(recorded[1].Intervals[iotrace.T]) // 90 and 180 us
	for bound, want := range map[float64]uint64{64e-6: 0, 128e-6: 1, 256e-6: 2, 33554432e-6: 2} {
		if counted[bound] != want {
			t.Errorf("%d up to %g s, want %d", counted[bound], bound, want)
		}
	}
}
