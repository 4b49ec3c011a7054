package verdict

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"plimsoll/internal/fact"
	"plimsoll/internal/fact/threshold"
	"plimsoll/internal/result"
	"plimsoll/internal/runview"
	"plimsoll/internal/stack/line"
	"plimsoll/internal/stats"
)

// Facts are the facts of a verdict beside the recommendation: the answer to the question that a run's mixes ask, or else
// the pick among the stacks and the conditions of the run.
type Facts struct {
	Answer Answer `json:"answer,omitempty"` // facts of the question that the case names; nil for a pick among stacks
	Pick
	Conditions
	CommandMinutes int `json:"command_minutes,omitempty"` // that the proposed command would take
}

// Pick is the recommended stack, and how the others compare with it.
type Pick struct {
	Name                  string          `json:"name,omitempty"` // in plain words
	Line                  string          `json:"line,omitempty"`
	Candidates            int             `json:"candidates,omitempty"`          // whose device answered under every workload that decides
	Deciding              []string        `json:"deciding,omitempty"`            // workloads
	Score                 float64         `json:"score,omitempty"`               // lowest of its rates / the best ones, over workloads
	BesideBest            []BesideBest    `json:"beside_best,omitempty"`         // of each candidate, the pick first
	LevelWorkloads        []LevelWorkload `json:"level_workloads,omitempty"`     // workloads under which all stacks are as fast as each other
	Others                []Comparison    `json:"others,omitempty"`              // the other candidates, against the pick
	Baseline              string          `json:"baseline,omitempty"`            // in plain words; "" when there is none, or it is the pick
	LevelWithBaseline     bool            `json:"level_with_baseline,omitempty"` // within the margin, under every workload
	BaselineRatio         float64         `json:"baseline_ratio,omitempty"`      // of the pick's rates, over workloads; 0 where it may be 1
	BaselineComparison    *Comparison     `json:"baseline_comparison,omitempty"` // of the pick with the baseline
	LargestContrast       *SlowerStack    `json:"largest_contrast,omitempty"`    // nil where none makes a headline
	ContrastsBaseline     bool            `json:"contrasts_baseline,omitempty"`  // the largest contrast is to the baseline
	Rates                 []MeasuredRate  `json:"rates,omitempty"`               // of the only candidate
	CachedRates           []MeasuredRate  `json:"cached_rates,omitempty"`        // under workloads that asked for the page cache
	OnlyCandidate         bool            `json:"only_candidate,omitempty"`
	OnlyStack             bool            `json:"only_stack,omitempty"`             // of the run
	FastestDiffers        bool            `json:"fastest_differs,omitempty"`        // another candidate is or may be faster under some workload, and loses more under others
	EphemeralData         bool            `json:"ephemeral_data,omitempty"`         // its data is removed with the container
	LosesOnCrash          string          `json:"loses_on_crash,omitempty"`         // the option by which fsync returns before data is safe
	InContainer           bool            `json:"in_container,omitempty"`           // it is measured in one
	PersistentAlternative *Comparison     `json:"persistent_alternative,omitempty"` // the stack for data that must stay, where the pick's is ephemeral
	StacksToAvoid         []SlowerStack   `json:"stacks_to_avoid,omitempty"`        // the first of them
	MoreToAvoid           int             `json:"more_to_avoid,omitempty"`          // number of those that are not listed
	AnsweredByMemory      []AnsweredStack `json:"answered_by_memory,omitempty"`
	FewestSetups          int             `json:"fewest_setups,omitempty"`  // of a stack
	FasterOnHost          *Comparison     `json:"faster_on_host,omitempty"` // a stack on the host whose file system no container was measured on
}

// Conditions describe the stacks, workloads and host of a run.
type Conditions struct {
	OnLoopDevice        bool            `json:"on_loop_device,omitempty"`
	InLab               bool            `json:"in_lab,omitempty"`
	Imported            bool            `json:"imported,omitempty"`
	OnDirectory         bool            `json:"on_directory,omitempty"`        // the pick is a directory of the host
	ContainersMeasured  bool            `json:"containers_measured,omitempty"` // some stack was measured from inside one
	HostBusy            bool            `json:"host_busy,omitempty"`           // with the work of others
	HostStack           string          `json:"host_stack,omitempty"`          // whose layer is as the host's own Docker engine makes them
	Experiment          string          `json:"experiment,omitempty"`
	AnyMeasured         bool            `json:"any_measured,omitempty"`
	AnsweredCandidates  []AnsweredStack `json:"answered_candidates,omitempty"`  // candidates that memory answered
	UncheckedCandidates []AnsweredStack `json:"unchecked_candidates,omitempty"` // candidates without readable device counters
}

