package published

import (
	"cmp"
	"fmt"
	"slices"

	"plimsoll/internal/fact"
	"plimsoll/internal/finding/cost"
	"plimsoll/internal/finding/prose"
	"plimsoll/internal/finding/published/claims"
	"plimsoll/internal/runview"
)

// ways are the ways of judging a claim. Subjects are found by the notation of stacks and
// the declarations of workloads, never by their names.
var ways = map[claims.How]func(*runview.View, claims.Claim) []claimCase{
	claims.ByRatio:    ratios,
	claims.ByOrdering: orders,
	claims.ByLocation: places,
	claims.ByShare:    shares,
	claims.ByShape:    shapes,
}

// claimCase is a claim about one stack, or pair of stacks, under one workload.
type claimCase struct {
	judgement
	stacks   []string  // the subject first
	workload string    // as the run calls it; "" when several are behind it
	about    string    // narrows the claim's statement: "RR"
	part     string    // of a claim with several numbers, the one that is tested; "" for all
	measured Reason    // alone: "3.4x (2.3 to 6.0)"; no case where nothing was measured
	sentence string    // the same, with its subject
	compared *Compared // nil where these are not sets of instances
	effect   *fact.Effect
	evidence []*runview.Cell
	grounds  []Reason // what was measured that explains the number
	standIn  string
	instead  *Instead // what ran in the place of the paper's database; nil for nothing
	caveats  []Reason // but for marks
}

// setMeasured sets what was measured, alone and in a sentence.
func (k *claimCase) setMeasured(name, alone, sentence string, args ...any) {
	k.measured, k.sentence = newReason(name, "%s", alone), fmt.Sprintf(sentence, args...)
}

// take has the case stand on what was measured of stacks under workloads. ok is false, and the
// case judged, where nothing was of one of them.
func (k *claimCase) take(v *runview.View, points ...runview.CellKey) (ok bool) {
	var cells []*runview.Cell
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
func Find(v *runview.View) []fact.Finding {
	var out []fact.Finding
	touched, ids := map[string]bool{}, map[string]int{}
	for _, c := range claims.All() {
		if c.Test == nil {
			continue
		}
		for _, c := range c.Apart() {
			for _, k := range once(v, ways[c.Test.How](v, c)) {
				touched[c.ID] = true
				k.part = cmp.Or(k.part, c.Part)
				k.caveats = append(k.caveats, unlikePaper(v, c, k.evidence)...)
				f := k.finding(c)
				ids[f.ID]++
				if n := ids[f.ID]; n > 1 { // of something else: more memory, or more drives
					f.ID = fmt.Sprintf("%s/%d", f.ID, n)
				}
				out = append(out, f)
			}
		}
	}
	if len(touched) > 0 {
		out = append(out, untouched(out, touched))
	}
	return out
}

// once returns one case for each stack and workload. If the same instances ran in several scaled-down hosts, it is the
// case of the host with the most memory, which is nearest to a paper's.
func once(v *runview.View, cases []claimCase) (out []claimCase) {
	memory := func(k claimCase) int64 {
		if len(k.evidence) == 0 {
			return 0
		}
		m, _ := v.Run.Mix(k.evidence[0].Workload.Name)
		if m.Host == nil {
			return 0
		}
		return m.Host.MemoryBytes
	}
	for _, k := range cases {
		i := slices.IndexFunc(out, func(o claimCase) bool {
			return slices.Equal(o.stacks, k.stacks) && o.workload == k.workload && o.about == k.about && o.part == k.part
		})
		switch {
		case i < 0:
			out = append(out, k)
		case memory(k) > memory(out[i]):
			out[i] = k
		}
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
		Measured: k.measured, Compared: k.compared, Reason: k.why, Grounds: k.grounds, Paper: c.Test.Reason,
		StandIn: k.standIn, Instead: k.instead,
	}
	if k.verdict == fact.ClaimNotTestable {
		facts.Experiment = c.Test.Experiment
	}
	claim := &fact.Claim{
		ID: c.ID, Paper: c.Paper.String(), Where: c.Where, Statement: facts.statement(), Published: facts.Published.String(),
		Measured: k.measured.Text, StandIn: facts.standsIn(), Verdict: k.verdict, Why: k.why.Text,
	}
	claim.PublishedLow, claim.PublishedHigh = limits(c)
	claim.Of, claim.At, claim.Bound = marked(c)
	if c.Kind == claims.Location {
		claim.Unit = c.Unit
	}
	f := fact.Finding{
		ID: id, Case: "claim", Kind: fact.KindPublished, Workload: k.workload, Stacks: k.stacks,
		Title: k.title(claim), Why: k.reasons(facts), Facts: facts, Effect: k.effect, Claim: claim,
		Evidence: runview.Points(k.evidence...), Caveats: runview.MarksOf(k.evidence...),
	}
	if k.standIn != "" {
		k.caveats = append(k.caveats, newReason("caveat: stand-in", "a stand-in: %s", k.standIn))
	}
	if k.instead != nil {
		k.caveats = append(k.caveats, newReason("caveat: instead",
			"a stand-in: %s, which shows a shape and confirms nothing", k.instead))
	}
	for _, c := range k.caveats {
		prose.Remark(&f, c.Case, nil, c.Text)
	}
	return f
}

// untouched counts the published results that the run does not touch, and shows the verdicts on those that it does.
func untouched(found []fact.Finding, touched map[string]bool) fact.Finding {
	var facts Others
	rowOf := map[string]int{} // by experiment, the index into facts.Experiments
	for _, c := range claims.All() {
		if touched[c.ID] || c.Test == nil || c.Test.Experiment == "" {
			continue
		}
		i, met := rowOf[c.Test.Experiment]
		if !met {
			i = len(facts.Experiments)
			rowOf[c.Test.Experiment] = i
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
		Section: claimsSection(found, facts),
	}
}

// accounts are remarks on traces, with their text.
func accounts(all []fact.Remark) (out []Reason) {
	for _, r := range all {
		out = append(out, Reason{Case: r.Case, Text: cost.Says(r)})
	}
	return out
}
