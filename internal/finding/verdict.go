package finding

import (
	"bytes"
	"cmp"
	_ "embed" // the sentences
	"fmt"
	"math"
	"slices"
	"strings"
	"text/template"
	"time"

	"plimsoll/internal/plural"
	"plimsoll/internal/result"
	"plimsoll/internal/stack/line"
	"plimsoll/internal/stats"
	"plimsoll/internal/units"
)

// Confidence is how far a verdict can be relied on.
type Confidence string

// The words of confidence.
const (
	Sure     Confidence = "sure"      // every comparison that matters is decided
	Likely   Confidence = "likely"    // some are not, or something besides the stacks was seen to matter
	TooEarly Confidence = "too early" // fewer bring-ups than a comparison needs
)

// Recommendation is what the run says about the question which stack to take:
// facts, and the sentences that are made of them. The sentences have no
// brackets, intervals or tests: those are for the tables and for Finding.Why.
type Recommendation struct {
	Confidence Confidence `json:"confidence"`
	Headline   string     `json:"headline"`        // one sentence, which begins with the word of confidence
	Use        string     `json:"use,omitempty"`   // "" where nothing can be recommended
	Avoid      string     `json:"avoid,omitempty"` // "" where nothing has to be
	Next       string     `json:"next,omitempty"`  // what to check next; "" for nothing
	Doubts     []string   `json:"doubts,omitempty"`

	Pick    string     `json:"pick,omitempty"`    // the stack to take; "" for none
	Level   []string   `json:"level,omitempty"`   // stacks that the run cannot tell from it
	Slower  []Contrast `json:"slower,omitempty"`  // stacks that are significantly slower, the slowest first
	Faster  []Contrast `json:"faster,omitempty"`  // stacks that are significantly faster under some workload
	Memory  []string   `json:"memory,omitempty"`  // stacks that answered from memory
	Command string     `json:"command,omitempty"` // that would settle what is open
	Seconds float64    `json:"seconds,omitempty"` // which that would take, about
}

// Contrast is how a stack compares with the one that is recommended.
type Contrast struct {
	Stack    string  `json:"stack"`
	Workload string  `json:"workload"`
	Ratio    float64 `json:"ratio"` // stack / pick
}

//go:embed verdict.tmpl
var verdictText string

var verdictTemplates = template.Must(template.New("verdict").Funcs(template.FuncMap{
	"list": plural.And, "times": units.Times,
}).Parse(verdictText))

