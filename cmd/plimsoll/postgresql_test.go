package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/image"
	"plimsoll/internal/result"
	"plimsoll/internal/result/store"
	"plimsoll/internal/testkit/hosttest"
)

// postgresqlOn has two servers of PostgreSQL on a stack, one that is read and one that is
// written to, beside one that this program has in it.
func postgresqlOn(stack string, runtime time.Duration) string {
	return fmt.Sprintf(`
name: postgresql
question: What does PostgreSQL do beside other servers?
repeat: 1
trials: 2
runtime: %s
ramp: 100ms
seed: 1
stacks:
  disk: %s
workloads:
  C: {ycsb: {workload: C, records: 5000, threads: 4, database: {postgresql: {shared_buffers: 16MiB}}}}
  A:
    ycsb:
      {workload: A, records: 5000, threads: 4, cache: cold,
       database: {postgresql: {shared_buffers: 16MiB, max_wal_size: 32MiB, set: {work_mem: 8192kB}}}}
  own: {ycsb: {workload: C, records: 5000}}
mixes:
  all: {C: {count: 1, limits: {memory: 256MiB}}, A: 1, own: 1}
host: {cpus: 2, memory: 1GiB}
`, runtime, stack)
}

// TestPostgresqlIsMeasured: a database from an image runs in the containers of its own image,
// from data that was loaded once, and what it is is in the result.
func TestPostgresqlIsMeasured(t *testing.T) {
	hosttest.Exclusive(t)
	before := hosttest.Look()
	p := newProgram(t)
	file := p.experiment(postgresqlOn("loop(size=3GiB) > xfs > volume", 3*time.Second))
	code, out, errs := p.run("run", file, "--quiet")
	const build = "plimsoll image build postgresql"
	if code != exitHost || !strings.Contains(errs, build) {
		t.Fatalf("without an image it ends with %d: %s%s", code, out, errs)
	}
	if code, out, errs := p.run("run", file, "--dry-run"); code != exitHost || !strings.Contains(errs, build) {
		t.Errorf("a dry run ends with %d: %s%s", code, out, errs)
	}
	p.keepImage("postgresql")
	run := p.killedOnce(file, "postgres", 3)
	for _, w := range run.Workloads {
		if of := w.Image; (of == nil) != (w.Name == "own") || of != nil && (!strings.HasPrefix(of.Name, "postgresql:") ||
			!strings.HasPrefix(of.Version, "15.") || !strings.HasPrefix(of.Digest, "sha256:")) {
			t.Errorf("%s runs from %+v", w.Name, of)
		}
	}
	// A server is asked to end where its data is read again, and killed where a trial has changed it.
	last := run.Trials[len(run.Trials)-1]
	for _, in := range last.Instances {
		log, err := os.ReadFile(filepath.Join(p.dir, store.RunsDir, run.ID, last.Artifacts, fmt.Sprint("instance-", in.Index),
			"server.stderr"))
		asked := strings.Contains(string(log), "shutdown request")
		if in.Tenant != "own" && (err != nil || asked != (in.Tenant == "C")) {
			t.Errorf("%s was asked to end: %t, %v\n%s", in.Tenant, asked, err, log)
		}
	}
	a := slices.IndexFunc(run.Workloads, func(w result.Workload) bool { return w.Name == "A" })
	if said := run.Workloads[a].Settings; said["work_mem"] != "8MB" {
		t.Errorf("what was set is kept as %v", said)
	}
	if code, out, _ := p.run("show", "--full", run.ID); code != 0 && !strings.Contains(out, "which says that it is 15.") {
		t.Errorf("showing it ends with %d: %s", code, out)
	}
	if diff := before.Settle(0); diff != "" {
		t.Errorf("the host is not as it was:\n%s", diff)
	}
}

