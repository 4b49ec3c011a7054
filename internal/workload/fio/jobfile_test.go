package fio

import (
	"os"
	"path/filepath"
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
		w, mistakes := newUserFile("my.fio", text)
		if len(mistakes) > 0 {
			for _, m := range mistakes {
				if m.At.Line < 1 || m.At.Line > strings.Count(string(text), "\n")+1 || m.What == "" {
					t.Fatalf("a mistake that says nothing: %+v", m)
				}
			}
			return
		}
		for line := range strings.Lines(string(text)) {
			line = strings.TrimLeft(line, " \t\r\n\v\f")
			if line == "" || line[0] == ';' || line[0] == '#' {
				continue
			}
			for _, danger := range []string{"exec_", "include", "$", "external", "directory=/", "filename=/",
				"filename= /", "/../"} {
				if strings.HasPrefix(line, danger) || danger == "$" && strings.Contains(line, "$") {
					t.Fatalf("taken: %q", line)
				}
			}
		}
		if w.NeedBytes() < 0 || w.region() < 0 {
			t.Fatalf("needs %d bytes, uses %d", w.NeedBytes(), w.region())
		}
		timing := w.Timing(workload.Timing{Runtime: time.Second})
		if timing.Runtime <= 0 || timing.Ramp < 0 {
			t.Fatalf("timing %+v", timing)
		}
		step, err := w.Drive(workload.Target{Path: "/data"}, timing)
		if err != nil {
			t.Fatal(err)
		}
		if string(step.Files[jobFileName]) != string(text) {
			t.Fatal("the job file was changed")
		}
	})
}

// Every option is in one list only, and what has one value may be given.
func TestOptionLists(t *testing.T) {
	seen := map[string]bool{}
	for _, o := range passed {
		if seen[o] || refused[o] != "" {
			t.Errorf("%s is listed twice", o)
		}
		seen[o] = true
	}
	for o := range fixed {
		if !seen[o] {
			t.Errorf("%s has one value, but is not passed", o)
		}
	}
	for _, o := range pathOptions {
		if !seen[o] {
			t.Errorf("%s holds paths, but is not passed", o)
		}
	}
	for alias, first := range aliases {
		if !seen[alias] || !seen[first] {
			t.Errorf("%s is %s, but they are not passed", alias, first)
		}
	}
}

func TestParseSize(t *testing.T) {
	for _, c := range []struct {
		text string
		want Size
		says string
	}{
		{"4096", 4096, ""}, {"4k", 4096, ""}, {"4K", 4096, ""}, {"4KiB", 4096, ""}, {"4 KiB", 4096, ""}, {"4ki", 4096, ""},
		{"512b", 512, ""}, {"1g", Size(gib), ""}, {"1024TiB", Size(pib), ""}, {"0", 0, ""},
		{"1025TiB", 0, "more than 1 PiB"}, {"4kB", 0, "write 4KiB"}, {"2GB", 0, "write 2GiB"}, {"-1", 0, "whole number"},
		{"1.5m", 0, "whole number"}, {"", 0, "whole number"}, {"k", 0, "whole number"}, {"4x", 0, "whole number"},
		{"99999999999999999999", 0, "whole number"},
	} {
		got, err := parseSize(c.text)
		if c.says == "" && (err != nil || got != c.want) || c.says != "" &&
			(err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("parseSize(%q) = %d, %v", c.text, got, err)
		}
	}
}

// A name in [global] is a label; one in a job would rename it.
func TestANameInGlobalIsALabel(t *testing.T) {
	const job = "rw=randread\nsize=1m\n"
	for _, name := range []string{"mysql", "my fio-test_1.0+x"} {
		if _, mistakes := newUserFile("x.fio", []byte("[global]\nname="+name+"\n"+job+"[a]\n[b]\n")); len(mistakes) > 0 {
			t.Errorf("name=%s: %v", name, mistakes)
		}
	}
	for _, text := range []string{
		"[global]\nname=../../etc/x\n" + job + "[a]\n", "[global]\nname\n" + job + "[a]\n",
		"[global]\nname=\n" + job + "[a]\n",
		"[global]\nname=a;b\n" + job + "[a]\n" + "name=b\n", "[a]\nname=b\n" + job, "name=b\n[a]\n" + job,
		"[global]\nname=$HOME\n" + job + "[a]\n",
	} {
		if _, mistakes := newUserFile("x.fio", []byte(text)); len(mistakes) == 0 {
			t.Errorf("taken: %q", text)
		}
	}
}
