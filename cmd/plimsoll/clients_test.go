package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/result"
	"plimsoll/internal/testkit/hosttest"
	"plimsoll/internal/testkit/imagetest"
)

// standIn is an ssh that runs commands of the machine "client1" on this host, in the home that CLIENT_HOME names, and
// keeps what it was called with. It stands in for a second machine: what it cannot show is a network.
const standIn = `#!/bin/sh
echo "$*" >> "$CLIENT_HOME/calls"
while [ "$1" != -- ]; do shift; done
if [ "$2" != client1 ] || [ -e "$CLIENT_HOME/off" ]; then
	echo "ssh: connect to host $2 port 22: No route to host" >&2
	exit 255
fi
cd "$CLIENT_HOME" && echo "welcome to client1" && SSH_CONNECTION="127.0.0.1 40000 127.0.0.1 22" exec sh -c "$3"
`

// withClient has the program find the stand-in for ssh, and returns the home on its machine.
func (p *program) withClient() (home string) {
	p.t.Helper()
	home, bin := filepath.Join(p.dir, "client-home"), filepath.Join(p.dir, "bin")
	for _, dir := range []string{home, bin} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			p.t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(bin, "ssh"), []byte(standIn), 0o755); err != nil {
		p.t.Fatal(err)
	}
	p.env = append(p.env, "CLIENT_HOME="+home, "PATH="+bin+":"+os.Getenv("PATH"))
	return home
}

// clientsOn has two servers of PostgreSQL, whose load another machine generates.
func clientsOn(host string, runtime time.Duration) string {
	return fmt.Sprintf(`
name: clients
question: What does PostgreSQL do for clients on another machine?
repeat: 1
trials: 2
runtime: %s
ramp: 100ms
seed: 1
clients: {host: %q}
stacks:
  disk: loop(size=2GiB) > xfs > volume
workloads:
  C: {ycsb: {workload: C, records: 5000, threads: 4, database: {postgresql: {shared_buffers: 16MiB}}}}
mixes:
  both: {C: 2}
`, runtime, host)
}

// left are the directories of programs in a home.
func left(t *testing.T, home string) []string {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(home, ".plimsoll-*"))
	if err != nil {
		t.Fatal(err)
	}
	return dirs
}

// TestClientsOnAnotherMachine: the generator runs where ssh leads, the servers are reached from there, the machine's
// processors are in the result, and nothing stays there.
func TestClientsOnAnotherMachine(t *testing.T) {
	hosttest.Exclusive(t)
	before := hosttest.Look()
	p := newProgram(t)
	home := p.withClient()
	p.keepImage("postgresql")
	file := p.experiment(clientsOn("ssh://bench@client1", 2*time.Second))
	code, out, errs := p.run("run", file, "--dry-run")
	if code != 0 || len(left(t, home)) > 0 || !strings.Contains(out, "a copy of this program on ssh://bench@client1") {
		t.Errorf("a dry run ends with %d, and leaves %v: %s%s", code, left(t, home), out, errs)
	}
	code, out, errs = p.run("run", file, "--quiet")
	if code != 0 {
		t.Fatalf("ends with %d: %s%s", code, out, errs)
	}
	_, run := p.result()
	if run.Experiment.Clients == nil || run.Experiment.Clients.Host != "ssh://bench@client1" {
		t.Errorf("the run keeps %+v", run.Experiment.Clients)
	}
	for _, trial := range run.Trials {
		if c := trial.ClientCPU; c == nil || c.CPUs < 1 || c.Seconds < 2 || c.User+c.System <= 0 {
			t.Errorf("processors of the clients' machine: %+v", c)
		}
		for _, in := range trial.Instances {
			if in.Measurement == nil || in.Measurement.IOs() == 0 {
				t.Errorf("instance %d did %+v", in.Index, in.Measurement)
				continue
			}
			for _, o := range in.Measurement.Operations {
				if o.Errors > 0 {
					t.Errorf("%d errors of %s", o.Errors, o.Name)
				}
			}
		}
	}
	code, out, errs = p.run("show", "--full", run.ID)
	if code != 0 || !strings.Contains(out, "came from ssh://bench@client1") {
		t.Errorf("showing it ends with %d, without its clients: %s%s", code, out, errs)
	}
	calls, err := os.ReadFile(filepath.Join(home, "calls"))
	if err != nil || strings.Count(string(calls), " load-client") < 2*(1+len(run.Trials)) {
		t.Errorf("the generator was started there by %v\n%s", err, calls)
	}
	for call := range strings.Lines(string(calls)) {
		if !strings.Contains(call, "BatchMode=yes") || !strings.Contains(call, "-l bench -- client1 ") {
			t.Errorf("ssh is called with %s", call)
		}
	}
	if dirs := left(t, home); len(dirs) > 0 {
		t.Errorf("%v stays there", dirs)
	}
	if diff := before.Settle(0); diff != "" {
		t.Errorf("the host is not as it was:\n%s", diff)
	}
}