// keepImage makes the program's images those that tests keep, with the one of a name among them.
func (p *program) keepImage(name string) {
	p.t.Helper()
	if _, err := p.keptImages().Find(name); err == nil {
		return
	}
	code, _, errs := p.run("image", "build", name, "--quiet")
	if code != 0 && strings.Contains(errs, "see that this host reaches") {
		p.t.Skip(errs)
	}
	if code != 0 {
		p.t.Fatalf("building an image ends with %d: %s", code, errs)
	}
}

// keptImages makes the program's images those that tests keep.
func (p *program) keptImages() *image.Store {
	p.t.Helper()
	kept, images := hosttest.Kept(p.t, "images", "../../internal/image"), filepath.Join(p.state, "images")
	if err := errors.Join(os.MkdirAll(p.state, 0o755), os.RemoveAll(images), os.Symlink(kept, images)); err != nil {
		p.t.Fatal(err)
	}
	return image.In(images)
}

// killedOnce runs an experiment of two trials, and kills a server in the first one: that one has
// failed with the reason, and the other has measured so many instances.
func (p *program) killedOnce(file, server string, instances int) *result.Run {
	p.t.Helper()
	killed, over := make(chan string, 1), make(chan struct{})
	go func() { killed <- killServer(p.dir, server, over) }()
	code, out, errs := p.run("run", file, "--quiet")
	close(over)
	if why := <-killed; why != "" {
		p.t.Fatalf("%s; it ends with %d: %s%s", why, code, out, errs)
	}
	if code != exitPartial {
		p.t.Errorf("ends with %d: %s%s", code, out, errs)
	}
	_, run := p.result()
	first, second := run.Trials[0], run.Trials[1]
	if first.Status != result.TrialFailed || first.Problem == nil ||
		!strings.Contains(first.Problem.Text(), "a signal ended it") {
		p.t.Errorf("of the trial whose server was killed it says %+v", first.Problem)
	}
	if second.Status != result.TrialDone || len(second.Instances) != instances {
		p.t.Fatalf("the other one: %+v", second)
	}
	for _, in := range second.Instances {
		if in.Measurement == nil || in.Measurement.IOs() == 0 || in.Usage == nil || in.Usage.CPUSeconds == 0 {
			p.t.Errorf("%s did %+v and used %+v", in.Tenant, in.Measurement, in.Usage)
			continue
		}
		for _, o := range in.Measurement.Operations {
			if o.Errors > 0 {
				p.t.Errorf("%s: %d errors of %s", in.Tenant, o.Errors, o.Name)
			}
		}
	}
	return run
}

// killServer kills the first of two servers of a program that are measured, before the run is over. It returns
// why it could not.
func killServer(dir, program string, over <-chan struct{}) string {
	for {
		select {
		case <-over:
			return "two servers were never measured together: " + program
		case <-time.After(20 * time.Millisecond):
		}
		servers := servers(program)
		if len(servers) < 2 || measuring(dir, 1) < 2 {
			continue
		}
		if err := unix.Kill(servers[0], unix.SIGKILL); err != nil {
			return err.Error()
		}
		return ""
	}
}

// servers are the processes of a program that serve data in containers, by what they were
// started with.
func servers(program string) (pids []int) {
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range all {
		line, err := os.ReadFile(file)
		words := strings.Split(string(line), "\x00")
		served := func(word string) bool { return strings.Contains(word, "/data/plimsoll-") }
		if err != nil || words[0] != program || !slices.ContainsFunc(words, served) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// A stack without containers is refused when the file is read.
func TestImagesNeedContainers(t *testing.T) {
	p := newProgram(t)
	code, out, errs := p.run("validate", p.experiment(postgresqlOn("loop(size=3GiB) > xfs", time.Second)))
	if code != exitUsage || !strings.Contains(out, "PostgreSQL runs from an image, and this stack has no container") ||
		!strings.Contains(out, "> volume") {
		t.Errorf("it ends with %d: %s%s", code, out, errs)
	}
}