// Comparison is a stack beside another one, by workload.
type Comparison struct {
	Stack   string           `json:"stack"`
	Line    string           `json:"line"`
	Effects []WorkloadEffect `json:"effects"`
}

// WorkloadEffect is an effect under a workload; nil where there is no ratio.
type WorkloadEffect struct {
	Workload string       `json:"workload"`
	Effect   *fact.Effect `json:"effect"`
}

// SlowerStack is a stack that is slower than the pick.
type SlowerStack struct {
	fact.Contrast
	Plain string `json:"plain"` // the workload, in plain words
}

// Faster returns how many times as fast the pick is.
func (b SlowerStack) Faster() float64 { return 1 / b.Ratio }

// MeasuredRate is the rate of a stack under a workload.
type MeasuredRate struct {
	Workload string  `json:"workload"`
	Plain    string  `json:"plain"` // the workload, in plain words
	IOPS     float64 `json:"iops"`
}

// AnsweredStack is a stack whose I/Os one source answered, with the workloads, where it did not answer all of them.
type AnsweredStack struct {
	Stack     string   `json:"stack"`
	Workloads []string `json:"workloads,omitempty"`
}

// hostStack returns the stack in whose writable layer the Docker engine of the host keeps containers; "" for none.
func hostStack(v *runview.View) string {
	for _, s := range v.Stacks {
		_, _, view := runview.Split(s.Parsed)
		if view != nil && len(view.Options) == 0 && view.Name == v.Run.Environment.StorageDriver {
			return s.Name
		}
	}
	return ""
}

// conclude makes the verdict on the pick among the ranked candidates.
func conclude(
	v *runview.View, contest contest, pick candidate, rest []candidate, keep *candidate,
) (*fact.Recommendation, Facts) {
	words := wordsOf(v)
	r := &fact.Recommendation{Pick: pick.stack.Name}
	source, _, _ := runview.Split(pick.stack.Parsed)
	has := func(mark result.Mark) bool { return slices.Contains(pick.stack.Marks, mark) }
	f := Facts{Pick: Pick{
		Name: words.stack(pick.stack), Line: pick.stack.Line, Candidates: 1 + len(rest), Deciding: workloadsOf(pick.cells), Score: pick.score,
		OnlyCandidate: len(rest) == 0, OnlyStack: len(v.Stacks) == 1,
		EphemeralData: pick.stack.DiesWithContainer(), InContainer: pick.stack.InContainer(),
		LosesOnCrash: pick.stack.LosesOnCrash(),
	}, Conditions: Conditions{
		OnLoopDevice: has(result.MarkLoop), InLab: has(result.MarkLab), Imported: has(result.MarkImported),
		OnDirectory:        source != nil && source.Name == runview.NodeDir,
		ContainersMeasured: slices.ContainsFunc(v.All(), func(c *runview.Cell) bool { return c.Stack.InContainer() }),
		HostBusy:           v.Neighbours() != nil, Experiment: v.Run.Experiment.Name, AnyMeasured: true,
		HostStack: hostStack(v),
	}}
	r.Margin = v.Margin()
	r.Memory = answeredFromMemory(v, pick.stack)
	f.AnsweredByMemory = answeredBy(v, result.SourceMemory, slices.DeleteFunc(slices.Clone(v.Stacks), func(s *runview.Stack) bool { return s == pick.stack }))
	if keep != nil {
		f.PersistentAlternative = against(v, *keep, pick)
	}
	if b, known := contest.bounds[pick.stack]; known {
		f.BesideBest = append(f.BesideBest, b)
	}
	for _, c := range rest {
		f.Others = append(f.Others, *against(v, c, pick))
		if b, known := contest.bounds[c.stack]; known {
			f.BesideBest = append(f.BesideBest, b)
		}
		if contest.asGood(pick.stack) && contest.asGood(c.stack) {
			r.Level = append(r.Level, c.stack.Name)
		}
	}
	f.LevelWorkloads = alike(v, pick, words)
	r.Slower, r.Faster = contrasts(v, contest, pick)
	besideBaseline(v, contest, &f, pick, words)
	f.LargestContrast = largest(r.Slower, words)
	f.ContrastsBaseline = f.LargestContrast != nil && f.LargestContrast.Stack == v.Run.Experiment.Baseline
	f.StacksToAvoid, f.MoreToAvoid = slow(v, r.Slower, runview.Bare(pick.stack.Parsed), keep, words)
	if f.OnlyCandidate {
		f.Rates = rates(pick.cells, words)
		f.CachedRates = rates(cached(v, pick), words)
	}
	if c := betterOnHost(v, pick); c != nil {
		f.FasterOnHost = against(v, *c, pick)
	}
	confide(v, contest, r, &f, pick, rest)
	if r.Confidence == fact.TooEarly {
		r.Pick = ""
	}
	return r, f
}

