package node

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"plimsoll/internal/lab/tarball"
	"plimsoll/internal/result"
	"plimsoll/internal/result/store"
)

// TestMain is plimsoll where it was put onto a node: it does what its experiment is called.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) != "plimsoll" {
		os.Exit(m.Run())
	}
	os.Exit(plimsoll(os.Args[1:]))
}

func plimsoll(args []string) int {
	_, _ = os.Stdout.WriteString("plimsoll " + strings.Join(args, " ") + "\n")
	switch {
	case slices.Equal(args, []string{"clean"}):
		return 0
	case args[0] == "run" && args[1] == "refused":
		return 2
	case args[0] == "run" && args[1] == "forever":
		made(args[3])
		told := make(chan os.Signal, 1)
		signal.Notify(told, syscall.SIGTERM)
		_, _ = os.Stdout.WriteString("measuring\n")
		<-told
		return 130
	case args[0] == "run" && args[1] == "--resume":
		s, err := store.Open(args[2])
		if err != nil {
			return 1
		}
		_ = s.Close()
		return 5
	case args[0] == "run":
		made(args[3])
		return 0
	}
	return 1
}

func made(dir string) {
	s, err := store.Create(dir, result.Run{ID: "r", Status: result.RunComplete})
	if err == nil {
		err = s.Close()
	}
	if err != nil {
		panic(err)
	}
}

func place(t *testing.T) Place {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Place{Base: t.TempDir(), Program: program, Node: "node-1", Run: "density-1"}
}

// What was measured is kept until it was sent and forgotten, and is not measured twice.
func TestMeasureSendForget(t *testing.T) {
	p := place(t)
	file := filepath.Join(t.TempDir(), "run") // as a directory beside it is called
	if err := os.WriteFile(file, []byte("name: mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	ended, err := p.Measure(t.Context(), file, []string{"--runtime=1s"}, &said)
	where := filepath.Join(p.dir(), "experiment/run") + " --output " + filepath.Join(p.dir(), "run") + " --runtime=1s"
	if err != nil || ended.Code != 0 || !ended.Results || said.String() != "plimsoll run "+where+"\n" {
		t.Fatalf("%+v, %v, %s", ended, err, said.String())
	}
	if text, err := os.ReadFile(filepath.Join(p.dir(), "experiment/run")); err != nil || string(text) != "name: mine" {
		t.Errorf("%s, %v", text, err)
	}
	again, err := p.Measure(t.Context(), file, nil, io.Discard)
	if err != nil || again != ended {
		t.Errorf("a run that ended: %+v, %v", again, err)
	}

	waited := make(chan error, 1)
	go func() { waited <- p.Wait(t.Context()) }()
	var archive bytes.Buffer
	if err := p.Send(&archive); err != nil {
		t.Fatal(err)
	}
	into := t.TempDir()
	if _, err := tarball.Extract(&archive, RunName, into, 1<<20); err != nil {
		t.Fatal(err)
	}
	if run, err := store.Read(filepath.Join(into, RunName)); err != nil || run.ID != "r" {
		t.Errorf("%v, %v", run, err)
	}
	select {
	case err := <-waited:
		t.Errorf("it did not wait: %v", err)
	default: // it waits
	}
	if err := p.Forget(); err != nil {
		t.Fatal(err)
	}
	if err := <-waited; err != nil {
		t.Error(err)
	}
	if err := p.Clean(t.Context(), io.Discard); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(p.Base); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("something is left: %v", err)
	}
}

// A run that is refused has no results, and says why.
func TestMeasureSaysHowItEnded(t *testing.T) {
	ended, err := place(t).Measure(t.Context(), "refused", nil, io.Discard)
	if err != nil || ended.Code != 2 || ended.Results || !strings.HasPrefix(ended.Said, "plimsoll run refused --output ") {
		t.Errorf("%+v, %v", ended, err)
	}
}

// A pod that is told to end has its run undo what it did; the next pod goes on with it.
func TestMeasureGoesOn(t *testing.T) {
	p := place(t)
	ctx, cancel := context.WithCancel(t.Context())
	out, w := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		_, err := p.Measure(ctx, "forever", nil, w)
		ended <- err
		_ = w.Close()
	}()
	var said []byte
	for b := make([]byte, 100); !bytes.Contains(said, []byte("measuring")); {
		n, err := out.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		said = append(said, b[:n]...)
	}
	cancel()
	go func() { _, _ = io.Copy(io.Discard, out) }()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	next, err := p.Measure(t.Context(), "forever", nil, io.Discard)
	if err != nil || next.Code != 5 || !next.Results {
		t.Errorf("%+v, %v", next, err)
	}
}

// A pod that follows one whose program still undoes what it did waits for that, and takes no run for ended that another
// process writes.
func TestMeasureWaitsForWhoWrites(t *testing.T) {
	p := place(t)
	if err := os.MkdirAll(p.dir(), 0o700); err != nil {
		t.Fatal(err)
	}
	s, err := store.Create(filepath.Join(p.dir(), RunName), result.Run{ID: "r", Status: result.RunComplete})
	if err != nil {
		t.Fatal(err)
	}
	out, w := io.Pipe()
	said := bufio.NewScanner(out)
	type measured struct {
		Ended
		err error
	}
	ended := make(chan measured, 1)
	go func() {
		e, err := p.Measure(t.Context(), "forever", nil, w)
		_ = w.Close()
		ended <- measured{e, err}
	}()
	waited := false
	for said.Scan() {
		if !waited && strings.HasPrefix(said.Text(), "Waiting for") {
			waited = true
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got := <-ended; got.err != nil || got.Code != 5 || !waited {
		t.Errorf("%+v, it waited: %t", got, waited)
	}
}

// Names come from a cluster, and are parts of paths as root.
func TestNamesAreNoPaths(t *testing.T) {
	for _, name := range []string{"", ".", "..", "a/../b", "/etc", "-x", "A", "a\n", strings.Repeat("a", 300)} {
		for _, p := range []Place{{Node: name, Run: "r"}, {Node: "n", Run: name}} {
			p.Base, p.Program = t.TempDir(), os.Args[0]
			if err := p.Forget(); err == nil {
				t.Errorf("%+v was taken", p)
			}
		}
	}
}

// What the kubelet cuts off could not be read.
func TestMessageIsWhole(t *testing.T) {
	for _, said := range []string{"", "refused", strings.Repeat("\x1b<&>", 600), strings.Repeat("é\u2028", 500)} {
		text, err := Ended{Code: 2, Said: said}.Message()
		var back Ended
		if err == nil {
			err = json.Unmarshal(text, &back)
		}
		if err != nil || len(text) > 4096 || back.Code != 2 || !strings.HasSuffix(said, back.Said) ||
			said != "" && back.Said == "" {
			t.Errorf("%d bytes, %+v, %v", len(text), back, err)
		}
	}
}
