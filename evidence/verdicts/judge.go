package verdicts

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/fact"
	"plimsoll/internal/finding/elasticity"
	"plimsoll/internal/finding/ranking"
	"plimsoll/internal/finding/verdict"
	"plimsoll/internal/result"
	"plimsoll/internal/runview"
)

// margin is the loss, as a share, from which on a stack is a wrong pick, and no equal of another one.
const margin = 0.05

// judged is how one run's sentences compare with the truth.
type judged struct {
	sure, early bool
	best        bool // the pick is the best stack
	wrong       bool // the pick is margin or more below it, or the sentence has a bound that does not hold
	level       bool // two are called equal that are margin or more apart
	differ      bool // two are called different, where all are equal
}

var (
	named       = regexp.MustCompile(`\bs(\d+)\b`)
	asFast      = regexp.MustCompile(`as fast as stack s(\d+) here`)
	asWell      = regexp.MustCompile(`((?:s\d+(?:, | and )?)+) (?:does|do) as well`)
	levelWith   = regexp.MustCompile(`and ((?:s\d+(?:, | and )?)+) (?:is|are) (?:level with it|as fast within)`)
	atMost      = regexp.MustCompile(`at most (\d+)% below the best`)
	carriesText = regexp.MustCompile(`carries (\d+)`)
	lossBound   = regexp.MustCompile(`(?:by at most|more than) (\d+)%`)
)

// judgeLooks judges a run at each of its looks: what is wrong at one of them is wrong, and what is sure at the last.
func judgeLooks(t truth, run *result.Run) (j judged) {
	if len(t.looks) == 0 {
		return judge(t, run)
	}
	for k, rounds := range t.looks {
		look := judge(t, untilLook(run, rounds, t.looks[:k]))
		wrong := j.wrong || look.wrong && look.sure
		level, differ := j.level || look.level, j.differ || look.differ
		j = look
		j.wrong, j.level, j.differ = wrong, level, differ
	}
	return j
}

// judge reads what is printed of a run, and compares it with the truth.
func judge(t truth, run *result.Run) (j judged) {
	v := runview.New(run)
	if t.areMixes() {
		return judgeMixes(t, v)
	}
	j.differ = t.areEqual() && anyDiffer(v)
	f := verdict.Find(v)[0]
	r := f.Recommendation
	j.sure, j.early = r.Confidence == fact.Sure, r.Confidence == fact.TooEarly
	if j.early {
		return j
	}
	pick, ok := stackNumber(r.Pick)
	if !ok {
		return j
	}
	j.differ = j.differ || t.areEqual() && len(r.Slower)+len(r.Faster) > 0
	lost := t.lost(pick)
	least := math.Inf(1)
	for i := range t.stacks() {
		least = min(least, t.lost(i))
	}
	j.best = lost == least
	j.wrong = lost-least >= margin-1e-9
	text := strings.Join([]string{r.Headline, r.Use}, "\n")
	for _, m := range atMost.FindAllStringSubmatch(text, -1) {
		percent, _ := strconv.ParseFloat(m[1], 64)
		j.wrong = j.wrong || lost > (percent+0.5)/100
	}
	for _, m := range asFast.FindAllStringSubmatch(text, -1) {
		other, _ := strconv.Atoi(m[1])
		j.level = j.level || t.apart(pick, other) >= margin
	}
	if strings.Contains(text, "as fast as anything here") {
		j.level = j.level || lost >= margin
	}
	for _, list := range asWell.FindAllString(text, -1) {
		for _, m := range named.FindAllStringSubmatch(list, -1) {
			other, _ := strconv.Atoi(m[1])
			j.level = j.level || t.apart(pick, other) >= margin
		}
	}
	if strings.Contains(text, "are level within") {
		for i := range t.stacks() {
			j.level = j.level || t.apart(pick, i) >= margin
		}
	}
	for _, f := range ranking.Find(v) {
		j.level = j.level || t.falseRanking(f)
	}
	return j
}

