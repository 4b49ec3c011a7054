package report

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/problem"
	"plimsoll/internal/result"
)

type unusualRun struct {
	name string
	run  *result.Run
}

// hostile is what nobody should name a stack, and somebody will.
const hostile = `<script>alert(1)</script>"><img src=x onerror=alert(2)>'</style></title>{{.}}`

// unusualRuns are runs at the edges of what a report has to bear.
func unusualRuns() []unusualRun {
	failed := sampleRun()
	for i := range failed.Trials {
		t := &failed.Trials[i]
		t.Status, t.Instances, t.Checks = result.TrialFailed, nil, nil
		t.Problem = &problem.Problem{What: "fio on " + t.Stack, Why: "exit status 1: No space left on device",
			Remedy: "free space"}
	}

	single := sampleRun()
	single.Stacks, single.Experiment.Baseline = single.Stacks[3:4], ""
	single.Trials = slices.DeleteFunc(single.Trials, func(t result.Trial) bool {
		return t.Stack != single.Stacks[0].Name ||
			t.Repeat > 1
	})

	interrupted := sampleRun()
	interrupted.Status = result.RunInterrupted
	for i := 31; i < len(interrupted.Trials); i++ {
		t := &interrupted.Trials[i]
		*t = result.Trial{Seq: t.Seq, Block: t.Block, Stack: t.Stack, Mix: t.Mix, Repeat: t.Repeat,
			Status: result.TrialPlanned}
	}

	forty := sampleRun()
	seed := *forty
	forty.Stacks, forty.Trials = nil, nil
	for i := range 40 {
		from := seed.Stacks[i%len(seed.Stacks)]
		stack := from
		stack.Name = fmt.Sprintf("%s-%d", from.Name, i)
		forty.Stacks = append(forty.Stacks, stack)
		for _, t := range seed.Trials {
			if t.Stack == from.Name {
				t.Stack, t.Seq = stack.Name, len(forty.Trials)+1
				forty.Trials = append(forty.Trials, t)
			}
		}
	}

	long := sampleRun()
	renameStacks(long, func(name string) string {
		return name + strings.Repeat("-with-a-name-that-somebody-generated-from-every-option", 3)
	})

	hostileRun := sampleRun()
	renameStacks(hostileRun, func(name string) string { return name + hostile })
	poison(reflect.ValueOf(&hostileRun.Environment).Elem())
	poison(reflect.ValueOf(&hostileRun.Experiment.Question).Elem())
	poison(reflect.ValueOf(&hostileRun.Experiment.Source).Elem())
	poison(reflect.ValueOf(&hostileRun.Command).Elem())
	poison(reflect.ValueOf(&hostileRun.ID).Elem())
	for i := range hostileRun.Trials {
		if p := hostileRun.Trials[i].Problem; p != nil {
			poison(reflect.ValueOf(p).Elem())
		}
	}

	unmeasured := stoppedRun()
	for i := range unmeasured.Trials {
		t := &unmeasured.Trials[i]
		if t.Rates != nil {
			t.Rates.IOPS[3], t.Rates.IOPS[4] = math.NaN(), math.Inf(1)
			t.Stop.MeanIOPS, t.Stop.HighIOPS = math.NaN(), math.Inf(1)
		}
		if t.Preconditioning != nil && t.Preconditioning.Rounds != nil {
			t.Preconditioning.Rounds.IOPS[2], t.Preconditioning.Rounds.Average = math.NaN(), math.NaN()
		}
	}
	unmeasured.Points[0].RelativeHalfWidth = math.NaN()

	mixed := mixedRun()
	for i := range mixed.Mixes {
		m := &mixed.Mixes[i]
		poison(reflect.ValueOf(m.Tenants))
		for j := range mixed.Trials {
			t := &mixed.Trials[j]
			if t.Mix == m.Name {
				t.Mix += hostile
				poison(reflect.ValueOf(t.Instances))
				poison(reflect.ValueOf(t.Series))
			}
		}
		m.Name += hostile
	}

	return []unusualRun{
		{"mixes", mixedRun()},
		{"mixes of hostile names", mixed},
		{"numbers that are none", unmeasured},
		{"nothing at all", &result.Run{}},
		{"nothing measured yet", &result.Run{Status: result.RunRunning,
			Started: time.Date(2026, 5, 12, 9, 30, 0, 0, time.UTC), Stacks: single.Stacks, Workloads: single.Workloads}},
		{"all failed", failed},
		{"one stack once", single},
		{"interrupted", interrupted},
		{"forty stacks", forty},
		{"very long names", long},
		{"hostile names", hostileRun},
	}
}

func renameStacks(run *result.Run, rename func(string) string) {
	for i := range run.Stacks {
		run.Stacks[i].Name = rename(run.Stacks[i].Name)
	}
	for i := range run.Trials {
		run.Trials[i].Stack = rename(run.Trials[i].Stack)
	}
	run.Experiment.Baseline = rename(run.Experiment.Baseline)
}

// poison puts the hostile name into every string below v.
func poison(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(v.String() + hostile)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				poison(v.Field(i))
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			poison(v.Index(i))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			poison(v.Elem())
		}
	}
}
