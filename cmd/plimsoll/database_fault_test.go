package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/result"
	"plimsoll/internal/testkit/hosttest"
)

type fault struct {
	name   string
	befall func(server int) error
	says   string // in the reason of the trial
}

// faults befall a database's server in its container, one in each trial while it is measured.
var faults = []fault{
	{"killed server", killProcess, "a signal ended it"},
	{"no memory", exhaustMemory, "OOM killer ended it"},
	{"killed container", killContainer, "a signal ended it"},
	{"full device", func(server int) error { return fill(fmt.Sprintf("/proc/%d/root/data/neighbor", server)) },
		"device is full"},
}

// TestFaultsOfDatabasesAreResults: what ends a server ends its trial with the reason, and no other one.
func TestFaultsOfDatabasesAreResults(t *testing.T) {
	hosttest.Exclusive(t)
	for _, d := range []struct {
		name, server, parameters string
		endures                  []string // faults that it may live with: InnoDB writes in place for as long as it can
	}{
		{"postgresql", "postgres", "shared_buffers: 16MiB, max_wal_size: 32MiB", nil},
		{"cassandra", "java", "heap: 128MiB, memtable_heap_space: 16MiB", nil},
		{"mysql", "mysqld", "innodb_buffer_pool_size: 32MiB, innodb_log_file_size: 32MiB", []string{"full device"}},
		{"mariadb", "mariadbd", "innodb_buffer_pool_size: 32MiB, innodb_log_file_size: 32MiB", []string{"full device"}},
	} {
		faults := slices.DeleteFunc(slices.Clone(faults), func(f fault) bool { return slices.Contains(d.endures, f.name) })
		t.Run(d.name, func(t *testing.T) {
			if d.name != hosttest.Database {
				hosttest.Soak(t)
			}
			before := hosttest.Look()
			p := newProgram(t)
			p.keepImage(d.name)
			file := p.experiment(fmt.Sprintf(`
name: faults
question: What does a fault leave of a server?
repeat: 1
trials: %d
runtime: 2m
ramp: 100ms
seed: 1
stacks:
  disk: loop(size=2GiB) > xfs > volume
workloads:
  A:
    ycsb:
      {workload: A, records: 1000, fields: 1, field-size: 10KiB, threads: 4, timeout: 1s,
       database: {%s: {%s}}}
mixes:
  one: {A: {count: 1, limits: {memory: 640MiB}}}
`, len(faults), d.name, d.parameters))
			befallen, over := make(chan error, 1), make(chan struct{})
			go func() { befallen <- befallAll(p.dir, d.server, faults, over) }()
			code, out, errs := p.run("run", file, "--quiet")
			close(over)
			if err := <-befallen; err != nil {
				t.Errorf("%v: %s%s", err, out, errs)
			}
			if code != exitPartial {
				t.Errorf("ends with %d: %s%s", code, out, errs)
			}
			_, run := p.result()
			if len(run.Trials) != len(faults) {
				t.Fatalf("%d trials, want one for each of %d faults", len(run.Trials), len(faults))
			}
			for i, trial := range run.Trials {
				if trial.Status != result.TrialFailed || trial.Problem == nil ||
					!strings.Contains(trial.Problem.Text(), faults[i].says) || trial.Problem.Remedy == "" {
					t.Errorf("%s: %s, %+v", faults[i].name, trial.Status, trial.Problem)
				}
			}
			if diff := before.Settle(0); diff != "" {
				t.Errorf("the host is not as it was:\n%s", diff)
			}
		})
	}
}

// TestABadOptionIsAResult: a server that does not know an option ends its trial with the option's name, and leaves
// nothing.
func TestABadOptionIsAResult(t *testing.T) {
	hosttest.Exclusive(t)
	for _, name := range []string{"postgresql", "mysql", "mariadb", "cassandra"} {
		t.Run(name, func(t *testing.T) {
			if name != hosttest.Database {
				hosttest.Soak(t)
			}
			before := hosttest.Look()
			p := newProgram(t)
			p.keepImage(name)
			code, out, errs := p.run("run", "--quiet", p.experiment(fmt.Sprintf(`
name: option
question: What does a server say of an option that it does not have?
repeat: 1
trials: 1
runtime: 1s
seed: 1
stacks:
  disk: loop(size=2GiB) > xfs > volume
workloads:
  A: {ycsb: {workload: A, records: 1000, threads: 1, database: {%s: {set: {plimsoll_nosuch: 1}}}}}
`, name)))
			_, run := p.result()
			problem := run.Trials[0].Problem
			if code == 0 || problem == nil || !strings.Contains(problem.Text(), "does not have an option") ||
				!strings.Contains(problem.Text(), "plimsoll_nosuch") || problem.Remedy == "" {
				t.Errorf("ends with %d: %+v: %s%s", code, problem, out, errs)
			}
			if diff := before.Settle(0); diff != "" {
				t.Errorf("the host is not as it was:\n%s", diff)
			}
		})
	}
}

// befallAll has each fault befall the server of one trial of a run below a directory, before that is over.
func befallAll(dir, program string, faults []fault, over <-chan struct{}) error {
	for i, fault := range faults {
		var found []int
		for len(found) == 0 || measuring(dir, i+1) == 0 {
			select {
			case <-over:
				return fmt.Errorf("%s: no server of trial %d was measured", fault.name, i+1)
			case <-time.After(20 * time.Millisecond):
				found = servers(program)
			}
		}
		if err := fault.befall(found[0]); err != nil {
			return fmt.Errorf("%s: %w", fault.name, err)
		}
	}
	return nil
}

func killProcess(pid int) error { return unix.Kill(pid, unix.SIGKILL) }

// killContainer kills the first process of the container that one is in, with which all others end.
func killContainer(server int) error {
	own, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", server))
	if err != nil {
		return err
	}
	all, err := filepath.Glob("/proc/[0-9]*/status")
	if err != nil {
		return err
	}
	for _, file := range all {
		in, _ := os.Readlink(filepath.Join(filepath.Dir(file), "ns/pid")) // "" of one that has ended
		status, _ := os.ReadFile(file)
		if in == own && strings.Contains(string(status), "\t1\nNSpgid:") {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			return errors.Join(err, killProcess(pid))
		}
	}
	return errors.New("its container has no first process")
}

// exhaustMemory takes all memory that a process's control group may have, and has the kernel end the process for it.
func exhaustMemory(server int) error {
	at := fmt.Sprintf("/proc/%d/", server)
	groups, err := os.ReadFile(at + "cgroup")
	if err != nil {
		return err
	}
	lines := strings.Split(string(groups), "\n")
	i := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, ":memory:") })
	root := "/sys/fs/cgroup/memory"
	if i < 0 {
		i, root = 0, "/sys/fs/cgroup"
	}
	group := root + lines[i][strings.LastIndexByte(lines[i], ':')+1:]
	if err := os.WriteFile(at+"oom_score_adj", []byte("1000"), 0o644); err != nil {
		return err
	}
	greedy := exec.Command("sh", "-c", "echo $$ >"+group+"/cgroup.procs && head -c 1G /dev/zero | tail -c 1G >/dev/null")
	_ = greedy.Run() // the kernel ends it too
	return nil
}
