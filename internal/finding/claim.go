package finding

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/claims"
	"plimsoll/internal/plural"
)

// Claim is a published result, and whether this run bears it out.
type Claim struct {
	ID        string `json:"id"`        // "drv-btrfs-nodatacow"
	Paper     string `json:"paper"`     // "MSST'17"
	Where     string `json:"where"`     // "5.2 fig 3h"
	Statement string `json:"statement"` // what it is about: "btrfs RW nodatacow against btrfs RW"
	Published string `json:"published"` // "5x", "1.00x ± 0.10", "below 1x", "24 jobs"

	// Low and High are the published value with its tolerance: a ratio, a
	// share, or a place in Unit. Each is nil where there is no limit.
	Low  *float64 `json:"published_low,omitempty"`
	High *float64 `json:"published_high,omitempty"`
	Unit string   `json:"unit,omitempty"` // of a place: "jobs", "KiB"

	Measured string       `json:"measured,omitempty"` // as shown, with its interval: "3.4x (2.3 to 6.0)"; "" when nothing was
	StandIn  string       `json:"stand_in,omitempty"` // what was measured in the place of what the claim speaks of
	Verdict  ClaimVerdict `json:"verdict"`
	Why      string       `json:"why"` // of the verdict
}

// ClaimVerdict tells whether a published result holds on this host.
type ClaimVerdict string

// The verdicts on published results.
const (
	ClaimConfirmed    ClaimVerdict = "confirmed here"
	ClaimContradicted ClaimVerdict = "contradicted here"
	ClaimNotTestable  ClaimVerdict = "not testable here" // something is missing, or the data does not decide; Why says what
)

// claimRule tests one published result. A rule finds its subjects by the
// notation of stacks and the declarations of workloads, never by their names.
type claimRule struct {
	id         string // of the claim
	experiment string // the built-in experiment that tests it; "" for none
	reason     string // what the paper puts it down to
	test       func(*view, claims.Claim) []claimCase
}

// claimRules are all claims that can be tested, in the order of the paper.
var claimRules = slices.Concat(fileSystemClaims, driverClaims, volumeClaims, remoteClaims, latencyClaims, deviceClaims, softwareClaims)

// claimCase is a claim about one stack, or pair of stacks, under one workload.
type claimCase struct {
	judgement
	stacks   []string // the subject first
	workload string   // as the run calls it; "" when several are behind it
	about    string   // narrows the claim's statement: "RR"
	part     string   // of a claim with several numbers, the one that is tested; "" for all
	measured string
	says     string // measured, as part of a sentence that names the stacks
	effect   *Effect
	evidence []*cell
	grounds  string // what was measured that explains the number
	standIn  string
	caveats  []string
}

// judgement is a verdict and its reason.
type judgement struct {
	verdict ClaimVerdict
	why     string
}

func notTestable(format string, args ...any) judgement {
	return judgement{ClaimNotTestable, fmt.Sprintf(format, args...)}
}

// published tests the published results that the run touches, and counts the
// others.
func published(v *view) []Finding {
	var out []Finding
	touched := map[string]bool{}
	for _, r := range claimRules {
		c, ok := claims.Find(r.id)
		if !ok {
			continue // a test sees to it that there is none
		}
		for _, k := range r.test(v, c) {
			touched[r.id] = true
			out = append(out, k.finding(c, r))
		}
	}
	if len(touched) > 0 {
		out = append(out, others(touched))
	}
	return out
}

func (k claimCase) finding(c claims.Claim, r claimRule) Finding {
	id := "published/" + c.ID + "/" + k.stacks[0]
	if k.workload != "" {
		id += "/" + k.workload
	}
	if k.part != "" {
		id += "/" + k.part
		c = narrowed(c, k.part)
	}
	low, high := limits(c)
	claim := &Claim{
		ID: c.ID, Paper: c.Paper.String(), Where: c.Where, Statement: statement(c, k.about), Published: publishedText(c),
		Low: low, High: high, Measured: k.measured, StandIn: k.standIn, Verdict: k.verdict, Why: k.why,
	}
	if c.Kind == claims.Location {
		claim.Unit = c.Unit
	}
	f := Finding{
		ID: id, Kind: KindPublished, Workload: k.workload, Stacks: k.stacks, Effect: k.effect, Evidence: points(k.evidence...),
		Caveats: append(marksOf(k.evidence...), k.caveats...), Claim: claim,
	}
	says := "nothing of it was measured"
	if k.says != "" {
		says = k.says
	}
	f.Title = fmt.Sprintf("%s: %s: %s, published %s (%s, %s)", capital(string(k.verdict)), claim.Statement, says, claim.Published, claim.Paper, claim.Where)
	if k.standIn != "" {
		f.Caveats = append(f.Caveats, "a stand-in: "+k.standIn)
	}
	why := []string{"The verdict: " + k.why + "."}
	if k.grounds != "" {
		why = append(why, "Measured here: "+k.grounds)
	}
	f.Why = strings.Join(append(why, "The paper: "+r.reason+"."), " ")
	if k.verdict == ClaimNotTestable && r.experiment != "" {
		f.Why += fmt.Sprintf(" `plimsoll run %s` is made to test it.", r.experiment)
	}
	return f
}

// others counts the published results that the run does not touch.
func others(touched map[string]bool) Finding {
	experiments := map[string][]string{}
	var order []string
	for _, r := range claimRules {
		if touched[r.id] || r.experiment == "" {
			continue
		}
		if experiments[r.experiment] == nil {
			order = append(order, r.experiment)
		}
		experiments[r.experiment] = append(experiments[r.experiment], r.id)
	}
	var byPaper []string
	all := 0
	for _, p := range claims.Papers() {
		n := 0
		for _, c := range claims.All() {
			if c.Paper == p && !touched[c.ID] {
				n++
			}
		}
		if n > 0 {
			all += n
			byPaper = append(byPaper, fmt.Sprintf("%d of %s", n, p))
		}
	}
	f := Finding{
		ID: "published/others", Kind: KindPublished,
		Title: fmt.Sprintf("%s not about stacks or workloads of this run: %s", plural.Count(all, "more published result")+plural.Choose(all, " is", " are"), plural.And(byPaper)),
		Why:   "The rest needs databases, limits on containers, or storage drivers that are gone, which no built-in experiment has.",
	}
	var can []string
	for _, e := range order {
		can = append(can, fmt.Sprintf("`plimsoll run %s` (%s)", e, plural.And(experiments[e])))
	}
	if len(can) > 0 {
		f.Why = fmt.Sprintf("Built-in experiments test some of them: %s. %s", strings.Join(can, ", "), f.Why)
	}
	return f
}

// statement says what a claim is about.
func statement(c claims.Claim, about string) string {
	s := strings.Join(c.Subject, ", ")
	if c.Kind == claims.Ordering {
		s = "order of " + plural.And(c.Subject)
	}
	if c.Baseline != "" {
		s += " against " + c.Baseline
	}
	if about != "" {
		s += ", " + about
	}
	return s
}

func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
