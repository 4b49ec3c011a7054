package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/apply"
	"plimsoll/internal/experiment"
	"plimsoll/internal/result"
	"plimsoll/internal/result/imports/points"
	"plimsoll/internal/result/imports/points/outputs"
	"plimsoll/internal/result/store"
	"plimsoll/internal/workload/fio"
	"plimsoll/internal/workload/fio/fiofiles"
)

// many returns a text of n lines, each as fmt.Sprintf has it of its number.
func many(head, line string, n int) string {
	var b strings.Builder
	b.WriteString(head)
	for i := range n {
		fmt.Fprintf(&b, line, i)
	}
	return b.String()
}

// records returns a capture of n requests as blktrace writes it. Where none completes, all stay in flight.
func records(n int, complete bool) []byte {
	const (
		read, queued, issued, completed = 1 << 16, 1 | 1<<20, 7 | 1<<22, 8 | 1<<23
		device                          = 8 << 20
	)
	var out []byte
	actions := []uint32{read | queued, read | issued, read | completed}
	if !complete {
		actions = actions[:2]
	}
	for i := range n {
		for step, action := range actions {
			out = binary.LittleEndian.AppendUint32(out, 0x65617407)
			out = binary.LittleEndian.AppendUint32(out, uint32(3*i+step+1))
			out = binary.LittleEndian.AppendUint64(out, uint64(1000*(3*i+step)))
			out = binary.LittleEndian.AppendUint64(out, uint64(8*i))
			for _, field := range []uint32{4096, action, uint32(1000 + i), device, 0, 0} {
				out = binary.LittleEndian.AppendUint32(out, field)
			}
		}
	}
	return out
}

