// Package hosttest lets tests touch the host and proves that they left it as
// it was. It is for tests only.
package hosttest

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/testkit/disturbance"
	"plimsoll/internal/testkit/soak"
)

// Exclusive gives the test the host for itself: it skips unless it runs as
// root, waits for a lock that all packages' tests share, and fails the test
// when the host is not at its end what it was at its start. See Alone.
func Exclusive(t testing.TB) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root: loop devices, mounts and Docker engines are made here")
	}
	Alone(t)
	before, processes := Look(), Others()
	t.Cleanup(func() {
		diff := before.Settle(10 * time.Second)
		if diff == "" {
			return
		}
		for pid, command := range Others() {
			processes[pid] = command
		}
		for _, command := range processes {
			diff += "\nanother plimsoll ran meanwhile, and may have done some of it: " + command
		}
		t.Errorf("the host is not as it was before the test:\n%s", diff)
	})
}

// Alone waits until no other test measures or changes the host, of whichever
// package, and keeps others from it until the test ends. A test that loads the
// disk takes it, even if it changes nothing: others count what the disk does. Tests
// that are to be short (go test -short) leave the host alone, and are skipped.
func Alone(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("touches the host, which go test -short leaves alone")
	}
	lock, err := os.OpenFile(lockFile(), os.O_CREATE|os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrPermission) {
		return // root's: the tests that it is for need root
	}
	if err != nil {
		t.Fatal(err)
	}
	asked := time.Now()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if waited := time.Since(asked); waited > time.Second { // part of what the test seems to take
		t.Logf("others had the host for %s", waited.Round(time.Second/10))
	}
	t.Cleanup(func() { lock.Close() })
}

func lockFile() string { return filepath.Join(os.TempDir(), "plimsoll-hosttest.lock") }

// Measures gives the test the host as Exclusive does, and says that its result holds
// only while nothing else runs, of this house or not: it compares rates, latencies or
// times, or counts what others do to the host too. A test says so directly in its own
// body, where scripts/run-tests finds it: these tests run first, and nothing beside
// them. Those that use Exclusive or Alone run beside the other suites. A test that fails
// logs which processes disturbed it.
func Measures(t testing.TB) {
	t.Helper()
	Exclusive(t)
	watched := watchDisturbances(func() (disturbance.Processes, error) {
		return disturbance.Look("/proc", os.Getpid(), ownerVariable+"="+os.Getenv(ownerVariable))
	})
	t.Cleanup(func() {
		met := watched()
		if t.Failed() && len(met) > 0 {
			t.Log(disturbance.Mark + met.Text())
		}
	})
}

