package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/iotrace/blktrace"
	"plimsoll/internal/problem"
	"plimsoll/internal/result"
	"plimsoll/internal/result/hist"
	"plimsoll/internal/result/store"
)

// titled sets the title of a terminal's window, clears it, goes back to where
// the line began, and says CSI in one character.
const titled = "\x1b]0;owned\a\x1b[2J\rgone\u009b31m"

var steers = regexp.MustCompile("[\x00-\x08\x0b-\x1f\x7f\u0080-\u009f]")

// TestNothingThatIsPrintedSteersTheTerminal: names and texts of others come in
// by every file, directory and argument.
func TestNothingThatIsPrintedSteersTheTerminal(t *testing.T) {
	good, err := os.ReadFile(foreign + "json.json")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	hostile := func(name, text string) string {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return name
	}
	const head = "name: x\nquestion: \"q \\e]0;owned\\a\"\n"
	attacks := [][]string{
		{titled}, {"run", titled, "--dry-run"},
		{"run", "quick", "--on", titled, "--size", titled, "--budget", titled, "--dry-run"},
		{"run", "quick", "--" + titled}, {"show", titled}, {"export", "x", "--format", titled}, {"validate", titled},
		{"import", titled},
		{"trace", "analyze", titled}, {"trace", "analyze", "x", "--by", titled}, {"compare", titled, titled},
		{"runs", titled}, {"clean", titled},
		{"list", titled}, {"help", titled}, {"trace", titled}, {"run", "--resume", titled},
		{"target", "unexport", titled}, {"doctor", titled},
	}
	for name, text := range map[string]string{
		"key": head + "\"x\\e]0;owned\\a\": 1\n",
		"raw": head + "x\x1b]0;owned\a: 1\n",
		"stack": head + "stacks: {\"a\\e]0;owned\\a\": \"loop(size=1GiB, x=\\e[2J) > \\e[2J\"}\nworkloads: {w: " +
			"{fio: {rw: \"\\e[2J\"}}}\n",
		"workload": head + "stacks: {a: loop(size=1GiB)}\nworkloads: {\"w\\e[2J\": {fio: {\"rw\\e[2J\": \"\\e[2J\", " +
			"size: \"1\\a\"}}}\n",
		"job":      head + "stacks: {a: loop(size=1GiB)}\nworkloads: {w: {fio: {file: \"job\\e]0;owned\\a.fio\"}}}\n",
		"question": head + "stacks: {a: \"dir:/tmp\"}\nworkloads: {w: {fio: {rw: read, size: 1MiB}}}\n",
	} {
		file := hostile(name+titled+".yaml", text)
		attacks = append(attacks, []string{"run", file, "--dry-run"}, []string{"validate", file})
	}
	hostile("job\x1b]0;owned\a.fio", "[job\x1b]0;owned\a]\nrw"+titled+"=read\nioengine="+titled+"\nsize=1m\nbs=\x1b[2J\n")
	attacks = append(attacks,
		[]string{"import",
			hostile("fio"+titled+".json", `{"fio version": "fio-3.33`+titled+`", "jobs": [{"jobname": "`+titled+`"}]}`)},
		[]string{"import",
			hostile("good.json",
				strings.ReplaceAll(string(good), `"jobname" : "`, `"jobname" : "\u001b]0;owned\u0007\u009b`)), "-o",
			"imported" + titled})

	dir := filepath.Join(store.RunsDir, "run"+titled)
	storeHostile(t, dir)
	attacks = append(attacks, []string{"show"}, []string{"show", dir}, []string{"runs"}, []string{"compare", dir, dir},
		[]string{"compare", dir, dir, "--quiet"},
		[]string{"show", "--report"}, []string{"export", dir, "-o", "out" + titled}, []string{"run", "--resume", dir},
		[]string{"run", "--resume", "run"})
	hostile(filepath.Join(store.RunsDir, "run"+titled, "x"), "")
	damaged := filepath.Join(store.RunsDir, "damaged"+titled)
	if err := os.MkdirAll(damaged, 0o755); err != nil {
		t.Fatal(err)
	}
	hostile(filepath.Join(damaged, store.ResultsFile), strings.Repeat("x"+titled, 5000))
	attacks = append(attacks, []string{"show", damaged}, []string{"runs"})
	capture := hostileCapture(t)
	attacks = append(attacks, []string{"trace", "analyze", capture},
		[]string{"trace", "analyze", capture, "--by", "process"})

	said := 0
	for _, args := range attacks {
		var out, errs bytes.Buffer
		execute(t.Context(), append([]string{"--state-dir", "state"}, args...), &out, &errs)
		for what, text := range map[string]string{"stdout": out.String(), "stderr": errs.String()} {
			if bad := steers.FindString(text); bad != "" {
				t.Errorf("%q prints %q to %s:\n%q", args, bad, what, text)
			}
			if strings.Contains(text, "owned") {
				said++
			}
		}
	}
	if said < len(attacks)/2 {
		t.Errorf("of %d attacks %d were printed at all", len(attacks), said)
	}
	page, err := os.ReadFile(filepath.Join(dir, store.ReportFile))
	if err != nil || bytes.Contains(page, []byte("<script>alert")) {
		t.Errorf("the report: %v, or it has an element of others in it", err)
	}
}

