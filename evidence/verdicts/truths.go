package verdicts

import (
	"fmt"
	"strings"
)

// truths are the runs that are drawn: those near the edge of what can be known first of all.
func truths(quick bool, only string) (cases []truth) {
	ladder := []float64{0, 0.02, 0.04, 0.05, 0.07, 0.08, 0.10, 0.20, 0.50}
	by5 := []float64{0, 0.05, 0.20, 0.25, 0.30, 0.35, 0.40, 0.50, 0.60}
	by10 := []float64{0, 0.10, 0.10, 0.10, 0.10, 0.10, 0.10, 0.10, 0.10}
	equal := make([]float64, 9)
	torn := [][]float64{{0, 0.02, 0.10, 0.15, 0.20, 0.20, 0.30}, {0.03, 0, 0.02, 0.10, 0.10, 0.20, 0.30}}
	add := func(t truth) { cases = append(cases, t) }
	underOneWorkload := func(losses []float64) [][]float64 { return [][]float64{losses} }
	for _, ranking := range []struct {
		name   string
		losses []float64
	}{{"ladder", ladder}, {"best by 5%", by5}, {"best by 10%", by10}, {"equal", equal}} {
		for _, setups := range []float64{0.02, 0.05, 0.10} {
			for _, rounds := range []int{4, 8, 12, 30} {
				if !quick || setups == 0.05 && rounds == 8 {
					add(truth{name: ranking.name, losses: underOneWorkload(ranking.losses),
						noise: noise{setups: setups, regions: 0.15}, rounds: rounds})
				}
			}
		}
		for _, spread := range []noise{{setups: 0.02}, {setups: 0.02, regions: 0.15}, {setups: 0.05, regions: 0.30}} {
			for _, rounds := range []int{8, 15} {
				for _, how := range []string{baseline, contend} {
					if !quick || rounds == 8 && spread.regions == 0.15 {
						add(truth{name: ranking.name, losses: underOneWorkload(ranking.losses), noise: spread, rounds: rounds,
							budget: how})
					}
				}
			}
		}
	}
	for _, setups := range []float64{0.02, 0.05} {
		for _, shape := range []string{"", "unequal"} {
			for _, rounds := range []int{4, 8, 30} {
				if !quick || rounds == 4 && setups == 0.02 {
					add(truth{name: "two near", losses: underOneWorkload([]float64{0, 0.06}),
						noise: noise{setups: setups, shape: shape, regions: 0.15}, rounds: rounds})
					add(truth{name: "three near", losses: underOneWorkload([]float64{0, 0.05, 0.06}),
						noise: noise{setups: setups, shape: shape, regions: 0.15}, rounds: rounds})
				}
			}
		}
	}
	for _, spreadNoise := range []noise{
		{setups: 0.05, shape: "heavy", regions: 0.15}, {setups: 0.05, shape: "states", regions: 0.15},
		{setups: 0.02, shape: "unequal", regions: 0.15}, {setups: 0.03, drift: 0.01}, {setups: 0.01, place: 0.05},
		{setups: 0.03, regions: 0.15, again: 4, meets: 0.05}, {setups: 0.03, regions: 0.15, again: 8, meets: 0.05},
		{setups: 0.03, bias: 0.02}, {setups: 0.03, bias: 0.05},
	} {
		for _, rounds := range []int{4, 8, 30} {
			for _, ranking := range []struct {
				name   string
				losses []float64
			}{{"ladder", ladder}, {"best by 5%", by5}} {
				if !quick || rounds == 8 && ranking.name == "best by 5%" && (spreadNoise.place > 0 ||
					spreadNoise.shape == "unequal") {
					add(truth{name: ranking.name, losses: underOneWorkload(ranking.losses), noise: spreadNoise, rounds: rounds})
				}
			}
		}
	}
	for _, rounds := range []int{4, 8, 30} {
		if !quick || rounds == 8 {
			add(truth{name: "two workloads", losses: torn, noise: noise{setups: 0.03, regions: 0.15}, rounds: rounds})
		}
	}
	for _, cost := range []float64{0.04, 0.05, 0.08} {
		for _, rounds := range []int{6, 8, 16, 30} {
			for _, setups := range []float64{0.05, 0.08} {
				if !quick || rounds == 30 && setups == 0.05 {
					add(truth{name: fmt.Sprintf("policy costs %.0f%%", 100*cost), losses: underOneWorkload([]float64{0, cost, 0}),
						noise: noise{setups: setups, regions: 0.15}, rounds: rounds, budget: policed})
				}
			}
		}
	}
	for _, worth := range []float64{0.03, 0.05, 0.08} {
		for _, rounds := range []int{8, 16, 30} {
			for _, setups := range []float64{0.03, 0.06} {
				if !quick || rounds == 16 && setups == 0.06 {
					add(truth{name: fmt.Sprintf("memory moves %.0f%%", 100*worth),
						losses: underOneWorkload([]float64{0, -worth, worth, 0, 0}),
						noise:  noise{setups: setups, regions: 0.15}, rounds: rounds, budget: elastic})
				}
			}
		}
	}
	// Each instance of so many does so much less than one alone: the next number is far from the objective, or near it.
	for _, line := range []struct {
		name   string
		losses []float64
	}{
		{"line far", []float64{0, 0.05, 0.20, 0.35, 0.65, 0.75}}, {"line by 10%", []float64{0, 0.05, 0.20, 0.44, 0.56, 0.70}},
		{"line by 4%", []float64{0, 0.05, 0.20, 0.47, 0.52, 0.70}},
	} {
		for _, rounds := range []int{4, 8, 16} {
			for _, setups := range []float64{0.02, 0.05} {
				if !quick {
					add(truth{name: line.name, losses: underOneWorkload(line.losses), noise: noise{setups: setups, regions: 0.10},
						rounds: rounds,
						budget: carried})
				}
			}
		}
	}
	for _, n := range []int{2, 9} {
		for _, losses := range [][]float64{equal[:n], ladder[:n]} {
			name := "ladder"
			if losses[1] == 0 {
				name = map[int]string{2: "two equal", 9: "equal"}[n]
			}
			if !quick || n == 2 && losses[1] == 0 {
				add(truth{name: name, losses: underOneWorkload(losses), noise: noise{setups: 0.05, regions: 0.15}, rounds: 30,
					looks: []int{4, 6, 8, 10, 14, 20, 30}})
			}
		}
	}
	cases = append(cases, runTruths(quick)...)
	if only == "" {
		return cases
	}
	var selected []truth
	for _, t := range cases {
		if strings.Contains(t.columns(), only) {
			selected = append(selected, t)
		}
	}
	return selected
}
