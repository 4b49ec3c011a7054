package fio

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/workload"
)

// FuzzJobFile: a job file is refused with reasons at its lines, or it is run
// as it is, and then none of its lines can leave the stack.
func FuzzJobFile(f *testing.F) {
	paths, err := filepath.Glob("testdata/jobs/*.fio")
	if err != nil || len(paths) == 0 {
		f.Fatal(err, len(paths))
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		itself := func(string) ([]byte, error) { return text, nil }
		w, mistakes := newUserFile(source{name: "my.fio", text: text, open: itself})
		if len(mistakes) > 0 {
			for _, m := range mistakes {
				if m.At.Line < 1 || m.At.Line > strings.Count(string(text), "\n")+1 || m.What == "" {
					t.Fatalf("a mistake that says nothing: %+v", m)
				}
			}
			return
		}
		if w.NeedBytes() < 0 || w.region(gib) < 0 {
			t.Fatalf("needs %d bytes, uses %d", w.NeedBytes(), w.region(gib))
		}
		timing := w.Timing(workload.Timing{Runtime: time.Second})
		if timing.Runtime <= 0 || timing.Ramp < 0 {
			t.Fatalf("timing %+v", timing)
		}
		for _, target := range []workload.Target{{Path: "/data"}, {Path: "/data", SizeBytes: 4 * pib},
			{Path: "/dev/loop7", Block: true, SizeBytes: 4 * pib}} {
			step, err := w.Drive(target, timing)
			if err != nil {
				t.Fatal(err)
			}
			stays(t, string(step.Files[jobFileName]))
		}
		if _, mistakes := newUserFile(source{name: "my.fio", text: w.text(workload.Target{})}); len(mistakes) > 0 {
			t.Fatalf("what is run is not taken itself: %v\n%s", mistakes, w.text(workload.Target{}))
		}
	})
}

// stays fails where a job file that fio gets could leave the stack.
func stays(t *testing.T, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, ";") || strings.HasPrefix(line, "[") {
			continue
		}
		key, value, _ := strings.Cut(line, "=")
		r, known := rules[key]
		if !known || r.fate != runs && key != "filename" || strings.ContainsAny(line, "$;#'") ||
			key == "filename" && strings.Contains(value, "/") || key == "ioengine" && !slices.Contains(fileEngines, value) ||
			key == "mem" && strings.ContainsAny(value, ":/") {
			t.Fatalf("fio gets %q", line)
		}
	}
}

// Every option has one rule; one that is refused says why and what to do, and one that is replaced by what.
func TestOptionRules(t *testing.T) {
	seen := map[string]bool{}
	counts := map[fate]int{}
	for _, g := range groups {
		if (g.why == "") != (g.fate == runs || g.fate == ignored) || (g.do == "") != (g.fate != refused) {
			t.Errorf("%s: %+v", g.names, g.rule)
		}
		for _, name := range words(g.names) {
			if seen[name] {
				t.Errorf("%s has two rules", name)
			}
			seen[name] = true
			counts[g.fate]++
		}
	}
	for alias, first := range aliases {
		if !seen[alias] || !seen[first] {
			t.Errorf("%s is %s, and they have no rule", alias, first)
		}
	}
	t.Logf("%d options run, %d are replaced, %d ignored, %d refused", counts[runs], counts[replaced], counts[ignored],
		counts[refused])
}

// A name is a label: jobs and their files are named after sections.
func TestANameIsALabel(t *testing.T) {
	const job = "rw=randread\nsize=1m\n"
	for _, name := range []string{"mysql", "my fio-test_1.0+x", "../../etc/x", "$HOME", ""} {
		_, mistakes := newUserFile(source{text: []byte("[global]\nname=" + name + "\n" + job + "[a]\n[b]\n")})
		if len(mistakes) > 0 {
			t.Errorf("name=%s: %v", name, mistakes)
		}
	}
}
