package main

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"plimsoll/internal/result"
	"plimsoll/internal/testkit/hosttest"
	"plimsoll/internal/testkit/imagetest"
)

const elsewhereOn = `
name: elsewhere
question: What does a server do that runs already?
repeat: 1
trials: 2
runtime: 2s
ramp: 100ms
seed: 1
stacks:
  there: elsewhere
workloads:
  A:
    ycsb:
      {workload: A, records: 500, threads: 2,
       database: {mongodb: {dsn: "env:PLIMSOLL_TEST_URI", schema: bench, load: true}}}
`

// TestAServerThatRunsAlready: it is driven by what a variable says, which nothing keeps; what cannot be seen of it
// is said; and it runs on.
func TestAServerThatRunsAlready(t *testing.T) {
	hosttest.Exclusive(t)
	p := newProgram(t)
	p.keepImage(hosttest.Database)
	store := p.keptImages()
	of, err := store.Find(hosttest.Database)
	if err != nil {
		t.Fatal(err)
	}
	root, err := store.Root(t.Context(), of, imagetest.Quiet{})
	if err != nil {
		t.Fatal(err)
	}
	defer root.Release()
	before := hosttest.Look()
	dir := t.TempDir()
	server := exec.CommandContext(t.Context(), "unshare", "--mount", "sh", "-ec",
		`chmod 777 "$0"; mount --bind "$0" "$1/tmp"; mount --bind /dev "$1/dev"; exec chroot --userspec=postgres "$1" sh -ec "
		PATH=$(echo "$1"/usr/lib/postgresql/*/bin | sed s,^"$1",,)
		initdb -D /tmp/data --auth=trust --no-sync >/tmp/log
		exec postgres -D /tmp/data -k /tmp -h ''"`, dir, root.Dir)
	var said bytes.Buffer
	server.Stderr = &said
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := server.Process.Signal(unix.SIGINT); err != nil {
			t.Errorf("the server is gone: %v: %s", err, &said)
		}
		_ = server.Wait()
		if diff := before.Settle(0); diff != "" {
			t.Errorf("the host is not as it was:\n%s", diff)
		}
	}()
	within(t, hang, "the server listens", func() bool {
		_, err := os.Stat(filepath.Join(dir, ".s.PGSQL.5432"))
		return err == nil
	})
	const secret = "s3cretWord"
	t.Setenv("PLIMSOLL_TEST_URI", "host="+dir+" user=postgres dbname=postgres sslmode=disable password="+secret)
	code, out, errs := p.run("run", p.experiment(strings.Replace(elsewhereOn, "mongodb", hosttest.Database, 1)), "--quiet")
	if code != 0 {
		t.Fatalf("ends with %d: %s%s", code, out, errs)
	}
	_, run := p.result()
	for _, trial := range run.Trials {
		if trial.Status != result.TrialDone || trial.Measured().IOs() == 0 || trial.Checks[0].Source != result.SourceServer {
			t.Errorf("%+v", trial)
		}
	}
	_, out, _ = p.run("show", "--full", run.ID)
	if !strings.Contains(out, "a server that was there before: its devices, memory and processors") {
		t.Errorf("what is not seen is not said:\n%s", out)
	}
	_ = filepath.WalkDir(p.dir, func(path string, d fs.DirEntry, err error) error {
		if text, _ := os.ReadFile(path); err == nil && !d.IsDir() && strings.Contains(string(text), secret) {
			t.Errorf("%s has the secret", path)
		}
		return err
	})
}

// What cannot be driven there, or would show a secret, is refused when the file is read.
func TestServersThatRunAlreadyAreRefused(t *testing.T) {
	p := newProgram(t)
	for _, c := range []struct{ old, text, want string }{
		{", load: true", "", "is only read"},
		{"there: elsewhere", "there: tmpfs(size=64MiB)", "name a stack for it: elsewhere"},
		{"there: elsewhere", "there: elsewhere > volume", "name a stack for it: elsewhere"},
		{`database: {mongodb: {dsn: "env:PLIMSOLL_TEST_URI", schema: bench, load: true}}`, "database: pebble",
			"it starts a server, and this stack"},
		{"\nworkloads:", "\nmixes: {two: {A: 2}}\nworkloads:", "several instances that run together would make bench"},
		{`database: {mongodb: {dsn:`, `database: {mongodb: {image: dsn, dsn:`, "unknown key \"image\""},
		{"env:PLIMSOLL_TEST_URI", "mongodb://root:hunter2@db", "says where it is, and never what"},
		{"env:PLIMSOLL_TEST_URI", "file:../secret", "says where it is, and never what"},
		{"schema: bench", "schema: admin", "a name of small letters"},
		{"schema: bench", "schema: 'x; DROP'", "a name of small letters"},
		{`mongodb: {dsn: "env:PLIMSOLL_TEST_URI", schema: bench`, "cassandra: {address: ['db:9042,x'], keyspace: bench",
			"takes HOST:PORT"},
		{`mongodb: {dsn: "env:PLIMSOLL_TEST_URI", schema: bench`, "cassandra: {address: [db:9042], ca: /ca.pem",
			"ca has no effect without tls"},
	} {
		text, want := strings.Replace(elsewhereOn, c.old, c.text, 1), c.want
		code, out, errs := p.run("validate", p.experiment(text))
		if code != exitUsage || !strings.Contains(out+errs, want) || strings.Contains(out+errs, "hunter2") {
			t.Errorf("wants %q, ends with %d: %s%s", want, code, out, errs)
		}
	}
	code, _, errs := p.run("run", p.experiment(elsewhereOn), "--destroy", "bunch")
	if code != exitUsage || !strings.Contains(errs, "no database is made under that name") {
		t.Errorf("--destroy of another name ends with %d: %s", code, errs)
	}
}
