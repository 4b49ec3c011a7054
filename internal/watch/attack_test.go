package watch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"plimsoll/internal/host/hostfs"
	"plimsoll/internal/report"
)

// hostile is what a name may hold: codes of terminals, quotes and line ends of formats, bytes that are no UTF-8.
const hostile = "a\x1b]0;owned\x07\x1b[2J\"} 1\nplimsoll_watch_finding{} 1\r\\\xff\u202e=cmd|' /C calc'!A0"

// made is a host of files, with control groups of version 2.
type made struct {
	roots hostfs.Roots
	t     testing.TB
}

func newHost(t testing.TB) made {
	dir := t.TempDir()
	m := made{hostfs.Roots{Proc: filepath.Join(dir, "proc"), Sys: filepath.Join(dir, "sys")}, t}
	m.write("proc/self/cgroup", "0::/\n")
	m.write("proc/self/mountinfo", "30 24 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
	m.write("proc/stat", "cpu  1 1 1 1 1 1 1 1 1 1\n")
	m.write("sys/block/sda/dev", "8:0\n")
	m.write("sys/block/sda/size", "1000\n")
	m.write("sys/block/sda/stat", "1 0 8 1 1 0 8 1 0 1 1 0 0 0 0 0 0\n")
	m.write("sys/dev/block/8:0/stat", "1 0 8 1 1 0 8 1 0 1 1 0 0 0 0 0 0\n")
	m.group("")
	return m
}

func (m made) write(name, text string) {
	m.t.Helper()
	file := filepath.Join(filepath.Dir(m.roots.Proc), name)
	err := os.MkdirAll(filepath.Dir(file), 0o755)
	if err == nil {
		err = os.WriteFile(file, []byte(text), 0o600)
	}
	if err != nil {
		m.t.Fatal(err)
	}
}

// group makes a group that has a process.
func (m made) group(path string) {
	m.t.Helper()
	for name, text := range map[string]string{
		"cgroup.procs": "100\n", "cpu.max": "max 100000\n", "memory.max": "max\n", "memory.current": "3000000\n",
		"memory.stat": "anon 1000000\nfile 2000000\nshmem 500000\nactive_file 700000\nslab_unreclaimable 1000\n",
		"io.max":      "", "io.stat": "8:0 rbytes=1 wbytes=1 rios=1 wios=1\n", "cpuset.cpus": "\n",
		"cpu.stat": "usage_usec 1\nuser_usec 1\nsystem_usec 0\n", "memory.events": "max 3\noom_kill 0\n",
	} {
		m.write("sys/fs/cgroup/"+path+"/"+name, text)
	}
}

// look watches for a moment.
func (m made) look(sockets ...string) *Document {
	m.t.Helper()
	if sockets == nil {
		sockets = []string{}
	}
	w, err := New(Options{Roots: m.roots, Sockets: sockets, NoLatency: true})
	if err != nil {
		m.t.Fatal(err)
	}
	defer w.Close()
	w.engines.systemctl, w.engines.containerd = "", filepath.Join(filepath.Dir(m.roots.Proc), "containerd")
	d, err := w.Look(m.t.Context(), 20*time.Millisecond)
	if err != nil {
		m.t.Fatal(err)
	}
	return d
}

// engine serves the Docker API at a socket.
func engine(t testing.TB, handler http.HandlerFunc) (socket string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "engine") // a short path: those of sockets are bounded
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket = filepath.Join(dir, "docker.sock")
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(handler)
	server.Listener = listener
	server.Start()
	t.Cleanup(server.Close)
	return socket
}

// serving returns a handler with one container.
func serving(t testing.TB, id, name string, labels map[string]string, limits map[string]any) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var answer any = []map[string]string{{"Id": id}}
		if r.URL.Path != "/containers/json" {
			answer = map[string]any{"Name": "/" + name, "Config": map[string]any{"Labels": labels}, "HostConfig": limits}
		}
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}
}

var containerID = strings.Repeat("0123456789abcdef", 4)

func find(t testing.TB, d *Document, path string) Group {
	t.Helper()
	i := slices.IndexFunc(d.Groups, func(g Group) bool { return g.Path == path })
	if i < 0 {
		t.Fatalf("no group %q in %+v", path, d.Groups)
	}
	return d.Groups[i]
}

