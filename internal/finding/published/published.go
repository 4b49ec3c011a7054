// Package published judges results that papers published by what a run measured.
package published

import (
	_ "embed" // the sentences
	"fmt"

	"plimsoll/internal/claims"
	"plimsoll/internal/finding/cost"
	"plimsoll/internal/finding/fact"
	"plimsoll/internal/finding/measured"
	"plimsoll/internal/finding/prose"
)

// The sentences: on a claim, on why it is judged as it is, on what was measured
// that explains a number, and on how a case differs from the paper's.
var (
	//go:embed published.tmpl
	publishedText string
	//go:embed verdict.tmpl
	verdictText string
	//go:embed grounds.tmpl
	groundsText string
	//go:embed instances.tmpl
	instancesText string
	//go:embed caveats.tmpl
	caveatsText string
)

// Sentences are the sentences on published results.
var Sentences = prose.NewSheet(publishedText, verdictText, groundsText, instancesText, caveatsText, cost.TracedText)

// Tested is a published result, and what the run says of it. The verdict is the
// claim's.
type Tested struct {
	Published  Value         `json:"published"`
	Subject    []string      `json:"subject"` // of the claim: what it is about, or of an ordering, best first
	Ordering   bool          `json:"ordering,omitempty"`
	Baseline   string        `json:"baseline,omitempty"`
	About      string        `json:"about,omitempty"`      // narrows it: RR
	Measured   fact.Remark   `json:"measured,omitzero"`    // what was; no case for nothing
	Reason     fact.Remark   `json:"reason"`               // of the verdict
	Grounds    []fact.Remark `json:"grounds,omitempty"`    // what was measured that explains the number
	Paper      string        `json:"paper"`                // what the paper puts it down to
	Experiment string        `json:"experiment,omitempty"` // the built-in one that tests it, where this run could not
	StandIn    string        `json:"stand_in,omitempty"`   // as claims.yaml describes it
	Instead    *Instead      `json:"instead,omitempty"`    // what ran in the place of the paper's database
}

// Others are the published results that a run does not touch.
type Others struct {
	Claims      int           `json:"claims"`
	Papers      []OfPaper     `json:"papers"`
	Experiments []Experiments `json:"experiments,omitempty"` // that test some of them
}

// OfPaper is how many of them are a paper's.
type OfPaper struct {
	Paper  string `json:"paper"`
	Claims int    `json:"claims"`
}

// Experiments is which of them a built-in experiment tests.
type Experiments struct {
	Name   string   `json:"name"`
	Claims []string `json:"claims"` // ids
}

// kinds are the ways of testing a claim, each in a file of its own. Subjects are
// found by the notation of stacks and the declarations of workloads, never by
// their names.
var kinds = map[claims.How]func(*measured.View, claims.Claim) []claimCase{
	claims.ByPair:     pair,
	claims.ByCurve:    curve,
	claims.ByOrder:    order,
	claims.ByPart:     part,
	claims.ByRise:     rise,
	claims.ByTwin:     twin,
	claims.ByRate:     driveRate,
	claims.ByTime:     driveTime,
	claims.BySoftware: softwareShare,
	claims.ByAccount:  account,
	claims.ByValley:   valley,

	claims.ByInstances: instances,
	claims.ByTail:      tail,
	claims.ByPolicy:    policy,
	claims.ByWorkload:  workload,
	claims.ByBeside:    beside,
}

// claimCase is a claim about one stack, or pair of stacks, under one workload.
type claimCase struct {
	judgement
	stacks   []string    // the subject first
	workload string      // as the run calls it; "" when several are behind it
	about    string      // narrows the claim's statement: "RR"
	part     string      // of a claim with several numbers, the one that is tested; "" for all
	measured fact.Remark // no case for nothing
	effect   *fact.Effect
	evidence []*measured.Cell
	grounds  []fact.Remark // what was measured that explains the number
	standIn  string
	instead  *Instead      // what ran in the place of the paper's database; nil for nothing
	caveats  []fact.Remark // but for marks
}

// judgement is a verdict and its reason.
type judgement struct {
	verdict fact.ClaimVerdict
	why     fact.Remark
}

func notTestable(why string, facts any) judgement { return judge(fact.ClaimNotTestable, why, facts) }

func judge(v fact.ClaimVerdict, why string, facts any) judgement {
	return judgement{v, fact.Remark{Case: why, Facts: facts}}
}

// All tests the published results that the run touches, and counts the
// others.
func All(v *measured.View) []fact.Finding {
	var out []fact.Finding
	touched, ids := map[string]bool{}, map[string]int{}
	for _, c := range claims.All() {
		if c.Test == nil {
			continue
		}
		for _, k := range kinds[c.Test.How](v, c) {
			touched[c.ID] = true
			f := k.finding(c)
			ids[f.ID]++
			if n := ids[f.ID]; n > 1 { // the same instances in another miniature
				f.ID = fmt.Sprintf("%s/%d", f.ID, n)
			}
			out = append(out, f)
		}
	}
	if len(touched) > 0 {
		out = append(out, others(touched))
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
		c = narrowed(c, k.part)
	}
	if k.instead != nil {
		k.verdict = asShape(k.verdict)
	}
	low, high := limits(c)
	claim := &fact.Claim{
		ID: c.ID, Paper: c.Paper.String(), Where: c.Where, Low: low, High: high, Verdict: k.verdict,
	}
	if c.Kind == claims.Location {
		claim.Unit = c.Unit
	}
	facts := Tested{
		Published: valueOf(c), Subject: c.Subject, Ordering: c.Kind == claims.Ordering, Baseline: c.Baseline, About: k.about,
		Measured: k.measured, Reason: k.why, Grounds: k.grounds, Paper: c.Test.Reason,
		StandIn: k.standIn, Instead: k.instead,
	}
	if k.verdict == fact.ClaimNotTestable {
		facts.Experiment = c.Test.Experiment
	}
	f := fact.Finding{
		ID: id, Case: "claim", Kind: fact.KindPublished, Workload: k.workload, Stacks: k.stacks,
		Facts: facts, Effect: k.effect, Claim: claim, Evidence: measured.Points(k.evidence...),
		Caveats: measured.MarksOf(k.evidence...), Remarks: k.caveats,
	}
	if k.standIn != "" {
		f.Remarks = append(f.Remarks, fact.Remark{Case: "caveat: stand-in", Facts: k.standIn})
	}
	if k.instead != nil {
		f.Remarks = append(f.Remarks, fact.Remark{Case: "caveat: instead", Facts: k.instead})
	}
	return f
}

// others counts the published results that the run does not touch.
func others(touched map[string]bool) fact.Finding {
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
	return fact.Finding{ID: "published/others", Case: "others", Kind: fact.KindPublished, Facts: facts}
}
