package fio

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/result"
	"plimsoll/internal/testkit/hosttest"
	"plimsoll/internal/workload"
)

// run runs a step the way a runner does, and gives its outputs.
func run(t *testing.T, step *workload.Step) (map[string][]byte, workload.Exit) {
	t.Helper()
	scratch := t.TempDir()
	for name, text := range step.Files {
		if err := os.WriteFile(filepath.Join(scratch, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	argv := make([]string, len(step.Argv))
	for i, word := range step.Argv {
		argv[i] = strings.ReplaceAll(word, workload.ScratchDir, scratch)
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = step.Dir
	if cmd.Dir == "" {
		cmd.Dir = scratch
	}
	printed, err := cmd.CombinedOutput()
	exit := workload.Exit{Stderr: string(printed)}
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		exit.Code = failed.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	outputs := map[string][]byte{}
	for _, name := range step.Outputs {
		if text, err := os.ReadFile(filepath.Join(scratch, name)); err == nil {
			outputs[name] = text
		}
	}
	return outputs, exit
}

// trial prepares and drives a workload on a target with the real fio.
func trial(t *testing.T, w workload.Workload, target workload.Target) (result.Measurement, []byte) {
	t.Helper()
	if _, err := exec.LookPath("fio"); err != nil {
		t.Skip("fio is not installed: apt-get install fio")
	}
	hosttest.Alone(t)
	step, err := w.Prepare(target)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Read(run(t, step)); err != nil {
		t.Fatalf("prepare: %v", err)
	}
	before := contents(t, target)
	step, err = w.Drive(target, w.Timing(workload.Timing{Ramp: 100 * time.Millisecond, Runtime: 300 * time.Millisecond}))
	if err != nil {
		t.Fatal(err)
	}
	outputs, exit := run(t, step)
	m, err := w.Read(outputs, exit)
	if err != nil {
		t.Fatalf("drive: %v", err)
	}
	if after := contents(t, target); after != before {
		t.Errorf("the measured job changed sizes or names of files: before %s, after %s", before, after)
	}
	return m, outputs[outputName]
}

// contents lists names and sizes in a directory.
func contents(t *testing.T, target workload.Target) string {
	t.Helper()
	if target.Block {
		return ""
	}
	entries, err := os.ReadDir(target.Path)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString(e.Name() + " " + formatSize(info.Size()) + ", ")
	}
	return b.String()
}

// TestRealFio lays out, drives and reads with the fio that is installed, and
// compares with what it printed.
func TestRealFio(t *testing.T) {
	for _, c := range []struct {
		yaml          string
		reads, writes bool
	}{
		{"{rw: randread, jobs: 2, iodepth: 4, size: 4MiB}", true, false},
		{"{rw: randwrite, size: 4MiB, engine: psync}", false, true},
		{"{rw: randrw, rwmixread: 70, iodepth: 2, size: 4100KiB}", true, true},
		{"{rw: write, jobs: 3, bs: 64KiB, size: 4MiB, ramp: 0}", false, true},
		{"{rw: read, bs: 1MiB, size: 8MiB, direct: false, engine: pvsync2}", true, false},
	} {
		t.Run(c.yaml, func(t *testing.T) {
			w, problems := decodeText(c.yaml, nil)
			if len(problems) > 0 {
				t.Fatal(tell(problems))
			}
			m, text := trial(t, w, workload.Target{Path: t.TempDir()})
			if (m.Operation(result.Read).Count > 0) != c.reads || (m.Operation(result.Write).Count > 0) != c.writes {
				t.Errorf("%d reads, %d writes", m.Operation(result.Read).Count, m.Operation(result.Write).Count)
			}
			compareWithFio(t, text, m, exactPercentile)
		})
	}
}

// TestRealFioOnRawTarget drives a target that is named by its path, like a
// raw device; the path has a colon, as those of /dev/disk/by-path have. A
// file does for the device: fio is told no more of either.
func TestRealFioOnRawTarget(t *testing.T) {
	for _, c := range []struct{ yaml, user string }{
		{yaml: "{rw: randrw, size: 3MiB, iodepth: 2}"},
		{yaml: "{rw: write, size: 3MiB, jobs: 2, engine: psync}"},
		{user: "testdata/jobs/random-read.fio"},
	} {
		t.Run(c.yaml+c.user, func(t *testing.T) {
			files := map[string]string{}
			if c.user != "" {
				text, err := os.ReadFile(c.user)
				if err != nil {
					t.Fatal(err)
				}
				files["user.fio"], c.yaml = string(text), "file: user.fio"
			}
			w, problems := decodeText(c.yaml, files)
			if len(problems) > 0 {
				t.Fatal(tell(problems))
			}
			dir := t.TempDir()
			device := filepath.Join(dir, "pci-0:1")
			if err := os.WriteFile(device, make([]byte, 4*mib), 0o600); err != nil {
				t.Fatal(err)
			}
			m, _ := trial(t, w, workload.Target{Path: device, Block: true, SizeBytes: 4 * mib})
			if m.IOs() == 0 {
				t.Errorf("%+v", m)
			}
			text, err := os.ReadFile(device)
			if err != nil {
				t.Fatal(err)
			}
			if len(text) != int(4*mib) {
				t.Errorf("the device grew to %d bytes", len(text))
			}
			// The layout wrote the region, and only that.
			for at := 0; at < int(3*mib); at += 4096 {
				if allZero(text[at : at+4096]) {
					t.Fatalf("nothing was written at %d", at)
				}
			}
			if _, ok := w.(*builtin); ok && !allZero(text[3*mib:]) {
				t.Error("something was written behind the region")
			}
			if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
				t.Errorf("files appeared beside the device: %v %v", entries, err)
			}
		})
	}
}

func allZero(b []byte) bool { return len(bytes.Trim(b, "\x00")) == 0 }

// TestRealFioRunsUserFiles runs each job file of testdata/jobs that is taken.
func TestRealFioRunsUserFiles(t *testing.T) {
	paths, err := filepath.Glob("testdata/jobs/*.fio")
	if err != nil {
		t.Fatal(err)
	}
	taken := 0
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		w, mistakes := newUserFile(source{name: filepath.Base(path), text: text})
		if len(mistakes) > 0 {
			continue
		}
		taken++
		t.Run(filepath.Base(path), func(t *testing.T) {
			dir := t.TempDir()
			m, _ := trial(t, w, workload.Target{Path: dir})
			if m.IOs() == 0 || m.Operation(result.Read).Latency[result.Total].Count == 0 {
				t.Errorf("%+v", m)
			}
			var taken int64
			entries, _ := os.ReadDir(dir)
			for _, e := range entries {
				if info, err := e.Info(); err == nil {
					taken += info.Size()
				}
			}
			if taken == 0 || taken > w.NeedBytes() {
				t.Errorf("it took %d bytes, and said %d", taken, w.NeedBytes())
			}
		})
	}
	if taken < 2 {
		t.Errorf("only %d job files were taken", taken)
	}
}

// fio's own parser agrees with ours about sizes.
func TestFioSizesAreFios(t *testing.T) {
	if _, err := exec.LookPath("fio"); err != nil {
		t.Skip("fio is not installed: apt-get install fio")
	}
	for _, text := range []string{"8k", "8K", "8kb", "8KB", "8ki", "8192", "1m", "1M", "1mb"} {
		printed, err := exec.Command("fio", "--name=x", "--ioengine=null", "--filename=none", "--rw=read", "--bs=4096",
			"--output-format=json", "--size="+text).Output()
		if err != nil {
			t.Fatalf("%v: %s", err, printed)
		}
		var o output
		o, err = decodeOutput(printed)
		if err != nil {
			t.Fatal(err)
		}
		if want, err := fioSize(text); err != nil || o.Jobs[0].Read.Bytes != uint64(want) {
			t.Errorf("%s: fio read %d bytes, we take it for %d (%v)", text, o.Jobs[0].Read.Bytes, want, err)
		}
	}
}
