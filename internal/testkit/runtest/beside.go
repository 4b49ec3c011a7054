package runtest

import (
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/result"
)

// tellBeside takes a line of a story: two workloads with so many instances each at the
// same time, and what the instances of either did together in each setup.
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
		var one result.Trial
		for at, rate := range strings.Split(told, "/") {
			of := crowd{weakest: 1}.trial(mix.Tenants[at], stack, numberOf(t, rate))
			if at == 0 {
				one = of
				continue
			}
			one = beside(one, of)
		}
		addTrial(run, mix, i, one)
	}
}

// tellTenants takes a line of a story: a mix of several tenants on a stack, which "&" stands between.
// Each has as many rates, one of each setup: "pair disk C x1 900 910 & SW x1 40 41".
func tellTenants(t Stopper, run *result.Run, host *result.Limits, words []string) {
	t.Helper()
	mix := result.Mix{Name: words[0], Host: host}
	var trials []result.Trial
	for _, part := range split(words[2:], "&") {
		c, tenant, rates := tellTenant(t, part)
		mix.Tenants = append(mix.Tenants, tenant)
		for i, rate := range rates {
			one := c.trial(tenant, words[1], numberOf(t, rate))
			if len(mix.Tenants) == 1 {
				trials = append(trials, one)
				continue
			}
			trials[i] = beside(trials[i], one)
		}
	}
	run.Mixes = append(run.Mixes, mix)
	for i, one := range trials {
		addTrial(run, mix, i, one)
	}
}

func split(words []string, at string) (parts [][]string) {
	for i := slices.Index(words, at); i >= 0; i = slices.Index(words, at) {
		parts, words = append(parts, words[:i]), words[i+1:]
	}
	return append(parts, words)
}

// beside is a trial in which instances of two were measured at the same time on one device.
func beside(t, other result.Trial) result.Trial {
	for _, in := range other.Instances {
		in.Index = len(t.Instances)
		t.Instances = append(t.Instances, in)
	}
	all, more := &t.Checks[0].Served[0], other.Checks[0].Served[0]
	all.Reads, all.Writes = all.Reads+more.Reads, all.Writes+more.Writes
	all.ReadBytes, all.WriteBytes = all.ReadBytes+more.ReadBytes, all.WriteBytes+more.WriteBytes
	t.DeviceBusy = max(t.DeviceBusy, other.DeviceBusy)
	return t
}
