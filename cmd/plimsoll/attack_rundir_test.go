package main

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/state/sudouser"
	"plimsoll/internal/testkit/hosttest"
)

// The user behind sudo exchanges parts of her run directory, and of the directory of her stack, for links to root's
// directory and files, again and again while root's run writes there.
func TestAttackARunDirectoryIsExchanged(t *testing.T) {
	hosttest.Alone(t)
	if os.Geteuid() != 0 {
		t.Skip("only root can be led to what others may not write")
	}
	const caller = 54321
	for _, part := range []string{
		"run/artifacts", "run/artifacts/*", "run/results.db-journal", "run/results.db", "run/run.json", "run",
		"work/.plimsoll-*", "work/.plimsoll-*/plimsoll-fio.dat", "work",
	} {
		t.Run(part, func(t *testing.T) {
			p := newProgram(t)
			home, roots := filepath.Join(p.dir, "home"), filepath.Join(p.dir, "roots")
			precious := filepath.Join(roots, "precious")
			if err := errors.Join(os.Chmod(filepath.Dir(p.dir), 0o711), os.MkdirAll(filepath.Join(home, "work"), 0o755),
				os.Chown(home, caller, caller), os.Chown(filepath.Join(home, "work"), caller, caller), os.Mkdir(roots, 0o755),
				os.WriteFile(precious, []byte("of root"), 0o600)); err != nil {
				t.Fatal(err)
			}
			p.file("job.fio", "; her line\n[job]\nrw=randwrite\nsize=1m\nruntime=200ms\ntime_based\n")
			p.file("experiment.yaml", `
name: exchanged
question: Where does root write?
repeat: 2
stacks: {here: "dir:`+home+`/work"}
workloads: {W: {fio: {file: job.fio}}}
`)
			p.env = []string{"SUDO_UID=" + strconv.Itoa(caller), "SUDO_GID=" + strconv.Itoa(caller)}
			end := make(chan struct{})
			var attacker sync.WaitGroup
			attacker.Go(func() {
				_ = sudouser.User{UID: caller, GID: caller}.Do(func() error {
					for turn := 0; ; turn++ {
						select {
						case <-end:
							return nil
						case <-time.After(time.Millisecond):
						}
						paths, _ := filepath.Glob(filepath.Join(home, part))
						for _, path := range append(paths, filepath.Join(home, part)) {
							exchange(path, roots, precious, turn)
						}
					}
				})
			})
			code, out, errs := p.run("run", "experiment.yaml", "--output", filepath.Join(home, "run"), "--quiet")
			close(end)
			attacker.Wait()
			t.Logf("ends with %d: %s%s", code, out, errs) // her own run may fail by that
			if text, err := os.ReadFile(precious); err != nil || string(text) != "of root" {
				t.Errorf("root's file is %q, %v", text, err)
			}
			entries, err := os.ReadDir(roots)
			if err != nil || len(entries) != 1 {
				t.Errorf("root's directory has %v, %v", entries, err)
			}
			for _, path := range []string{roots, precious} {
				if info, err := os.Stat(path); err != nil || info.Sys().(*syscall.Stat_t).Uid != 0 {
					t.Errorf("%s was given away, %v", path, err)
				}
			}
		})
	}
}

// exchange puts a link to root's directory, or to root's file, in the place of a path, and back.
func exchange(path, roots, precious string, turn int) {
	if strings.Contains(path, "*") {
		return
	}
	to := roots
	if turn%4 > 1 {
		to = precious
	}
	link := path + ".link"
	_ = os.Remove(link)
	_ = os.Symlink(to, link)
	_ = unix.Renameat2(unix.AT_FDCWD, path, unix.AT_FDCWD, link, unix.RENAME_EXCHANGE)
	if turn%3 == 0 {
		_ = os.Symlink(to, path) // where nothing is yet
	}
}
