package metrics

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A node exporter says more, and others say less.
func TestReadTarget(t *testing.T) {
	for _, c := range []struct {
		name, answer, says string
		status             int
		busy               float64
		cpus               int
	}{
		{"a node exporter", `# HELP node_cpu_seconds_total Seconds the CPUs spent in each mode.
# TYPE node_cpu_seconds_total counter
node_cpu_seconds_total{cpu="0",mode="idle"} 1000.5
node_cpu_seconds_total{cpu="0",mode="iowait"} 10
node_cpu_seconds_total{cpu="0",mode="steal"} 7
node_cpu_seconds_total{cpu="0",mode="softirq"} 0.25
node_cpu_seconds_total{cpu="1",mode="user"} 3
node_cpu_seconds_total{cpu="1",mode="system"} 1.5
# TYPE node_load1 gauge
node_load1 0.5
`, "", 200, 4.75, 2},
		{"without types", "node_cpu_seconds_total{cpu=\"0\",mode=\"system\"} 2\n", "", 200, 2, 1},
		{"another exporter", "go_goroutines 7\n", "has no node_cpu_seconds_total", 200, 0, 0},
		{"a page", "<html>hello</html>\n", "text format parsing error", 200, 0, 0},
		{"nothing there", "", "404", 404, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte(c.answer))
			}))
			defer server.Close()
			cpu, err := Read(t.Context(), server.URL)
			if (err != nil) != (c.says != "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Fatalf("error %v, want %q", err, c.says)
			}
			if cpu.BusySeconds != c.busy || cpu.CPUs != c.cpus {
				t.Errorf("%+v, want %g s of %d", cpu, c.busy, c.cpus)
			}
		})
	}
}

// The time of a namespace's device is found by subsystem and UUID, however the
// UUID is written.
func TestNamespacesOfATarget(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`node_cpu_seconds_total{cpu="0",mode="user"} 3
plimsoll_namespace_reads_completed_total{device="/dev/a",nqn="nqn.a",nsid="1",uuid="U1"} 10
plimsoll_namespace_reads_completed_total{device="/dev/b",nqn="nqn.a",nsid="2",uuid="U2"} 20
plimsoll_namespace_read_time_seconds_total{device="/dev/b",nqn="nqn.a",nsid="2",uuid="U2"} 0.5
plimsoll_namespace_writes_completed_total{device="/dev/b",nqn="nqn.a",nsid="2",uuid="U2"} 30
plimsoll_namespace_write_time_seconds_total{device="/dev/b",nqn="nqn.a",nsid="2",uuid="U2"} 1.5
# TYPE plimsoll_target_request_seconds histogram
plimsoll_target_request_seconds_bucket{nqn="nqn.a",nsid="2",op="read",uuid="U2",le="+Inf"} 21
plimsoll_target_request_seconds_sum{nqn="nqn.a",nsid="2",op="read",uuid="U2"} 0.75
plimsoll_target_request_seconds_count{nqn="nqn.a",nsid="2",op="read",uuid="U2"} 21
plimsoll_target_request_seconds_sum{nqn="nqn.a",nsid="2",op="flush",uuid="U2"} 9
plimsoll_target_request_seconds_count{nqn="nqn.a",nsid="2",op="flush",uuid="U2"} 9
# TYPE plimsoll_target_software_seconds histogram
plimsoll_target_software_seconds_sum{nqn="nqn.a",nsid="2",op="read",uuid="U2"} 0.125
plimsoll_target_software_seconds_count{nqn="nqn.a",nsid="2",op="read",uuid="U2"} 3
# TYPE plimsoll_target_device_seconds histogram
plimsoll_target_device_seconds_sum{nqn="nqn.a",nsid="2",op="read",uuid="U2"} 0.5
plimsoll_target_device_seconds_count{nqn="nqn.a",nsid="2",op="read",uuid="U2"} 20
plimsoll_target_requests_lost_total 4
`))
	}))
	defer server.Close()
	target, err := Read(t.Context(), server.URL)
	if err != nil {
		t.Fatal(err)
	}
	got := target.Namespace("nqn.a", "u2")
	if got.Read == nil || *got.Read != (Requests{21, 0.75, 20, 0.5, 3, 0.125}) || got.Write != nil || target.Lost != 4 {
		t.Errorf("%+v of reads, %+v of writes, %g lost", got.Read, got.Write, target.Lost)
	}
	got.Read = nil
	if want := (Namespace{NQN: "nqn.a", UUID: "U2", Reads: 20, Writes: 30, ReadSeconds: 0.5,
		WriteSeconds: 1.5}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := target.Namespace("nqn.b", "U1"); got != (Namespace{}) {
		t.Errorf("%+v of a subsystem that there is none of", got)
	}
}