// TestAttackInputsThatAreDoubled reads what other people write at two sizes, of which one is twice the other. The bytes
// that are allocated may grow with the size, and a little more: what compares each part of a file with each other grows
// fourfold. Memory is counted because it does not depend on what else the machine does.
func TestAttackInputsThatAreDoubled(t *testing.T) {
	const mostGrowth = 2.8 // 2 for what is linear, with room for buffers and maps that grow by doubling; 4 for a square
	dir := t.TempDir()
	file := func(name string, content []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	analyze := func(content []byte) {
		var out, errs bytes.Buffer
		execute(t.Context(), []string{"trace", "analyze", file("capture", content)}, &out, &errs)
		if strings.Contains(errs.String(), "no requests") {
			t.Fatal(errs.String())
		}
	}
	readTable := func(text string) { _, _ = points.Read("points.csv", []byte(text)) }
	jobFile := func(text string) { _, _ = fio.Describe("my.fio", []byte(text), nil, nil) }
	readOutput := func(texts ...string) func() {
		var files []outputs.File
		for i, text := range texts {
			files = append(files, outputs.File{Name: fmt.Sprint(i), Text: []byte(text)})
		}
		if _, wrong := outputs.Read(files, outputs.Options{MostFailed: 1}); len(wrong) > 0 {
			t.Fatal(wrong)
		}
		return func() { _, _ = outputs.Read(files, outputs.Options{MostFailed: 1}) }
	}
	parse := func(text string) { _, _ = parseWith("x.yaml", []byte(text), experiment.Options{}) }
	const table = "class,instances,clients,throughput,mix\n"
	const job = `{"jobname":"j%[1]d","read":{"total_ios":10,"iops":10,"runtime":1000,"io_bytes":40960,` +
		`"bw":40},"job options":{"rw":"read","filename":"/f%[1]d"}}`
	document := func(n int) []byte {
		return []byte(`{"fio version":"fio-3.33","jobs":[` + strings.TrimSuffix(many("", job+",", n), ",") + "]}")
	}

	for _, c := range []struct {
		name string
		n    int // parts of the smaller input
		read func(n int) func()
	}{
		{"Compose: variables", 500, func(n int) func() {
			text := many("services:\n  a:\n    image: x\n    command:\n", "      - ${v%d:-x}\n", n)
			return func() { _, _ = apply.ReadCompose(t.Context(), "f.yaml", []byte(text), nil, nil) }
		}},
		{"Compose: variables without a value", 500, func(n int) func() {
			text := many("services:\n  a:\n    image: x\n    command:\n", "      - ${v%d}\n", n)
			return func() { _, _ = apply.ReadCompose(t.Context(), "f.yaml", []byte(text), nil, nil) }
		}},
		{"Compose: services", 200, func(n int) func() {
			text := many("services:\n", "  s%d: {image: x, volumes: ['v:/d'], labels: {plimsoll.class: C}}\n", n)
			return func() { _, _ = apply.ReadCompose(t.Context(), "f.yaml", []byte(text), nil, nil) }
		}},
		{"Compose: services that name each other", 200, func(n int) func() {
			text := many("services:\n", "  s%[1]d: {image: x, ports: ['80:80'], environment: {A: 's1 s%[1]d s2'}, "+
				"labels: {plimsoll.class: C, plimsoll.apart-group: g}}\n", n)
			return func() { _, _ = apply.ReadCompose(t.Context(), "f.yaml", []byte(text), nil, nil) }
		}},
		{"Compose: names in one setting", 200, func(n int) func() {
			text := many("services:\n", "  s%d: {image: x, networks: [n], labels: {plimsoll.class: C}}\n", n) +
				many("  all:\n    image: x\n    networks: [n]\n    labels: {plimsoll.class: C}\n    command:\n",
					"      - s%d\n", n) +
				"networks: {n: {}}\n"
			return func() { _, _ = apply.ReadCompose(t.Context(), "f.yaml", []byte(text), nil, nil) }
		}},
		{"Compose: keys that are refused", 200, func(n int) func() {
			text := many("services:\n", "  s%d: {image: x, privileged: true, devices: [/a], build: .}\n", n)
			return func() { _, _ = apply.ReadCompose(t.Context(), "f.yaml", []byte(text), nil, nil) }
		}},
		{"Compose: networks of a service", 200, func(n int) func() {
			text := many("services:\n  a:\n    image: x\n    networks:\n", "      - n%d\n", n) +
				many("  b:\n    image: x\n    networks:\n", "      - n%d\n", n) + many("networks:\n", "  n%d: {}\n", n)
			return func() { _, _ = apply.ReadCompose(t.Context(), "f.yaml", []byte(text), nil, nil) }
		}},
		{"points: classes", 1000, func(n int) func() {
			text := many(table, "c%[1]d,1,1,1%[1]d,\n", n)
			return func() { readTable(text) }
		}},
		{"points: instances of a class", 1000, func(n int) func() {
			text := many(table, "c,1%[1]d,1,1%[1]d,\n", n)
			return func() { readTable(text) }
		}},
		{"points: classes of a mix", 200, func(n int) func() {
			text := many(table, "c%[1]d,1,1,1%[1]d,m\n", n)
			return func() { readTable(text) }
		}},
		{"points: repeats", 2000, func(n int) func() {
			text := many(table, "c,1,1,1%d,\n", n)
			return func() { readTable(text) }
		}},
		{"fio: JSON of jobs", 1000, func(n int) func() {
			text := document(n)
			return func() { _, _ = fio.ReadForeign(text) }
		}},
		{"fio: import of jobs", 300, func(n int) func() {
			text := document(n)
			return func() { _, _ = fiofiles.Read([]fiofiles.File{{Name: "f.json", Text: text}}, fiofiles.Options{}) }
		}},
		{"fio: log", 20_000, func(n int) func() {
			text := []byte(many("", "%d, 1000, 0, 4096, 0\n", n))
			return func() { _, _ = fio.ReadLog(fio.LogName{Prefix: "x", Kind: fio.LogTotal, Thread: 1}, text) }
		}},
		{"outputs: results of YCSB", 500, func(n int) func() {
			return readOutput(many("", "site.ycsb.Client -threads 8\n[OVERALL], Throughput(ops/sec), 1%d\n", n))
		}},
		{"outputs: go-ycsb", 500, func(n int) func() {
			return readOutput(many("", "\"threadcount\"=\"8\"\nRun finished, takes 2s\n"+
				"READ - Takes(s): 2.0, Count: 2, OPS: 1%d.0, Avg(us): 1\n", n))
		}},
		{"outputs: elbencho", 500, func(n int) func() {
			return readOutput(many("operation,threads,IOPS [first],IOPS [last]\n", "READ,8,1,1%d\n", n))
		}},
		{"outputs: vdbench", 500, func(n int) func() {
			return readOutput(many("", "Starting RD=r; For loops: threads=8\navg_2-5 1%d.0 1.0 4096 50.0 0.1\n", n))
		}},
		{"outputs: iostat", 2000, func(n int) func() {
			return readOutput(many("Number of threads: 8\ntotal time: 1s\ntotal number of events: 9\n", "", 1),
				many("", "Device r/s w/s %%util\nsda %d 1 1\n\n", n))
		}},
		{"outputs: log of pgbench", 5000, func(n int) func() {
			return readOutput("transaction type: a\nnumber of clients: 8\ntps = 5.0 (x)\n",
				many("", "0 1 %d 0 1700000000 1\n", n))
		}},
		{"outputs: times before lines", 5000, func(n int) func() {
			return readOutput(many("Number of threads: 8\ntotal time: 1s\ntotal number of events: 9\n",
				"2026-01-01T10:44:05.%dZ [ 1s ] x\n", n))
		}},
		{"fio: job file of many file names", 1000, func(n int) func() {
			text := many("[job]\nrw=read\nsize=1m\n", "filename=/d%d/x\n", n)
			return func() { jobFile(text) }
		}},
		{"fio: job file of unknown lines", 1000, func(n int) func() {
			text := many("[job]\n", "option%d\n", n)
			return func() { jobFile(text) }
		}},
		{"fio: job file of jobs", 1000, func(n int) func() {
			text := many("[global]\nrw=read\nsize=1m\n", "[job%d]\nstonewall\n", n)
			return func() { jobFile(text) }
		}},
		{"experiment: stacks", 200, func(n int) func() {
			text := many("workloads: {w: {fio: {rw: read, size: 1MiB}}}\nstacks:\n", "  s%[1]d: dir:/d%[1]d\n", n)
			return func() { parse(text) }
		}},
		{"experiment: workloads", 200, func(n int) func() {
			text := many("stacks: {a: 'dir:/d'}\nworkloads:\n", "  w%d: {fio: {rw: read, size: 1MiB}}\n", n)
			return func() { parse(text) }
		}},
		{"experiment: problems", 200, func(n int) func() {
			text := many("stacks: {a: 'dir:/d'}\nworkloads:\n", "  w%d: {fio: {rwx: read}}\n", n)
			return func() { parse(text) }
		}},
		{"trace: text of blkparse", 5000, func(n int) func() {
			text := []byte(many("", "  8,0    0   %[1]d   0.00000%[1]d  1%[1]d  Q   R %[1]d + 8 [fio]\n", n))
			return func() { analyze(text) }
		}},
		{"trace: requests", 20_000, func(n int) func() {
			content := records(n, true)
			return func() { analyze(content) }
		}},
		{"trace: requests in flight", 20_000, func(n int) func() {
			content := records(n, false)
			return func() { analyze(content) }
		}},
		{"run directory: trials", 500, func(n int) func() {
			run := result.Run{Schema: result.SchemaVersion, ID: fmt.Sprint("run-", n), Status: result.RunRunning,
				Stacks: []result.Stack{{Name: "a", Line: "dir:/d"}}, Workloads: []result.Workload{{Name: "w"}}}
			for i := range n {
				run.Trials = append(run.Trials, result.Trial{Seq: i + 1, Block: i + 1, Repeat: i + 1, Stack: "a", Mix: "w",
					Status: result.TrialPlanned})
			}
			s, err := store.Create(filepath.Join(dir, run.ID), run)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			return func() {
				if _, err := store.Read(filepath.Join(dir, run.ID)); err != nil {
					t.Fatal(err)
				}
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			allocated := func(n int) uint64 {
				read := c.read(n)
				read() // what is made once, is made
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				began := time.Now()
				read()
				took := time.Since(began)
				runtime.ReadMemStats(&after)
				bytes := after.TotalAlloc - before.TotalAlloc
				t.Logf("%6d parts: %10d bytes in %d allocations, %v", n, bytes, after.Mallocs-before.Mallocs,
					took.Round(time.Millisecond))
				return bytes
			}
			small, large := allocated(2*c.n), allocated(4*c.n)
			growth := float64(large) / float64(small)
			t.Logf("%.2f times for twice the input", growth)
			if growth > mostGrowth {
				t.Errorf("%d bytes for %d parts, %d for twice as many: %.2f times", small, 2*c.n, large, growth)
			}
		})
	}
}
