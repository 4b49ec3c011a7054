package journal

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"plimsoll/internal/hosttest"
)

// FuzzJournalEntries cleans a journal of any content, in a state directory of
// its own beside what is not the run's. What only files and directories are
// about is undone for real; of other changes, which would reach the host that
// tests run on, every path that passes the check has to be the run's.
//
// In the content, STATE stands for the state directory and OUT for what is
// beside it.
func FuzzJournalEntries(f *testing.F) {
	line := func(kind, change string) string {
		return `{"seq":1,"state":"made","kind":"` + kind + `","change":` + change + "}\n"
	}
	for _, path := range []string{
		"OUT", "OUT/precious", "STATE/work-run", "STATE/work-run/sub", "STATE/work-run/link/precious", "STATE/work-run/link", "STATE/work-run/../../out",
		"OUT/plimsoll-run-x", "OUT/.plimsoll-run-x/link/precious", "OUT/.plimsoll-run-swapped/precious", "STATE/journal", "STATE", "/", "",
		"OUT/plimsoll-run-x/../precious", "STATE/work-run/sub/./file", "out/precious", "../out/precious", "OUT/plimsoll-run-x//file", "OUT\u0000/x",
	} {
		text, err := json.Marshal(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add([]byte(line("dir", `{"Path":`+string(text)+`}`)))
		f.Add([]byte(line("file", `{"Path":`+string(text)+`}`)))
		f.Add([]byte(line("mount", `{"Target":`+string(text)+`}`)))
		f.Add([]byte(line("loop", `{"Number":3,"Backing":`+string(text)+`}`)))
		f.Add([]byte(line("thinpool", `{"DataRoot":`+string(text)+`}`)))
		f.Add([]byte(line("engine", `{"ExecRoot":"/run/plimsoll/x","Cgroup":"plimsoll-x","DataRoot":`+string(text)+`}`)))
	}
	for _, path := range []string{"../../etc", "plimsoll-x", "a/plimsoll-x", "plimsoll-x/..", "*", "plimsoll-x/../../y"} {
		f.Add([]byte(line("cgroup", `{"Path":"`+path+`"}`)))
	}
	f.Add([]byte(line("setting", `{"Path":"/proc/sys/kernel/core_pattern","Value":"x","Was":"y"}`)))
	f.Add([]byte(`{"seq":1,"state":"undone"}` + "\n" + `{"state":"kept"}` + "\n" + `{"seq":-1,"state":"made","kind":"dir","change":null}`))
	f.Fuzz(func(t *testing.T, content []byte) {
		parent, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		state, out := filepath.Join(parent, "state"), filepath.Join(parent, "out")
		content = bytes.ReplaceAll(bytes.ReplaceAll(content, []byte("STATE"), []byte(state)), []byte("OUT"), []byte(out))
		for _, dir := range []string{"state/journal", "state/work-run/sub", "state/work-other", "out/real", "out/plimsoll-run-x", "out/.plimsoll-run-x"} {
			if err := os.MkdirAll(filepath.Join(parent, dir), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		for _, file := range []string{"out/precious", "out/real/precious", "state/work-other/precious", "state/work-run/sub/file", "out/plimsoll-run-x/file"} {
			if err := os.WriteFile(filepath.Join(parent, file), []byte("mine"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for _, link := range []string{"state/work-run/link", "out/.plimsoll-run-x/link", "out/.plimsoll-run-swapped"} {
			if err := os.Symlink(filepath.Join(out, "real"), filepath.Join(parent, link)); err != nil {
				t.Fatal(err)
			}
		}
		entries, harmless := entriesOf(content)
		own := scope{state: state, run: "run"}
		for _, c := range entries {
			if c.check(own) == nil {
				checkPaths(t, c, state, out)
			}
		}
		if !harmless {
			return
		}
		if err := os.WriteFile(filepath.Join(state, "journal/run.jsonl"), content, 0o600); err != nil {
			t.Fatal(err)
		}
		_, _ = Clean(t.Context(), state)
		for _, file := range []string{"out/precious", "out/real/precious", "state/work-other/precious"} {
			if text, err := os.ReadFile(filepath.Join(parent, file)); err != nil || string(text) != "mine" {
				t.Errorf("%s: %q, %v", file, text, err)
			}
		}
		// Nothing came to be, and only what carries the run's name has gone.
		for _, l := range strings.Split(strings.TrimSpace(hosttest.Below(t, out)), "\n") {
			path := strings.Fields(l)[0]
			if name := strings.TrimPrefix(strings.TrimPrefix(path, out), "/"); !slices.Contains(
				[]string{"", "precious", "real", "real/precious", "plimsoll-run-x", "plimsoll-run-x/file", ".plimsoll-run-x", ".plimsoll-run-x/link", ".plimsoll-run-swapped"}, name) {
				t.Errorf("%s was made", path)
			}
		}
	})
}

// entriesOf decodes the changes in a journal's text, as far as they can be, and
// reports whether there are files and directories among them only.
func entriesOf(content []byte) (changes []Change, harmless bool) {
	harmless = true
	for l := range bytes.Lines(content) {
		var r record
		if json.Unmarshal(l, &r) != nil {
			continue
		}
		zero, ok := kinds[r.Kind]
		if !ok {
			continue
		}
		if r.Kind != "dir" && r.Kind != "file" {
			harmless = false
		}
		c := zero()
		if json.Unmarshal(r.Change, c) == nil {
			changes = append(changes, c)
		}
	}
	return changes, harmless
}

// checkPaths fails when a change that passed its check is about a path that is
// not the run's. It does not use what check uses.
func checkPaths(t *testing.T, c Change, state, out string) {
	t.Helper()
	var paths []string
	switch c := c.(type) {
	case *Dir:
		paths = []string{c.Path}
	case *File:
		paths = []string{c.Path}
	case *Loop:
		paths = []string{c.Backing}
	case *ThinPool:
		paths = []string{c.DataRoot}
	case *Engine:
		paths = []string{c.DataRoot}
		if filepath.Dir(filepath.Clean(c.ExecRoot)) != RunDir || filepath.Clean(c.ExecRoot) != c.ExecRoot {
			t.Errorf("exec-root %q passed", c.ExecRoot)
		}
	case *Mount:
		if c.Target != "/sys/kernel/tracing" {
			paths = []string{c.Target}
		}
	case *Cgroup:
		at := filepath.Join("/sys/fs/cgroup", c.Path)
		if !strings.HasPrefix(at, "/sys/fs/cgroup/") || !strings.HasPrefix(filepath.Base(at), "plimsoll-") || at != "/sys/fs/cgroup/"+c.Path {
			t.Errorf("control group %q passed", c.Path)
		}
	case *Presence:
		if at := filepath.Clean(c.Path); !strings.HasPrefix(at, "/run/") || filepath.Base(at) != "run.json" {
			t.Errorf("%q passed as a place of runs", c.Path)
		}
	case *Setting:
		var st unix.Statfs_t
		at := filepath.Clean(c.Path)
		onTracer := unix.Statfs(filepath.Dir(at), &st) != nil || st.Type == unix.TRACEFS_MAGIC
		if !strings.HasPrefix(at, "/sys/block/") && !onTracer {
			t.Errorf("setting %q passed", c.Path)
		}
	case *ConfigDir:
		_, err := os.Stat(filepath.Dir(c.Path)) // where there is no such directory, there is nothing to undo
		if !strings.Contains(filepath.Clean(c.Path), "/nvmet/") || strings.HasPrefix(c.Path, out) && err == nil {
			t.Errorf("%q passed as an object of configfs", c.Path)
		}
	}
	for _, path := range paths {
		at := filepath.Clean("/" + path)
		inWork := at == state+"/work-run" || strings.HasPrefix(at, state+"/work-run/")
		named := slices.ContainsFunc(strings.Split(at, "/"), func(part string) bool {
			return strings.HasPrefix(part, "plimsoll-run-") || strings.HasPrefix(part, ".plimsoll-run-")
		})
		if at != path || !inWork && !named {
			t.Errorf("%T: %q passed", c, path)
		}
	}
}
