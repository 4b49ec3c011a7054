package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/csv"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/iotrace/blktrace"
)

// writeCapture writes a capture of reads and writes that two CPUs queue in
// turn on 7:0, each in 1 µs steps, completed 100 µs after it was issued.
func writeCapture(t *testing.T, name string, requests int) {
	t.Helper()
	files := map[uint32]*bytes.Buffer{}
	w := blktrace.NewWriter(func(cpu uint32) (io.Writer, error) {
		files[cpu] = new(bytes.Buffer)
		return files[cpu], nil
	})
	write := func(r blktrace.Record) {
		t.Helper()
		if err := w.Write(&r); err != nil {
			t.Fatal(err)
		}
	}
	for cpu := range uint32(2) {
		write(blktrace.Record{Time: 1, Action: blktrace.NoteProcess | blktrace.CatNotify, PID: 100 + cpu, CPU: cpu,
			Device: blktrace.DeviceNumber(7, 0), PDU: []byte("worker\x00")})
	}
	for i := range uint64(requests) {
		cpu, direction := uint32(i%2), blktrace.CatRead
		if i%4 == 3 {
			direction = blktrace.CatWrite
		}
		at := 1000 + 200_000*i
		for _, e := range []struct {
			after uint64
			what  blktrace.Action
		}{
			{0, blktrace.Queue | blktrace.CatQueue}, {1000, blktrace.GetRequest}, {2000, blktrace.Insert},
			{3000, blktrace.Issue | blktrace.CatIssue}, {103_000, blktrace.Complete | blktrace.CatComplete},
		} {
			write(blktrace.Record{Time: at + e.after, Sector: 8 * i, Bytes: 4096, Action: e.what | direction,
				PID: 100 + cpu, CPU: cpu, Device: blktrace.DeviceNumber(7, 0)})
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	for cpu, text := range files {
		if err := os.WriteFile(blktrace.FileName(name, cpu), text.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func change(t *testing.T, name string, how func([]byte) []byte) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err == nil {
		err = os.WriteFile(name, how(text), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestTraceAnalyze(t *testing.T) {
	t.Chdir(t.TempDir())
	writeCapture(t, "sda", 400)
	out, errs := plimsoll(t, exitOK, "trace", "analyze", "sda")
	contains(t, out, "sda.blktrace.0 and 1 more file", "7:0: 400 requests, 1.64 MB", "none lost",
		"Q2G         400  1.00 µs", "D2C         400   100 µs", "read        300", "write       100", "worker (100)")
	if errs != "" || strings.Contains(out, "\x1b") {
		t.Errorf("without a terminal there are colours, or %q", errs)
	}

	t.Run("its files, in any order and compressed, are the same", func(t *testing.T) {
		packed := new(bytes.Buffer)
		text, err := os.ReadFile("sda.blktrace.1")
		if err != nil {
			t.Fatal(err)
		}
		z := gzip.NewWriter(packed)
		_, _ = z.Write(text)
		_ = z.Close()
		if err := os.MkdirAll("packed", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := errorsOf(os.WriteFile("packed/sda.blktrace.1.gz", packed.Bytes(), 0o644),
			os.Link("sda.blktrace.0", "packed/sda.blktrace.0")); err != nil {
			t.Fatal(err)
		}
		want, _ := plimsoll(t, exitOK, "trace", "analyze", "sda", "--json")
		for _, args := range [][]string{{"sda.blktrace.1", "sda.blktrace.0"}, {"packed/sda"}, {"sda", "--threads", "1"}} {
			if got, _ := plimsoll(t, exitOK, append([]string{"trace", "analyze", "--json"}, args...)...); got != want {
				t.Errorf("%v gives\n%s\nwant\n%s", args, got, want)
			}
		}
	})

	t.Run("a page", func(t *testing.T) {
		out, _ := plimsoll(t, exitOK, "trace", "analyze", "sda", "--html", "sda.html", "--format", "csv", "--by", "op")
		if old, _ := plimsoll(t, exitOK, "trace", "analyze", "sda", "--csv", "--by", "op"); old != out {
			t.Errorf("--csv, as --format csv was called, prints\n%s\nand not\n%s", old, out)
		}
		_, errs := plimsoll(t, exitUsage, "trace", "analyze", "sda", "--format", "xml")
		contains(t, errs, "--format xml: it takes text or csv")
		page, err := os.ReadFile("sda.html")
		if err != nil || !bytes.Contains(page, []byte("Where block requests spend their time")) ||
			!bytes.Contains(page, []byte("trace of sda.blktrace.0 and 1 more file")) {
			t.Errorf("the page: %v, %d bytes", err, len(page))
		}
		records, err := csv.NewReader(strings.NewReader(out)).ReadAll()
		if err != nil || slices.ContainsFunc(records[1:], func(r []string) bool { return r[0] != "total" && r[0] != "op" }) {
			t.Errorf("rows by op are %v, %v", records, err)
		}
		if _, errs := plimsoll(t, exitFailure, "trace", "analyze", "sda", "--html",
			"no/such/dir.html"); !strings.Contains(errs, "no/such/dir.html") {
			t.Errorf("a page that cannot be written gives %q", errs)
		}
	})

	t.Run("requests, one by one", func(t *testing.T) {
		out, _ := plimsoll(t, exitOK, "trace", "analyze", "sda", "--per-io")
		records, err := csv.NewReader(strings.NewReader(out)).ReadAll()
		if err != nil || len(records) != 401 {
			t.Fatalf("%d rows, %v", len(records), err)
		}
		for i, r := range records[1:] {
			at := func(column string) string { return r[slices.Index(records[0], column)] }
			if at("op") != map[bool]string{true: "write", false: "read"}[i%4 == 3] || at("bytes") != "4096" ||
				at("command") != "worker" || at("m_ns") != "" || at("n_ns") != "" || at("c_ns") == "" {
				t.Fatalf("row %d is %v", i, r)
			}
		}
	})

	t.Run("its device's name, where that is its number's", func(t *testing.T) {
		if strings.Contains(out, "sda: 400 requests") {
			t.Error("7:0 is called sda")
		}
		for cpu := range 2 {
			if err := os.Link(blktrace.FileName("sda", uint32(cpu)),
				blktrace.FileName("packed/loop0", uint32(cpu))); err != nil {
				t.Fatal(err)
			}
		}
		out, _ := plimsoll(t, exitOK, "trace", "analyze", "packed/loop0")
		contains(t, out, "loop0: 400 requests, 1.64 MB", "loop0 7:0")
	})

	t.Run("a CPU is missing", func(t *testing.T) {
		out, _ := plimsoll(t, exitOK, "trace", "analyze", "sda.blktrace.1")
		contains(t, out, "What cannot be known", "CPU 0")
	})
}

func errorsOf(all ...error) error {
	for _, err := range all {
		if err != nil {
			return err
		}
	}
	return nil
}

func TestTraceAnalyzeReadsAStream(t *testing.T) {
	p := newProgram(t)
	writeCapture(t, filepath.Join(p.dir, "sda"), 40)
	cmd, stdout, stderr := p.command("trace", "analyze", "-", "--json")
	var err error
	if cmd.Stdin, err = os.Open(filepath.Join(p.dir, "sda.blktrace.0")); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, stderr)
	}
	var doc struct {
		Total struct{ Requests int }
	}
	if err := json.Unmarshal(stdout.Bytes(), &doc); err != nil || doc.Total.Requests != 20 {
		t.Errorf("%d requests, %v", doc.Total.Requests, err)
	}
}

// Ctrl-C reaches whoever writes the capture, too: what still comes of it
// counts.
func TestTraceAnalyzeOfAStreamThatIsEnded(t *testing.T) {
	p := newProgram(t)
	writeCapture(t, filepath.Join(p.dir, "sda"), 4000)
	text, err := os.ReadFile(filepath.Join(p.dir, "sda.blktrace.0"))
	if err != nil {
		t.Fatal(err)
	}
	cmd, stdout, stderr := p.command("trace", "analyze", "-", "--json")
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	// More than a pipe holds: once it is written, plimsoll reads.
	half := len(text) / 2
	_, first := in.Write(text[:half])
	signalled := cmd.Process.Signal(os.Interrupt)
	_, second := in.Write(text[half:])
	if err := errorsOf(first, signalled, second, in.Close(), cmd.Wait()); err != nil {
		t.Fatalf("%v: %s", err, stderr)
	}
	contains(t, stdout.String(), `"requests": 2000,`)
}

func TestTraceAnalyzeOfDamage(t *testing.T) {
	t.Chdir(t.TempDir())
	writeCapture(t, "sda", 400)
	change(t, "sda.blktrace.0", func(b []byte) []byte { copy(b[4800:], "damaged damaged damaged damaged"); return b })
	change(t, "sda.blktrace.1", func(b []byte) []byte { return b[:len(b)-20] })
	for _, kind := range []string{"--json", "--csv", "--format=csv", "--per-io", "--by=op"} {
		out, errs := plimsoll(t, exitPartial, "trace", "analyze", "sda", kind)
		if len(out) < 1000 {
			t.Errorf("%s prints of the sound part:\n%s", kind, out)
		}
		contains(t, errs, "sda.blktrace.0: at byte ", "sda.blktrace.1: at byte ")
		out, errs = plimsoll(t, exitUsage, "trace", "analyze", "sda", "--strict", kind)
		if out != "" {
			t.Errorf("%s --strict prints:\n%s", kind, out)
		}
		contains(t, errs, "at byte ")
	}
}

func TestTraceAnalyzeRefuses(t *testing.T) {
	t.Chdir(t.TempDir())
	writeCapture(t, "sda", 4)
	if err := errorsOf(os.MkdirAll("dir", 0o755),
		os.WriteFile("text", []byte(strings.Repeat("no capture\n", 100)), 0o644), os.WriteFile("empty", nil, 0o644),
		os.WriteFile("broken.gz", []byte{0x1f, 0x8b, 0}, 0o644)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args  []string
		wants []string
	}{
		{nil, []string{"takes a capture"}},
		{[]string{"nosuch", "dir", "--by", "colour", "--threads", "0"},
			[]string{"there is no file nosuch (", "nor is there nosuch.blktrace.0", "dir: it is a directory",
				"--by colour: it takes device, op, size or process", "--threads 0"}},
		{[]string{"sda", "sda.blktrace.0"}, []string{"sda.blktrace.0: it is named twice"}},
		{[]string{"text"}, []string{"text", "not a blktrace capture"}},
		{[]string{"empty"}, []string{"empty", "no events"}},
		{[]string{"broken.gz"}, []string{"broken.gz"}},
		{[]string{"-", "--strict", "--per-io"}, []string{"standard input cannot be"}},
		{[]string{"sda", "--json", "--csv"}, []string{"--json and --csv do not go together"}},
		{[]string{"sda", "--per-io", "--by", "op"}, []string{"--by has no meaning"}},
	} {
		out, errs := plimsoll(t, exitUsage, append([]string{"trace", "analyze"}, c.args...)...)
		contains(t, errs, c.wants...)
		if out != "" {
			t.Errorf("%v prints %q", c.args, out)
		}
	}
}

func TestTraceAnalyzeIsInterrupted(t *testing.T) {
	t.Chdir(t.TempDir())
	writeCapture(t, "sda", 4)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errs bytes.Buffer
	if code := execute(ctx, []string{"trace", "analyze", "sda"}, &out, &errs); code != exitInterrupted || out.Len() > 0 {
		t.Errorf("exit %d: %s%s", code, out.String(), errs.String())
	}
}
