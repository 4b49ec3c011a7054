package experiment

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"plimsoll/internal/stats/stopping"
)

func TestParsePrecondition(t *testing.T) {
	for _, c := range []struct {
		text string
		want Precondition
	}{
		{"snia", Precondition{Passes: 2, Device: true, Rounds: 25, Round: time.Minute}},
		{"snia,round=10s", Precondition{Passes: 2, Device: true, Rounds: 25, Round: 10 * time.Second}},
		{"snia, passes=1", Precondition{Passes: 1, Device: true, Rounds: 25, Round: time.Minute}},
		{"passes=2", Precondition{Passes: 2}},
		{"rounds=5", Precondition{Rounds: 5, Round: time.Minute}},
		{"round=250ms", Precondition{Rounds: stopping.MaxRounds, Round: 250 * time.Millisecond}},
		{" device , passes=3 ", Precondition{Device: true, Passes: 3}},
	} {
		if got, err := ParsePrecondition(c.text); err != nil || got != c.want {
			t.Errorf("%s: %+v, %v; want %+v", c.text, got, err, c.want)
		}
	}
}

func TestParsePreconditionTellsAllProblems(t *testing.T) {
	for _, c := range []struct {
		text  string
		wants []string
	}{
		{"", []string{`unknown setting ""`, "snia, or some of device"}},
		{"sina", []string{`unknown setting "sina"`}},
		{"snia=2", []string{`unknown setting "snia=2"`}},
		{"device=no", []string{`unknown setting "device=no"`}},
		{"passes=2,snia", []string{"snia goes first"}},
		{"passes=2,passes=3", []string{"passes is given more than once"}},
		{"passes=0,rounds=x,round=10,depth=1",
			[]string{"passes is a number from 1 to 100", "rounds is a number from 1 to 1000", "round is a time",
				`unknown setting "depth=1"`}},
		{"passes=101,rounds=1001,round=-1s",
			[]string{"passes is a number from 1 to 100", "rounds is a number from 1 to 1000", "round is a time"}},
		{"rounds=4", []string{"4 rounds are fewer than the 5 that a window takes"}},
		{"passes", []string{"passes is a number"}},
	} {
		_, err := ParsePrecondition(c.text)
		if err == nil {
			t.Errorf("%q: no error", c.text)
			continue
		}
		if got := strings.Count(err.Error(), "\n") + 1; got != len(c.wants) && c.text != "" {
			t.Errorf("%q: %d problems, want %d: %v", c.text, got, len(c.wants), err)
		}
		for _, want := range c.wants {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q: %q is not in: %v", c.text, want, err)
			}
		}
	}
}

// What is printed reads back as what does the same: a run is resumed with it.
func TestPreconditionPrintsWhatItReads(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Precondition{Passes: rapid.IntRange(0, maxPasses).Draw(t, "passes"), Device: rapid.Bool().Draw(t, "device")}
		if rapid.Bool().Draw(t, "rounds") {
			p.Rounds = rapid.IntRange(stopping.SNIA.Window, maxRounds).Draw(t, "most")
			p.Round = time.Duration(rapid.Int64Range(1, int64(time.Hour)).Draw(t, "round"))
		}
		text := p.String()
		if text == "" {
			if p.Device || p.Passes > 1 || p.Rounds > 0 {
				t.Fatalf("%+v prints as nothing", p)
			}
			return
		}
		again, err := ParsePrecondition(text)
		again.Passes, p.Passes = max(1, again.Passes), max(1, p.Passes) // 0 is once
		if err != nil || again != p {
			t.Fatalf("%+v prints as %s, which reads as %+v, %v", p, text, again, err)
		}
	})
	if text := SNIA.String(); text != "device,passes=2,rounds=25,round=1m0s" {
		t.Errorf("snia prints as %s", text)
	}
}