// TestKilledRunsLeaveNoClients: after kill -9, the generators end, and clean removes what is on the other machine, once
// that is reached.
func TestKilledRunsLeaveNoClients(t *testing.T) {
	hosttest.Exclusive(t)
	before := hosttest.Look()
	p := newProgram(t)
	home := p.withClient()
	p.keepImage("postgresql")
	cmd, _, errs := p.command("run", p.experiment(clientsOn("ssh://bench@client1", 5*time.Minute)), "--quiet")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	limit := time.After(5 * time.Minute)
	for measuring(p.dir, 1) < 2 {
		select {
		case err := <-ended:
			t.Fatalf("it ends with %v: %s", err, errs)
		case <-limit:
			_ = cmd.Process.Kill()
			t.Fatal("no load began")
		case <-time.After(20 * time.Millisecond):
		}
	}
	if len(generators(home)) == 0 {
		t.Error("no generator runs there")
	}
	if err := cmd.Process.Signal(unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil {
		t.Error("it ends well")
	}
	off := filepath.Join(home, "off")
	if err := os.WriteFile(off, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, said := p.run("clean")
	if code == 0 || !strings.Contains(out+said, "No route to host") || len(left(t, home)) != 1 {
		t.Errorf("clean without the machine ends with %d, and leaves %v: %s%s", code, left(t, home), out, said)
	}
	if err := os.Remove(off); err != nil {
		t.Fatal(err)
	}
	if code, out, said := p.run("clean"); code != 0 || len(left(t, home)) > 0 {
		t.Errorf("clean ends with %d, and leaves %v: %s%s", code, left(t, home), out, said)
	}
	for deadline := time.Now().Add(2 * time.Minute); len(generators(home)) > 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("generators %v do not end", generators(home))
		}
	}
	if diff := before.Settle(0); diff != "" {
		t.Errorf("the host is not as it was:\n%s", diff)
	}
}

// TestLostClientsEndOneTrial: a generator that dies ends its trial with the reason, and the next one goes on. Where the
// run is killed in that, it is resumed with a new copy of the program.
func TestLostClientsEndOneTrial(t *testing.T) {
	hosttest.Exclusive(t)
	before := hosttest.Look()
	p := newProgram(t)
	home := p.withClient()
	p.keepImage("postgresql")
	cmd, _, errs := p.command("run", p.experiment(clientsOn("ssh://bench@client1", 10*time.Second)), "--quiet")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	inTrial := func(n int) {
		t.Helper()
		limit := time.After(5 * time.Minute)
		for measuring(p.dir, n) < 2 {
			select {
			case err := <-ended:
				t.Fatalf("it ends with %v: %s", err, errs)
			case <-limit:
				_ = cmd.Process.Kill()
				t.Fatalf("no load began in trial %d", n)
			case <-time.After(20 * time.Millisecond):
			}
		}
	}
	inTrial(1)
	for _, file := range generators(home) {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			t.Fatal(err)
		}
		_ = unix.Kill(pid, unix.SIGKILL) // gone already is as good
	}
	inTrial(2)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil {
		t.Error("it ends well")
	}
	_, run := p.result()
	first := run.Trials[0]
	if first.Status != result.TrialFailed || first.Problem == nil ||
		!strings.Contains(first.Problem.Text(), "the load generator on the clients' machine") {
		t.Errorf("of the trial whose clients were lost it says %+v", first.Problem)
	}
	code, out, said := p.run("run", "--resume", run.ID, "--quiet")
	_, run = p.result()
	if code != exitPartial || run.Trials[1].Status != result.TrialDone || run.Trials[1].ClientCPU == nil {
		t.Errorf("resumed, it ends with %d: %+v: %s%s", code, run.Trials[1].Problem, out, said)
	}
	if dirs := left(t, home); len(dirs) > 0 {
		t.Errorf("%v stays there", dirs)
	}
	if diff := before.Settle(0); diff != "" {
		t.Errorf("the host is not as it was:\n%s", diff)
	}
}

// generators are the processes whose program is in a home.
func generators(home string) (pids []string) {
	all, _ := filepath.Glob("/proc/[0-9]*/exe")
	for _, file := range all {
		if exe, err := os.Readlink(file); err == nil && strings.HasPrefix(exe, home+"/.plimsoll-") {
			pids = append(pids, file)
		}
	}
	return pids
}

// without is a directory with all programs but one.
func without(t *testing.T, name string) string {
	t.Helper()
	dir := t.TempDir()
	for _, from := range filepath.SplitList(os.Getenv("PATH")) {
		programs, _ := filepath.Glob(filepath.Join(from, "*")) // the pattern is one
		for _, program := range programs {
			if filepath.Base(program) != name {
				_ = os.Symlink(program, filepath.Join(dir, filepath.Base(program))) // the first of a name is taken
			}
		}
	}
	return dir
}