// watchDisturbances looks now, from time to time, and when the caller ends it. The end returns all processes that were
// found.
func watchDisturbances(look func() (disturbance.Processes, error)) (end func() disturbance.Processes) {
	met := disturbance.Processes{}
	add := func() {
		found, _ := look() // a look that fails adds nothing
		maps.Copy(met, found)
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	add()
	go func() {
		defer close(stopped)
		const pause = 5 * time.Second // a look reads two small files of each process
		for {
			select {
			case <-stop:
				return
			case <-time.After(pause):
				add()
			}
		}
	}()
	return func() disturbance.Processes {
		close(stop)
		<-stopped
		add()
		return met
	}
}

// Soak skips a test that takes long by nature, unless make soak runs it. A shorter one
// shows the same of what breaks most. A test says so directly in its own body.
func Soak(t testing.TB) {
	t.Helper()
	soak.Only(t)
}

// Database is the one that stands for all where what is tested is the same for each of them.
// The others are tested by make soak.
const Database = "postgresql"

// State is what a host must look like again after a run.
type State map[string]string

// places hold nothing of ours before and after a run.
var places = []string{
	"/run/plimsoll", "/var/lib/plimsoll", "/etc/docker", "/run/docker", "/run/containerd", "/run/docker.sock",
	"/run/docker.pid",
	"/var/lib/docker", "/var/lib/containerd", "/opt/containerd", "/root/.docker", "/run/xtables.lock", "/var/run/docker",
}

// settings that a careless engine changes.
var settings = []string{"/proc/sys/net/ipv4/ip_forward", "/proc/sys/net/ipv6/conf/all/forwarding",
	"/proc/sys/net/bridge/bridge-nf-call-iptables"}

// Look takes the host's state: mounts, loop devices, I/O schedulers, processes
// that a run starts, network interfaces, cgroups, kernel settings, and files in the
// places where runs and engines work.
func Look() State {
	s := State{}
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	for line := range strings.Lines(string(mounts)) {
		if f := strings.Fields(line); len(f) > 4 {
			s["mount "+f[4]] += strings.Join(f[2:6], " ") + ";"
		}
	}
	loops, _ := filepath.Glob("/sys/block/loop*")
	for _, l := range loops {
		backing, _ := os.ReadFile(l + "/loop/backing_file")
		s["loop "+filepath.Base(l)] = strings.TrimSpace(string(backing))
	}
	mapped, _ := filepath.Glob("/sys/block/dm-*/dm/name")
	for _, m := range mapped {
		name, _ := os.ReadFile(m)
		s["mapped device "+strings.TrimSpace(string(name))] = "present"
	}
	arrays, _ := filepath.Glob("/sys/block/md*/md/array_state")
	for _, a := range arrays {
		state, _ := os.ReadFile(a)
		s["array "+a] = strings.TrimSpace(string(state))
	}
	for _, d := range Spare(0) {
		said, _ := exec.Command("blkid", "-p", "-o", "export", d).Output()
		s["signature of "+d] = strings.TrimSpace(string(said))
	}
	schedulers, _ := filepath.Glob("/sys/block/*/queue/scheduler")
	for _, f := range schedulers {
		text, _ := os.ReadFile(f)
		s["setting "+f] = chosen(string(text))
	}
	nets, _ := filepath.Glob("/sys/class/net/*")
	for _, n := range nets {
		s["network "+filepath.Base(n)] = "present"
	}
	for pid, name := range processes() {
		s[fmt.Sprintf("process %d", pid)] = name
	}
	_ = filepath.WalkDir("/sys/fs/cgroup", func(p string, d fs.DirEntry, err error) error {
		// Others make groups of their own while we look.
		if err == nil && d.IsDir() && (strings.Contains(p, "plimsoll") || strings.Contains(p, "docker")) {
			s["cgroup "+p] = "present"
		}
		return nil
	})
	for _, set := range settings {
		if b, err := os.ReadFile(set); err == nil {
			s["setting "+set] = strings.TrimSpace(string(b))
		}
	}
	for _, place := range places {
		_ = filepath.WalkDir(place, func(p string, _ fs.DirEntry, err error) error {
			if err == nil {
				s["file "+p] = "present"
			}
			return nil
		})
	}
	return s
}

// chosen returns the word in brackets of a setting that lists what it offers, which
// grows when a module is loaded: "none [mq-deadline]", "none [mq-deadline] bfq".
func chosen(text string) string {
	_, rest, listed := strings.Cut(text, "[")
	word, _, closed := strings.Cut(rest, "]")
	if listed && closed {
		return word
	}
	return strings.TrimSpace(text)
}

// SpareVariable names, separated by blanks, block devices that tests may
// overwrite: those of a virtual machine that was made for them.
const SpareVariable = "PLIMSOLL_SPARE_DEVICES"

// Spare returns the first n of the devices that tests may overwrite: nil if there are fewer, and all devices for 0.
func Spare(n int) []string {
	devices := strings.Fields(os.Getenv(SpareVariable))
	switch {
	case n == 0:
		return devices
	case len(devices) < n:
		return nil
	}
	return devices[:n]
}

// engines are programs that only a Docker engine runs.
var engines = []string{"dockerd", "containerd", "runc", "fuse-overlayfs", "docker-init"}

// processes lists what a run started: it carries the run's mark, or names a
// private engine's directory, or is an engine's. Other packages' tests run
// fio too, at the same time.
func processes() map[int]string {
	out := map[int]string{}
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		env := environment(e.Name())
		if of := ownerOf(env); of != "" && of != os.Getenv(ownerVariable) {
			continue
		}
		comm, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "comm"))
		cmdline, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		if len(cmdline) == 0 {
			continue // a kernel thread or a zombie
		}
		name := strings.TrimSpace(string(comm))
		if bytes.Contains(env, []byte("PLIMSOLL_STEP=")) || bytes.Contains(cmdline, []byte("/run/plimsoll/")) ||
			slices.ContainsFunc(engines, func(n string) bool { return strings.HasPrefix(name, n) }) {
			out[pid] = name + " " + string(bytes.ReplaceAll(cmdline, []byte{0}, []byte{' '}))
		}
	}
	return out
}

