package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"plimsoll/internal/result"
	"plimsoll/internal/state/journal"
	"plimsoll/internal/testkit/hosttest"
)

// contained runs in a container until it is stopped.
const contained = `
name: contained
question: What happens when a run in a container is stopped?
repeat: 1
trials: 1
control: false
runtime: 1h
seed: 1
stacks:
  v: loop(size=48MiB) > scheduler:kyber > ext4 > volume
workloads:
  W: {fio: {rw: randread, size: 8MiB}}
`

// killed starts a run and kills it in the middle of its first trial.
func (p *program) killed(text string) {
	p.t.Helper()
	cmd, _, stderr := p.command("run", p.experiment(text), "--quiet")
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	within(p.t, hang, "the first trial is under way", func() bool {
		select {
		case err := <-ended:
			p.t.Fatalf("the run ended (%v): %s", err, stderr)
		default:
		}
		return p.writes("plimsoll-runs/*", "001-*/job.fio")
	})
	_ = cmd.Process.Kill()
	if err := <-ended; err == nil {
		p.t.Fatal("a killed run ended well")
	}
}

// record is a line of a journal.
type record struct {
	Seq         int
	State, Kind string
}

// records are the lines of the only journal.
func (p *program) records() (all []record) {
	p.t.Helper()
	files, err := filepath.Glob(filepath.Join(p.state, "journal", "*.jsonl"))
	if err != nil || len(files) != 1 {
		p.t.Fatalf("journals: %v, %v", files, err)
	}
	f, err := os.Open(files[0])
	if err != nil {
		p.t.Fatal(err)
	}
	defer f.Close()
	for in := bufio.NewScanner(f); in.Scan(); {
		var r record
		if err := json.Unmarshal(in.Bytes(), &r); err != nil {
			p.t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

// pending lists the steps in the only journal that are not undone, newest
// first.
func (p *program) pending() []int {
	p.t.Helper()
	var seqs []int
	for _, r := range p.records() {
		seqs = slices.DeleteFunc(seqs, func(s int) bool { return s == r.Seq })
		if r.State != "undone" {
			seqs = append(seqs, r.Seq)
		}
	}
	slices.Sort(seqs)
	slices.Reverse(seqs)
	return seqs
}

// TestCleanIsKilledAtEveryStepOfAnEngine kills one plimsoll clean after the
// other: when it has undone a change and not noted it, then when it has.
func TestCleanIsKilledAtEveryStepOfAnEngine(t *testing.T) {
	hosttest.Exclusive(t)
	before := hosttest.Look()
	p := newProgram(t)
	p.killed(contained)
	seqs := p.pending()
	if len(seqs) < 9 { // directories, file, loop device, scheduler, mkfs, mount, cgroup, engine, container
		t.Fatalf("only the steps %v are left to undo", seqs)
	}
	for _, seq := range seqs {
		for _, state := range []string{"undo", "undone"} {
			p.env = []string{fmt.Sprintf("%s=%d:%s", journal.CrashVariable, seq, state)}
			if code, out, errs := p.run("clean"); code != -1 {
				t.Fatalf("clean was to be killed at %d:%s, and ends with %d: %s%s", seq, state, code, out, errs)
			}
		}
	}
	p.env = nil
	p.cleanUp()
	if diff := before.Settle(0); diff != "" {
		t.Errorf("the host is not as it was:\n%s", diff)
	}
}

func TestContainerdDiesInTheMiddleOfATrial(t *testing.T) {
	hosttest.Exclusive(t)
	p := newProgram(t)
	cmd, _, stderr := p.command("run", p.experiment(`
name: containerd-dies
question: Does a dead containerd end the run?
repeat: 2
trials: 1
control: false
runtime: 2s
seed: 1
stacks:
  v: loop(size=48MiB) > ext4 > volume
workloads:
  R: {fio: {rw: randread, size: 8MiB}}
`))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	within(t, hang, "the first trial is under way",
		func() bool { return p.writes("plimsoll-runs/*", "001-*/job.fio") })
	killed := false
	for _, pid := range marked(t, p.state) {
		if comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)); err == nil &&
			strings.TrimSpace(string(comm)) == "containerd" {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			killed = true
		}
	}
	if !killed {
		t.Error("no containerd is up")
	}
	if code := exitCode(t, cmd.Wait()); code != exitPartial {
		t.Fatalf("ends with %d: %s", code, stderr)
	}
	_, run := p.result()
	first, second := run.Trials[0], run.Trials[1]
	if first.Status != result.TrialFailed || first.Problem == nil || !strings.Contains(first.Problem.Why, "containerd") {
		t.Errorf("first trial: %s, %+v", first.Status, first.Problem)
	}
	if second.Status != result.TrialDone {
		t.Errorf("second trial: %s, %+v", second.Status, second.Problem)
	}
}

// marked lists the processes that a run with this state directory started.
func marked(t *testing.T, state string) []int {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, f := range files {
		env, _ := os.ReadFile(f)
		var pid int
		if _, err := fmt.Sscanf(f, "/proc/%d/environ", &pid); err == nil &&
			strings.Contains(string(env), journal.MarkVariable+"="+state+"/") {
			pids = append(pids, pid)
		}
	}
	return pids
}

func TestAStateDirectoryOnAFullDiskChangesNothing(t *testing.T) {
	hosttest.Exclusive(t)
	p := newProgram(t)
	p.state = filepath.Join(p.dir, "small", "state")
	mnt := filepath.Dir(p.state)
	shell(t, "mkdir "+mnt+" && mount -n -t tmpfs -o size=16k tmpfs "+mnt)
	t.Cleanup(func() { shell(t, "umount -n "+mnt) })
	before := hosttest.Look()
	// Room for the directories, and none for an entry.
	shell(t, "mkdir -p "+p.state+"/journal && ! head -c 1M /dev/zero >"+mnt+"/filler 2>/dev/null")
	// A loop device would be refused, for want of room for its file.
	inMemory := strings.Replace(everyChange, "loop(size=48MiB) > scheduler:kyber > ext4 > volume", "tmpfs(size=48MiB)", 1)
	code, _, errs := p.run("run", p.experiment(inMemory), "--quiet")
	if code != exitFailure {
		t.Errorf("ends with %d", code)
	}
	contains(t, errs, "no space left on device", "no further change is made on this host", "free some space")
	if diff := before.Settle(0); diff != "" {
		t.Errorf("the host is not as it was:\n%s", diff)
	}
}

func shell(t *testing.T, script string) string {
	t.Helper()
	out, err := exec.Command("sh", "-c", script).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", script, err, out)
	}
	return strings.TrimSpace(string(out))
}

