package main

import (
	"encoding/csv"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/result"
	"plimsoll/internal/result/store"
	"plimsoll/internal/testkit/hosttest"
)

const foreign = "../../internal/workload/fio/testdata/foreign/"

// importHere makes a working directory with recorded files of fio.
func importHere(t *testing.T, names ...string) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		text, err := os.ReadFile(foreign + name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
}

func lastRun(t *testing.T) (string, *result.Run) {
	t.Helper()
	dir, err := store.Find(store.RunsDir, store.Last)
	if err != nil {
		t.Fatal(err)
	}
	run, err := store.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	return dir, run
}

// An import is a run like any other, and says what it is wherever it is
// shown.
func TestImport(t *testing.T) {
	importHere(t, "json.json", "again.json", "logs.json", "logs_clat_hist.1.log", "logs_bw.1.log", "status.json")
	out, _ := plimsoll(t, exitOK, "import", "json.json", "again.json", "logs.json", "logs_clat_hist.1.log",
		"logs_bw.1.log", "status.json",
		"--stack", "nvme=/dev/nvme0n1 > xfs")
	contains(t, strings.Join(strings.Fields(out), " "),
		"4 trials, imported from 6 files: measured by other programs, and not checked against a device",
		"every number here: imported",
		"source unknown", "printed by fio, trial", "fio 3.33", "randread 4 KiB", "completion latency of writes: p50")
	dir, run := lastRun(t)
	if run.Status != result.RunComplete || len(run.Trials) != 4 || run.Stacks[0].Line != "/dev/nvme0n1 > xfs" ||
		!slices.Contains(run.Stacks[0].Marks, result.MarkImported) {
		t.Errorf("%+v", run)
	}
	for _, name := range []string{store.ReportFile, store.RunFile, store.ResultsFile} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	kept, err := filepath.Glob(filepath.Join(dir, store.ArtifactsDir, "*", "*"))
	if err != nil || len(kept) != 7 { // six files and a series
		t.Errorf("artifacts %v, %v", kept, err)
	}
	page, err := os.ReadFile(filepath.Join(dir, store.ReportFile))
	if err != nil {
		t.Fatal(err)
	}
	contains(t, string(page), "imported from 6 files", "Latency of imported results",
		"No device counter was recorded around them", ">imported<")
	if strings.Contains(string(page), "interleaved in random rounds (seed") ||
		strings.Contains(string(page), "no frequency scaling") {
		t.Error("the report reports what plimsoll did not do or see")
	}

	shown, _ := plimsoll(t, exitOK, "show", "--full")
	if shown != out {
		t.Error("show prints something else than import did")
	}
	rows, _ := plimsoll(t, exitOK, "export", "--format", "csv")
	records, err := csv.NewReader(strings.NewReader(rows)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	at := func(column string) string { return records[1][slices.Index(records[0], column)] }
	if at("marks") != "imported" || at("source") != "unknown" || at("read_completion_p50_ns") != "" ||
		!strings.Contains(at("read_completion_printed_ns"), "50=") || at("started") != "" {
		t.Errorf("export: %q", records[1])
	}
}

// Everything wrong with every file is said at once, and nothing is stored.
func TestImportRefuses(t *testing.T) {
	importHere(t, "json.json", "again.json", "normal.txt")
	if err := os.WriteFile("cut.json", []byte("{\n \"fio version\" : \"fio-3.33\",\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, errs := plimsoll(t, exitUsage, "import", "json.json", "normal.txt", "cut.json", "none.json", ".", "--stack",
		"x=loop(size=1) > nosuch")
	contains(t, errs, "no result was imported:", "normal.txt:1: this is fio's output for people",
		"cut.json:3: the JSON document that begins in line 1 is cut short",
		"there is no file none.json (", ".: this is a directory", "--stack x: ", "nosuch")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"import"}, "import takes files that fio or another benchmark wrote"},
		{[]string{"import", "json.json", "--stack", "=loop"}, "write NAME='LINE'"},
		{[]string{"import", "json.json", "--stack", "x=loop("}, "--stack x: "},
		{[]string{"import", "json.json", "json.json"}, "the same as json.json"},
	} {
		if _, errs := plimsoll(t, exitUsage, c.args...); !strings.Contains(errs, c.want) {
			t.Errorf("%v says %q, not %q", c.args, errs, c.want)
		}
	}
	if _, errs := plimsoll(t, exitUsage, "import", "json.json", "-o", "."); !strings.Contains(errs, "exists already") {
		t.Error(errs)
	}
	if entries, err := os.ReadDir("."); err != nil || len(entries) != 4 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