// against compares two candidates under the workloads that decide.
func against(v *runview.View, subject, baseline candidate) *Comparison {
	out := &Comparison{Stack: subject.stack.Name, Line: subject.stack.Parsed.String()}
	for i, c := range subject.cells {
		u := WorkloadEffect{Workload: c.Workload.Name}
		e, ok := v.Compare(c, baseline.cells[i])
		if ok {
			u.Effect = &e
		}
		out.Effects = append(out.Effects, u)
	}
	return out
}

// answeredFromMemory names the stacks, but the pick, that memory answered
// under any workload.
func answeredFromMemory(v *runview.View, pick *runview.Stack) (out []string) {
	for _, c := range v.All() {
		if c.Source() == result.SourceMemory && c.Stack != pick && !runview.Buffered(c.Workload) {
			out = runview.AddNew(out, c.Stack.Name)
		}
	}
	return out
}

// contrasts are the stacks whose device answered and that are known to be slower or faster than the pick, by the
// workloads that decide.
func contrasts(v *runview.View, contest contest, pick candidate) (slower, faster []fact.Contrast) {
	for _, p := range pick.cells {
		for _, c := range v.Under(p.Workload.Name) {
			if c == p || !c.Honest() {
				continue
			}
			e, ok := v.Range(c, p, contest.picked)
			k := fact.Contrast{Stack: c.Stack.Name, Workload: p.Workload.Name, Ratio: e.Ratio, Low: e.Low, High: e.High}
			switch {
			case !ok:
			case e.High < 1 && 1/e.Ratio >= threshold.Visible:
				slower = append(slower, k)
			case e.Low > 1 && e.Ratio >= threshold.Visible:
				faster = append(faster, k)
			}
		}
	}
	slices.SortStableFunc(slower, func(a, b fact.Contrast) int { return cmp.Compare(a.Ratio, b.Ratio) })
	slices.SortStableFunc(faster, func(a, b fact.Contrast) int { return cmp.Compare(b.Ratio, a.Ratio) })
	return slower, faster
}

// besideBaseline says how the pick compares with the baseline.
func besideBaseline(v *runview.View, contest contest, f *Facts, pick candidate, words words) {
	b, ok := baselineOf(v, pick)
	if !ok {
		return
	}
	f.Baseline = words.stack(b.stack)
	f.BaselineComparison = against(v, pick, b)
	f.BaselineComparison.Stack, f.BaselineComparison.Line = b.stack.Name, b.stack.Parsed.String()
	f.LevelWithBaseline = contest.equals(pick, b)
	if !f.LevelWithBaseline {
		f.BaselineRatio = contest.overall(pick, b)
	}
}

// mostNamed is how many stacks, or rates, a sentence names before it counts.
const mostNamed = 3

// largest is the largest contrast to a stack that is slower; nil when none is
// worth saying.
func largest(slower []fact.Contrast, words words) *SlowerStack {
	if len(slower) == 0 || !(slower[0].Ratio > 0) || 1/slower[0].Ratio < threshold.Headline {
		return nil
	}
	return &SlowerStack{slower[0], words.workload(slower[0].Workload)}
}

// slow returns the first stacks that are known to be far slower than the pick, each with its worst workload, and the
// number of such stacks that it leaves unnamed. The keeper is needed, however slow.
func slow(
	v *runview.View, slower []fact.Contrast, barePick bool, keep *candidate, words words,
) (out []SlowerStack, unnamed int) {
	listed := map[string]bool{}
	for _, c := range slower {
		s := v.Stack(c.Stack)
		if listed[c.Stack] || s != nil && runview.Bare(s.Parsed) && !barePick || c.High >= threshold.Avoid ||
			keep != nil && keep.stack.Name == c.Stack {
			continue
		}
		listed[c.Stack] = true
		if len(out) == mostNamed {
			unnamed++
			continue
		}
		out = append(out, SlowerStack{c, words.workload(c.Workload)})
	}
	return out, unnamed
}

