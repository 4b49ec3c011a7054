package verdicts

import (
	"crypto/sha256"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"plimsoll/internal/experiment"
	"plimsoll/internal/result"
	"plimsoll/internal/stats"
	"plimsoll/internal/trial/plan/rounds"
)

// noise is what moves the rate of a setup beside the stack, as standard deviations of its logarithm unless said
// otherwise.
type noise struct {
	setups  float64 // of one setup
	shape   string  // of setups: "" for normal, "heavy" for Student's t of 3 degrees, "states" for two of them, "unequal"
	regions float64 // that all stacks of a round share
	again   int     // number of regions that come again in turn; 0 for a new one each round
	meets   float64 // by which a stack and a region that comes again suit each other
	drift   float64 // by which each round is slower than the one before
	place   float64 // by which each place in the order of a round is slower than the one before
	bias    float64 // that stays with a stack in all rounds of a run
}

// truth is a run whose answer is known.
type truth struct {
	name   string
	losses [][]float64 // of each workload: by how much each stack is slower than the best one, as a share
	noise  noise
	rounds int   // of all stacks; with a budget, so many setups of each stack on average
	looks  []int // rounds after which the verdict is read, and the run is resumed
	budget string
}

// The ways in which setups are dealt out.
const (
	evenly   = ""           // all stacks in each round
	baseline = "baseline"   // by the study of comparisons with the baseline, as a budget does
	contend  = "contenders" // to those that may yet be the best
)

// baselineStack returns the number of the stack that others are compared with.
func (t truth) baselineStack() int { return min(3, t.stacks()-1) }

// maker draws the setups of one run.
type maker struct {
	truth
	random *rand.Rand
	seed   uint64
	run    *result.Run
	bias   []float64     // of each stack and the control
	suits  [][]float64   // of each stack, by region
	setups map[int]int   // of each stack
	logs   [][][]float64 // of each workload and stack: what was measured
	blocks [][]int       // of each stack
}

func stackName(i int) string { return fmt.Sprintf("s%d", i) }

func (t truth) stacks() int { return len(t.losses[0]) }

// draw makes a run of a truth. The same seed makes the same run.
func draw(t truth, seed uint64) *result.Run {
	m := &maker{
		truth: t, seed: seed, setups: map[int]int{},
		random: rand.New(rand.NewChaCha8(sha256.Sum256(fmt.Appendf(nil, "%v %d", t, seed)))),
		run: &result.Run{Schema: result.SchemaVersion, ID: "bench", Status: result.RunComplete, Seed: seed,
			Experiment: result.Experiment{Name: "bench", Baseline: stackName(t.baselineStack())}},
		blocks: make([][]int, t.stacks()),
	}
	for i := range t.stacks() + experiment.Controls(t.stacks()) {
		stack := result.Stack{Name: stackName(i), Line: "loop(size=1GiB) > xfs > volume"}
		if i >= t.stacks() {
			stack.Control = stackName(t.baselineStack())
		}
		m.run.Stacks = append(m.run.Stacks, stack)
		m.bias = append(m.bias, t.noise.bias*m.random.NormFloat64())
		var suits []float64
		for range max(1, t.noise.again) {
			suits = append(suits, t.noise.meets*m.random.NormFloat64())
		}
		m.suits = append(m.suits, suits)
	}
	for w := range t.losses {
		m.run.Workloads = append(m.run.Workloads, result.Workload{Name: fmt.Sprintf("w%d", w), Pattern: "randread"})
		m.logs = append(m.logs, make([][]float64, t.stacks()))
	}
	m.measure()
	return m.run
}

// measure runs rounds until what is to be spent is spent.
func (m *maker) measure() {
	regions := make([]float64, max(1, m.noise.again))
	for i := range regions {
		regions[i] = m.noise.regions * m.random.NormFloat64()
	}
	left := m.rounds * m.stacks()
	for round := 1; left > 0; round++ {
		var next []int
		switch {
		case m.budget == evenly || round <= 4:
			next = everyStack(m.stacks())
		case m.budget == contend:
			next = m.contenders()
		default:
			next = m.compared(left)
		}
		next = next[:min(left, len(next))]
		if len(next) == 0 {
			return
		}
		left -= len(next)
		region := (round - 1) % len(regions)
		if m.noise.again == 0 {
			regions[0] = m.noise.regions * m.random.NormFloat64()
		}
		m.round(round, next, region, regions[region])
	}
}

