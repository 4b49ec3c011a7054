package verdict

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"plimsoll/internal/finding/fact"
	"plimsoll/internal/finding/levels"
	"plimsoll/internal/finding/loadline"
	"plimsoll/internal/finding/measured"
	"plimsoll/internal/finding/noise"
	"plimsoll/internal/finding/overload"
	"plimsoll/internal/finding/policies"
	"plimsoll/internal/finding/tenants"
	"plimsoll/internal/result"
	"plimsoll/internal/stack/line"
	"plimsoll/internal/stats"
)

// Facts are what a verdict is drawn from, beside the recommendation.
type Facts struct {
	Carries   *loadline.Facts `json:"carries,omitempty"`   // of a run that asks how many instances a host carries: all else is empty then
	Policed   *policies.Facts `json:"policed,omitempty"`   // of a run that asks what policies cost: likewise
	Shared    *tenants.Facts  `json:"shared,omitempty"`    // of a run that asks what tenants do to each other: likewise
	Offered   *overload.Facts `json:"offered,omitempty"`   // of a run that asks which rates are kept: likewise
	Levelled  *levels.Facts   `json:"levelled,omitempty"`  // of a run that asks what one factor does: likewise
	Elsewhere []Elsewhere     `json:"elsewhere,omitempty"` // of a table of points that something else measured: likewise

	Name           string    `json:"name,omitempty"` // of the pick, in plain words
	Line           string    `json:"line,omitempty"`
	Candidates     int       `json:"candidates,omitempty"` // whose device answered under every workload that decides
	Deciding       []string  `json:"deciding,omitempty"`   // workloads
	Score          float64   `json:"score,omitempty"`      // geometric mean of its rates / the best ones
	Others         []Against `json:"others,omitempty"`     // the other candidates, against the pick
	Baseline       string    `json:"baseline,omitempty"`   // in plain words; "" when there is none, or it is the pick
	AsBaseline     bool      `json:"as_baseline,omitempty"`
	OfBaseline     float64   `json:"of_baseline,omitempty"` // ratio of the pick's rates; 0 where there is no one ratio
	BesideBaseline *Against  `json:"beside_baseline,omitempty"`
	Contrast       *Behind   `json:"contrast,omitempty"`      // the largest to a stack that is slower, if it is worth saying
	FromBaseline   bool      `json:"from_baseline,omitempty"` // that stack is the baseline
	Rates          []Does    `json:"rates,omitempty"`         // of the only candidate
	Cached         []Does    `json:"cached,omitempty"`        // where the page cache was asked for
	Only           bool      `json:"only,omitempty"`          // there is no other candidate
	Alone          bool      `json:"alone,omitempty"`         // there is no other stack
	Torn           bool      `json:"torn,omitempty"`          // another candidate is faster under some workload
	Dies           bool      `json:"dies,omitempty"`          // data goes with the container
	InContainer    bool      `json:"in_container,omitempty"`  // the pick is measured in one
	Keeper         *Against  `json:"keeper,omitempty"`        // where data goes that must stay
	Slow           []Behind  `json:"slow,omitempty"`          // stacks to avoid, the first of them
	SlowToo        int       `json:"slow_too,omitempty"`      // how many more there are
	Answered       []From    `json:"answered,omitempty"`      // stacks that memory answered
	BringUps       int       `json:"bring_ups,omitempty"`     // of the stack that has fewest
	Minutes        int       `json:"minutes,omitempty"`       // that the command would take
	Better         *Against  `json:"better,omitempty"`        // a stack on the host whose file system no container was measured on
	Loop           bool      `json:"loop,omitempty"`
	Lab            bool      `json:"lab,omitempty"`
	Imported       bool      `json:"imported,omitempty"`
	Directory      bool      `json:"directory,omitempty"`  // the pick is a directory of the host
	Containers     bool      `json:"containers,omitempty"` // some stack was measured from inside one
	Busy           bool      `json:"busy,omitempty"`       // others did what matters
	Experiment     string    `json:"experiment,omitempty"`
	Measured       bool      `json:"measured"`            // anything was
	Eligible       []From    `json:"eligible,omitempty"`  // stacks that could be recommended, had memory not answered
	Unchecked      []From    `json:"unchecked,omitempty"` // and had a device counter been read
}

// Against is a stack beside another one, by workload.
type Against struct {
	Stack string  `json:"stack"`
	Line  string  `json:"line"`
	Under []Under `json:"under"`
}

