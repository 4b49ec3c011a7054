package report

import (
	"fmt"
	"math"
	"strings"

	"plimsoll/internal/problem"
	"plimsoll/internal/result"
	"plimsoll/internal/testkit/runtest"
)

// crowdedRuns are runs that ask how many instances a host carries, by what is special about
// them, as package story tells them.
func crowdedRuns(t runtest.Stopper) map[string]*result.Run {
	runs := map[string]*result.Run{}
	for name, text := range crowdedStories() {
		run := runtest.Tell(t, text)
		run.Experiment.Name, run.Experiment.Question = name, "How many instances does this host carry?"
		run.ID, run.Status = name, result.RunComplete
		runs[name] = run
	}
	failed := runs["failed"]
	for i := range failed.Trials {
		one := &failed.Trials[i]
		if one.Mix == "C-8" {
			one.Status, one.Problem = result.TrialFailed, &problem.Problem{What: "instance 3", Why: "killed for want of memory"}
			one.Instances[3].Measurement, one.Instances[3].Problem = nil, one.Problem
		}
	}
	on := runs["stacks of its own"]
	for i := range on.Mixes {
		on.Mixes[i].Tenants[0].On = []string{"disk"}
	}
	for i := range on.Trials {
		on.Trials[i].Stack = ""
	}
	return runs
}

func crowdedStories() map[string]string {
	const small = "host cpus=2 memory=1000 reads=1500\nstack disk: loop > xfs > volume\n" +
		"workload C randread {bs: 4KiB, direct: false}\n"
	valley := small + `instances C disk x1 1501 1511 1512 1503 1508 reads=0 cache=198 mean=300000 p99=668000
instances C disk x2 3024 3048 3035 3040 3039 reads=0 cache=198 mean=300000 p99=655000
instances C disk x3 4572 4558 4575 4566 4570 reads=0 cache=198 mean=310000 p99=770000
instances C disk x4 6019 6050 6052 6048 6061 reads=0.001 cache=198 mean=330000 p99=1170000
instances C disk x5 7313 7364 7350 7342 7366 reads=0.04 cache=180 mean=400000 p99=2210000
instances C disk x6 6304 6140 6130 6145 6120 reads=0.17 cache=150 io=0.8 mean=2000000 p99=39100000
instances C disk x8 2481 2550 2560 2540 2570 reads=0.62 cache=114 io=0.9 mean=20000000 p99=91800000
`
	manyInstances := "host cpus=8 reads=20000\nstack disk: loop > xfs\nworkload direct randread {bs: 4KiB}\n"
	for _, n := range []int{1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 40, 48, 64, 80, 96, 128} {
		rate := 500 * math.Min(float64(n), 39)
		uses := "reads=1"
		if n >= 40 {
			uses += " io=0.9"
		}
		manyInstances += fmt.Sprintf("instances direct disk x%d %.0f %.0f %.0f %.0f %s mean=%d p99=%d\n", n, rate, rate*1.01,
			rate*0.99, rate*1.005, uses, 2_000_000*max(1, n/40), 2_500_000+40_000*n*n)
	}
	levels := func(workload string, rates ...float64) (text string) {
		for i, n := range []int{1, 2, 4, 8} {
			text += fmt.Sprintf("instances %s disk x%d %.0f %.0f %.0f %.0f %.0f mean=1000000 p99=%d\n", workload, n, rates[i],
				rates[i]*1.02, rates[i]*0.97, rates[i]*1.01, rates[i]*0.99, 2_000_000*n)
		}
		return text
	}
	return map[string]string{
		"valley":    valley,
		"objective": strings.Replace(valley, "instances", "objective p99=2000000 standalone=0.9\ninstances", 1),
		"unmet":     strings.Replace(valley, "instances", "objective p99=100000\ninstances", 1),
		"many":      manyInstances,
		"varied": valley + `varied memory*1.2 C disk x5 7470 7490 7500 7480 mean=330000 p99=1170000
varied memory*0.8 C disk x5 4313 4364 4350 4342 mean=3000000 p99=40000000
`,
		"failed": valley,
		"two counts": small + `instances C disk x1 1501 1511 1512 1503 reads=0 cache=198
instances C disk x2 3024 3048 3035 3040 reads=0 cache=198
`,
		"three counts": small + `instances C disk x2 3024 3048 3035
instances C disk x4 6019 6050 6052
instances C disk x16 6304 6140 6130
`,
		"undecided": "cpus 16\nstack disk: loop > xfs\nworkload direct randread {bs: 4KiB}\n" +
			`instances direct disk x1 1000 1100 900 1050 950 cpus=1
instances direct disk x2 1500 2500 2000 1800 2200 cpus=1
instances direct disk x4 1400 2600 2000 1700 2300 busy=0.99 io=0.8
instances direct disk x8 1100 2400 1700 1500 1900 cpus=1.9
`,
		"families": "stack disk: loop > xfs\nworkload buffered randread {bs: 4KiB, direct: false}\n" +
			"workload direct randread {bs: 4KiB}\n" +
			levels("buffered", 1600, 3200, 6300, 2100) + levels("direct", 500, 1000, 1990, 2000),
		"stacks of its own": valley,
	}
}
