package verdict

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"plimsoll/internal/finding/fact"
	"plimsoll/internal/finding/levels"
	"plimsoll/internal/finding/loadline"
	"plimsoll/internal/finding/noise"
	"plimsoll/internal/finding/overload"
	"plimsoll/internal/finding/policies"
	"plimsoll/internal/finding/tenants"
	"plimsoll/internal/finding/threshold"
	"plimsoll/internal/result"
	"plimsoll/internal/runview"
	"plimsoll/internal/stack/line"
	"plimsoll/internal/stats"
)

// Facts are the facts of a verdict beside the recommendation: one of the answers, or else the pick among the stacks and
// the conditions of the run.
type Facts struct {
	Answers
	Pick
	Conditions
}

// Answers are the facts of a run that asks a question about mixes, or that is a table; one of them is set.
type Answers struct {
	LoadLine        *loadline.Facts `json:"carries,omitempty"`
	Policies        *policies.Facts `json:"policed,omitempty"`
	Tenants         *tenants.Facts  `json:"shared,omitempty"`
	Overload        *overload.Facts `json:"offered,omitempty"`
	Levels          *levels.Facts   `json:"levelled,omitempty"`
	ImportedClasses []ImportedClass `json:"elsewhere,omitempty"` // of a table of points
}

// Pick is the recommended stack, and how the others compare with it.
type Pick struct {
	Name                  string          `json:"name,omitempty"` // in plain words
	Line                  string          `json:"line,omitempty"`
	Candidates            int             `json:"candidates,omitempty"`      // whose device answered under every workload that decides
	Deciding              []string        `json:"deciding,omitempty"`        // workloads
	Score                 float64         `json:"score,omitempty"`           // geometric mean of its rates / the best ones
	LevelWorkloads        []LevelWorkload `json:"alike,omitempty"`           // workloads under which no two stacks differ
	Others                []Comparison    `json:"others,omitempty"`          // the other candidates, against the pick
	Baseline              string          `json:"baseline,omitempty"`        // in plain words; "" when there is none, or it is the pick
	LevelWithBaseline     bool            `json:"as_baseline,omitempty"`     // under every workload
	BaselineRatio         float64         `json:"of_baseline,omitempty"`     // of the pick's rates; 0 where there is no one ratio
	BaselineComparison    *Comparison     `json:"beside_baseline,omitempty"` // of the pick with the baseline
	LargestContrast       *SlowerStack    `json:"contrast,omitempty"`        // nil where none makes a headline
	ContrastsBaseline     bool            `json:"from_baseline,omitempty"`   // the largest contrast is to the baseline
	Rates                 []MeasuredRate  `json:"rates,omitempty"`           // of the only candidate
	CachedRates           []MeasuredRate  `json:"cached,omitempty"`          // under workloads that asked for the page cache
	OnlyCandidate         bool            `json:"only,omitempty"`
	OnlyStack             bool            `json:"alone,omitempty"`          // of the run
	FastestDiffers        bool            `json:"torn,omitempty"`           // another candidate is faster under some workload
	EphemeralData         bool            `json:"dies,omitempty"`           // its data is removed with the container
	LosesOnCrash          string          `json:"loses_on_crash,omitempty"` // the option by which fsync keeps nothing
	InContainer           bool            `json:"in_container,omitempty"`   // it is measured in one
	PersistentAlternative *Comparison     `json:"keeper,omitempty"`         // the stack for data that must stay, where the pick's is ephemeral
	StacksToAvoid         []SlowerStack   `json:"slow,omitempty"`           // the first of them
	MoreToAvoid           int             `json:"slow_too,omitempty"`       // number of those that are not listed
	AnsweredByMemory      []AnsweredStack `json:"answered,omitempty"`
	FewestSetups          int             `json:"bring_ups,omitempty"` // of a stack
	CommandMinutes        int             `json:"minutes,omitempty"`   // that the proposed command would take
	FasterOnHost          *Comparison     `json:"better,omitempty"`    // a stack on the host whose file system no container was measured on
}