// usersEngine is a Docker engine that stands for the user's own, with a
// container at work.
type usersEngine struct {
	t      *testing.T
	dir    string
	socket string
}

func startUsersEngine(t *testing.T) *usersEngine {
	t.Helper()
	for _, program := range []string{"dockerd", "docker"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(program + " is not installed: apt-get install docker.io")
		}
	}
	for _, dir := range []string{"/run/docker", "/run/containerd", "/opt/containerd"} {
		if _, err := os.Stat(dir); err == nil {
			t.Skipf("%s is there: another engine is at work here", dir)
		}
	}
	dir, err := os.MkdirTemp("", "user") // short, for the paths of sockets
	if err != nil {
		t.Fatal(err)
	}
	e := &usersEngine{t: t, dir: dir, socket: "unix://" + dir + "/sock"}
	// It leaves the host's settings alone, which real ones do not.
	config := dir + "/daemon.json"
	if err := os.WriteFile(config, []byte(`{"deprecated-key-path": "`+dir+`/key.json"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("dockerd", "--config-file", config, "--ip-forward=false", "--ip-masq=false", "--data-root",
		dir+"/root", "--exec-root", dir+"/exec", "--pidfile", dir+"/pid", "-H", e.socket,
		"--bridge=none", "--iptables=false", "--storage-driver=vfs", "--cgroup-parent=/plimsoll-test-docker")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = exec.Command("docker", "-H", e.socket, "rm", "-f", "theirs").Run()
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		_ = exec.Command("umount", dir+"/exec/netns/default").Run() // dockerd leaves it
		shell(t, "rm -rf "+dir+`
			rmdir /run/containerd/s /run/containerd /run/docker/plugins /run/docker /opt/containerd/* /opt/containerd 2>/dev/null
			for d in /sys/fs/cgroup/plimsoll-test-docker /sys/fs/cgroup/*/plimsoll-test-docker; do [ ! -d $d ] || rmdir $d; done`)
	})
	within(t, hang, "the user's engine answers", func() bool {
		return exec.Command("docker", "-H", e.socket, "version").Run() == nil
	})
	shell(t, `tar -C / -chf - bin/sleep $(ldd /bin/sleep | grep -o '/[^ ]*') | docker -H `+e.socket+" import - sleeper")
	e.docker("run", "-d", "--network=none", "--name=theirs", "sleeper", "/bin/sleep", "10000")
	return e
}

func (e *usersEngine) docker(args ...string) string {
	e.t.Helper()
	out, err := exec.Command("docker", append([]string{"-H", e.socket}, args...)...).CombinedOutput()
	if err != nil {
		e.t.Fatalf("docker %v: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// look gives all that the user could see of the engine: what it is, what it
// holds, the container's process, and the files.
func (e *usersEngine) look() []string {
	e.t.Helper()
	seen := []string{
		e.docker("info", "--format", "{{.ID}} {{.Containers}} {{.Images}} {{.Driver}}"),
		e.docker("images", "--no-trunc", "-a", "--format", "{{.ID}} {{.Repository}} {{.CreatedAt}}"),
		e.docker("ps", "--no-trunc", "-a", "--format", "{{.ID}} {{.Names}} {{.Image}}"),
		e.docker("inspect", "theirs", "--format", "{{json .State}}"),
		e.docker("network", "ls", "--no-trunc"), e.docker("volume", "ls"),
	}
	for _, dir := range []string{e.dir, "/run/docker", "/run/containerd"} {
		err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if errors.Is(err, os.ErrNotExist) {
				return nil // it works: its own files come and go
			}
			if !strings.HasPrefix(path, filepath.Join(e.dir, "exec")) &&
				!strings.HasPrefix(path, filepath.Join(e.dir, "root/containerd")) {
				seen = append(seen, path)
			}
			return err
		})
		if err != nil {
			e.t.Fatal(err)
		}
	}
	return seen
}

// lost returns the elements of a that are not in b.
func lost(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(line string) bool { return slices.Contains(b, line) })
}

// TestTheUsersOwnEngineIsLeftAlone: neither a run, nor one that is killed and
// cleaned up after, touches an engine that the user has, even where the
// environment points to it.
func TestTheUsersOwnEngineIsLeftAlone(t *testing.T) {
	hosttest.Exclusive(t)
	theirs := startUsersEngine(t)
	was := theirs.look()
	before := hosttest.Look()
	p := newProgram(t)
	p.env = []string{"DOCKER_HOST=" + theirs.socket}
	for _, step := range []struct {
		name string
		do   func()
	}{
		{"a run", func() {
			if code, _, errs := p.run("run", p.experiment(strings.Replace(contained, "1h", "300ms", 1)),
				"--quiet"); code != exitOK {
				t.Fatalf("ends with %d: %s", code, errs)
			}
			if err := os.RemoveAll(filepath.Join(p.dir, "plimsoll-runs")); err != nil {
				t.Fatal(err)
			}
		}},
		{"a run that is killed, and clean", func() { p.killed(contained); p.cleanUp() }},
		{"clean, with nothing to do", p.cleanUp},
	} {
		step.do()
		if is := theirs.look(); !slices.Equal(is, was) {
			t.Errorf("%s changed the user's engine: gone are %q, new are %q", step.name, lost(was, is), lost(is, was))
		}
		if diff := before.Settle(0); diff != "" {
			t.Errorf("%s: the host is not as it was:\n%s", step.name, diff)
		}
		theirs.docker("exec", "theirs", "/bin/sleep", "0")
		before = hosttest.Look()
	}
}