// write makes a sentence of facts.
func write(name string, facts any) string {
	var b bytes.Buffer
	if err := verdictTemplates.ExecuteTemplate(&b, name, facts); err != nil {
		panic(fmt.Sprintf("finding: the sentence %s: %v", name, err)) // a template that no facts fit
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// verdictFacts is what the sentences of a verdict may speak of.
type verdictFacts struct {
	Advice     *Recommendation
	Name       string   // of the pick, in plain words
	Baseline   string   // in plain words; "" when there is none, or it is the pick
	AsBaseline bool     // level with it under every workload
	IsContrast bool     // the largest contrast is the one with the baseline
	OfBaseline string   // "1.3 times as fast as", "13% slower than"; "" where there is no one ratio
	Contrast   string   // the largest one: "5 times as fast as btrfs for random writes"
	Rates      []string // what the only stack does
	Cached     []string // what it does where the page cache was asked for
	Only       bool     // there is no other candidate
	Alone      bool     // there is no other stack
	Torn       bool     // another candidate is faster under some workload
	Dies       bool     // data goes with the container
	Keeper     string   // where data goes that must stay; "" for nowhere
	Slow       []string // "btrfs, 20% as fast for random writes"
	Answered   []string // "raw-buffered", "fuse under RR": from memory
	Most       int      // bring-ups of the stack that has fewest
	Enough     int
	Needs      string // "6 minutes"
	Better     string // a stack on the host whose file system no container was measured on
	Loop       bool
	Lab        bool
	Container  bool // some stack was measured from inside a container
	Experiment string
	Imported   bool
	Busy       bool // others did what matters
	Directory  bool // the pick is a directory of the host
}

// conclude makes the verdict on the pick among the ranked candidates.
func (v *view) conclude(pick candidate, rest []candidate, keep *candidate) *Recommendation {
	words := v.words()
	f := verdictFacts{
		Advice: &Recommendation{Pick: pick.stack.Name},
		Name:   words.stack(pick.stack), Only: len(rest) == 0, Alone: len(v.stacks) == 1, Enough: stats.FewestPairs,
		Dies: pick.stack.diesWithContainer(), Experiment: v.run.Experiment.Name,
		Loop: slices.Contains(pick.stack.Marks, result.MarkLoop), Lab: slices.Contains(pick.stack.Marks, result.MarkLab),
		Imported:  slices.Contains(pick.stack.Marks, result.MarkImported),
		Container: slices.ContainsFunc(v.all(), func(c *cell) bool { return c.stack.inContainer() }),
	}
	f.Advice.Memory = v.answeredFromMemory(pick.stack)
	f.Answered = v.answeredBy(result.SourceMemory, slices.DeleteFunc(slices.Clone(v.stacks), func(s *stack) bool { return s == pick.stack }))
	if keep != nil {
		f.Keeper = keep.stack.Name
	}
	for _, c := range rest {
		if v.levelEverywhere(pick, c) {
			f.Advice.Level = append(f.Advice.Level, c.stack.Name)
		}
	}
	f.Advice.Slower, f.Advice.Faster = v.contrasts(pick)
	v.besideBaseline(&f, pick, words)
	f.Contrast = v.largest(f.Advice.Slower, words)
	f.IsContrast = f.Contrast != "" && f.Advice.Slower[0].Stack == v.run.Experiment.Baseline
	f.Slow = v.slow(f.Advice.Slower, bare(pick.stack.line), keep, words)
	if f.Only {
		f.Rates = rates(pick.cells, words)
		f.Cached = rates(v.cached(pick), words)
	}
	f.Better = v.unmeasuredInContainer(pick)
	f.Busy = neighboursOf(v) != nil
	source, _, _ := split(pick.stack.line)
	f.Directory = source != nil && source.Name == nodeDir
	v.confide(&f, pick, rest)
	f.Advice.Headline = write("headline", f)
	f.Advice.Use, f.Advice.Avoid, f.Advice.Next = write("use", f), write("avoid", f), write("next", f)
	if f.Advice.Confidence == TooEarly {
		f.Advice.Pick, f.Advice.Use, f.Advice.Avoid = "", "", write("avoid early", f)
	}
	return f.Advice
}

// answeredFromMemory names the stacks, but the pick, that memory answered
// under any workload.
func (v *view) answeredFromMemory(pick *stack) (out []string) {
	for _, c := range v.all() {
		if c.source() == result.SourceMemory && c.stack != pick && !buffered(c.workload) {
			out = appendNew(out, c.stack.Name)
		}
	}
	return out
}

// contrasts are the stacks whose device answered and that differ
// significantly from the pick, by the workloads that decide.
func (v *view) contrasts(pick candidate) (slower, faster []Contrast) {
	for _, p := range pick.cells {
		for _, c := range v.under(p.workload.Name) {
			if c == p || !c.honest() {
				continue
			}
			e, ok := v.compare(c, p)
			switch k := (Contrast{c.stack.Name, p.workload.Name, e.Ratio}); {
			case !ok || !e.Differs:
			case e.Ratio < 1:
				slower = append(slower, k)
			default:
				faster = append(faster, k)
			}
		}
	}
	slices.SortStableFunc(slower, func(a, b Contrast) int { return cmp.Compare(a.Ratio, b.Ratio) })
	slices.SortStableFunc(faster, func(a, b Contrast) int { return cmp.Compare(b.Ratio, a.Ratio) })
	return slower, faster
}

// besideBaseline says how the pick compares with the baseline.
func (v *view) besideBaseline(f *verdictFacts, pick candidate, words words) {
	b, ok := v.baselineOf(pick)
	if !ok {
		return
	}
	f.Baseline = words.stack(b.stack)
	f.AsBaseline = v.levelEverywhere(pick, b)
	of := map[string]*cell{}
	for _, c := range b.cells {
		of[c.workload.Name] = c
	}
	r := geometricMean(pick.cells, func(c *cell) float64 { return c.point.Median / of[c.workload.Name].point.Median })
	if f.AsBaseline || r == 0 || !finite(r) {
		return
	}
	switch {
	case r >= 1.1:
		f.OfBaseline = fmt.Sprintf("%s times as fast as", units.Times(r))
	case r >= visible:
		f.OfBaseline = fmt.Sprintf("%s faster than", units.Percent(r-1))
	case r <= 1/visible:
		f.OfBaseline = fmt.Sprintf("%s slower than", units.Percent(1-r))
	}
}

// mostNamed is how many stacks, or rates, a sentence names before it counts.
const mostNamed = 3

// worthSaying is the ratio from which on a contrast makes a headline.
const worthSaying = 1.2

// largest writes the largest contrast to a stack that is slower.
func (v *view) largest(slower []Contrast, words words) string {
	if len(slower) == 0 || !(slower[0].Ratio > 0) || 1/slower[0].Ratio < worthSaying {
		return ""
	}
	c := slower[0]
	return fmt.Sprintf("%s times as fast as %s for %s", units.Times(1/c.Ratio), c.Stack, words.workload(c.Workload))
}

// slow writes the stacks that are far slower than the pick, each with its worst
// workload. The keeper is needed, however slow.
func (v *view) slow(slower []Contrast, barePick bool, keep *candidate, words words) (out []string) {
	told := map[string]bool{}
	more := 0
	for _, c := range slower {
		s := v.stack(c.Stack)
		if told[c.Stack] || s != nil && bare(s.line) && !barePick || c.Ratio >= avoidBelow || keep != nil && keep.stack.Name == c.Stack {
			continue
		}
		told[c.Stack] = true
		if len(out) == mostNamed {
			more++
			continue
		}
		out = append(out, fmt.Sprintf("%s, %s as fast for %s", c.Stack, units.Percent(c.Ratio), words.workload(c.Workload)))
	}
	if more > 0 {
		out = append(out, fmt.Sprintf("and %d more", more))
	}
	return out
}

// cached are the cells of the pick under workloads that asked for the page
// cache, and were answered by it.
func (v *view) cached(pick candidate) (out []*cell) {
	for _, w := range v.workloads {
		c := v.cell(pick.stack.Name, w.Name)
		if c != nil && buffered(w) && c.source() == result.SourceMemory {
			out = append(out, c)
		}
	}
	return out
}

// rates writes what a stack does under its workloads, the first of them.
func rates(cells []*cell, words words) (out []string) {
	for _, c := range cells[:min(mostNamed, len(cells))] {
		out = append(out, fmt.Sprintf("%s %s", units.Rate(c.point.Median), words.workload(c.workload.Name)))
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
func (v *view) confide(f *verdictFacts, pick candidate, rest []candidate) {
	f.Advice.Confidence = Sure
	doubt := func(c Confidence, why string) {
		if f.Advice.Confidence == Sure || c == TooEarly {
			f.Advice.Confidence = c
		}
		f.Advice.Doubts = append(f.Advice.Doubts, why)
	}
	f.Most = len(pick.cells[0].iops)
	blocks := 0 // more that are needed
	var open []string
	for _, p := range pick.cells {
		f.Most = min(f.Most, p.point.N)
		for _, c := range rest {
			other := v.cell(c.stack.Name, p.workload.Name)
			e, ok := v.compare(p, other)
			switch {
			case !ok:
			case e.TooFew:
				f.Most = min(f.Most, max(e.Pairs, min(e.N[0], e.N[1])))
			case !e.Differs && e.HasInterval() && math.Log(e.High/e.Low)/2 > math.Log1p(tellsApart) && !v.beats(pick, c):
				open = appendNew(open, c.stack.Name)
				blocks = max(blocks, moreBlocks(e))
			}
		}
	}
	if f.Most < stats.FewestPairs {
		doubt(TooEarly, fmt.Sprintf("it takes %d bring-ups to tell stacks from each other, and there is one with %d", stats.FewestPairs, f.Most))
		blocks = stats.FewestPairs - f.Most
	}
	if len(open) > 0 {
		doubt(Likely, fmt.Sprintf("it cannot be told from %s so far", plural.And(open)))
	}
	inRest := func(k Contrast) bool {
		return slices.ContainsFunc(rest, func(c candidate) bool { return c.stack.Name == k.Stack })
	}
	if at := slices.IndexFunc(f.Advice.Faster, inRest); at >= 0 {
		k := f.Advice.Faster[at]
		f.Torn = true
		doubt(Likely, fmt.Sprintf("under %s, %s is faster", k.Workload, k.Stack))
	}
	for _, w := range v.warnings() {
		doubt(Likely, w)
	}
	if n := neighboursOf(v); n != nil {
		doubt(Likely, n.Doubt())
	}
	if blocks > 0 {
		v.propose(f, blocks)
	}
}

// beats reports whether a stack is to be avoided beside the pick, for what it does
// under one workload: what it does under another one, as far as it is not known to be
// better, makes no difference then.
func (v *view) beats(pick, other candidate) bool {
	return slices.ContainsFunc(pick.cells, func(p *cell) bool {
		c := v.cell(other.stack.Name, p.workload.Name)
		if c == nil {
			return false
		}
		e, ok := v.compare(p, c)
		return ok && e.Differs && e.Ratio > 1/avoidBelow
	})
}

// moreBlocks estimates how many blocks more would tell a comparison: intervals
// shrink with the square root.
func moreBlocks(e Effect) int {
	half, needed := math.Log(e.High/e.Low)/2, max(math.Abs(math.Log(e.Ratio)), math.Log1p(tellsApart/2))
	total := float64(e.Pairs) * (half / needed) * (half / needed)
	return int(max(2, min(total, 30)-float64(e.Pairs)))
}

// propose says which command would settle what is open, and how long it would
// take.
func (v *view) propose(f *verdictFacts, blocks int) {
	if f.Imported || v.run.ID == "" {
		return
	}
	var spent float64
	last := 0
	for _, t := range v.run.Trials {
		spent += t.ElapsedSeconds
		if t.Measurement != nil {
			last = max(last, t.Block)
		}
	}
	if last == 0 || spent == 0 {
		return
	}
	each := spent / float64(last)
	minutes := min(mostMinutes, max(1, math.Ceil(float64(blocks)*each*1.2/60)))
	f.Advice.Seconds = 60 * minutes
	f.Advice.Command = fmt.Sprintf("plimsoll run --resume %s --budget +%.0fm", v.run.ID, minutes)
	f.Needs = plural.Count(int(minutes), "minute")
}

// unmeasuredInContainer names a stack that is better on the host than the pick
// is in its container, and on whose file system no container was measured; ""
// for none.
func (v *view) unmeasuredInContainer(pick candidate) string {
	if c := v.betterOnHost(pick); c != nil {
		return c.stack.Name
	}
	return ""
}

// nothing is the verdict where no stack can be recommended.
func (v *view) nothing(why string) *Recommendation {
	out := &Recommendation{Confidence: Sure, Headline: "Sure: " + strings.TrimSuffix(why, ".") + "."}
	for _, c := range v.all() {
		if c.source() == result.SourceMemory && !buffered(c.workload) {
			out.Memory = appendNew(out.Memory, c.stack.Name)
		}
	}
	if len(v.cells) == 0 {
		out.Confidence, out.Headline = TooEarly, "Too early to say which stack to use: "+why+"."
	}
	if len(out.Memory) > 0 {
		out.Avoid = write("avoid", verdictFacts{Advice: out, Answered: v.answeredBy(result.SourceMemory, v.stacks)})
	}
	return out
}

// words name stacks and workloads of a run as a sentence does.
type words struct {
	view      *view
	stacks    map[string]string
	workloads map[string]string
}

func (v *view) words() words {
	w := words{v, map[string]string{}, map[string]string{}}
	counts := map[string]int{}
	for _, s := range v.stacks {
		w.stacks[s.Name] = plainStack(s.line)
		counts[w.stacks[s.Name]]++
	}
	for name, plain := range w.stacks {
		if plain == "" || counts[plain] > 1 {
			w.stacks[name] = "stack " + name
		}
	}
	patterns := map[string]int{}
	for _, l := range v.workloads {
		if len(v.under(l.Name)) > 0 && !buffered(l) {
			patterns[l.Pattern]++
		}
	}
	for _, l := range v.workloads {
		plain := plainPattern(l.Pattern)
		switch {
		case plain == "":
			plain = l.Name
		case buffered(l):
			plain += " through the page cache"
		case patterns[l.Pattern] > 1:
			plain = fmt.Sprintf("%s in %s", plain, l.Name)
		}
		w.workloads[l.Name] = plain
	}
	return w
}

func (w words) stack(s *stack) string { return w.stacks[s.Name] }

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
	source, fileSystem, view := split(l)
	if source == nil {
		return ""
	}
	on := source.Name
	switch {
	case source.Name == nodeDir:
		on = source.Arg
	case source.Name == nodeTmpfs:
		on = "memory"
	case fileSystem != nil:
		on = fileSystemName(fileSystem.Name)
	}
	switch {
	case view != nil && view.Name == nodeVolume:
		return "a data volume on " + on
	case view != nil:
		return fmt.Sprintf("the writable layer of %s on %s", view.Name, on)
	case source.Name == nodeDir:
		return "the directory " + on
	case source.Name == nodeTmpfs:
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

// Reason says why the verdict is only likely; "" for any other.
func (r *Recommendation) Reason() string {
	if r.Confidence != Likely || len(r.Doubts) == 0 {
		return ""
	}
	return write("reason", verdictFacts{Advice: r})
}

// Duration is how long Command would take, about.
func (r *Recommendation) Duration() time.Duration {
	return time.Duration(r.Seconds * float64(time.Second))
}