// cached are the cells of the pick under workloads that asked for the page
// cache, and were answered by it.
func cached(v *runview.View, pick candidate) (out []*runview.Cell) {
	for _, w := range v.Workloads {
		c := v.Cell(pick.stack.Name, w.Name)
		if c != nil && runview.Buffered(w) && c.Source() == result.SourceMemory {
			out = append(out, c)
		}
	}
	return out
}

// rates are what a stack does under its workloads, the first of them.
func rates(cells []*runview.Cell, words words) (out []MeasuredRate) {
	for _, c := range cells[:min(mostNamed, len(cells))] {
		out = append(out, MeasuredRate{c.Workload.Name, words.workload(c.Workload.Name), c.Point.Median})
	}
	return out
}

// mostMinutes is the longest time that is proposed at once.
const mostMinutes = 60

// confide sets how far the verdict can be relied on, why no further, and what would help. It is sure when the pick is
// known to be within the margin of the best.
func confide(v *runview.View, contest contest, r *fact.Recommendation, f *Facts, pick candidate, rest []candidate) {
	r.Confidence = fact.Sure
	add := func(c fact.Confidence, why fact.Doubt) {
		if r.Confidence == fact.Sure || c == fact.TooEarly {
			r.Confidence = c
		}
		r.Because = append(r.Because, why)
	}
	f.FewestSetups = len(pick.cells[0].Rates)
	for _, c := range append([]candidate{pick}, rest...) {
		for _, cell := range c.cells {
			f.FewestSetups = min(f.FewestSetups, cell.Point.N)
		}
	}
	blocks := 0 // more that are needed
	switch {
	case f.FewestSetups < stats.FewestPairs:
		add(fact.TooEarly, fact.Doubt{Kind: fact.DoubtFew, BringUps: f.FewestSetups, Needed: stats.FewestPairs})
		blocks = stats.FewestPairs - f.FewestSetups
	case len(rest) > 0 && !contest.asGood(pick.stack):
		blocks = undecided(v, contest, r, f, pick, rest, add)
	}
	if n := v.Neighbours(); n != nil {
		add(fact.Likely, fact.Doubt{Kind: fact.DoubtNeighbours, Neighbours: n})
	}
	if blocks > 0 {
		propose(v, r, f, blocks)
	}
}

// undecided adds why the pick is not known to be within the margin of the best: other candidates that may be that much
// better, or one that is. It returns how many blocks more would show it.
func undecided(v *runview.View, contest contest, r *fact.Recommendation, f *Facts, pick candidate, rest []candidate,
	add func(fact.Confidence, fact.Doubt)) (blocks int) {
	open := fact.Doubt{Kind: fact.DoubtOpen}
	for i, p := range pick.cells {
		for _, c := range rest {
			if contest.worse(c, pick) {
				continue
			}
			e, ok := v.Range(c.cells[i], p, contest.level)
			if ok && (e.High <= 1/(1-v.Margin()) || e.Low > 1) {
				continue
			}
			open.Stacks = runview.AddNew(open.Stacks, c.stack.Name)
			if ok {
				open.Apart = max(open.Apart, e.High-1)
				blocks = max(blocks, moreBlocks(e, v.Margin(), min(c.cells[i].Point.N, p.Point.N)))
			}
		}
	}
	if len(open.Stacks) > 0 {
		add(fact.Likely, open)
	} else {
		f.FastestDiffers = true
	}
	inRest := func(k fact.Contrast) bool {
		return slices.ContainsFunc(rest, func(c candidate) bool { return c.stack.Name == k.Stack })
	}
	if at := slices.IndexFunc(r.Faster, inRest); at >= 0 {
		k := r.Faster[at]
		add(fact.Likely, fact.Doubt{Kind: fact.DoubtFaster, Stacks: []string{k.Stack}, Workload: k.Workload})
	}
	return blocks
}

// moreBlocks estimates how many blocks more would show that a stack is no better than the pick by more than the
// margin, or that it is better, where n were measured: intervals shrink with the square root.
func moreBlocks(e stats.Bound, margin float64, n int) int {
	margin = -math.Log1p(-margin)
	half, needed := math.Log(e.High/e.Ratio), max(margin-math.Log(e.Ratio), margin/2)
	total := float64(n) * (half / needed) * (half / needed)
	return int(max(2, min(total, 30)-float64(n)))
}

