package main

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/examples"
)

// TestBuiltInExperimentsDryRun: every built-in experiment can be planned on
// any host. What it takes of a curious user's time is bounded: six minutes for the
// stacks, two for the control and the second round of the first setup.
func TestBuiltInExperimentsDryRun(t *testing.T) {
	// One that names a device is planned where that is missing, too; the exit status says so.
	onDevice := []string{"nvme"}
	for _, name := range examples.List() {
		t.Run(name, func(t *testing.T) {
			var out, errs bytes.Buffer
			args := []string{"run", name, "--dry-run", "--json", "--seed", "1", "--state-dir", t.TempDir()}
			// About hosts that nobody else can know.
			if slices.Contains([]string{"local-vs-remote", "remote-paths", "cassandra-remote", "nvme-tcp-queues"}, name) {
				args = append(args, "--remote", "nvmeof(transport=tcp, addr=10.0.0.2, nqn=nqn.2026-11.test:t)",
					"--destroy", "nqn.2026-11.test:t")
			}
			if name == "local-vs-remote" || name == "remote-paths" {
				args = append(args, "--remote", "nvmeof(transport=rdma, addr=10.0.0.2, nqn=nqn.2026-11.test:r)",
					"--destroy", "nqn.2026-11.test:r")
			}
			code := execute(t.Context(), args, &out, &errs)
			if code == exitHost && testing.Short() && strings.Contains(errs.String(), "is not installed") {
				t.Skip(errs.String()) // make check installs nothing; make test does
			}
			if code == exitHost && name == "nvme-tcp-queues" && strings.Contains(errs.String(), "this kernel cannot connect") {
				t.Skip(errs.String()) // it has no other stack
			}
			if code == exitHost && strings.Contains(errs.String(), "its file system has") {
				t.Skip(errs.String()) // a host with little room may run the others
			}
			var p dryRunPlan
			if err := json.Unmarshal(out.Bytes(), &p); err != nil {
				t.Fatalf("exit %d: %s%v", code, errs.String(), err)
			}
			if code == exitHost && len(p.Blockers) > 0 && !slices.ContainsFunc(p.Blockers, isNotAnImage) {
				code = exitOK // it is planned, and says which images are missing here
			}
			if code != exitOK && (code != exitRefused && code != exitUsage || !slices.Contains(onDevice, name)) {
				t.Fatalf("exit %d: %s", code, errs.String())
			}
			longest, trials := 8*time.Minute, 200
			e, err := loadExperiment(name, "")
			if err != nil {
				t.Fatal(err)
			}
			// A study scaled down, and 30 points, are for a budget of so much.
			if slices.Contains(e.Scales, "paper") || name == "policies-scaling" {
				longest, trials = 15*time.Minute, 400 // with all patterns of its figures
			}
			if len(p.Trials) == 0 || len(p.Trials) > trials {
				t.Errorf("%d trials", len(p.Trials))
			}
			if p.EstimatedSeconds > longest.Seconds() && !slices.Contains(onDevice, name) {
				t.Errorf("takes %.0f s", p.EstimatedSeconds)
			}
			tried, points := map[string]int{}, map[string]int{}
			for _, trial := range p.Trials {
				tried[trial.Stack]++
				if trial.Stack == "" { // a mix on stacks of its own
					points[trial.Mix]++
				}
			}
			for mix, n := range points {
				if n < 4 {
					t.Errorf("mix %s is tried %d times: no difference can be distinguished from chance", mix, n)
				}
			}
			for _, s := range p.Stacks {
				if len(s.Changes) == 0 && s.Skipped == "" {
					t.Errorf("stack %s changes nothing, and is not skipped", s.Name)
				}
				if len(points) == 0 && tried[s.Name] < 4 {
					t.Errorf("stack %s is tried %d times: no difference can be distinguished from chance", s.Name, tried[s.Name])
				}
			}
		})
	}
}

// isNotAnImage reports whether a blocker is about something else than an image that is not here.
func isNotAnImage(blocker string) bool {
	return !strings.Contains(blocker, ": it is not kept on this host (get it first")
}

// TestBuiltInExperiments: what the issue of the study's experiments asks for
// is there.
func TestBuiltInExperiments(t *testing.T) {
	for _, name := range []string{
		"host-filesystems", "write-scaling", "ext4-dioread", "storage-drivers", "btrfs-blocksize", "btrfs-cow",
		"loop-illusion", "data-volumes", "latency", "io-schedulers", "striping", "local-vs-remote", "remote-paths", "quick",
		"devices", "software-stack",
	} {
		if _, ok := examples.Find(name); !ok {
			t.Errorf("%s is not built in", name)
		}
	}
}
