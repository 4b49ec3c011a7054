package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"plimsoll/internal/result"
)

func create(t *testing.T, dir string, run result.Run) *Store {
	t.Helper()
	s, err := Create(dir, run)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func read(t *testing.T, dir string) *result.Run {
	t.Helper()
	run, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// mustFail checks that an error names everything a reader needs.
func mustFail(t *testing.T, err error, want ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error; want one with %q", want)
	}
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error %q does not say %q", err, w)
		}
	}
}

// Whatever is saved, of trials and of what is known only later, comes back
// exactly, from the store itself, from a reader and after a resume.
func TestEverythingComesBack(t *testing.T) {
	root := t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		dir := filepath.Join(root, "run", strings.Repeat("x", n%7), time.Now().Format("150405.000000000"))
		want := plannedRun(rapid.IntRange(0, 4).Draw(t, "trials"))
		s, err := Create(dir, want)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		for i, planned := range want.Trials {
			if rapid.Bool().Draw(t, "ends") {
				want.Trials[i] = anyEnd(planned).Draw(t, "trial")
				if err := s.SaveTrial(want.Trials[i]); err != nil {
					t.Fatal(err)
				}
			}
		}
		header := *s.Run()
		header.Environment = anyEnvironment().Draw(t, "environment")
		header.Experiment.Question = anyText().Draw(t, "question")
		header.Command = sliceOf(anyText()).Draw(t, "command")
		header.Seed = rapid.Uint64().Draw(t, "seed")
		header.Trials = nil // SaveHeader leaves the trials alone
		if err := s.SaveHeader(header); err != nil {
			t.Fatal(err)
		}
		want.Environment, want.Experiment, want.Command, want.Seed = header.Environment, header.Experiment,
			header.Command, header.Seed
		want.Stacks[1] = anyStack("xfs").Draw(t, "stack")
		if err := s.SetStack(want.Stacks[1]); err != nil {
			t.Fatal(err)
		}
		check := func(source string, got *result.Run, err error) {
			if err != nil {
				t.Fatal(err)
			}
			if len(got.Trials) == 0 {
				got.Trials = want.Trials // nil or empty
			}
			if !reflect.DeepEqual(*got, want) {
				t.Fatalf("%s gives another run:\n%+v\nwant\n%+v", source, *got, want)
			}
		}
		check("Run", s.Run(), nil)
		got, err := Read(dir)
		check("Read", got, err)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		again, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer again.Close()
		check("Open", again.Run(), nil)
	})
}

// A trial ends once, as the one that was planned.
func TestSaveTrialRefuses(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	s := create(t, dir, plannedRun(4))
	first := done(s.Run().Trials[0], 3)
	if err := s.SaveTrial(first); err != nil {
		t.Fatal(err)
	}
	second := done(first, 5)
	mustFail(t, s.SaveTrial(second), "trial 1", "stored already", "done")

	other := done(s.Run().Trials[1], 3)
	other.Stack = "ext4"
	mustFail(t, s.SaveTrial(other), "trial 2", "planned was xfs")
	other = s.Run().Trials[1]
	mustFail(t, s.SaveTrial(other), "trial 2", "not ended")
	other = done(other, 3)
	other.Seq = 9
	mustFail(t, s.SaveTrial(other), "trial 9", "no such trial")
	mustFail(t, s.SetStack(result.Stack{Name: "zfs"}), `"zfs"`, "no such stack")
	mustFail(t, s.SaveHeader(result.Run{ID: "another"}), "another", s.Run().ID)

	if got := read(t, dir); !reflect.DeepEqual(got.Trials[0], first) || got.Trials[1].Status != result.TrialPlanned {
		t.Errorf("a refused trial changed the store: %+v", got.Trials)
	}

	// The database refuses too, should two stores ever believe they own it.
	mustFail(t, endTrial(s.db, second), "finished already")
}

// Only one process, and only one Store, writes a run.
func TestOneWriter(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	s := create(t, dir, plannedRun(2))
	_, err := Open(dir)
	mustFail(t, err, dir, "under way", "process ", "two would mix their results")
	_, err = Create(dir, plannedRun(2))
	mustFail(t, err, dir, "holds a run already", "--resume")
	read(t, dir) // readers are welcome meanwhile
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, lockFile)); !os.IsNotExist(err) {
		t.Errorf("the lock outlives its holder: %v", err)
	}
	_, err = Create(dir, plannedRun(2))
	mustFail(t, err, dir, "holds a run already")
	again, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	_ = again.Close()
}