// areEqual reports whether all stacks do the same.
func (t truth) areEqual() bool {
	return !slices.ContainsFunc(everyStack(t.stacks()), func(i int) bool { return t.apart(0, i) > 0 })
}

// anyDiffer reports whether two stacks are called different in a table.
func anyDiffer(v *runview.View) bool {
	for _, w := range v.Workloads {
		cells := v.Under(w.Name)
		for i, a := range cells {
			for _, b := range cells[:i] {
				if e, _ := v.Compare(a, b); e.Differs {
					return true
				}
			}
		}
	}
	return false
}

// falseRanking reports whether the ranking of a workload calls a stack level with the first one that is not.
func (t truth) falseRanking(f fact.Finding) bool {
	w := slices.IndexFunc(everyStack(len(t.losses)), func(w int) bool { return f.Workload == "w"+strconv.Itoa(w) })
	first, ok := stackNumber(f.Stacks[0])
	if w < 0 || !ok {
		return false
	}
	for _, list := range levelWith.FindAllString(f.Title, -1) {
		for _, m := range named.FindAllStringSubmatch(list, -1) {
			other, _ := strconv.Atoi(m[1])
			if apartBy(t.losses[w][first], t.losses[w][other]) >= margin {
				return true
			}
		}
	}
	return false
}

func stackNumber(name string) (int, bool) {
	m := named.FindStringSubmatch(name)
	if m == nil {
		return 0, false
	}
	n, err := strconv.Atoi(m[1])
	return n, err == nil
}

// lost returns the most that a stack is below the best one, over all workloads.
func (t truth) lost(stack int) (most float64) {
	for _, losses := range t.losses {
		most = max(most, apartBy(losses[stack], slices.Min(losses)))
	}
	return most
}

// apart returns by how much two stacks differ, as a share of the faster, under the workload under which they differ
// most.
func (t truth) apart(a, b int) (most float64) {
	for _, losses := range t.losses {
		most = max(most, apartBy(losses[a], losses[b]))
	}
	return most
}

func apartBy(loss, other float64) float64 {
	a, b := 1-loss, 1-other
	apart := 1 - min(a, b)/max(a, b)
	return math.Round(1e9*apart) / 1e9
}

// judgeMixes reads what is printed of a run of mixes: a sentence that nothing is changed by so much or more, or how
// many instances are carried.
func judgeMixes(t truth, v *runview.View) (j judged) {
	var text string
	if t.budget == carried {
		f := verdict.Find(v)[0]
		sure := f.Recommendation.Confidence
		j.sure, j.early = sure == fact.Sure, sure == fact.TooEarly
		m := carriesText.FindStringSubmatch(f.Title)
		j.best = m != nil && m[1] == strconv.Itoa(t.carries())
		j.wrong = !j.best
		return j
	}
	if t.budget == policed {
		f := verdict.Find(v)[0]
		sure := f.Recommendation.Confidence
		j.sure, j.early, text = sure == fact.Sure, sure == fact.TooEarly, f.Title
		if !strings.Contains(text, "no policy costs") {
			return j
		}
	} else {
		found := elasticity.Measured(v)
		if len(found) == 0 {
			return j
		}
		text = found[0].Title
		j.sure = strings.Contains(text, "no limit")
		if !j.sure {
			return j
		}
	}
	claimed := 0.03 - 1e-9 // where the sentence names no margin, the change that counts
	if m := lossBound.FindStringSubmatch(text); m != nil {
		percent, _ := strconv.ParseFloat(m[1], 64)
		claimed = percent / 100
	}
	about := t.losses[0]
	if !strings.Contains(text, "no limit counts") && t.budget == elastic {
		about = []float64{about[1], about[3]} // of limits that were relaxed
	}
	for _, loss := range about {
		j.wrong = j.wrong || math.Abs(loss) > claimed
	}
	j.level, j.best = j.wrong, !j.wrong
	return j
}
