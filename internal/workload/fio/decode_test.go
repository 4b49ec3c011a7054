package fio

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"go.yaml.in/yaml/v3"

	"plimsoll/internal/problem"
	"plimsoll/internal/workload"
)

// decodeText decodes YAML; line numbers are those of the text. files are what
// the option file may name.
func decodeText(text string, files map[string]string) (workload.Workload, problem.List) {
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(text), &document); err != nil {
		return nil, problem.List{{What: err.Error()}}
	}
	if len(document.Content) == 0 {
		return nil, problem.List{{What: "empty"}}
	}
	return decode(document.Content[0], func(name string) ([]byte, error) {
		if text, ok := files[name]; ok {
			return []byte(text), nil
		}
		return nil, errors.New("no such file")
	})
}

func tell(problems problem.List) string {
	var b strings.Builder
	for _, p := range problems {
		fmt.Fprintf(&b, "line %d: %s\n", p.At.Line, p.What)
		if p.Remedy != "" {
			fmt.Fprintf(&b, "    %s\n", p.Remedy)
		}
	}
	return b.String()
}

// TestStories runs the stories of testdata/stories:
//
//	decode             YAML -> what the workload is, or its problems
//	job-file           a user's .fio -> what plimsoll understood, or its mistakes
//	prepare, drive     the step of the last good declaration, on a target
func TestStories(t *testing.T) {
	experiment := workload.Timing{Ramp: 2 * time.Second, Runtime: 10 * time.Second}
	datadriven.Walk(t, "testdata/stories", func(t *testing.T, path string) {
		var last workload.Workload
		describe := func(w workload.Workload, problems problem.List) string {
			if len(problems) > 0 {
				return tell(problems)
			}
			last = w
			info, timing := w.Info(), w.Timing(experiment)
			text := fmt.Sprintf("%s\npattern %q, needs %s, ramp %v, runtime %v\n",
				info.Summary, info.Pattern, formatSize(w.NeedBytes()), timing.Ramp, timing.Runtime)
			for _, phase := range w.Abilities().Phases {
				text += fmt.Sprintf("phase %s: %s\n", phase.Name, phase.Workload.Info().Summary)
			}
			return text + strings.Join(append(w.Abilities().Notes, ""), "\n")
		}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "decode":
				return describe(decodeText(d.Input, nil))
			case "job-file":
				w, problems := decodeText("file: my.fio\nenv: {SIZE: 8m, BAD: 'a b'}", map[string]string{"my.fio": d.Input,
					"more.fio": "[global]\nioengine=io_uring\nrate=1m,2m", "itself.fio": "include itself.fio\n"})
				return describe(w, problems)
			case "prepare", "drive":
				target := workload.Target{Path: "/stack/data", SizeBytes: 1 << 40}
				if d.HasArg("device") {
					d.ScanArgs(t, "device", &target.Path)
					target.Block = true
				}
				if d.HasArg("bytes") {
					var n int
					d.ScanArgs(t, "bytes", &n)
					target.SizeBytes = int64(n)
				}
				step, err := last.Prepare(target)
				if d.Cmd == "drive" {
					step, err = last.Drive(target, last.Timing(experiment))
				}
				return show(step, err)
			}
			return "unknown command " + d.Cmd
		})
	})
}

func show(step *workload.Step, err error) string {
	var e *problem.Problem
	if errors.As(err, &e) {
		return e.Error() + "\n"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "in %q: %s\n", step.Dir, strings.Join(step.Argv, " "))
	fmt.Fprintf(&b, "leaves %v\n", step.Outputs)
	for name, text := range step.Files {
		if name == givenName {
			continue // as it was given
		}
		fmt.Fprintf(&b, "--- %s\n%s", name, strings.ReplaceAll(string(text), "\n\n", "\n.\n"))
	}
	return b.String()
}

// The examples of the documentation are taken.
func TestDocumentation(t *testing.T) {
	text, err := os.ReadFile("../../../docs/reference/workload-fio.md")
	if err != nil {
		t.Fatal(err)
	}
	jobs, err := os.ReadFile("../../../docs/how-to/use-your-fio-jobs.md")
	if err != nil {
		t.Fatal(err)
	}
	examples := regexp.MustCompile("(?s)```(yaml|ini)\n(.*?)```").FindAllStringSubmatch(string(text)+string(jobs), -1)
	if len(examples) < 2 {
		t.Fatalf("only %d examples", len(examples))
	}
	for _, e := range examples {
		if e[1] == "ini" {
			if _, mistakes := parseJobFile(source{text: []byte(e[2])}); len(mistakes) > 0 {
				t.Errorf("%s%+v", e[2], mistakes)
			}
			continue
		}
		var workloads map[string]map[string]yaml.Node
		if err := yaml.Unmarshal([]byte(e[2]), &workloads); err != nil {
			t.Fatal(err)
		}
		for _, w := range workloads {
			node := w["fio"]
			_, problems := decode(&node, func(string) ([]byte, error) { return []byte("[job]\nsize=1g\n"), nil })
			if len(problems) > 0 {
				t.Errorf("%s%s", e[2], tell(problems))
			}
		}
	}
	for _, key := range options.Keys() {
		if !strings.Contains(string(text), "| `"+key+"` |") {
			t.Errorf("option %s is not documented", key)
		}
	}
}

// The think time reaches fio in its own unit, and says that the load is not all
// that a stack can do.
func TestThinkTime(t *testing.T) {
	const declared = "{rw: randread, size: 256MiB, jobs: 8, engine: psync, direct: false, thinktime: 5ms}"
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(declared), &doc); err != nil {
		t.Fatal(err)
	}
	w, problems := decode(doc.Content[0], nil)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	step, err := w.Drive(workload.Target{Path: "/data", SizeBytes: 1 << 30}, workload.Timing{Runtime: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	for _, file := range step.Files {
		text += string(file)
	}
	if !strings.Contains(text, "\nthinktime=5000\n") {
		t.Errorf("the job is\n%s", text)
	}
	if load, ok := LoadOf(declared); ok {
		t.Errorf("jobs that wait are read as %+v", load)
	}
}
