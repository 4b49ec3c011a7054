package fio

import (
	"errors"
	"os/exec"
	"strings"
	"testing"

	"plimsoll/internal/host/version"
	"plimsoll/internal/problem"
	"plimsoll/internal/workload"
)

func fioSays(t *testing.T, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath("fio"); err != nil {
		t.Skip("fio is not installed: apt-get install fio")
	}
	said, err := exec.Command("fio", args...).Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(said)
}

// A newer plimsoll passes options that an older fio does not know. Where fio
// was not asked before, it says so when files are laid out, before anything is
// measured, and the error has the option's name.
func TestOptionThatThisFioDoesNotKnow(t *testing.T) {
	fioSays(t, "--version")
	w, mistakes := newUserFile(source{name: "my.fio", text: []byte("[job]\nsize=1m\nrw=randread\n")})
	if len(mistakes) > 0 {
		t.Fatal(mistakes)
	}
	for _, key := range []string{"nosuch", "neither"} {
		w.jobs[0].set(setting{key: key, value: "1", assigned: true})
	}
	step, err := w.Prepare(workload.Target{Path: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.Read(run(t, step))
	var e *problem.Problem
	if !errors.As(err, &e) || !strings.Contains(e.Why, "nosuch=1") || !strings.Contains(e.Why, "neither=1") ||
		!strings.Contains(e.Remedy, "newer fio") {
		t.Errorf("got %v", err)
	}
}

// Somebody has looked at every option that fio has: the table has its rule. Those of later versions are refused as
// unknown until then.
func TestEveryOptionWasLookedAt(t *testing.T) {
	installed, err := version.ParseFio(fioSays(t, "--version"))
	if err != nil {
		t.Fatal(err)
	}
	if looked := (version.Version{Major: 3, Minor: 33}); !looked.AtLeast(installed) {
		t.Skipf("fio %s is newer than %s, whose options were looked at", installed, looked)
	}
	n := 0
	for line := range strings.Lines(fioSays(t, "--cmdhelp=all")) {
		option, _, ok := strings.Cut(line, ":")
		option = strings.TrimSpace(option)
		if !ok || option == "" || strings.Contains(option, " ") {
			continue
		}
		n++
		if _, known := rules[option]; !known {
			t.Errorf("fio has an option %s, which has no rule", option)
		}
	}
	if n < 100 {
		t.Errorf("fio reported %d options only; the test shows little", n)
	}
}