// A fio that failed elsewhere is in the run with its reason.
func TestImportOfAFailure(t *testing.T) {
	importHere(t, "json.json", "trim.json")
	out, errs := plimsoll(t, exitPartial, "import", "json.json", "trim.json")
	contains(t, out, "1 failed", "Not measured")
	contains(t, errs, "1 of 2 results has no number")
}

// A run of plimsoll's own, imported from the raw output of fio that it kept,
// has the same numbers.
func TestImportOfARunOfOurOwn(t *testing.T) {
	if _, err := exec.LookPath("fio"); err != nil {
		t.Skip("needs fio")
	}
	hosttest.Alone(t)
	p := newProgram(t)
	file := p.experiment(`
name: own
question: Is it the same?
repeat: 2
runtime: 500ms
ramp: 0s
stacks:
  here: dir:` + p.dir + `
workloads:
  RR: {fio: {rw: randrw, size: 8MiB, jobs: 2, iodepth: 4}}
`)
	if code, out, errs := p.run("run", file, "--quiet"); code != 0 {
		t.Fatalf("%d: %s%s", code, out, errs)
	}
	dir, own := p.result()
	t.Cleanup(p.cleanUp)
	var args []string
	for _, trial := range own.Trials {
		args = append(args, filepath.Join(dir, trial.Artifacts, "fio.json"))
	}
	time.Sleep(2 * time.Millisecond) // so that the run's name differs
	if code, out, errs := p.run(append([]string{"import"}, args...)...); code != 0 {
		t.Fatalf("%d: %s%s", code, out, errs)
	}
	_, imported := p.result()
	if imported.ID == own.ID || len(imported.Trials) != len(own.Trials) || len(imported.Workloads) != 1 ||
		imported.Trials[1].Repeat != 2 {
		t.Fatalf("%d workloads, %d trials", len(imported.Workloads), len(imported.Trials))
	}
	for i, trial := range own.Trials {
		a, _ := json.Marshal(trial.Measured())
		b, _ := json.Marshal(imported.Trials[i].Measured())
		if string(a) != string(b) {
			t.Errorf("trial %d: %s\nmeasured was %s", trial.Seq, b, a)
		}
	}
	contains(t, imported.Workloads[0].Summary, "randrw 4 KiB, 2 jobs x depth 4, libaio, direct")
}

// What a run keeps of the files that it was made of gives the same numbers when it is imported again.
func TestImportAgain(t *testing.T) {
	names := []string{"json.json", "json-plus.json", "fdatasync.json", "clients.json"}
	importHere(t, names...)
	numbers := func(dir string) (rows []string) {
		for _, row := range mustRead(t, dir).Trials {
			text, err := json.Marshal(row.Measured())
			if err != nil {
				t.Fatal(err)
			}
			rows = append(rows, string(text))
		}
		slices.Sort(rows)
		return rows
	}
	plimsoll(t, exitOK, append([]string{"import", "-o", "first"}, names...)...)
	kept, err := filepath.Glob(filepath.Join("first", store.ArtifactsDir, "*", "*.json"))
	if err != nil || len(kept) != len(names) {
		t.Fatalf("%v, %v", kept, err)
	}
	plimsoll(t, exitOK, append([]string{"import", "-o", "again"}, kept...)...)
	if first, again := numbers("first"), numbers("again"); !slices.Equal(first, again) {
		t.Errorf("first %q\nagain %q", first, again)
	}
}

func mustRead(t *testing.T, dir string) *result.Run {
	t.Helper()
	run, err := store.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	return run
}