// Others returns the command lines of each plimsoll that no test started, by process. The changes that Exclusive finds
// may be theirs.
func Others() map[int]string {
	out := map[int]string{}
	parents := ancestors() // a lab's agent, for instance
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		comm, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "comm"))
		if strings.TrimSpace(string(comm)) != "plimsoll" || parents[pid] || ownerOf(environment(e.Name())) != "" {
			continue
		}
		cmdline, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		out[pid] = strings.TrimSpace(string(bytes.ReplaceAll(cmdline, []byte{0}, []byte{' '})))
	}
	return out
}

// ancestors returns the processes that this one descends from, itself included.
func ancestors() map[int]bool {
	pids := map[int]bool{}
	for pid := os.Getpid(); pid > 0 && !pids[pid]; {
		pids[pid] = true
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		// The name, in parentheses, may have blanks.
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if len(fields) < 2 {
			break
		}
		pid, _ = strconv.Atoi(fields[1])
	}
	return pids
}

// ownerVariable tells in the environment of processes which package's tests
// started them: those of others come and go meanwhile, where they take no device
// of the host and so do not wait for it.
const ownerVariable = "PLIMSOLL_TEST_OWNER"

func init() {
	// A test that starts itself again stays the same owner.
	if os.Getenv(ownerVariable) == "" {
		if err := os.Setenv(ownerVariable, strconv.Itoa(os.Getpid())); err != nil {
			panic(err) // the name is one that can be set
		}
	}
}

// ownerOf returns whose a process with that environment is; "" when nobody says.
func ownerOf(env []byte) string {
	for v := range bytes.SplitSeq(env, []byte{0}) {
		if of, ok := bytes.CutPrefix(v, []byte(ownerVariable+"=")); ok {
			return string(of)
		}
	}
	return ""
}

// environment reads the environment of a process at one moment: one that
// becomes another program between two reads would seem to have less.
func environment(pid string) []byte {
	f, err := os.Open(filepath.Join("/proc", pid, "environ"))
	if err != nil {
		return nil
	}
	defer f.Close()
	b := make([]byte, 256<<10)
	n, _ := f.Read(b) // gone, or a kernel thread: it has none
	return b[:n]
}

// Settle waits until the host is what it was, for as long as limit, and gives
// what differs: "" for nothing. Dying processes and lazy unmounts take a
// moment.
func (s State) Settle(limit time.Duration) string {
	deadline := time.Now().Add(limit)
	for {
		diff := s.diff(Look())
		if diff == "" || time.Now().After(deadline) {
			return diff
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func (s State) diff(now State) string {
	var lines []string
	for k, v := range now {
		switch was, ok := s[k]; {
		case !ok:
			lines = append(lines, fmt.Sprintf("+ %s: %s", k, v))
		case was != v:
			lines = append(lines, fmt.Sprintf("! %s: was %q, is %q", k, was, v))
		}
	}
	for k, v := range s {
		if _, ok := now[k]; !ok && !strings.HasPrefix(k, "process ") {
			lines = append(lines, fmt.Sprintf("- %s: %s", k, v))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// ProcWithSwap gives a /proc that is the host's but for its list of swap
// areas, which holds the device alone. Swap is not really turned on: a kernel
// that reclaims memory ahead of need would start to page to a loop device, and
// the host to crawl.
func ProcWithSwap(t testing.TB, device string) string {
	t.Helper()
	proc := t.TempDir()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err == nil || e.Name() == "swaps" {
			continue
		}
		if err := os.Symlink(filepath.Join("/proc", e.Name()), filepath.Join(proc, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	swaps := "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n" + device +
		"                              partition\t16380\t\t0\t\t-2\n"
	if err := os.WriteFile(filepath.Join(proc, "swaps"), []byte(swaps), 0o644); err != nil {
		t.Fatal(err)
	}
	return proc
}
