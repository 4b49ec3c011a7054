package experiment

import (
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/result"
)

// Each limit that has a size is varied both ways and alone, and nothing else of the mix changes. What a run
// stored of them is enough to make them again.
func TestVariationsChangeOneLimitEach(t *testing.T) {
	host := result.Limits{
		CPUs: 1.5, CPUSet: "0-1", MemoryBytes: 1000 << 20, Read: result.Rate{OperationsPerSecond: 1500},
		Write: result.Rate{BytesPerSecond: 10 << 20, OperationsPerSecond: 2},
	}
	m := Mix{Name: "C-5", Tenants: []Tenant{{Name: "a", Workload: "A", Count: 5}}, Host: &host}
	e := &Experiment{Mixes: []Mix{m}, Elasticity: 0.2}
	variations := Variations(m, e.Elasticity, []string{"C-5.memory-x1.2"})
	var got []string
	stored := []result.Mix{m.Stored()}
	for _, v := range variations {
		got = append(got, v.Name+": "+v.Host.String())
		stored = append(stored, v.Stored())
		if v.Varies.Of != "C-5" || v.Host.CPUSet != "0-1" || v.Count() != 5 || v.Stored().Family() != "" {
			t.Errorf("%+v", v)
		}
	}
	const rest = ", processors 0-1, 1000 MiB of memory, 1500 reads/s, 2 writes/s, writes of 10 MiB/s"
	want := []string{
		"C-5.cpus-x1.2: 1.8 CPUs" + rest,
		"C-5.cpus-x0.8: 1.2 CPUs" + rest,
		"C-5.memory-x1.2-2: 1.5 CPUs" + strings.Replace(rest, "1000 MiB", "1.2 GiB", 1),
		"C-5.memory-x0.8: 1.5 CPUs" + strings.Replace(rest, "1000 MiB", "800 MiB", 1),
		"C-5.read-iops-x1.2: 1.5 CPUs" + strings.Replace(rest, "1500", "1800", 1),
		"C-5.read-iops-x0.8: 1.5 CPUs" + strings.Replace(rest, "1500", "1200", 1),
		"C-5.write-bandwidth-x1.2: 1.5 CPUs" + strings.Replace(rest, "10 MiB", "12 MiB", 1),
		"C-5.write-bandwidth-x0.8: 1.5 CPUs" + strings.Replace(rest, "10 MiB", "8 MiB", 1),
	} // a fifth of two writes a second is none
	if !slices.Equal(got, want) {
		t.Errorf("they are\n%s\nnot\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	e.AddVaried(stored)
	if len(e.Mixes) != len(stored) || e.Mixes[3].Name != "C-5.memory-x1.2-2" || *e.Mixes[3].Host != *variations[2].Host {
		t.Errorf("made again: %+v", e.Mixes)
	}
}

// A budget for how many instances begins with some of the numbers, once each, and leaves time for elasticity.
func TestFitOfHowManyPlansACoarseBlock(t *testing.T) {
	for _, name := range []string{"density", "valley", "elasticity"} {
		e := builtIn(t, name)
		if err := Fit(e, 6*time.Minute); err != nil {
			t.Fatal(err)
		}
		var counts []int
		for _, p := range Trials(e, 1) {
			m, _ := e.Mix(p.Mix)
			counts = append(counts, m.Count())
		}
		slices.Sort(counts)
		want := map[string][]int{"density": {1, 3, 5, 7, 8}, "valley": {1, 4, 6, 8}, "elasticity": {3, 5, 6}}[name]
		if !slices.Equal(counts, want) {
			t.Errorf("%s begins with %v, not %v", name, counts, want)
		}
		takes, limit := ElasticityTakes(e), 3*time.Minute
		if name == "elasticity" { // it is about nothing else
			limit = 220 * time.Second
		}
		if (takes > 0) != (e.Elasticity > 0) || takes > limit {
			t.Errorf("%s: elasticity takes %s", name, takes)
		}
	}
	e := builtIn(t, "density")
	without := *e
	without.Elasticity = 0
	if Estimate(e) != Estimate(&without)+ElasticityTakes(e) {
		t.Error("the estimate does not count elasticity")
	}
}

func TestRoundsWithServersAreRefused(t *testing.T) {
	e := builtIn(t, "density")
	if found := e.CheckRounds(); found != nil {
		t.Error(found)
	}
	e.Precondition = SNIA
	found := e.CheckRounds()
	if found == nil || !strings.Contains(found.What, "rounds of preconditioning with C") || found.Remedy == "" {
		t.Errorf("%v", found)
	}
	files := builtIn(t, "quick")
	files.Precondition = SNIA
	if found := files.CheckRounds(); found != nil {
		t.Error(found)
	}
}
