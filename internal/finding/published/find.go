package published

import (
	"cmp"
	"fmt"

	"plimsoll/internal/claims"
	"plimsoll/internal/finding/cost"
	"plimsoll/internal/finding/fact"
	"plimsoll/internal/finding/measured"
	"plimsoll/internal/finding/prose"
)

// ways are the ways of judging a claim. Subjects are found by the notation of stacks and
// the declarations of workloads, never by their names.
var ways = map[claims.How]func(*measured.View, claims.Claim) []claimCase{
	claims.ByRatio:    ratios,
	claims.ByOrdering: orders,
	claims.ByLocation: places,
	claims.ByShare:    shares,
	claims.ByShape:    shapes,
}

// claimCase is a claim about one stack, or pair of stacks, under one workload.
type claimCase struct {
	judgement
	stacks   []string // the subject first
	workload string   // as the run calls it; "" when several are behind it
	about    string   // narrows the claim's statement: "RR"
	part     string   // of a claim with several numbers, the one that is tested; "" for all
	measured said     // alone: "3.4x (2.3 to 6.0)"; no case for nothing
	says     string   // the same in a sentence that says of what
	effect   *fact.Effect
	evidence []*measured.Cell
	grounds  []said // what was measured that explains the number
	standIn  string
	instead  *Instead // what ran in the place of the paper's database; nil for nothing
	caveats  []said   // but for marks
}

// tell has the case say what was measured, alone and in a sentence.
func (k *claimCase) tell(name string, facts any, alone, sentence string, args ...any) {
	k.measured, k.says = say(name, facts, "%s", alone), fmt.Sprintf(sentence, args...)
}

// take has the case stand on what was measured of stacks under workloads. ok is false, and the
// case judged, where nothing was of one of them.
func (k *claimCase) take(v *measured.View, points ...measured.CellKey) (ok bool) {
	var cells []*measured.Cell
	for _, p := range points {
		c := v.Cell(p.Stack, p.Workload)
		if c == nil {
			k.judgement = judgement{fact.ClaimNotTestable, unmeasured(v, p)}
			return false
		}
		cells = append(cells, c)
	}
	k.evidence = cells
	return true
}

// Find tests the published results that the run touches, and counts the others.
func Find(v *measured.View) []fact.Finding {
	var out []fact.Finding
	touched, ids := map[string]bool{}, map[string]int{}
	for _, c := range claims.All() {
		if c.Test == nil {
			continue
		}
		for _, c := range c.Apart() {
			for _, k := range ways[c.Test.How](v, c) {
				touched[c.ID] = true
				k.part = cmp.Or(k.part, c.Part)
				f := k.finding(c)
				ids[f.ID]++
				if n := ids[f.ID]; n > 1 { // the same instances in another miniature
					f.ID = fmt.Sprintf("%s/%d", f.ID, n)
				}
				out = append(out, f)
			}
		}
	}
	if len(touched) > 0 {
		out = append(out, others(out, touched))
	}
	return out
}

func (k claimCase) finding(c claims.Claim) fact.Finding {
	id := "published/" + c.ID + "/" + k.stacks[0]
	if k.workload != "" {
		id += "/" + k.workload
	}
	if k.part != "" {
		id += "/" + k.part
		if c.Part == "" {
			c, _ = narrowed(c, k.part)
		}
	}
	if k.instead != nil {
		k.verdict = asShape(k.verdict)
	}
	facts := Tested{
		Published: valueOf(c), Subject: c.Subject, Ordering: c.Kind == claims.Ordering, Baseline: c.Baseline, About: k.about,
		Measured: k.measured.Remark, Reason: k.why.Remark, Grounds: remarks(k.grounds), Paper: c.Test.Reason,
		StandIn: k.standIn, Instead: k.instead,
	}
	if k.verdict == fact.ClaimNotTestable {
		facts.Experiment = c.Test.Experiment
	}
	claim := &fact.Claim{
		ID: c.ID, Paper: c.Paper.String(), Where: c.Where, Statement: facts.statement(), Published: facts.Published.String(),
		Measured: k.measured.words, StandIn: facts.standsIn(), Verdict: k.verdict, Why: k.why.words,
	}
	claim.Low, claim.High = limits(c)
	claim.Of, claim.At, claim.Bound = marked(c)
	if c.Kind == claims.Location {
		claim.Unit = c.Unit
	}
	f := fact.Finding{
		ID: id, Case: "claim", Kind: fact.KindPublished, Workload: k.workload, Stacks: k.stacks,
		Title: k.title(claim), Why: k.reasons(facts), Facts: facts, Effect: k.effect, Claim: claim,
		Evidence: measured.Points(k.evidence...), Caveats: measured.MarksOf(k.evidence...),
	}
	if k.standIn != "" {
		k.caveats = append(k.caveats, say("caveat: stand-in", k.standIn, "a stand-in: %s", k.standIn))
	}
	if k.instead != nil {
		k.caveats = append(k.caveats, say("caveat: instead", k.instead,
			"a stand-in: %s, which shows a shape and confirms nothing", k.instead))
	}
	for _, c := range k.caveats {
		prose.Remark(&f, c.Case, c.Facts, c.words)
	}
	return f
}

// others counts the published results that the run does not touch, and shows what became of those that were found.
func others(found []fact.Finding, touched map[string]bool) fact.Finding {
	var facts Others
	at := map[string]int{} // of experiments
	for _, c := range claims.All() {
		if touched[c.ID] || c.Test == nil || c.Test.Experiment == "" {
			continue
		}
		i, met := at[c.Test.Experiment]
		if !met {
			i = len(facts.Experiments)
			at[c.Test.Experiment] = i
			facts.Experiments = append(facts.Experiments, Experiments{Name: c.Test.Experiment})
		}
		facts.Experiments[i].Claims = append(facts.Experiments[i].Claims, c.ID)
	}
	for _, p := range claims.Papers() {
		n := 0
		for _, c := range claims.All() {
			if c.Paper == p && !touched[c.ID] {
				n++
			}
		}
		if n > 0 {
			facts.Claims += n
			facts.Papers = append(facts.Papers, OfPaper{p.String(), n})
		}
	}
	return fact.Finding{
		ID: "published/others", Case: "others", Kind: fact.KindPublished, Facts: facts, Title: facts.title(), Why: facts.why(),
		Section: shown(found, facts),
	}
}

// said is a remark in words.
type said struct {
	fact.Remark
	words string
}

func say(name string, facts any, format string, args ...any) said {
	return said{fact.Remark{Case: name, Facts: facts}, fmt.Sprintf(format, args...)}
}

// accounts are remarks of traces, in their words.
func accounts(all []fact.Remark) (out []said) {
	for _, r := range all {
		out = append(out, said{r, cost.Says(r)})
	}
	return out
}

func remarks(all []said) (out []fact.Remark) {
	for _, s := range all {
		out = append(out, s.Remark)
	}
	return out
}
