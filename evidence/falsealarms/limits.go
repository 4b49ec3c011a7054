package falsealarms

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"plimsoll/internal/finding"
	"plimsoll/internal/host/cgroup"
	"plimsoll/internal/result"
)

// blkio is the controller's root group. Limits are set on the group of its that a
// stack's steps run in: with version 1, groups do not inherit them.
const blkio = "/sys/fs/cgroup/blkio"

// limited measures copies of one stack of which some are slowed down by a
// limit of I/Os, set anew at each setup to a share of what the device did
// right before, and tells how often they are recognised.
func limited(ctx context.Context, o options, dir string) error {
	for _, direction := range []string{"read", "write"} {
		if _, err := os.Stat(throttle(blkio, direction)); err != nil {
			fmt.Printf("Stacks that are slowed down by a limit of I/Os: not here, this host has no blkio controller "+
				"of cgroup v1: %v\n", err)
			return nil
		}
	}
	var body strings.Builder
	body.WriteString("stacks:\n  whole: loop(size=1GiB)\n")
	ratios := map[string]float64{}
	for _, r := range slower {
		name := fmt.Sprintf("slower-%.0f", 100*(1-r))
		ratios[name] = r
		fmt.Fprintf(&body, "  %s: loop(size=1GiB)\n", name)
	}
	body.WriteString("workloads:\n  randread: {fio: {rw: randread, bs: 4KiB, jobs: 4, iodepth: 32, size: 512MiB}}\n" +
		"  randwrite: {fio: {rw: randwrite, bs: 4KiB, jobs: 4, iodepth: 32, size: 512MiB}}\n")
	slow := func(ctx context.Context, stack string, devices []result.Device) error {
		ratio, ok := ratios[stack]
		if !ok {
			return nil
		}
		return limit(ctx, devices[0], ratio)
	}
	run, err := measure(ctx, o, dir, "limits", body.String(), o.seed, slow)
	if err != nil {
		return err
	}
	fmt.Println("| slowed down by a limit to | workload | measured | called | p, of all comparisons |")
	fmt.Println("|---|---|--:|---|--:|")
	for _, p := range finding.Pairs(run) {
		e := p.Effect
		ratio, ok := ratios[e.Subject]
		if e.Baseline != "whole" || !ok {
			continue
		}
		called := "~"
		switch {
		case e.Differs && e.Ratio < 1:
			called = "slower"
		case e.Differs:
			called = "faster"
		}
		fmt.Printf("| %.0f%% | %s | %.2fx (%.2f to %.2f) | %s | %.4f |\n", 100*ratio, p.Workload, e.Ratio, e.Low,
			e.High, called, e.Adjusted)
	}
	blocks := run.Trials[len(run.Trials)-1].Block
	fmt.Printf("\n%d blocks, %s in all.\n", blocks, elapsed(run).Round(time.Second))
	return nil
}

func throttle(group, direction string) string {
	return filepath.Join(group, "blkio.throttle."+direction+"_iops_device")
}

// limit has a device do a share of what it does without a limit. The kernel forgets
// limits with the group, which is made anew at each setup.
//
// At tens of thousands of I/Os a second, what is limited to 95% does some 70%: the
// limit is raised until the rate is what it should be.
func limit(ctx context.Context, device result.Device, ratio float64) error {
	groups, err := filepath.Glob(filepath.Join(blkio, cgroup.Prefix+"*"))
	if err != nil {
		return err
	}
	if len(groups) != 1 {
		return fmt.Errorf("which group the stack's steps run in is not known: there are %q", groups)
	}
	group, path := groups[0], "/dev/"+device.Name
	for direction, rw := range map[string]string{"read": "randread", "write": "randwrite"} {
		whole, err := probe(ctx, group, path, rw)
		if err != nil {
			return err
		}
		iops := ratio * whole
		for range 3 {
			set := fmt.Sprintf("%s %d", device.MajMin, int(iops))
			if err := os.WriteFile(throttle(group, direction), []byte(set), 0); err != nil {
				return fmt.Errorf("limit %s: %w", device.Name, err)
			}
			read, err := os.ReadFile(throttle(group, direction))
			if err != nil {
				return err
			}
			if strings.TrimSpace(string(read)) != set {
				return fmt.Errorf("limit %s to %q: it reads %q", device.Name, set, read)
			}
			got, err := probe(ctx, group, path, rw)
			if err != nil {
				return err
			}
			iops *= ratio * whole / got
		}
	}
	return nil
}

// probe has fio tell what a device does under the load of the trials, in a group.
func probe(ctx context.Context, group, path, rw string) (iops float64, err error) {
	const enter = `echo $$ > "$0/cgroup.procs" && exec "$@"`
	out, err := exec.CommandContext(ctx, "sh", "-c", enter, group, "fio", "--name=probe", "--filename="+path,
		"--rw="+rw, "--bs=4k", "--numjobs=4", "--iodepth=32",
		"--ioengine=libaio", "--direct=1", "--size=512m", "--norandommap=1", "--randrepeat=0",
		"--random_generator=tausworthe64",
		"--thread", "--disk_util=0", "--runtime=1", "--time_based", "--group_reporting", "--output-format=json").Output()
	if err != nil {
		return 0, fmt.Errorf("probe %s: %w", path, err)
	}
	var output struct {
		Jobs []struct {
			Read, Write struct{ IOPS float64 }
		}
	}
	if err := json.Unmarshal(out, &output); err != nil {
		return 0, fmt.Errorf("probe %s: %w", path, err)
	}
	if len(output.Jobs) == 0 {
		return 0, errors.New("fio said nothing")
	}
	return output.Jobs[0].Read.IOPS + output.Jobs[0].Write.IOPS, nil
}
