package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const unlessPassed = "../unless-passed.sh"

// A command runs until it passed, and again when what it tests has changed since.
func TestUnlessPassed(t *testing.T) {
	script, err := filepath.Abs(unlessPassed)
	if err != nil {
		t.Fatal(err)
	}
	cache := t.TempDir()
	stamp := filepath.Join(cache, "plimsoll/kube-test-passed")
	t.Chdir(t.TempDir())
	run := func(name string, args ...string) (string, error) {
		c := exec.CommandContext(t.Context(), name, args...)
		c.Env = append(os.Environ(), "XDG_CACHE_HOME="+cache)
		out, err := c.CombinedOutput()
		return string(out), err
	}
	git := func(args ...string) {
		t.Helper()
		out, err := run("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@localhost", "-c",
			"commit.gpgsign=false"}, args...)...)
		if err != nil {
			t.Fatalf("git %q: %v: %s", args, err, out)
		}
	}
	commit := func(file, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil { //nolint:gosec // as git does
			t.Fatal(err)
		}
		write(t, file, text)
		git("add", "-A")
		git("commit", "-qm", file)
	}
	// expect runs a command that says so, and then exits with a status.
	expect := func(status, runs, says string) {
		t.Helper()
		out, err := run(script, "bash", "-c", "echo it runs; exit "+status)
		if (status == "0" || runs == "") != (err == nil) || strings.Contains(out, "it runs\n") != (runs != "") ||
			!strings.Contains(out, says) {
			t.Errorf("%v: %s", err, out)
		}
	}
	git("init", "-q")
	commit("kubernetes/fleet/run.go", "a")
	expect("1", "runs", "it has not passed here yet")
	expect("0", "runs", "it has not passed here yet") // the failed one is no pass
	expect("1", "", "not run")
	commit("README.md", "a")
	expect("1", "", "not run")
	for _, file := range []string{
		"kubernetes/fleet/run.go", "internal/model/new/x.go", "internal/placement/x.go", "go.mod",
	} {
		commit(file, "b")
		expect("1", "runs", file)
		expect("0", "runs", file)
		expect("1", "", "not run")
	}
	// More names than a pipe holds: whoever reads three of them must not end git, and with it the script.
	for i := range 500 {
		if err := os.MkdirAll("internal/model/many", 0o755); err != nil { //nolint:gosec // as git does
			t.Fatal(err)
		}
		write(t, fmt.Sprintf("internal/model/many/%0200d", i), "a")
	}
	commit("kubernetes/fleet/run.go", "c")
	expect("1", "runs", "changes in: internal/model/many/000")
	expect("0", "runs", "changes in: internal/model/many/000")
	git("rm", "-q", "internal/placement/x.go")
	git("commit", "-qm", "less")
	expect("0", "runs", "internal/placement/x.go")
	for _, text := range []string{"0123456789012345678901234567890123456789", "nothing", "--help"} {
		write(t, stamp, text+"\n")
		expect("1", "runs", "which this clone does not have")
		expect("0", "runs", text)
		expect("1", "", "not run")
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// What tests of make kube-test import of ours, and make test does not compile, is in the list of the script.
func TestWhatKubeTestDependsOn(t *testing.T) {
	text, err := os.ReadFile(unlessPassed)
	if err != nil {
		t.Fatal(err)
	}
	paths := strings.Fields(string(regexp.MustCompile(`(?m)^paths=\((.*)\)$`).FindSubmatch(text)[1]))
	for _, dir := range append([]string{"./kubetest", "./nodetest"}, kubeHeavy...) {
		files, err := filepath.Glob(filepath.Join("../../kubernetes", dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s has no files: %v", dir, err)
		}
		for _, file := range files {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, is := range regexp.MustCompile(`"plimsoll/([^"]+)"`).FindAllStringSubmatch(string(source), -1) {
				in := func(path string) bool { return strings.HasPrefix(is[1]+"/", path+"/") }
				if !slices.ContainsFunc(paths, in) {
					t.Errorf("%s imports %s, which is in none of %q", file, is[1], paths)
				}
			}
		}
	}
}
