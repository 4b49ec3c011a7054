package image

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/mutate"

	"plimsoll/internal/problem"
	"plimsoll/internal/testkit/soak"
)

// shell is the smallest image with a program that runs.
var shell = Recipe{
	Name: "shell", Packages: []string{"dash"}, Without: installers, Path: debianPath, User: "nobody", UserID: 65534,
	Versions: "dash",
}

func canBuildHere(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("it downloads packages")
	}
	if err := canBuild(shell); err != nil {
		t.Skip(err)
	}
}

func TestBuild(t *testing.T) {
	canBuildHere(t)
	dir, s := t.TempDir(), &steps{}
	store := In(dir)
	made, err := store.Build(t.Context(), shell, s)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(made.Name, "shell:0.") || made.From != FromPackages || len(made.Packages) < 2 ||
		made.Bytes < 1<<20 || len(s.titles) < 4 {
		t.Errorf("it is %+v, after %q", made, s.titles)
	}
	if soak.On() {
		again, err := In(t.TempDir()).Build(t.Context(), shell, s)
		if err != nil || again.Digest != made.Digest {
			t.Errorf("the same packages gave %s and %s, %v", made.Digest, again.Digest, err)
		}
	}
	output := inImage(t, store, made, "echo $((6 * 7)); id 2>/dev/null; test -x /usr/bin/dpkg && echo dpkg")
	if output != "42\n" {
		t.Errorf("its program says %q", output)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".new-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// inImage has the shell of an image run a script in it.
func inImage(t *testing.T, store *Store, i Image, script string) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can run a program in an image that is unpacked")
	}
	kept, err := store.Open(i)
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	tar := exec.Command("tar", "-x", "-C", root)
	files := mutate.Extract(kept)
	defer files.Close()
	tar.Stdin = files
	if out, err := tar.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	out, err := exec.Command("chroot", root, "/bin/sh", "-c", script).Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(out)
}

func TestBuildsThatFail(t *testing.T) {
	canBuildHere(t)
	for name, c := range map[string]struct{ name, want string }{
		"no such package": {"no-such-package-anywhere", "Unable to locate package no-such-package-anywhere"},
		"an option":       {"-oAPT::Update::Pre-Invoke::=touch", "Unable to locate package"},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "an option" {
				soak.Only(t)
			}
			dir := t.TempDir()
			r := shell
			r.Packages = []string{c.name}
			_, err := In(dir).Build(t.Context(), r, &steps{})
			p := problem.Of(err, problem.Failed)
			if p == nil || !strings.Contains(p.Why, c.want) || p.Remedy == "" {
				t.Errorf("it says %v, and not %q", err, c.want)
			}
			wantEmpty(t, dir)
		})
	}
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	_, err := In(dir).Build(ctx, shell, stopAt{"fetching packages", cancel})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted, it says %v", err)
	}
	wantEmpty(t, dir)
}

// stopAt interrupts at a step.
type stopAt struct {
	step string
	stop func()
}

func (s stopAt) Step(what string, _ float64) {
	if what == s.step {
		s.stop()
	}
}

func TestVersionsOfPackages(t *testing.T) {
	for version, want := range map[string]string{
		"1:10.11.19-0+deb12u1": "10.11.19", "15.20-0+deb12u1": "15.20", "0.5.12-2": "0.5.12", "2026f-0+deb12u1": "2026f",
		"1.0+dfsg1": "1.0", "3": "3",
	} {
		if got := plainVersion(version); got != want {
			t.Errorf("%s is %s, not %s", version, got, want)
		}
	}
}

// An archive's address becomes a line of a list of sources: no option, no second line, and no path of this host.
func TestAttackArchiveOfASuite(t *testing.T) {
	for printed, want := range map[string]string{
		"http://deb.debian.org/debian/\n": "http://deb.debian.org/debian/", "": "", "\n\n": "",
		"https://mirror.example.org:8080/debian\nhttp://b.example.org/\n": "https://mirror.example.org:8080/debian",
		"http://a.example.org/ evil main\n":                               "", "file:/srv/debian\n": "", "copy:/srv\n": "",
		"[trusted=yes] http://a.example.org/\nhttps://b.example.org/d\n": "https://b.example.org/d",
		"cdrom:[Debian 12]/\n": "", "http://a.example.org/$(ARCH)\n": "",
	} {
		if got := debianArchive(printed); got != want {
			t.Errorf("%q: %q, not %q", printed, got, want)
		}
	}
}

// A server of another suite runs on this host's kernel, with the libraries of that suite.
func TestBuildOfASuite(t *testing.T) {
	canBuildHere(t)
	soak.Only(t)
	r := shell
	r.Suite = "forky"
	store := In(t.TempDir())
	made, err := store.Build(t.Context(), r, &steps{})
	if err != nil {
		t.Fatal(err)
	}
	if output := inImage(t, store, made, "echo $((6 * 7))"); output != "42\n" {
		t.Errorf("its program says %q", output)
	}
	r.Suite = "no-such-suite"
	_, err = store.Build(t.Context(), r, &steps{})
	if p := problem.Of(err, problem.Failed); p == nil || !strings.Contains(p.Why, "no-such-suite") {
		t.Errorf("a suite that is not there: %v", err)
	}
}

// A package that is cut short is not taken for a whole one.
func TestPackagesThatAreCutShort(t *testing.T) {
	canBuildHere(t)
	path := filepath.Join(t.TempDir(), "cut.deb")
	archive := "!<arch>\ndebian-binary   0           0     0     100644  4         `\n2.0\n"
	if err := os.WriteFile(path, []byte(archive), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := eachFile(t.Context(), path, newRoot(io.Discard).add); err == nil {
		t.Error("it is taken")
	}
}
