package clienthost

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/problem"
	"plimsoll/internal/state/journal"
)

// fake puts a shell script in the place of ssh.
func fake(t *testing.T, script string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "ssh"), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

// ssh asks nobody, and gets the user, the port and the host as words of their own.
func TestCommand(t *testing.T) {
	fake(t, "")
	c, err := Connect("ssh://bench@[fe80::1]:2222", ".plimsoll-run-clients-01234567", "load-client")
	if err != nil {
		t.Fatal(err)
	}
	cmd := c.cmd
	if err := c.Wait(); err != nil {
		t.Error(err)
	}
	want := []string{
		"-p",
		"2222",
		"-l",
		"bench",
		"--",
		"fe80::1",
		"exec ./.plimsoll-run-clients-01234567/plimsoll load-client",
	}
	if got := cmd.Args[len(cmd.Args)-len(want):]; !slices.Equal(got, want) {
		t.Errorf("it ends with %q", got)
	}
	if !strings.Contains(strings.Join(cmd.Args, " "), " -o BatchMode=yes ") ||
		strings.Contains(strings.Join(cmd.Args, " "), "StrictHostKeyChecking") {
		t.Errorf("ssh is called with %q", cmd.Args)
	}
}

func TestProbe(t *testing.T) {
	for _, c := range []struct{ script, address, why string }{
		{`echo "Welcome"; echo plimsoll-probe Linux "$(uname -m)" 10.0.0.1 4242 10.0.0.2 22`, "10.0.0.1", ""},
		{`echo plimsoll-probe Linux "$(uname -m)" ::ffff:10.0.0.1 4242 ::ffff:10.0.0.2 22`, "10.0.0.1", ""},
		{`echo plimsoll-probe Linux "$(uname -m)" ""`, "", ""},
		{`echo plimsoll-probe Linux "$(uname -m)" '$(id)' 1 2 3`, "", ""},
		{`echo plimsoll-probe Darwin arm64`, "", "it is Darwin on arm64"},
		{`echo plimsoll-probe Linux pdp11`, "", "it is Linux on pdp11"},
		{`echo "This account is not available."`, "", "does not answer as a shell of Linux does"},
		{`echo "bench@client1: Permission denied (publickey)." >&2; exit 255`, "", "Permission denied (publickey)"},
		{`echo "Host key verification failed." >&2; exit 255`, "", "Host key verification failed"},
	} {
		fake(t, c.script)
		address, err := Probe(t.Context(), "ssh://bench@client1")
		if address != c.address || (err == nil) != (c.why == "") || err != nil && !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: %q, %v", c.script, address, err)
		}
		if err != nil && !errors.Is(err, problem.Unsupported) {
			t.Errorf("%s: %v is no lack of the host", c.script, err)
		}
	}
}

// No entry of a journal removes more on another machine than a run of that name can have made there, and none becomes
// an option or a command.
func TestAttackJournalEntries(t *testing.T) {
	scope := journal.NewScope("/var/lib/plimsoll", "quick-1")
	good := Program{Host: "ssh://bench@client1", Dir: ".plimsoll-quick-1-clients-01234567"}
	if err := good.Check(scope); err != nil {
		t.Error(err)
	}
	if err := New("ssh://bench@client1", "quick-1").Check(scope); err != nil {
		t.Error(err)
	}
	for _, p := range []Program{
		{}, {Host: good.Host}, {Dir: good.Dir},
		{good.Host, "."}, {good.Host, "/"}, {good.Host, ".plimsoll-quick-2-clients-01234567"},
		{good.Host, good.Dir + "/.."}, {good.Host, good.Dir + "; id"}, {good.Host, good.Dir + " /"},
		{good.Host, ".plimsoll-quick-1-clients-"}, {good.Host, ".plimsoll-quick-1-clients-*"},
		{good.Host, ".plimsoll-quick-1-clients-$(id)567"}, {good.Host, good.Dir + "\n"},
		{"client1", good.Dir}, {"ssh://-oProxyCommand=id@client1", good.Dir}, {"ssh://bench@client1 -F/tmp/x", good.Dir},
	} {
		if err := p.Check(scope); !errors.Is(err, journal.ErrForeign) {
			t.Errorf("%+v: %v", p, err)
		}
	}
	for _, run := range []string{"", "a;id", "a b", "$(id)", "../x", "-rf"} {
		dir := DirOf(run) + "01234567"
		if err := (&Program{good.Host, dir}).Check(journal.NewScope("/var/lib/plimsoll", run)); err == nil {
			t.Errorf("a run called %q may have %q", run, dir)
		}
	}
}

// TestAttackAnswerThatDoesNotStop: what another machine prints is bounded, whoever asks, and ssh is ended, not waited
// for, also where a program that it started goes on.
func TestAttackAnswerThatDoesNotStop(t *testing.T) {
	for name, script := range map[string]string{
		"on its output": "exec cat /dev/zero", "while ssh stays": "cat /dev/zero; exec sleep 600",
		"in the background": "cat /dev/zero & exit 0", "slowly, and then fast": "echo a; sleep 0.1; exec yes",
	} {
		fake(t, script)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if name == "while ssh stays" {
			ctx, cancel = context.WithTimeout(ctx, time.Second)
			defer cancel()
		}
		out, err := Call(ctx, "ssh://bench@client1", "true", nil)
		if err == nil || !strings.Contains(err.Error(), "does not stop") || out != "" {
			t.Errorf("%s: %d bytes, %v", name, len(out), err)
		}
		if _, err := Probe(ctx, "ssh://bench@client1"); err == nil {
			t.Errorf("%s: a machine is probed", name)
		}
	}
	fake(t, "exec yes >&2")
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := Call(ctx, "ssh://bench@client1", "true", nil); err == nil || len(err.Error()) > 2*mostSaid {
		t.Errorf("on its standard error: %v", err)
	}
}