// A run is marked as running while it is open, and run.json follows at every
// end; reading marks nothing.
func TestStatusAndSnapshot(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a b?c#d%20e", "run")
	s := create(t, dir, plannedRun(2))
	look := func(want result.RunStatus, contains ...string) {
		t.Helper()
		if got := read(t, dir).Status; got != want {
			t.Errorf("status is %s, want %s", got, want)
		}
		b, err := os.ReadFile(filepath.Join(dir, RunFile))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range append(contains, `"status": "`+string(want)+`"`) {
			if !strings.Contains(string(b), c) {
				t.Errorf("%s lacks %s:\n%s", RunFile, c, b)
			}
		}
	}
	look(result.RunRunning, `"loop(size=1GiB) > ext4"`)
	if err := s.SaveTrial(done(s.Run().Trials[0], 20)); err != nil {
		t.Fatal(err)
	}
	if err := s.Finish(result.RunInterrupted); err != nil {
		t.Fatal(err)
	}
	look(result.RunInterrupted, `"percentiles": {`, `"p50_ns":`)
	_ = s.Close()

	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	look(result.RunRunning)
	if !s.Run().Finished.IsZero() {
		t.Error("a run that goes on has an end")
	}
	if err := s.Finish(result.RunComplete); err != nil {
		t.Fatal(err)
	}
	look(result.RunComplete)
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") || strings.HasSuffix(e.Name(), "-journal") {
			t.Errorf("%s is left behind", e.Name())
		}
	}
}

// reachable returns a directory that other users can reach.
func reachable(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o711); err != nil {
		t.Fatal(err)
	}
	return dir
}

// keep keeps a file as the artifacts of a trial, and returns their path.
func keep(t *testing.T, s *Store, trial result.Trial, file string) string {
	t.Helper()
	from := filepath.Join(t.TempDir(), "scratch")
	err := errors.Join(os.Mkdir(from, 0o755), os.WriteFile(filepath.Join(from, file), []byte("x"), 0o640))
	if err != nil {
		t.Fatal(err)
	}
	path, err := s.KeepArtifacts(ArtifactsOf(trial), from)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Artifacts of an attempt that was cut off do not mix with the next one's.
func TestArtifacts(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	run := plannedRun(2)
	run.Stacks[0].Name, run.Trials[0].Stack = "a/b c", "a/b c"
	s := create(t, dir, run)
	first := s.Run().Trials[0]
	keep(t, s, first, "cut-off")
	path := keep(t, s, first, "fio.json")
	if want := "artifacts/001-a_b_c-RR-1"; path != want {
		t.Errorf("artifacts are in %s, want %s", path, want)
	}
	if entries, err := os.ReadDir(filepath.Join(dir, path)); len(entries) != 1 || entries[0].Name() != "fio.json" {
		t.Errorf("the directory of a new attempt holds %v, %v", entries, err)
	}
	for _, trial := range s.Run().Trials {
		ended := done(trial, 2)
		if trial.Seq == first.Seq {
			ended.Artifacts = path
		}
		if err := s.SaveTrial(ended); err != nil {
			t.Fatal(err)
		}
	}
	got := read(t, dir)
	if got.Trials[0].Artifacts != "artifacts/001-a_b_c-RR-1" || got.Trials[1].Artifacts != "" {
		t.Errorf("artifacts are %q and %q", got.Trials[0].Artifacts, got.Trials[1].Artifacts)
	}
}

// What is not a run of this version says so, and why.
func TestReadRefuses(t *testing.T) {
	root := t.TempDir()
	exec := func(dir, sql string) {
		t.Helper()
		db, err := openDB(dir, readWrite)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if _, err := db.Exec(sql); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name    string
		prepare func(dir string)
		want    []string
	}{
		{"nothing", func(dir string) { _ = os.RemoveAll(dir) }, []string{"there is no directory"}},
		{"a file", func(dir string) { _ = os.RemoveAll(dir); _ = os.WriteFile(dir, nil, 0o644) },
			[]string{"not a directory"}},
		{"another directory", func(dir string) { _ = os.RemoveAll(dir); _ = os.Mkdir(dir, 0o755) },
			[]string{"no run", ResultsFile}},
		{"run.json alone", func(dir string) { _ = os.Remove(filepath.Join(dir, ResultsFile)) },
			[]string{ResultsFile + " is missing", "histograms"}},
		{"a newer schema", func(dir string) { exec(dir, "PRAGMA user_version = 4") },
			[]string{"newer plimsoll", "schema 4", "this one reads 3"}},
		{"a newer record", func(dir string) { exec(dir, "UPDATE run SET record = json_set(record, '$.schema', 999)") },
			[]string{"newer plimsoll", "schema 999", "this one reads 3"}},
		{"the first schema", func(dir string) { exec(dir, "PRAGMA user_version = 1") },
			[]string{"older plimsoll", "schema 1", "this one reads 3", "use that version"}},
		{"an older record", func(dir string) { exec(dir, "UPDATE run SET record = json_remove(record, '$.schema')") },
			[]string{"older plimsoll", "schema 0", "this one reads 3"}},
		{"a newer snapshot", func(dir string) { setSchema(t, dir, 999) },
			[]string{RunFile, "newer plimsoll", "schema 999", "this one reads 3"}},
		{"another database", func(dir string) { exec(dir, "PRAGMA application_id = 1") }, []string{"not plimsoll's"}},
		{"an empty database", func(dir string) { _ = os.Truncate(filepath.Join(dir, ResultsFile), 0) },
			[]string{"is empty", "before it had stored the plan"}},
		{"not a database", func(dir string) {
			_ = os.WriteFile(filepath.Join(dir, ResultsFile), []byte(strings.Repeat("text ", 1000)), 0o644)
		}, []string{"not a database"}},
		{"a damaged histogram", func(dir string) { exec(dir, "UPDATE histogram SET bins = x'80'") },
			[]string{"trial 1", "damaged"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(root, strings.ReplaceAll(c.name, " ", "-"))
			s := create(t, dir, plannedRun(1))
			if err := s.SaveTrial(done(s.Run().Trials[0], 3)); err != nil {
				t.Fatal(err)
			}
			_ = s.Close()
			c.prepare(dir)
			_, err := Read(dir)
			mustFail(t, err, append(c.want, dir)...)
			_, err = Open(dir)
			mustFail(t, err, append(c.want, dir)...)
			if _, err := os.Stat(filepath.Join(dir, lockFile)); err == nil {
				t.Error("a lock is left behind")
			}
		})
	}
}

// setSchema changes the schema of a run's snapshot.
func setSchema(t *testing.T, dir string, schema int) {
	t.Helper()
	name := filepath.Join(dir, RunFile)
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(text), fmt.Sprintf(`"schema": %d`, result.SchemaVersion),
		fmt.Sprintf(`"schema": %d`, schema), 1)
	if changed == string(text) {
		t.Fatal("no schema in the snapshot")
	}
	if err := os.WriteFile(name, []byte(changed), 0o644); err != nil {
		t.Fatal(err)
	}
}

