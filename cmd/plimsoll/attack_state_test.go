package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// A state directory that another user has, or has planted a part of, is used by no command of root's.
func TestAttackPlantedState(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make directories of others")
	}
	const stranger = 65534
	commands := [][]string{{"run", "experiment.yaml"}, {"image", "list"}, {"image", "load", "image.tar"},
		{"data", "list"}, {"data", "remove", "--all"}, {"clean"}}
	for _, of := range []string{".", "images", "golden", "journal"} {
		p := newProgram(t)
		p.experiment(`
name: planted
question: Is it refused?
repeat: 1
trials: 1
runtime: 100ms
stacks: {here: "dir:."}
workloads: {R: {fio: {rw: randread, size: 1MiB}}}
`)
		p.image()
		planted := filepath.Join(p.state, of)
		for _, part := range []string{"images", "golden", "journal"} {
			if err := os.MkdirAll(filepath.Join(p.state, part), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		// What clean would obey, were it root's.
		journal := filepath.Join(p.state, "journal/run.jsonl")
		if err := errors.Join(os.WriteFile(journal, nil, 0o600), os.Chown(planted, stranger, stranger)); err != nil {
			t.Fatal(err)
		}
		for _, args := range commands {
			if of != "." && !reaches(args, of) {
				continue
			}
			code, out, errs := p.run(args...)
			if code == 0 || !strings.Contains(errs, "belongs to user 65534") || !strings.Contains(errs, "chown") {
				t.Errorf("%s planted: plimsoll %s ends with %d: %s%s", of, strings.Join(args, " "), code, out, errs)
			}
		}
		if _, err := os.Stat(journal); err != nil {
			t.Errorf("%s planted: the journal: %v", of, err)
		}
	}
}

// image writes an image of nothing to image.tar.
func (p *program) image() {
	p.t.Helper()
	err := tarball.WriteToFile(filepath.Join(p.dir, "image.tar"), name.MustParseReference("nothing:1"), empty.Image)
	if err != nil {
		p.t.Fatal(err)
	}
}

// reaches reports whether a command uses a part of the state directory.
func reaches(args []string, part string) bool {
	return args[0] == map[string]string{"images": "image", "golden": "data", "journal": "clean"}[part]
}

// The state directory is root's, and closed, whichever command of sudo's makes it; an earlier version's is closed.
func TestAttackStateMadeBySudo(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	p := newProgram(t)
	p.env = []string{"SUDO_UID=65534", "SUDO_GID=65534"}
	p.image()
	load := func() {
		t.Helper()
		if code, _, errs := p.run("image", "load", "image.tar"); code != 0 {
			t.Fatalf("it ends with %d: %s", code, errs)
		}
		for _, dir := range []string{p.state, filepath.Join(p.state, "images")} {
			info, err := os.Stat(dir)
			if err != nil {
				t.Fatal(err)
			}
			if uid := info.Sys().(*syscall.Stat_t).Uid; uid != 0 || info.Mode().Perm() != 0o700 {
				t.Errorf("%s belongs to %d, mode %v", dir, uid, info.Mode())
			}
		}
	}
	load()
	for _, dir := range []string{p.state, filepath.Join(p.state, "images")} {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	load()
}
