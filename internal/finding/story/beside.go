package story

import (
	"strconv"
	"strings"

	"plimsoll/internal/result"
)

// tellBeside takes a line of a story: two workloads with so many instances each at the
// same time, and what the instances of either did together in each bring-up.
func tellBeside(t Stopper, run *result.Run, host *result.Limits, words []string) {
	t.Helper()
	stack, mix := words[0], result.Mix{Host: host}
	for _, w := range words[1:3] {
		name, count, _ := strings.Cut(w, "x")
		n, err := strconv.Atoi(count)
		if err != nil {
			t.Fatal(err)
		}
		mix.Tenants = append(mix.Tenants, result.Tenant{Name: name, Workload: name, Count: n})
	}
	mix.Name = strings.Join(words[1:3], "+")
	run.Mixes = append(run.Mixes, mix)
	for i, told := range words[3:] {
		one := result.Trial{
			Seq: len(run.Trials) + 1, Block: i + 1, BringUp: i + 1, Repeat: i + 1,
			Stack: stack, Mix: mix.Name, Status: result.TrialDone,
		}
		for at, rate := range strings.Split(told, "/") {
			of := crowd{weakest: 1}.trial(mix.Tenants[at], stack, numberOf(t, rate))
			one.Instances, one.Checks = append(one.Instances, of.Instances...), of.Checks
		}
		run.Trials = append(run.Trials, one)
	}
}
