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
	for i, rates := range words[3:] {
		var trial result.Trial
		for index, rate := range strings.Split(rates, "/") {
			measured := crowd{weakest: 1}.trial(mix.Tenants[index], stack, numberOf(t, rate))
			if index == 0 {
				trial = measured
				continue
			}
			trial = joined(trial, measured)
		}
		addTrial(run, mix, i, trial)
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
			trial := c.trial(tenant, words[1], numberOf(t, rate))
			if len(mix.Tenants) == 1 {
				trials = append(trials, trial)
				continue
			}
			trials[i] = joined(trials[i], trial)
		}
	}
	run.Mixes = append(run.Mixes, mix)
	for i, trial := range trials {
		addTrial(run, mix, i, trial)
	}
}

func split(words []string, at string) (parts [][]string) {
	for i := slices.Index(words, at); i >= 0; i = slices.Index(words, at) {
		parts, words = append(parts, words[:i]), words[i+1:]
	}
	return append(parts, words)
}

// joined returns a trial in which the instances of both trials were measured at the same time on one device.
func joined(t, other result.Trial) result.Trial {
	for _, in := range other.Instances {
		in.Index = len(t.Instances)
		t.Instances = append(t.Instances, in)
	}
	sum, added := &t.Checks[0].Served[0], other.Checks[0].Served[0]
	sum.Reads, sum.Writes = sum.Reads+added.Reads, sum.Writes+added.Writes
	sum.ReadBytes, sum.WriteBytes = sum.ReadBytes+added.ReadBytes, sum.WriteBytes+added.WriteBytes
	t.DeviceBusy = max(t.DeviceBusy, other.DeviceBusy)
	return t
}
