package verdicts

import (
	"io"
	"testing"
)

// A few truths near the edge of what can be known, with few draws of fixed seeds: verdicts are as right as they say,
// and some are sure. make bench NAME=verdicts has all of them.
func TestVerdictsAreAsRightAsTheySay(t *testing.T) {
	if !bench(io.Discard, truths(true, ""), 30) {
		t.Error("more than 5% of sure verdicts are wrong, or more than 5% of runs call two equal that are not: see -quick")
	}
	for _, of := range truths(true, "best by 10%") {
		if r := count(of, 30); r.sure < 15 || r.best < 27 {
			t.Errorf("%s: of 30 verdicts %d are sure, and %d pick the best", of.name, r.sure, r.best)
		}
	}
}

// What is judged is what is printed: a wrong pick and a false equal are seen.
func TestJudgeSeesWhatIsWrong(t *testing.T) {
	ladder := truth{losses: [][]float64{{0, 0.2, 0.2, 0.2, 0}}, noise: noise{setups: 0.001}, rounds: 6}
	run := draw(ladder, 1)
	if j := judge(ladder, run); !j.sure || j.wrong || j.level || !j.best {
		t.Errorf("a right verdict is judged %+v", j)
	}
	other := ladder
	other.losses = [][]float64{{0.1, 0, 0.2, 0.2, 0.2}} // as if this were the truth
	if j := judge(other, run); !j.wrong || !j.level || j.best {
		t.Errorf("a wrong verdict is judged %+v", j)
	}
}