// Under is an effect under a workload; nil where there is no ratio.
type Under struct {
	Workload string       `json:"workload"`
	Effect   *fact.Effect `json:"effect"`
}

// Behind is a stack that is slower than the pick.
type Behind struct {
	fact.Contrast
	Plain string `json:"plain"` // the workload, in plain words
}

// Faster returns how many times as fast the pick is.
func (b Behind) Faster() float64 { return 1 / b.Ratio }

// Does is what a stack does under a workload.
type Does struct {
	Workload string  `json:"workload"`
	Plain    string  `json:"plain"` // the workload, in plain words
	IOPS     float64 `json:"iops"`
}

// From is a stack that some source answered; under which workloads, where it did
// not answer all of them.
type From struct {
	Stack     string   `json:"stack"`
	Workloads []string `json:"workloads,omitempty"`
}

// conclude makes the verdict on the pick among the ranked candidates.
func conclude(v *measured.View, pick candidate, rest []candidate, keep *candidate) (*fact.Recommendation, Facts) {
	words := wordsOf(v)
	r := &fact.Recommendation{Pick: pick.stack.Name}
	source, _, _ := measured.Split(pick.stack.Parsed)
	f := Facts{
		Name: words.stack(pick.stack), Line: pick.stack.Line, Candidates: 1 + len(rest), Deciding: workloadsOf(pick.cells), Score: pick.score,
		Only: len(rest) == 0, Alone: len(v.Stacks) == 1, Measured: true,
		Dies: pick.stack.DiesWithContainer(), InContainer: pick.stack.InContainer(), Experiment: v.Run.Experiment.Name,
		Loop: slices.Contains(pick.stack.Marks, result.MarkLoop), Lab: slices.Contains(pick.stack.Marks, result.MarkLab),
		Imported:   slices.Contains(pick.stack.Marks, result.MarkImported),
		Containers: slices.ContainsFunc(v.All(), func(c *measured.Cell) bool { return c.Stack.InContainer() }),
		Busy:       v.Neighbours() != nil,
		Directory:  source != nil && source.Name == measured.NodeDir,
	}
	r.Memory = answeredFromMemory(v, pick.stack)
	f.Answered = answeredBy(v, result.SourceMemory, slices.DeleteFunc(slices.Clone(v.Stacks), func(s *measured.Stack) bool { return s == pick.stack }))
	if keep != nil {
		f.Keeper = against(v, *keep, pick)
	}
	for _, c := range rest {
		f.Others = append(f.Others, *against(v, c, pick))
		if levelEverywhere(v, pick, c) {
			r.Level = append(r.Level, c.stack.Name)
		}
	}
	r.Slower, r.Faster = contrasts(v, pick)
	besideBaseline(v, &f, pick, words)
	f.Contrast = largest(r.Slower, words)
	f.FromBaseline = f.Contrast != nil && f.Contrast.Stack == v.Run.Experiment.Baseline
	f.Slow, f.SlowToo = slow(v, r.Slower, measured.Bare(pick.stack.Parsed), keep, words)
	if f.Only {
		f.Rates = rates(pick.cells, words)
		f.Cached = rates(cached(v, pick), words)
	}
	if c := betterOnHost(v, pick); c != nil {
		f.Better = against(v, *c, pick)
	}
	confide(v, r, &f, pick, rest)
	if r.Confidence == fact.TooEarly {
		r.Pick = ""
	}
	return r, f
}

// against compares two candidates under the workloads that decide.
func against(v *measured.View, subject, baseline candidate) *Against {
	out := &Against{Stack: subject.stack.Name, Line: subject.stack.Parsed.String()}
	for i, c := range subject.cells {
		u := Under{Workload: c.Workload.Name}
		e, ok := v.Compare(c, baseline.cells[i])
		if ok {
			u.Effect = &e
		}
		out.Under = append(out.Under, u)
	}
	return out
}

// answeredFromMemory names the stacks, but the pick, that memory answered
// under any workload.
func answeredFromMemory(v *measured.View, pick *measured.Stack) (out []string) {
	for _, c := range v.All() {
		if c.Source() == result.SourceMemory && c.Stack != pick && !measured.Buffered(c.Workload) {
			out = measured.AppendNew(out, c.Stack.Name)
		}
	}
	return out
}