// Names of containers, labels and groups do nothing to a terminal, to JSON, and to what scrapes metrics.
func TestHostileNames(t *testing.T) {
	m := newHost(t)
	path := "system.slice/docker-" + containerID + ".scope"
	m.group(path)
	odd := strings.ReplaceAll(hostile, "/", "_")
	m.group(odd)
	m.group("-.slice/--help.service")
	m.write("sys/fs/cgroup/"+odd+"/io.max", "8:0 rbps=max wbps=max riops=7 wiops=max\n")
	socket := engine(t, serving(t, containerID, hostile, map[string]string{"plimsoll.class": hostile},
		map[string]any{"Memory": 1 << 30, "BlkioDeviceReadIOps": []map[string]any{{"Path": hostile, "Rate": 7}}}))
	d := m.look(socket)
	if g := find(t, d, "/"+path); g.Kind != Container || g.Engine != "docker" || g.Class == "" || len(g.Limits) != 2 {
		t.Errorf("the container is %+v", g)
	}
	d.Findings = append(d.Findings, Finding{Kind: Disturbs, Group: hostile, Offender: hostile, Device: hostile,
		Text: (&Finding{Kind: Disturbs, Group: hostile, Offender: hostile, Device: hostile}).text()})

	var text bytes.Buffer
	answer := report.Answer{Kind: "watch", Verdict: d.Verdict(), Sections: d.Sections()}
	if err := report.AnswerText(&text, answer, true, report.TerminalOptions{Width: 200}); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(text.String(), "\x1b\x07\r\u202e") || !utf8.Valid(text.Bytes()) {
		t.Errorf("a terminal would obey:\n%q", text.String())
	}
	if !strings.Contains(text.String(), "owned") {
		t.Errorf("the names are not shown:\n%s", text.String())
	}

	line, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	var back Document
	if err := json.Unmarshal(line, &back); err != nil || bytes.ContainsAny(line, "\n\x1b") {
		t.Errorf("JSON: %v in %q", err, line)
	}

	for _, accept := range []string{"text/plain", "application/openmetrics-text; version=1.0.0"} {
		body := scrape(t, d, accept)
		for l := range strings.Lines(body) {
			if strings.HasPrefix(l, "plimsoll_watch_finding{} ") {
				t.Errorf("a name made a metric of its own: %q", l)
			}
		}
		if accept != "text/plain" {
			if !strings.HasSuffix(body, "# EOF\n") {
				t.Errorf("OpenMetrics ends with %q", body[max(0, len(body)-40):])
			}
			continue
		}
		parser := expfmt.NewTextParser(model.UTF8Validation)
		families, err := parser.TextToMetricFamilies(strings.NewReader(body))
		if err != nil || families["plimsoll_watch_limit"] == nil || families["plimsoll_watch_finding"] == nil {
			t.Errorf("metrics: %v\n%s", err, body)
		}
	}
}

// scrape returns the metrics of a document as they are served.
func scrape(t testing.TB, d *Document, accept string) string {
	t.Helper()
	var c Collector
	c.Set(d)
	registry := prometheus.NewRegistry()
	if err := registry.Register(&c); err != nil {
		t.Fatal(err)
	}
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil)
	request.Header.Set("Accept", accept)
	answer := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{EnableOpenMetrics: true}).ServeHTTP(answer, request)
	if answer.Code != http.StatusOK {
		t.Fatalf("%d: %s", answer.Code, answer.Body)
	}
	return answer.Body.String()
}

// Two groups whose names are the same once they are UTF-8 do not spoil the answer.
func TestNamesThatBecomeTheSame(t *testing.T) {
	d := &Document{Groups: []Group{
		{Path: "/a\xff", Kind: Plain, Name: "a", Memory: &Memory{Held: 1}},
		{Path: "/a\xfe", Kind: Plain, Name: "a", Memory: &Memory{Held: 2}},
	}}
	if body := scrape(t, d, "text/plain"); !strings.Contains(body, "plimsoll_watch_memory_held_bytes{") {
		t.Error(body)
	}
}