func everyStack(n int) (all []int) {
	for i := range n {
		all = append(all, i)
	}
	return all
}

// compared returns the stacks of the next round as a budget of so many setups has them: of the comparisons with the
// baseline.
func (m *maker) compared(left int) []int {
	study := rounds.DefaultStudy
	study.Size, study.Rest = 0.1, float64(left*len(m.losses))
	n := m.stacks()
	for w := range m.losses {
		var group []int
		for i := range n {
			group = append(group, w*n+i)
			var values []float64
			for _, v := range m.logs[w][i] {
				values = append(values, math.Exp(v))
			}
			study.Points = append(study.Points, rounds.StudyPoint{Values: values, Blocks: m.blocks[i]})
			if i != m.baselineStack() {
				study.Pairs = append(study.Pairs, [2]int{w*n + min(i, m.baselineStack()), w*n + max(i, m.baselineStack())})
			}
		}
		study.Groups = append(study.Groups, group)
	}
	var next []int
	for _, p := range study.Next() {
		if !slices.Contains(next, p%n) {
			next = append(next, p%n)
		}
	}
	slices.Sort(next)
	return next
}

// round runs a setup of each of some stacks, and of the controls where their twin is among them.
func (m *maker) round(round int, stacks []int, region int, shared float64) {
	if slices.Contains(stacks, m.baselineStack()) {
		controls := experiment.Controls(len(stacks))
		stacks = slices.Clone(stacks)
		for i := range controls {
			stacks = append(stacks, m.stacks()+i)
		}
	}
	var points []experiment.Planned
	for _, s := range stacks {
		points = append(points, experiment.Planned{Stack: stackName(s)})
	}
	number := map[string]int{}
	for i := range m.run.Stacks {
		number[stackName(i)] = i
	}
	for place, p := range experiment.Arrange(points, 1, m.seed, round) {
		s := number[p.Stack]
		m.setups[s]++
		stack, control := s, s >= m.stacks()
		if control {
			stack = m.baselineStack()
		} else {
			m.blocks[s] = append(m.blocks[s], round)
		}
		for w, losses := range m.losses {
			log := math.Log1p(-losses[stack]) + shared + m.suits[stack][region] + m.bias[s] + m.noise.drift*float64(-round) -
				m.noise.place*float64(place) + m.setup(stack)
			if !control {
				m.logs[w][s] = append(m.logs[w][s], log)
			}
			trial := measured(math.Exp(log) * 10_000)
			trial.Block, trial.Repeat, trial.BringUp = round, m.setups[s], m.setups[s]
			trial.Stack, trial.Mix = p.Stack, m.run.Workloads[w].Name
			trial.Seq, trial.Region, trial.ElapsedSeconds = len(m.run.Trials)+1, round, 10
			if m.noise.again > 0 {
				trial.Region = region + 1
			}
			m.run.Trials = append(m.run.Trials, trial)
		}
	}
}

// setup draws how far a setup of a stack is from what the stack does.
func (m *maker) setup(stack int) float64 {
	sd, z := m.noise.setups, m.random.NormFloat64()
	switch m.noise.shape {
	case "heavy":
		squares := 0.0
		for range 3 {
			x := m.random.NormFloat64()
			squares += x * x
		}
		return sd * z / math.Sqrt(squares)
	case "states":
		return sd * (0.2*z + math.Copysign(1, m.random.Float64()-0.5))
	case "unequal":
		if stack%2 == 1 {
			return 4 * sd * z
		}
	}
	return sd * z
}

// measured is a trial of a second in which a device answered so many reads.
func measured(rate float64) result.Trial {
	ratio := 1.0
	read := result.Operation{Name: result.Read, Count: uint64(rate), Rate: rate, BytesPerSecond: 4096 * rate}
	m := &result.Measurement{Seconds: 1, Operations: []result.Operation{read}}
	return result.Trial{Status: result.TrialDone, Instances: result.One(m),
		Checks: []result.Honesty{{Source: result.SourceDevice, Ratio: &ratio}}}
}

