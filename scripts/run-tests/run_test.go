package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"plimsoll/internal/testkit/disturbance"
)

// What a CI log shows of suites that pass, fail, cannot start and test nothing:
// testdata/suites. Each line of input is a suite: its name, what more is known of it, and a
// shell's command. Suites are lanes beside each other where the story says so.
func TestSuites(t *testing.T) {
	stories, err := filepath.Abs("testdata/suites")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir("../..") // where suites run
	// The first use of gotestsum on a machine says what it downloads, which is no line of a suite.
	first := exec.CommandContext(t.Context(), "scripts/with-go", "go", "tool", "-modfile=tools/go.mod", "gotestsum",
		"--version")
	if out, err := first.CombinedOutput(); err != nil {
		t.Fatalf("gotestsum: %v\n%s", err, out)
	}
	datadriven.RunTest(t, stories, func(t *testing.T, d *datadriven.TestData) string {
		var lanes []lane
		for line := range strings.Lines(d.Input) {
			name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
			options, command, _ := strings.Cut(rest, ":")
			s := suite{name: "test-" + name, purpose: "a test", argv: []string{"bash", "-c", command}}
			for _, o := range strings.Fields(options) {
				switch key, value, _ := strings.Cut(o, "="); key {
				case "go":
					s.goTests = true
				case "verbose":
					s.verbose = true
				case "missing":
					s.argv = []string{"/nowhere/" + value}
				default:
					t.Fatalf("%q is no option", o)
				}
			}
			lanes = append(lanes, lane{s})
		}
		stages := []stage{{slices.Concat(lanes...)}}
		if d.HasArg("beside") {
			stages = []stage{lanes}
		}
		var out strings.Builder
		outcomes := runAll(stages, &out)
		if len(stages[0]) > 1 {
			out.Reset() // whose lines have no order
		}
		writeTable(&out, outcomes, 0)
		if failed := slices.ContainsFunc(outcomes, outcome.failed); failed != (d.Cmd == "fails") {
			t.Errorf("failed: %t", failed)
		}
		return times.ReplaceAllString(out.String(), "TIME")
	})
}

var times = regexp.MustCompile(`\b[0-9.]+(:[0-9]{2}|(m[0-9]+)?s)\b`)

// What disturbed a failed test stands first, however much the test printed.
func TestWhyATestFailed(t *testing.T) {
	output := "    a_test.go:1: " + disturbance.Mark + "fio (pid 2)\n" + strings.Repeat("    noise\n\n", 100) +
		"--- FAIL: TestX\n"
	lines := strings.Split(strings.TrimPrefix(why(output), "\n"), "\n")
	if len(lines) != 13 || !strings.HasSuffix(lines[0], disturbance.Mark+"fio (pid 2)") ||
		strings.TrimSpace(lines[12]) != "--- FAIL: TestX" {
		t.Errorf("%q", lines)
	}
	if got := why("\n"); got != "" {
		t.Errorf("of nothing: %q", got)
	}
}

// Tests that measure wait for a quiet host, and no other suite does.
func TestMeasuresRunsAlone(t *testing.T) {
	for _, s := range flat(suites()) {
		if s.alone != (s.name == "measures") {
			t.Errorf("%s waits for a quiet host: %t", s.name, s.alone)
		}
	}
}

func TestChoose(t *testing.T) {
	names := func(chosen []stage) (all []string) {
		for _, s := range flat(chosen) {
			all = append(all, s.name)
		}
		return all
	}
	chosen, err := choose(suites(), nil)
	if got := names(chosen); err != nil || slices.Contains(got, "quick") || !slices.Contains(got, "lab") {
		t.Errorf("make test runs %q, %v", got, err)
	}
	chosen, err = choose(suites(), []string{"quick", "format"})
	if got := names(chosen); err != nil || !slices.Equal(got, []string{"format", "quick"}) {
		t.Errorf("%q, %v", got, err)
	}
	_, err = choose(suites(), []string{"lap", "format", "lib"})
	if err == nil || !strings.Contains(err.Error(), `"lap"`) || !strings.Contains(err.Error(), `"lib"`) {
		t.Errorf("the error is %v", err)
	}
}

// A suite that is a target of make must be one.
func TestSuitesAreThere(t *testing.T) {
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range flat(suites()) {
		if s.argv[0] == "make" {
			target := s.argv[len(s.argv)-1]
			if !regexp.MustCompile(`(?m)^` + target + `:`).Match(makefile) {
				t.Errorf("%s: the Makefile has no target %s", s.name, target)
			}
		} else if info, err := os.Stat(filepath.Join("../..", s.argv[0])); err != nil || info.Mode()&0o111 == 0 {
			t.Errorf("%s: %s is no program: %v", s.name, s.argv[0], err)
		}
	}
}

// Minutes of compiling come back with one import, and a package that is in no suite is not tested.
func TestPackagesOfKubernetes(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", append([]string{"list", "-C", "../../kubernetes", "-deps", "-test"},
		kubeLight...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for dep := range strings.Lines(string(out)) {
		if strings.HasPrefix(dep, "k8s.io/kubernetes/") {
			t.Fatalf("one of %q imports %s", kubeLight, dep)
		}
	}
	for _, pattern := range []string{"../../kubernetes/*/*_test.go", "../../kubernetes/*/*/*_test.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			dir, _ := filepath.Rel("../../kubernetes", filepath.Dir(file))
			if !slices.Contains(slices.Concat(kubeLight, kubeHeavy, []string{"./nodetest", "./helm"}), "./"+dir) {
				t.Errorf("%s is in no suite", file)
			}
		}
	}
}