// contrasts are the stacks whose device answered and that differ
// significantly from the pick, by the workloads that decide.
func contrasts(v *measured.View, pick candidate) (slower, faster []fact.Contrast) {
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
func besideBaseline(v *measured.View, f *Facts, pick candidate, words words) {
	b, ok := baselineOf(v, pick)
	if !ok {
		return
	}
	f.Baseline = words.stack(b.stack)
	f.BesideBaseline = against(v, pick, b)
	f.BesideBaseline.Stack, f.BesideBaseline.Line = b.stack.Name, b.stack.Parsed.String()
	f.AsBaseline = levelEverywhere(v, pick, b)
	of := map[string]*measured.Cell{}
	for _, c := range b.cells {
		of[c.Workload.Name] = c
	}
	r := geometricMean(pick.cells, func(c *measured.Cell) float64 { return c.Point.Median / of[c.Workload.Name].Point.Median })
	if f.AsBaseline || r == 0 || !measured.Finite(r) {
		return
	}
	if max(r, 1/r) >= measured.Visible {
		f.OfBaseline = r
	}
}

// mostNamed is how many stacks, or rates, a sentence names before it counts.
const mostNamed = 3

// worthSaying is the ratio from which on a contrast makes a headline.
const worthSaying = 1.2

// largest is the largest contrast to a stack that is slower; nil when none is
// worth saying.
func largest(slower []fact.Contrast, words words) *Behind {
	if len(slower) == 0 || !(slower[0].Ratio > 0) || 1/slower[0].Ratio < worthSaying {
		return nil
	}
	return &Behind{slower[0], words.workload(slower[0].Workload)}
}

// slow are the first stacks that are far slower than the pick, each with its worst
// workload, and how many more there are. The keeper is needed, however slow.
func slow(v *measured.View, slower []fact.Contrast, barePick bool, keep *candidate, words words) (out []Behind, more int) {
	told := map[string]bool{}
	for _, c := range slower {
		s := v.Stack(c.Stack)
		if told[c.Stack] || s != nil && measured.Bare(s.Parsed) && !barePick || c.Ratio >= avoidBelow || keep != nil && keep.stack.Name == c.Stack {
			continue
		}
		told[c.Stack] = true
		if len(out) == mostNamed {
			more++
			continue
		}
		out = append(out, Behind{c, words.workload(c.Workload)})
	}
	return out, more
}

// cached are the cells of the pick under workloads that asked for the page
// cache, and were answered by it.
func cached(v *measured.View, pick candidate) (out []*measured.Cell) {
	for _, w := range v.Workloads {
		c := v.Cell(pick.stack.Name, w.Name)
		if c != nil && measured.Buffered(w) && c.Source() == result.SourceMemory {
			out = append(out, c)
		}
	}
	return out
}

// rates are what a stack does under its workloads, the first of them.
func rates(cells []*measured.Cell, words words) (out []Does) {
	for _, c := range cells[:min(mostNamed, len(cells))] {
		out = append(out, Does{c.Workload.Name, words.workload(c.Workload.Name), c.Point.Median})
	}
	return out
}

const (
	// tellsApart is half the width of a ratio's interval up to which not to differ
	// means to be as fast.
	tellsApart = 0.1
	// mostMinutes is the longest time that is proposed at once.
	mostMinutes = 60
)

// confide finds out how far the verdict can be relied on, why no further, and
// what would help.
func confide(v *measured.View, r *fact.Recommendation, f *Facts, pick candidate, rest []candidate) {
	r.Confidence = fact.Sure
	add := func(c fact.Confidence, why fact.Doubt) {
		if r.Confidence == fact.Sure || c == fact.TooEarly {
			r.Confidence = c
		}
		r.Because = append(r.Because, why)
	}
	f.BringUps = len(pick.cells[0].IOPS)
	blocks := 0 // more that are needed
	var open []string
	for _, p := range pick.cells {
		f.BringUps = min(f.BringUps, p.Point.N)
		for _, c := range rest {
			other := v.Cell(c.stack.Name, p.Workload.Name)
			e, ok := v.Compare(p, other)
			switch {
			case !ok:
			case e.TooFew:
				f.BringUps = min(f.BringUps, max(e.Pairs, min(e.N[0], e.N[1])))
			case !e.Differs && e.HasInterval() && math.Log(e.High/e.Low)/2 > math.Log1p(tellsApart) && !beats(v, pick, c):
				open = measured.AppendNew(open, c.stack.Name)
				blocks = max(blocks, moreBlocks(e))
			}
		}
	}
	if f.BringUps < stats.FewestPairs {
		add(fact.TooEarly, fact.Doubt{Kind: fact.DoubtFew, BringUps: f.BringUps, Needed: stats.FewestPairs})
		blocks = stats.FewestPairs - f.BringUps
	}
	if len(open) > 0 {
		add(fact.Likely, fact.Doubt{Kind: fact.DoubtOpen, Stacks: open})
	}
	inRest := func(k fact.Contrast) bool {
		return slices.ContainsFunc(rest, func(c candidate) bool { return c.stack.Name == k.Stack })
	}
	if at := slices.IndexFunc(r.Faster, inRest); at >= 0 {
		k := r.Faster[at]
		f.Torn = true
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
func beats(v *measured.View, pick, other candidate) bool {
	return slices.ContainsFunc(pick.cells, func(p *measured.Cell) bool {
		c := v.Cell(other.stack.Name, p.Workload.Name)
		if c == nil {
			return false
		}
		e, ok := v.Compare(p, c)
		return ok && e.Differs && e.Ratio > 1/avoidBelow
	})
}

// moreBlocks estimates how many blocks more would tell a comparison: intervals
// shrink with the square root.
func moreBlocks(e fact.Effect) int {
	half, needed := math.Log(e.High/e.Low)/2, max(math.Abs(math.Log(e.Ratio)), math.Log1p(tellsApart/2))
	total := float64(e.Pairs) * (half / needed) * (half / needed)
	return int(max(2, min(total, 30)-float64(e.Pairs)))
}

// propose says which command would settle what is open, and how long it would
// take.
func propose(v *measured.View, r *fact.Recommendation, f *Facts, blocks int) {
	if f.Imported || v.Run.ID == "" {
		return
	}
	last, seconds := spent(v)
	if last == 0 || seconds == 0 {
		return
	}
	each := seconds / float64(last)
	minutes := min(mostMinutes, max(1, math.Ceil(float64(blocks)*each*1.2/60)))
	r.Seconds = 60 * minutes
	r.Command = fmt.Sprintf("plimsoll run --resume %s --budget +%.0fm", v.Run.ID, minutes)
	f.Minutes = int(minutes)
}

// nothing is the verdict where no stack can be recommended.
func nothing(v *measured.View, f Facts) (*fact.Recommendation, Facts) {
	out := &fact.Recommendation{Confidence: fact.Sure}
	for _, c := range v.All() {
		if c.Source() == result.SourceMemory && !measured.Buffered(c.Workload) {
			out.Memory = measured.AppendNew(out.Memory, c.Stack.Name)
		}
	}
	f.Measured = len(v.Cells) > 0
	if !f.Measured {
		out.Confidence = fact.TooEarly
	}
	f.Answered = answeredBy(v, result.SourceMemory, v.Stacks)
	return out, f
}

// words name stacks and workloads of a run as a sentence does.
type words struct {
	view      *measured.View
	stacks    map[string]string
	workloads map[string]string
}

func wordsOf(v *measured.View) words {
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
		if len(v.Under(l.Name)) > 0 && !measured.Buffered(l) {
			patterns[l.Pattern]++
		}
	}
	for _, l := range v.Workloads {
		plain := plainPattern(l.Pattern)
		switch {
		case plain == "":
			plain = l.Name
		case measured.Buffered(l):
			plain += " through the page cache"
		case patterns[l.Pattern] > 1:
			plain = fmt.Sprintf("%s in %s", plain, l.Name)
		}
		w.workloads[l.Name] = plain
	}
	return w
}

func (w words) stack(s *measured.Stack) string { return w.stacks[s.Name] }

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
	source, fileSystem, view := measured.Split(l)
	if source == nil {
		return ""
	}
	on := source.Name
	switch {
	case source.Name == measured.NodeDir:
		on = source.Arg
	case source.Name == measured.NodeTmpfs:
		on = "memory"
	case fileSystem != nil:
		on = fileSystemName(fileSystem.Name)
	}
	switch {
	case view != nil && view.Name == measured.NodeVolume:
		return "a data volume on " + on
	case view != nil:
		return fmt.Sprintf("the writable layer of %s on %s", view.Name, on)
	case source.Name == measured.NodeDir:
		return "the directory " + on
	case source.Name == measured.NodeTmpfs:
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