// What cannot work is refused by a dry run, with the reason.
func TestClientsAreRefused(t *testing.T) {
	p := newProgram(t)
	p.withClient()
	good := clientsOn("ssh://bench@client1", time.Second)
	const database = "database: {postgresql: {shared_buffers: 16MiB}}"
	for _, c := range []struct {
		name, text, why string
		code            int
	}{
		{"fio", strings.Replace(good, good[strings.Index(good, "  C: {ycsb"):strings.Index(good, "mixes:")],
			"  C: {fio: {rw: randread, bs: 4KiB, size: 64MiB}}\n", 1), "drives no database server", exitUsage},
		{"embedded", strings.Replace(good, database, "database: pebble", 1), "its server is embedded", exitUsage},
		{"option", strings.Replace(good, "ssh://bench@client1", "ssh://-oProxyCommand=id@client1", 1), "ssh://USER@HOST",
			exitUsage},
		{"no host", strings.Replace(good, `host: "ssh://bench@client1"`, "server-address: 10.0.0.1", 1), "clients have no host",
			exitUsage},
		{"no address", strings.Replace(good, `client1"`, `client1", server-address: 0.0.0.0`, 1), "server-address takes",
			exitUsage},
		{"unreachable", strings.Replace(good, "client1", "client9", 1), "No route to host", exitHost},
		{"not an address of this host", strings.Replace(good, `client1"`, `client1", server-address: 192.0.2.1`, 1),
			"servers cannot be reached at 192.0.2.1", exitHost},
	} {
		code, out, errs := p.run("run", p.experiment(c.text), "--dry-run")
		if code != c.code || !strings.Contains(out+errs, c.why) {
			t.Errorf("%s: ends with %d: %s%s", c.name, code, out, errs)
		}
	}
	at := slices.IndexFunc(p.env, func(v string) bool { return strings.HasPrefix(v, "PATH=") })
	p.env[at] = "PATH=" + without(t, "ssh")
	code, out, errs := p.run("run", p.experiment(good), "--dry-run")
	if code != exitHost || !strings.Contains(out+errs, "this host has no ssh") {
		t.Errorf("without ssh it ends with %d: %s%s", code, out, errs)
	}
	p.env[at] = "PATH=" + filepath.Join(p.dir, "bin") + ":" + os.Getenv("PATH")
	code, out, errs = p.run("run", "quick", "--dry-run", "--clients-host", "ssh://bench@client1")
	if code != exitUsage || !strings.Contains(out+errs, "drives no database server") {
		t.Errorf("with the flag, fio ends with %d: %s%s", code, out, errs)
	}
}

// TestClientsOfEveryServer: servers on sockets and on ports of their own networks are reached, TPC-C's data is looked
// at, and a trial is watched while another machine generates its load.
func TestClientsOfEveryServer(t *testing.T) {
	hosttest.Soak(t)
	hosttest.Exclusive(t)
	before := hosttest.Look()
	p := newProgram(t)
	p.withClient()
	for _, name := range []string{"postgresql", "mysql", "mariadb", "cassandra"} {
		p.keepImage(name)
	}
	mongodb := imagetest.Mongodb(t, p.keptImages(), "../../tools/ferretdb").Name
	code, out, errs := p.run("run", "--quiet", p.experiment(fmt.Sprintf(`
name: clients
question: Which servers do clients on another machine reach?
repeat: 1
trials: 1
runtime: 2s
seed: 1
control: false
clients: {host: "ssh://bench@client1", server-address: 127.0.0.1}
stacks:
  disk: loop(size=8GiB) > xfs > volume
workloads:
  mysql: {ycsb: {workload: A, records: 2000, threads: 2, database: mysql}}
  mariadb: {ycsb: {workload: A, records: 2000, threads: 2, database: mariadb}}
  cassandra: {ycsb: {workload: A, records: 2000, threads: 2, database: cassandra}}
  mongodb: {ycsb: {workload: A, records: 2000, threads: 2, database: {mongodb: {image: %s}}}}
  tpcc: {tpcc: {warehouses: 1, threads: 2, check: true, database: postgresql}}
  watched: {ycsb: {workload: C, records: 2000, threads: 2, runtime: 5m, rate: 500, database: postgresql}}
`, mongodb)))
	if code != 0 {
		t.Fatalf("ends with %d: %s%s", code, out, errs)
	}
	_, run := p.result()
	for _, trial := range run.Trials {
		m := trial.Instances[0].Measurement
		if m == nil || m.IOs() == 0 || trial.ClientCPU == nil {
			t.Errorf("%s: %+v by %+v", trial.Mix, m, trial.ClientCPU)
			continue
		}
		for _, o := range m.Operations {
			if o.Errors > 0 {
				t.Errorf("%s: %d errors of %s", trial.Mix, o.Errors, o.Name)
			}
		}
		if trial.Mix == "watched" && trial.Stop == nil {
			t.Error("nobody watched the trial")
		}
	}
	if diff := before.Settle(0); diff != "" {
		t.Errorf("the host is not as it was:\n%s", diff)
	}
}
