package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/internal/field"
	"plimsoll/internal/headroom"
	"plimsoll/internal/problem"
	"plimsoll/internal/recording/segments"
	"plimsoll/internal/report"
	"plimsoll/internal/units/plural"
)

type headroomFlags struct {
	container string
	quantile  float64
	drives    []string
	runs      []string
	last      time.Duration
	seed      uint64
	html      string
}

func newHeadroomCommand(a *app) *cobra.Command {
	var f headroomFlags
	cmd := &cobra.Command{
		Use:   "headroom RECORDING",
		Short: "Show what a host still carries, from a recording of it",
		Long: `Show which resource of a host binds first, by a recording of what it did: how near
its busiest seconds come to what there is. Show how many more containers fit, and
which provisioned IOPS, bytes and memory would have been enough. Containers that
peak together are named. Nothing is measured, and no trial runs.

RECORDING is a directory that "plimsoll watch --record DIR" wrote, one of its
files, or what "plimsoll import" made of the metrics of other programs.

Capacities of processors and memory are the machine's. A drive's is what --run
measured ("plimsoll run devices"), or what --drive gives from a data sheet or a
contract. Without these it is the most that the drive was seen to do. How many more
containers fit is then the least. What was never seen is listed, and not guessed.

docs/how-to/headroom.md explains the answer and its limits.

EXIT STATUS
  0  shown, also if the recording is too short for an answer
  1  the answer could not be printed
  2  the command line is wrong, or there is no such recording`,
		Example: `  plimsoll headroom /var/lib/plimsoll-recording
  plimsoll headroom /var/lib/plimsoll-recording --container shop/db --run last
  plimsoll headroom DIR --drive nvme0n1=iops=16000,bandwidth=1GB/s
  plimsoll headroom DIR --last 24h --json | jq '.more[0]'`,
		Args: exactly(1, "a recording"),
		RunE: func(_ *cobra.Command, args []string) error { return a.headroom(args[0], f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.container, "container", "", "`name` of the container to fit more of (default: those that use most)")
	flags.Var(field.Flag(field.Share("99.9%", "from 50% to below 100%", func(x float64) bool { return x >= 0.5 && x < 1 }),
		&f.quantile), "quantile", "`share` of seconds in which demand must fit (default: 99.9%, or 99% of a short recording)")
	flags.StringArrayVar(&f.drives, "drive", nil,
		"`capacity` of a drive: NAME=iops=N,bandwidth=N, or read-iops, write-iops, "+
			"read-bandwidth, write-bandwidth; repeatable")
	flags.StringArrayVar(&f.runs, "run", nil, "`run` that measured drives of this host; repeatable")
	flags.Var(field.Flag(field.Duration(time.Second, 10*365*24*time.Hour), &f.last), "last",
		"`time` before the end of the recording to look at (default: all)")
	flags.Uint64Var(&f.seed, "seed", 1, "`number` that begins the resampling")
	flags.StringVar(&f.html, "html", "", "`file` to write the answer to, as a page")
	flags.BoolVar(&a.jsonOutput, "json", false, "print JSON")
	return cmd
}

// headroom reads a recording and prints what it says.
func (a *app) headroom(name string, f headroomFlags) error {
	capacities, err := a.capacities(f)
	if err != nil {
		return err
	}
	r, err := segments.ReadLast(name, f.last)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	answer, err := headroom.Find(r, headroom.Options{Container: f.container, Quantile: f.quantile, Capacities: capacities,
		Seed: f.seed})
	if err != nil {
		return &exitError{exitUsage, err}
	}
	return a.answer(report.Answer{Kind: "headroom", Title: "What " + answer.Host.Name + " still carries",
		Verdict: answer.Verdict(), Sections: answer.Sections()}, answer, f.html)
}

// capacities returns the capacities that are given, and those of runs.
func (a *app) capacities(f headroomFlags) (all []headroom.Capacity, err error) {
	var wrong problem.List
	for _, text := range f.drives {
		given, problems := parseDrive(text)
		all, wrong = append(all, given...), append(wrong, problems...)
	}
	if len(wrong) > 0 {
		return nil, &exitError{exitUsage, wrong}
	}
	if len(f.runs) == 0 {
		return all, nil
	}
	runs, err := a.readRuns(f.runs)
	if err != nil {
		return nil, err
	}
	for i, run := range runs {
		measured := headroom.MeasuredBy(run)
		if len(measured) == 0 {
			return nil, &exitError{exitUsage, fmt.Errorf("--run %s: no workload of it only reads or only writes a drive: "+
				"measure with plimsoll run devices", f.runs[i])}
		}
		all = append(all, measured...)
	}
	return all, nil
}

var (
	driveRate  = field.Rate(1e-3, 1e12)
	driveBytes = field.Bandwidth(1, 1<<50)
)

// driveCapacities are the keys of --drive.
var driveCapacities = []headroom.Resource{headroom.Operations, headroom.Bandwidth, headroom.Reads, headroom.Writes,
	headroom.ReadBandwidth, headroom.WriteBandwidth}

// parseDrive reads NAME=KEY=VALUE,KEY=VALUE.
func parseDrive(text string) (all []headroom.Capacity, wrong problem.List) {
	reject := func(why, remedy string) {
		wrong = append(wrong, problem.Problem{Kind: problem.Invalid, What: fmt.Sprintf("--drive %q", text), Why: why,
			Remedy: remedy})
	}
	drive, list, ok := strings.Cut(text, "=")
	if !ok || drive == "" || list == "" {
		reject("it has no name of a drive and no capacity", "write nvme0n1=iops=16000,bandwidth=1GB/s")
		return nil, wrong
	}
	for entry := range strings.SplitSeq(list, ",") {
		key, value, _ := strings.Cut(entry, "=")
		resource := headroom.Resource(strings.TrimSpace(key))
		c := headroom.Capacity{Drive: drive, Resource: resource, Source: headroom.Given, From: "--drive"}
		var err error
		switch {
		case !slices.Contains(driveCapacities, resource):
			keys := plural.Or(plural.Words(driveCapacities, func(r headroom.Resource) string { return string(r) }))
			reject(fmt.Sprintf("%q is no capacity", key), "write "+keys)
			continue
		case slices.ContainsFunc(all, func(other headroom.Capacity) bool { return other.Resource == resource }):
			reject(fmt.Sprintf("%s is there twice", resource), "leave one out")
			continue
		case strings.Contains(key, "bandwidth"):
			var bytes int64
			bytes, err = driveBytes.Parse(value)
			c.Value = float64(bytes)
		default:
			c.Value, err = driveRate.Parse(value)
		}
		if err != nil {
			reject(fmt.Sprintf("%s: %v", resource, err), "")
			continue
		}
		all = append(all, c)
	}
	return all, wrong
}