// TestDataIsAsItIs: a program that reads JSON gets every character. CSV is read by spreadsheets and terminals, too: it
// has what cannot steer them.
func TestDataIsAsItIs(t *testing.T) {
	t.Chdir(t.TempDir())
	storeHostile(t, "run")
	out, _ := plimsoll(t, exitOK, "export", "run", "--format", "csv", "-o", "-")
	if bad := steers.FindString(out); bad != "" {
		t.Errorf("CSV has %q:\n%q", bad, out)
	}
	out, _ = plimsoll(t, exitOK, "show", "run", "--json")
	if !strings.Contains(out, "\u009b31m") || !strings.Contains(out, `\u001b]0;owned`) {
		t.Error("JSON lacks a character")
	}
}

// storeHostile stores a run whose every text is an attack.
func storeHostile(t *testing.T, dir string) {
	t.Helper()
	at := time.Date(2026, 5, 12, 9, 30, 0, 0, time.UTC)
	run := result.Run{
		ID: "hostile-1", Command: []string{"plimsoll", titled}, Version: titled, Started: at, Seed: 1,
		Status: result.RunRunning,
		Experiment: result.Experiment{Name: "x" + titled, Question: "q" + titled, Baseline: "a" + titled, Repeat: 1,
			Source: "name: " + titled, LeftOut: []string{titled}},
		Environment: result.Environment{Hostname: titled, Kernel: titled, CPUModel: titled, Notes: []string{titled},
			Devices: []result.DeviceInfo{{Path: titled, Model: titled + "<script>alert(1)</script>", Serial: titled}}},
		Stacks: []result.Stack{{Name: "a" + titled, Line: titled,
			Facts: []result.Fact{{Name: titled, Value: titled}}}, {Name: "b" + titled}},
		Workloads: []result.Workload{{Name: "w" + titled, Summary: titled}},
		Trials: []result.Trial{
			{Seq: 1, Block: 1, Stack: "a" + titled, Mix: "w" + titled, Repeat: 1, Status: result.TrialPlanned},
			{Seq: 2, Block: 1, Stack: "b" + titled, Mix: "w" + titled, Repeat: 1, Status: result.TrialPlanned},
		},
	}
	s, err := store.Create(dir, run)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	done, failed := s.Run().Trials[0], s.Run().Trials[1]
	done.Status, done.Started = result.TrialDone, at
	total := hist.Histogram{Count: 10, MeanNS: 1e6, MinNS: 1e6, MaxNS: 1e6,
		Bins: hist.Pack([]hist.Bin{{NS: 1e6, Count: 10}})}
	done.Instances = result.One(&result.Measurement{Seconds: 1,
		Operations: result.ReadsWrites(result.Operation{Count: 10, Rate: 12345,
			Latency: map[result.Stage]hist.Histogram{result.Submission: total, result.Completion: total,
				result.Total: total}}, result.Operation{})})
	failed.Status, failed.Problem = result.TrialFailed,
		&problem.Problem{What: titled, Why: "fio: " + titled, Remedy: titled}
	if err := errorsOf(s.SaveTrial(done), s.SaveTrial(failed), s.Finish(result.RunComplete)); err != nil {
		t.Fatal(err)
	}
}

// hostileCapture writes a capture of a process that named itself.
func hostileCapture(t *testing.T) string {
	t.Helper()
	name := "sda" + titled
	var file bytes.Buffer
	w := blktrace.NewWriter(func(uint32) (io.Writer, error) { return &file, nil })
	comm := append([]byte("\x1b]0;owned\a\x9b"), 0)
	err := w.Write(&blktrace.Record{Time: 1, Action: blktrace.NoteProcess | blktrace.CatNotify, PID: 100,
		Device: blktrace.DeviceNumber(7, 0), PDU: comm})
	for i := range uint64(20) {
		for after, what := range []blktrace.Action{blktrace.Queue | blktrace.CatQueue,
			blktrace.Issue | blktrace.CatIssue, blktrace.Complete | blktrace.CatComplete} {
			err = errorsOf(err,
				w.Write(&blktrace.Record{Time: 1000 + 1000*i + 100*uint64(after), Sector: 8 * i, Bytes: 4096,
					Action: what | blktrace.CatRead, PID: 100, Device: blktrace.DeviceNumber(7, 0)}))
		}
	}
	err = errorsOf(err, os.WriteFile(name+".blktrace.0", file.Bytes(), 0o644))
	if err != nil {
		t.Fatal(err)
	}
	return name
}