// propose says which command would settle what is open, and how long it would
// take.
func propose(v *runview.View, r *fact.Recommendation, f *Facts, blocks int) {
	if v.Run.Imported != nil || f.Imported || v.Run.ID == "" {
		return
	}
	last, seconds := spent(v)
	if last == 0 || seconds == 0 {
		return
	}
	trialSeconds := seconds / float64(last)
	minutes := min(mostMinutes, max(1, math.Ceil(float64(blocks)*trialSeconds*1.2/60)))
	r.Seconds = 60 * minutes
	if runs := float64(len(v.Run.Pooled)); runs > 0 { // what is open gets narrower with another run
		minutes = max(1, math.Ceil(seconds/runs/60))
		r.Command, r.Seconds = v.Run.Another(nil), 60*minutes
		f.CommandMinutes = int(minutes)
		return
	}
	r.Command = v.Run.Again("run", "--resume", v.Run.NameForResume(), "--budget", fmt.Sprintf("+%.0fm", minutes))
	f.CommandMinutes = int(minutes)
}

// nothing is the verdict where no stack can be recommended.
func nothing(v *runview.View, f Facts) (*fact.Recommendation, Facts) {
	out := &fact.Recommendation{Confidence: fact.Sure}
	for _, c := range v.All() {
		if c.Source() == result.SourceMemory && !runview.Buffered(c.Workload) {
			out.Memory = runview.AddNew(out.Memory, c.Stack.Name)
		}
	}
	f.AnyMeasured = len(v.Cells) > 0
	if !f.AnyMeasured {
		out.Confidence = fact.TooEarly
	}
	f.AnsweredByMemory = answeredBy(v, result.SourceMemory, v.Stacks)
	return out, f
}

// words name stacks and workloads of a run as a sentence does.
type words struct {
	view      *runview.View
	stacks    map[string]string
	workloads map[string]string
}

func wordsOf(v *runview.View) words {
	w := words{v, map[string]string{}, map[string]string{}}
	counts := map[string]int{}
	for _, s := range v.Stacks {
		w.stacks[s.Name] = plainStack(s.Parsed)
		counts[w.stacks[s.Name]]++
	}
	for name, plain := range w.stacks {
		if plain == "" || counts[plain] > 1 {
			w.stacks[name] = "stack " + name
		}
	}
	patterns := map[string]int{}
	for _, l := range v.Workloads {
		if len(v.Under(l.Name)) > 0 && !runview.Buffered(l) {
			patterns[l.Pattern]++
		}
	}
	for _, l := range v.Workloads {
		plain := plainPattern(l.Pattern)
		switch {
		case plain == "":
			plain = l.Name
		case runview.Buffered(l):
			plain += " through the page cache"
		case patterns[l.Pattern] > 1:
			plain = fmt.Sprintf("%s in %s", plain, l.Name)
		}
		w.workloads[l.Name] = plain
	}
	return w
}

func (w words) stack(s *runview.Stack) string { return w.stacks[s.Name] }

func (w words) workload(name string) string { return w.workloads[name] }

// plainPattern says in words what fio's rw does; "" for what has no word.
func plainPattern(pattern string) string {
	return map[string]string{
		"randread": "random reads", "randwrite": "random writes", "read": "sequential reads", "write": "sequential writes",
		"randrw": "random reads and writes", "rw": "sequential reads and writes",
	}[pattern]
}

// plainStack says in words what a line is; "" when there is no line.
func plainStack(l line.Line) string {
	source, fileSystem, view := runview.Split(l)
	if source == nil {
		return ""
	}
	on := source.Name
	switch {
	case source.Name == runview.NodeDir:
		on = source.Arg
	case source.Name == runview.NodeTmpfs:
		on = "memory"
	case fileSystem != nil:
		on = fileSystemName(fileSystem.Name)
	}
	switch {
	case view != nil && view.Name == runview.NodeVolume:
		return "a data volume on " + on
	case view != nil:
		return fmt.Sprintf("the writable layer of %s on %s", view.Name, on)
	case source.Name == runview.NodeDir:
		return "the directory " + on
	case source.Name == runview.NodeTmpfs:
		return on
	case fileSystem != nil:
		return on + " on the host"
	}
	return "the bare device"
}

func fileSystemName(name string) string {
	if name == "xfs" {
		return "XFS"
	}
	return name
}