// An engine that hangs, lies or breaks off costs what only it knows.
func TestEnginesThatLie(t *testing.T) {
	m := newHost(t)
	m.group("docker/" + containerID)
	for name, test := range map[string]struct {
		handler http.HandlerFunc
		says    string
	}{
		"hangs": {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "did not answer within"},
		"hangs in its answer": {func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, "[")
			w.(http.Flusher).Flush() //nolint:forcetypeassert // servers' are
			<-r.Context().Done()
		}, "did not answer within"},
		"has no end": {func(w http.ResponseWriter, _ *http.Request) {
			for {
				if _, err := w.Write(bytes.Repeat([]byte("[1,"), 1<<16)); err != nil {
					return
				}
			}
		}, "with more than 8 MiB"},
		"is no engine": {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") }, "invalid character"},
		"fails":        {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }, "418"},
		"breaks off": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
			"EOF"},
		"has too many": {func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, "["+strings.Repeat(`{"Id":"x"},`, mostContainers)+`{"Id":"x"}]`)
		}, "1001 containers"},
		"names a container as a path": {func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/containers/json" {
				fmt.Fprint(w, `[{"Id":"../../etc"}]`)
				return
			}
			http.Error(w, r.URL.EscapedPath(), http.StatusNotFound)
		}, "/containers/..%2F..%2Fetc/json"},
	} {
		t.Run(name, func(t *testing.T) {
			w, err := New(Options{Roots: m.roots, Sockets: []string{engine(t, test.handler)}, NoLatency: true})
			if err != nil {
				t.Fatal(err)
			}
			w.engines.systemctl, w.engines.containerd, w.engines.longest = "", "/none", 5*time.Minute
			if strings.HasPrefix(name, "hangs") {
				w.engines.longest = time.Second / 10
			}
			d, err := w.Look(t.Context(), 20*time.Millisecond)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(strings.Join(d.Unknown, "\n"), test.says) {
				t.Errorf("it says %q", d.Unknown)
			}
			g := find(t, d, "/docker/"+containerID)
			if g.Name != containerID[:12] || slices.ContainsFunc(g.Limits, func(l Limit) bool { return l.Asked != nil }) {
				t.Errorf("the container is %+v", g)
			}
		})
	}
}

// What an engine says of limits changes nothing but what was asked for: numbers out of all bounds too.
func TestLimitsBeyondReason(t *testing.T) {
	m := newHost(t)
	m.group("docker/" + containerID)
	d := m.look(engine(t, serving(t, containerID, "", nil, map[string]any{"NanoCpus": -5, "CpuQuota": 1, "CpuPeriod": -1,
		"Memory": -1, "BlkioDeviceWriteBps": []map[string]any{{"Path": "/dev/null", "Rate": uint64(1<<64 - 1)}}})))
	g := find(t, d, "/docker/"+containerID)
	if g.Name != containerID[:12] {
		t.Errorf("a container without a name is %q", g.Name)
	}
	for _, l := range g.Limits {
		if l.Held != 0 || l.Asked == nil || *l.Asked < 0 {
			t.Errorf("limit %+v", l)
		}
	}
	if _, err := json.Marshal(d); err != nil {
		t.Error(err)
	}
}

// A group that ends between two reads is left out, or has what could be read; nothing else changes.
func TestGroupsThatEnd(t *testing.T) {
	m := newHost(t)
	m.group("stays")
	m.group("ends")
	stats := filepath.Join(m.roots.Sys, "fs/cgroup/half")
	m.group("half")
	w, err := New(Options{Roots: m.roots, Sockets: []string{}, NoLatency: true})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	w.engines.systemctl, w.engines.containerd = "", "/none"
	// The engine is asked while the interval passes: then the groups end.
	w.engines.sockets = []string{engine(t, func(http.ResponseWriter, *http.Request) {
		err := os.RemoveAll(filepath.Join(m.roots.Sys, "fs/cgroup/ends"))
		for _, name := range []string{"memory.stat", "io.stat", "cpu.stat"} {
			if err == nil {
				err = os.Remove(filepath.Join(stats, name))
			}
		}
		ended <- err
	})}
	d, err := w.Look(t.Context(), time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	find(t, d, "/stays")
	if g := find(t, d, "/half"); g.Memory != nil {
		t.Errorf("a group without memory.stat has %+v", g.Memory)
	}
	if slices.ContainsFunc(d.Groups, func(g Group) bool { return g.Path == "/ends" }) {
		t.Error("a group that ended is listed")
	}
}

// Whoever makes groups by the thousand makes no document without end, and it says what is left out.
func TestGroupsWithoutEnd(t *testing.T) {
	m := newHost(t)
	for i := range mostGroups + 10 {
		m.write(fmt.Sprintf("sys/fs/cgroup/g%04d/cgroup.procs", i), "1\n")
	}
	groups, unknown, err := findGroups(m.roots, nil)
	if err != nil || len(groups) != mostGroups || len(unknown) != 1 {
		t.Errorf("%d groups, unknown %q, %v", len(groups), unknown, err)
	}
}