// A plan that cannot be stored leaves nothing, and nobody else's files go.
func TestCreateCleansUp(t *testing.T) {
	root := t.TempDir()
	twice := plannedRun(2)
	twice.Trials[1].Seq = 1
	_, err := Create(filepath.Join(root, "new", "run"), twice)
	mustFail(t, err, "storing the plan", "trial 1")
	if entries, _ := os.ReadDir(root); len(entries) != 0 {
		t.Errorf("left behind: %v", entries)
	}
	if err := os.WriteFile(filepath.Join(root, "notes.txt"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(root, twice); err == nil {
		t.Fatal("no error")
	}
	if entries, _ := os.ReadDir(root); len(entries) != 1 || entries[0].Name() != "notes.txt" {
		t.Errorf("left behind: %v", entries)
	}
}

func TestFind(t *testing.T) {
	root := filepath.Join(t.TempDir(), RunsDir)
	_, err := Find(root, "")
	mustFail(t, err, "no run in", root, "plimsoll run")
	_, err = Find(root, "2026")
	mustFail(t, err, "no run 2026", root)
	for i, id := range []string{"zfs-20260512", "quick-20260512", "quick-20260512-2", "nvme-20260513"} {
		run := plannedRun(1)
		run.Started = run.Started.Add(time.Duration(i) * time.Hour)
		_ = create(t, filepath.Join(root, id), run).Close()
	}
	_ = os.Mkdir(filepath.Join(root, "zzz-not-a-run"), 0o755)
	for name, want := range map[string]string{
		"": "nvme-20260513", "last": "nvme-20260513", "nvme": "nvme-20260513",
		"quick-20260512":                      "quick-20260512",
		filepath.Join(root, "quick-20260512"): "quick-20260512",
	} {
		if got, err := Find(root, name); err != nil || got != filepath.Join(root, want) {
			t.Errorf("Find(%q) = %s, %v; want %s", name, got, err, want)
		}
	}
	_, err = Find(root, "quick")
	mustFail(t, err, "beginning of 2 runs", "quick-20260512, quick-20260512-2")
	_, err = Find(root, "2027")
	mustFail(t, err, "no run 2027", "newest there is nvme-20260513")
	_, err = Find(root, t.TempDir())
	mustFail(t, err, "no run")
}