// mixes draws a run of mixes that differ in a policy of limits, in a limit of their scaled-down host, or in the number
// of their instances. Each has its true ratio to the first one: of its throughput, or of that of each of its
// instances.
func mixes(t truth, seed uint64) *result.Run {
	random := rand.New(rand.NewChaCha8(sha256.Sum256(fmt.Appendf(nil, "%v %d", t, seed))))
	run := &result.Run{Schema: result.SchemaVersion, ID: "bench", Status: result.RunComplete, Seed: seed,
		Experiment: result.Experiment{Name: "bench"},
		Stacks:     []result.Stack{{Name: "disk", Line: "loop(size=1GiB) > xfs > volume"}},
		Workloads:  []result.Workload{{Name: "C", Kind: "ycsb", Declared: "workload: C\n"}}}
	host := result.Limits{CPUs: 1.5, MemoryBytes: 1 << 30, Read: result.Rate{OperationsPerSecond: 1200}}
	for i := range t.losses[0] {
		tenant := result.Tenant{Name: "C", Workload: "C", Count: 2}
		if t.budget == carried {
			tenant.Count = counts[i]
			run.Experiment.Objective = &result.Objective{Standalone: objective}
		}
		mix := result.Mix{Name: fmt.Sprintf("m%d", i), Host: &host, Tenants: []result.Tenant{tenant}}
		if i > 0 && t.budget == policed {
			mix.Tenants[0].Policy, mix.Tenants[0].Limits = fmt.Sprintf("p%d", i), result.Limits{CPUs: 1}
		}
		if i > 0 && t.budget == elastic {
			varied := []result.Variation{
				{Limit: "memory", Factor: 1.2}, {Limit: "memory", Factor: 0.8},
				{Limit: "cpus", Factor: 1.2}, {Limit: "cpus", Factor: 0.8},
			}[i-1]
			varied.Of = "m0"
			mix.Varies = &varied
		}
		run.Mixes = append(run.Mixes, mix)
	}
	for round := 1; round <= t.rounds; round++ {
		shared := t.noise.regions * random.NormFloat64()
		for i, loss := range t.losses[0] {
			trial := measured(10_000 * math.Exp(math.Log1p(-loss)+shared+t.noise.setups*random.NormFloat64()))
			trial.Seq, trial.Block, trial.Repeat, trial.BringUp, trial.Region = len(run.Trials)+1, round, round, round, round
			trial.Stack, trial.Mix, trial.ElapsedSeconds = "disk", run.Mixes[i].Name, 10
			m, instances := *trial.Instances[0].Measurement, run.Mixes[i].Tenants[0].Count
			m.Operations = slices.Clone(m.Operations)
			if t.budget != carried {
				m.Operations[0].Rate /= float64(instances)
				m.Operations[0].Count /= uint64(instances)
			}
			trial.Instances = nil
			for n := range instances {
				trial.Instances = append(trial.Instances, result.Instance{Index: n, Tenant: "C", Workload: "C", Stack: "disk",
					Status: result.TrialDone, Measurement: &m, Usage: &result.Usage{Seconds: 1}})
			}
			trial.Checks[0].Source = result.SourceServer
			run.Trials = append(run.Trials, trial)
		}
	}
	return run
}

// Runs of mixes, in the place of a budget.
const (
	policed = "policies"
	elastic = "limits"
	carried = "instances"
)

// areMixes reports whether a truth is of mixes, and not of stacks.
func (t truth) areMixes() bool {
	return t.budget == policed || t.budget == elastic || t.budget == carried
}

// counts are the numbers of instances of a load line's truth, which has as many losses.
var counts = []int{1, 2, 4, 6, 8, 12}

// objective is the share of the rate of one alone that each instance is to have.
const objective = 0.5

// carries returns the most instances that meet the objective.
func (t truth) carries() (largest int) {
	for i, loss := range t.losses[0] {
		if 1-loss >= objective {
			largest = counts[i]
		}
	}
	return largest
}

// untilLook returns a run as it was after so many rounds, with its looks before.
func untilLook(run *result.Run, rounds int, before []int) *result.Run {
	until := *run
	until.Looks = before
	until.Trials = slices.DeleteFunc(slices.Clone(run.Trials), func(t result.Trial) bool { return t.Block > rounds })
	return &until
}

// contenders returns the stacks of the next round: those that may yet be the best under some workload; none where it is
// known which is.
func (m *maker) contenders() (next []int) {
	stacks := everyStack(m.stacks())
	for w := range m.losses {
		var cells []stats.Cell
		for s, logs := range m.logs[w] {
			for i, log := range logs {
				cells = append(cells, stats.Cell{Treatment: s, Block: m.blocks[s][i] - 1, Logs: []float64{log}})
			}
		}
		for _, s := range stats.FitTwoWay(cells).Contenders(stacks, stats.Alpha) {
			if !slices.Contains(next, s) {
				next = append(next, s)
			}
		}
	}
	slices.Sort(next)
	return next
}