// Conditions describe the stacks, workloads and host of a run.
type Conditions struct {
	OnLoopDevice        bool            `json:"loop,omitempty"`
	InLab               bool            `json:"lab,omitempty"`
	Imported            bool            `json:"imported,omitempty"`
	OnDirectory         bool            `json:"directory,omitempty"`  // the pick is a directory of the host
	ContainersMeasured  bool            `json:"containers,omitempty"` // some stack was measured from inside one
	HostBusy            bool            `json:"busy,omitempty"`       // with the work of others
	HostStack           string          `json:"host_stack,omitempty"` // whose layer is as the host's own Docker engine makes them
	Experiment          string          `json:"experiment,omitempty"`
	AnyMeasured         bool            `json:"measured"`
	AnsweredCandidates  []AnsweredStack `json:"eligible,omitempty"`  // candidates that memory answered
	UncheckedCandidates []AnsweredStack `json:"unchecked,omitempty"` // candidates of which no device counter could be read
}

// Comparison is a stack beside another one, by workload.
type Comparison struct {
	Stack   string           `json:"stack"`
	Line    string           `json:"line"`
	Effects []WorkloadEffect `json:"under"`
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
func conclude(v *runview.View, pick candidate, rest []candidate, keep *candidate) (*fact.Recommendation, Facts) {
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
	r.Memory = answeredFromMemory(v, pick.stack)
	f.AnsweredByMemory = answeredBy(v, result.SourceMemory, slices.DeleteFunc(slices.Clone(v.Stacks), func(s *runview.Stack) bool { return s == pick.stack }))
	if keep != nil {
		f.PersistentAlternative = against(v, *keep, pick)
	}
	for _, c := range rest {
		f.Others = append(f.Others, *against(v, c, pick))
		if levelEverywhere(v, pick, c) {
			r.Level = append(r.Level, c.stack.Name)
		}
	}
	f.LevelWorkloads = alike(v, pick, words)
	r.Slower, r.Faster = contrasts(v, pick)
	besideBaseline(v, &f, pick, words)
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
	confide(v, r, &f, pick, rest)
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

// contrasts are the stacks whose device answered and that differ
// significantly from the pick, by the workloads that decide.
func contrasts(v *runview.View, pick candidate) (slower, faster []fact.Contrast) {
	for _, p := range pick.cells {
		for _, c := range v.Under(p.Workload.Name) {
			if c == p || !c.Honest() {
				continue
			}
			e, ok := v.Compare(c, p)
			switch k := (fact.Contrast{Stack: c.Stack.Name, Workload: p.Workload.Name, Ratio: e.Ratio}); {
			case !ok || !e.Differs:
			case e.Ratio < 1:
				slower = append(slower, k)
			default:
				faster = append(faster, k)
			}
		}
	}
	slices.SortStableFunc(slower, func(a, b fact.Contrast) int { return cmp.Compare(a.Ratio, b.Ratio) })
	slices.SortStableFunc(faster, func(a, b fact.Contrast) int { return cmp.Compare(b.Ratio, a.Ratio) })
	return slower, faster
}

// besideBaseline says how the pick compares with the baseline.
func besideBaseline(v *runview.View, f *Facts, pick candidate, words words) {
	b, ok := baselineOf(v, pick)
	if !ok {
		return
	}
	f.Baseline = words.stack(b.stack)
	f.BaselineComparison = against(v, pick, b)
	f.BaselineComparison.Stack, f.BaselineComparison.Line = b.stack.Name, b.stack.Parsed.String()
	f.LevelWithBaseline = levelEverywhere(v, pick, b)
	of := map[string]*runview.Cell{}
	for _, c := range b.cells {
		of[c.Workload.Name] = c
	}
	r := geometricMean(pick.cells, func(c *runview.Cell) float64 { return c.Point.Median / of[c.Workload.Name].Point.Median })
	if f.LevelWithBaseline || r == 0 || !runview.Finite(r) {
		return
	}
	if max(r, 1/r) >= threshold.Visible {
		f.BaselineRatio = r
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

// slow are the first stacks that are far slower than the pick, each with its worst
// workload, and how many more there are. The keeper is needed, however slow.
func slow(v *runview.View, slower []fact.Contrast, barePick bool, keep *candidate, words words) (out []SlowerStack, more int) {
	told := map[string]bool{}
	for _, c := range slower {
		s := v.Stack(c.Stack)
		if told[c.Stack] || s != nil && runview.Bare(s.Parsed) && !barePick || c.Ratio >= threshold.Avoid || keep != nil && keep.stack.Name == c.Stack {
			continue
		}
		told[c.Stack] = true
		if len(out) == mostNamed {
			more++
			continue
		}
		out = append(out, SlowerStack{c, words.workload(c.Workload)})
	}
	return out, more
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

// confide sets how far the verdict can be relied on, why no further, and
// what would help.
func confide(v *runview.View, r *fact.Recommendation, f *Facts, pick candidate, rest []candidate) {
	r.Confidence = fact.Sure
	add := func(c fact.Confidence, why fact.Doubt) {
		if r.Confidence == fact.Sure || c == fact.TooEarly {
			r.Confidence = c
		}
		r.Because = append(r.Because, why)
	}
	f.FewestSetups = len(pick.cells[0].IOPS)
	blocks := 0 // more that are needed
	var open []string
	for _, p := range pick.cells {
		f.FewestSetups = min(f.FewestSetups, p.Point.N)
		for _, c := range rest {
			other := v.Cell(c.stack.Name, p.Workload.Name)
			e, ok := v.Compare(p, other)
			switch {
			case !ok:
			case e.TooFew:
				f.FewestSetups = min(f.FewestSetups, max(e.Pairs, min(e.N[0], e.N[1])))
			case !e.Differs && e.HasInterval() && math.Log(e.High/e.Low)/2 > math.Log1p(threshold.HalfWidth) && !beats(v, pick, c):
				open = runview.AddNew(open, c.stack.Name)
				blocks = max(blocks, moreBlocks(e))
			}
		}
	}
	if f.FewestSetups < stats.FewestPairs {
		add(fact.TooEarly, fact.Doubt{Kind: fact.DoubtFew, BringUps: f.FewestSetups, Needed: stats.FewestPairs})
		blocks = stats.FewestPairs - f.FewestSetups
	}
	if len(open) > 0 {
		add(fact.Likely, fact.Doubt{Kind: fact.DoubtOpen, Stacks: open})
	}
	inRest := func(k fact.Contrast) bool {
		return slices.ContainsFunc(rest, func(c candidate) bool { return c.stack.Name == k.Stack })
	}
	if at := slices.IndexFunc(r.Faster, inRest); at >= 0 {
		k := r.Faster[at]
		f.FastestDiffers = true
		add(fact.Likely, fact.Doubt{Kind: fact.DoubtFaster, Stacks: []string{k.Stack}, Workload: k.Workload})
	}
	for _, d := range noise.TwinsApart(v) {
		add(fact.Likely, d)
	}
	if n := v.Neighbours(); n != nil {
		add(fact.Likely, fact.Doubt{Kind: fact.DoubtNeighbours, Neighbours: n})
	}
	if blocks > 0 {
		propose(v, r, f, blocks)
	}
}

// beats reports whether a stack is to be avoided beside the pick, for what it does
// under one workload: what it does under another one, as far as it is not known to be
// better, makes no difference then.
func beats(v *runview.View, pick, other candidate) bool {
	return slices.ContainsFunc(pick.cells, func(p *runview.Cell) bool {
		c := v.Cell(other.stack.Name, p.Workload.Name)
		if c == nil {
			return false
		}
		e, ok := v.Compare(p, c)
		return ok && e.Differs && e.Ratio > 1/threshold.Avoid
	})
}

// moreBlocks estimates how many blocks more would tell a comparison: intervals
// shrink with the square root.
func moreBlocks(e fact.Effect) int {
	half, needed := math.Log(e.High/e.Low)/2, max(math.Abs(math.Log(e.Ratio)), math.Log1p(threshold.HalfWidth/2))
	total := float64(e.Pairs) * (half / needed) * (half / needed)
	return int(max(2, min(total, 30)-float64(e.Pairs)))
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
	each := seconds / float64(last)
	minutes := min(mostMinutes, max(1, math.Ceil(float64(blocks)*each*1.2/60)))
	r.Seconds = 60 * minutes
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
