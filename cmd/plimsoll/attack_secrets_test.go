package main

import (
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"plimsoll/internal/testkit/hosttest"
)

const attackedElsewhere = `
name: attacked
question: What does a server do that runs already?
repeat: 1
trials: 1
runtime: 1s
stacks: {there: elsewhere}
workloads:
  C: {ycsb: {workload: C, records: 100, threads: 1, database: {DATABASE}}}
`

// descendant is a child process of plimsoll as other users see it.
type descendant struct{ command, environment, status string }

// descendantsOf returns the processes below one.
func descendantsOf(pid int) (all []descendant) {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, task := range tasks {
		children, _ := os.ReadFile(task)
		for _, child := range strings.Fields(string(children)) {
			read := func(name string) string {
				text, _ := os.ReadFile(filepath.Join("/proc", child, name))
				return strings.ReplaceAll(string(text), "\x00", " ")
			}
			all = append(all, descendant{read("cmdline"), read("environ"), read("status")})
			if id, err := strconv.Atoi(child); err == nil {
				all = append(all, descendantsOf(id)...)
			}
		}
	}
	return all
}

// TestAttackSecretIsNowhere: whoever reads the terminal, the run's files, the list of processes or the environment of
// what is started finds no part of a DSN; and what speaks to the server has no rights of root, by which the server, or
// a bug in a driver, could read this host's files.
func TestAttackSecretIsNowhere(t *testing.T) {
	hosttest.Exclusive(t)
	before := hosttest.Look()
	defer func() {
		if diff := before.Settle(0); diff != "" {
			t.Errorf("the host is not as it was:\n%s", diff)
		}
	}()
	// Not below the test's own directory, which has to stay closed to others: a state directory lies there.
	dir, err := os.MkdirTemp("", "attack-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket := filepath.Join(dir, "s.sock")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	for _, path := range []string{dir, socket} {
		if err := os.Chmod(path, 0o777); err != nil { //nolint:gosec // another user speaks to it
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ name, database, dsn string }{
		{"mysql", "mysql: {dsn: 'env:ATTACK_DSN', schema: bench}", "bob:sekret@unix(" + socket + ")/"},
		{"a slip", "mariadb: {dsn: 'env:ATTACK_DSN', schema: bench}", "bob:sekret tcp(127.0.0.1:1)/"},
		{"postgresql", "postgresql: {dsn: 'env:ATTACK_DSN', schema: bench}", "host=127.0.0.1 user=bob password=x sekret"},
		{"mongodb", "mongodb: {dsn: 'env:ATTACK_DSN', schema: bench}", "mongodb://bob:sekret"},
		{"cassandra", "cassandra: {address: ['127.0.0.1:1'], credentials: 'env:ATTACK_DSN'}", "bob sekret"},
	} {
		p := newProgram(t)
		p.env = []string{"ATTACK_DSN=" + c.dsn, "SUDO_UID=65534", "SUDO_GID=65534"}
		cmd, out, errs := p.command("run", p.experiment(strings.Replace(attackedElsewhere, "DATABASE", c.database, 1)),
			"--output", "out")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() {
			ended <- cmd.Wait()
			_ = listener.Close() // nobody else asks
		}()
		if c.name == "mysql" {
			conn, err := listener.Accept()
			if err != nil {
				t.Fatalf("%v: %s%s", err, out, errs)
			}
			started := descendantsOf(cmd.Process.Pid)
			if len(started) == 0 {
				t.Error("nothing was started")
			}
			for _, d := range started {
				if strings.Contains(d.command+d.environment, "sekret") || strings.Contains(d.command+d.environment, "bob") {
					t.Errorf("others see %s with %s", d.command, d.environment)
				}
			}
			peer(t, conn, started)
			_ = conn.Close()
		}
		if code := exitCode(t, <-ended); code == 0 {
			t.Errorf("%s ends well: %s%s", c.name, out, errs)
		}
		if said := out.String() + errs.String(); strings.Contains(said, "sekret") || strings.Contains(said, "bob") {
			t.Errorf("%s: the terminal shows %s", c.name, said)
		}
		files := 0
		_ = filepath.WalkDir(p.dir, func(path string, d fs.DirEntry, err error) error {
			if text, _ := os.ReadFile(path); err == nil && !d.IsDir() {
				files++
				if strings.Contains(string(text), "sekret") {
					t.Errorf("%s: %s has the secret", c.name, path)
				}
				info, _ := d.Info()
				if d.Name() == "stderr" && info.Mode().Perm() != 0o640 {
					t.Errorf("%s is %s", path, info.Mode())
				}
			}
			return err
		})
		if files < 5 {
			t.Errorf("%s left %d files", c.name, files)
		}
	}
}

// peer checks that who speaks on a socket is the user behind sudo, with no way back.
func peer(t *testing.T, conn net.Conn, started []descendant) {
	t.Helper()
	raw, err := conn.(*net.UnixConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var who *unix.Ucred
	_ = raw.Control(func(fd uintptr) { who, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	if err != nil || who.Uid != 65534 || who.Gid != 65534 {
		t.Errorf("the server is asked by %+v, %v", who, err)
	}
	for _, d := range started {
		if !strings.Contains(d.command, " generate ") {
			continue
		}
		for _, want := range []string{"Uid:\t65534\t65534\t65534\t65534", "Gid:\t65534\t65534\t65534\t65534",
			"CapPrm:\t0000000000000000", "NoNewPrivs:\t1"} {
			if !strings.Contains(d.status, want) {
				t.Errorf("the generator is not %q:\n%s", want, d.status)
			}
		}
	}
}

// TestAttackKeyAsDSN: an experiment of somebody else that names a key of root's publishes nothing of it, and one that
// names a FIFO holds nobody.
func TestAttackKeyAsDSN(t *testing.T) {
	p := newProgram(t)
	key, fifo := filepath.Join(p.dir, "id_ed25519"), filepath.Join(p.dir, "fifo")
	text := "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAA/x\n-----END OPENSSH PRIVATE KEY-----\n"
	if err := os.WriteFile(key, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{key: "more than one line", fifo: "named pipe"} {
		for _, kind := range []string{"mysql", "postgresql", "mongodb"} {
			server := fmt.Sprintf("%s: {dsn: 'file:%s', schema: bench}", kind, path)
			file := p.experiment(strings.Replace(attackedElsewhere, "DATABASE", server, 1))
			code, out, errs := p.run("run", file, "--output", "out")
			if code != exitUsage || !strings.Contains(errs, want) || strings.Contains(out+errs, "OPENSSH") {
				t.Errorf("%s ends with %d: %s%s", server, code, out, errs)
			}
			if _, err := os.Stat(filepath.Join(p.dir, "out")); err == nil {
				t.Errorf("%s: a run was begun", server)
			}
		}
	}
}
