package fio

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/workload"
)

// Each example of fio's is taken, or refused for a reason that fio's documentation gives: shown by a small job of its
// shape.
func TestExamplesOfFio(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "examples.txt"))
	if err != nil {
		t.Fatal(err)
	}
	taken, seen := 0, map[string]bool{}
	for line := range bytes.Lines(text) {
		parts := strings.Split(strings.TrimSpace(string(line)), " | ")
		if strings.HasPrefix(parts[0], "#") {
			continue
		}
		if len(parts) != 3 || seen[parts[0]] {
			t.Fatalf("no row, or a name that was there: %s", line)
		}
		seen[parts[0]] = true
		job := "[earlier]\nsize=1m\n[job]\nsize=1m\n" + strings.ReplaceAll(parts[1], "; ", "\n") + "\n"
		_, mistakes := newUserFile(source{name: parts[0] + ".fio", text: []byte(job),
			env: map[string]string{"BS": "4k", "RW": "randread"}})
		switch message := fmt.Sprint(mistakes.Err()); {
		case parts[2] == "taken" && len(mistakes) > 0:
			t.Errorf("%s: refused: %s", parts[0], message)
		case parts[2] == "taken":
			taken++
		case len(mistakes) == 0 || !strings.Contains(message, parts[2]):
			t.Errorf("%s: want it refused with %q: %s", parts[0], parts[2], message)
		}
		for _, m := range mistakes {
			if strings.Contains(m.What, "that is known") || strings.Contains(m.What, "unknown option") {
				t.Errorf("%s: refused for an option that was not examined: %s", parts[0], m)
			}
		}
	}
	if len(seen) != 107 || taken != 30 {
		t.Errorf("%d examples, %d of them taken; fio has 107, and 30 are taken", len(seen), taken)
	}
}

// The engine of [global] is that of its sections, whose own options are not held against the file.
func TestOptionsOfOtherEngines(t *testing.T) {
	_, mistakes := newUserFile(source{name: "a.fio", text: []byte("[global]\nioengine=cpuio\n[a]\ncpuload=5\n[b]\n" +
		"cpumode=qsort\n[c]\nioengine=sync\nrw=read\nsize=1m\ncpuload=5\n")})
	if len(mistakes) != 2 || mistakes[0].At.Line != 2 || mistakes[1].At.Line != 11 {
		t.Errorf("want the engine in line 2, and the option in line 11: %v", mistakes)
	}
}

const hostJob = `[global]
size=1m
cpus_allowed=0,5-6
[a]
ioengine=libaio
numa_cpu_nodes=1
atomic=1
[b]
stonewall
ioengine=io_uring
cpumask=0x9
sqthread_poll_cpu=1
numa_mem_policy=bind:0-2
thinkcycles=5
uncached=0
`

// What the file asks of its host, and the host lacks, is said with its lines: of each phase that of its own jobs.
func TestWhatTheHostLacks(t *testing.T) {
	w, mistakes := newUserFile(source{name: "a.fio", text: []byte(hostJob)})
	if len(mistakes) > 0 {
		t.Fatal(mistakes)
	}
	lines := func(w workload.Workload, host workload.Numbers, version, engines string) string {
		q := w.Abilities().Asking
		problems := q.Lacks(host)
		for i, output := range []string{version, engines} {
			problems = append(problems, q.Inquiries[i].Answer(0, output)...)
		}
		text := ""
		for _, p := range problems.Sorted() {
			if p.Remedy == "" || !strings.HasPrefix(p.What, "here, ") {
				t.Errorf("not what is said of a host: %s", p)
			}
			text += fmt.Sprintf("%d ", p.At.Line)
		}
		return text
	}
	const both, sync = "Available IO engines:\n\tlibaio\n\tio_uring\n", "Available IO engines:\n\tsync\n"
	small, large := workload.Numbers{CPUs: "0-1", Nodes: "0"}, workload.Numbers{CPUs: "0-2,3-11", Nodes: "0-3"}
	for _, test := range []struct {
		phase            int
		host             workload.Numbers
		version, engines string
		want             string
	}{
		{0, small, "fio-3.33\n", both, "3 6 7 "},
		{0, large, "fio-3.33\n", both, "7 "},
		{0, large, "fio-3.38\n", both, ""},
		{0, large, "fio-3.42-12-gabc\n", sync, "5 "},
		{1, small, "fio-3.42\n", both, "3 11 13 "},
		{1, large, "fio-3.36\n", sync, "10 14 "},
		{0, workload.Numbers{}, "what?", "what?", ""}, // of what is unknown, nothing is said
	} {
		if got := lines(w.phases[test.phase].Workload, test.host, test.version, test.engines); got != test.want {
			t.Errorf("phase %d on %+v, %s: lines %s, want %s", test.phase, test.host, test.version, got, test.want)
		}
	}
	const old = "needs fio 3.38 or newer, and this host has 3.33"
	if all := w.tooOld(0, "fio-3.33"); !strings.Contains(all.Err().Error(), old) {
		t.Errorf("%v", all)
	}
}

// Lists and masks of a stranger cost nothing.
func TestAttackNumbers(t *testing.T) {
	for list, want := range map[string]int{"0-3,6": 5, "": 0, "0-99999999999": 0, "5-1": 0, "a": 0, "1,x": 1, "-1": 0,
		strings.Repeat("0-65535,", 1000): 2 * (mostNumbers)} {
		if got := len(numbersOf(list)); got != want {
			t.Errorf("%.20q has %d numbers, want %d", list, got, want)
		}
	}
	if got := fmt.Sprint(bitsOf("0x8000000000000001"), bitsOf("-1"), bitsOf("5")); got != "[0 63] [] [0 2]" {
		t.Errorf("%s", got)
	}
}
