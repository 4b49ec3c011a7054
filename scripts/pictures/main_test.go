package main

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/result"
)

// shapes returns how many of each element a picture has, and fails where it is not well-formed.
func shapes(t *testing.T, svg string) map[string]int {
	t.Helper()
	count := map[string]int{}
	for d := xml.NewDecoder(strings.NewReader(svg)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return count
		}
		if err != nil {
			t.Fatalf("%v in %s", err, svg)
		}
		if e, is := token.(xml.StartElement); is {
			count[e.Name.Local]++
		}
	}
}

func TestVerdict(t *testing.T) {
	const shown = "quick on vm\n\nVerdict\n  Likely: use xfs, 4 times as\n  fast as <others>.\n  - Use: xfs\n" +
		"  - Check next: this:\n      sudo plimsoll run --resume RUN\n  Only likely, because of noise.\n\nRR: randread\n"
	svg, err := drawVerdict(shown)
	if err != nil {
		t.Fatal(err)
	}
	shapes(t, svg)
	if n := strings.Count(svg, "▲"); n != 4 || strings.Contains(svg, "randread") {
		t.Errorf("%d remarks in %s", n, svg)
	}
	for _, wrong := range []string{"no verdict", "\nVerdict\n  Something else.\n\n"} {
		if _, err := drawVerdict(wrong); err == nil {
			t.Errorf("%q is drawn", wrong)
		}
	}
}

func TestTimelineAndStack(t *testing.T) {
	begin := time.Unix(0, 0)
	run := &result.Run{Stacks: []result.Stack{{Name: "raw", Line: "loop"}, {Name: "v", Line: "loop > xfs > volume"}}}
	for n := range 8 { // two rounds of two stacks under two workloads
		run.Trials = append(run.Trials, result.Trial{
			Block: 1 + n/4, Stack: run.Stacks[n/2%2].Name, Mix: []string{"R", "W"}[n%2],
			Started: begin.Add(time.Duration(n) * 2 * time.Second), ElapsedSeconds: 2,
			Instances: []result.Instance{{Measurement: &result.Measurement{Seconds: 1}}},
		})
	}
	svg, err := drawTimeline(run)
	if err != nil {
		t.Fatal(err)
	}
	// Of all and of the second round: setups and trials. Besides: the ground and three of the legend.
	if n := shapes(t, svg)["rect"]; n != 4+8+2+4+4 {
		t.Errorf("%d rectangles in %s", n, svg)
	}
	svg, err = drawStack(run)
	if err != nil || shapes(t, svg)["rect"] != 1+3+1+3 {
		t.Errorf("%v: %s", err, svg)
	}
	run.Stacks, run.Trials = run.Stacks[:1], run.Trials[:4]
	if _, err := drawStack(run); err == nil {
		t.Error("a stack that is not there is drawn")
	}
	if _, err := drawTimeline(run); err == nil {
		t.Error("a second round that is not there is drawn")
	}
}

func TestFirstFigure(t *testing.T) {
	page, err := firstFigure("<style/><svg><defs></defs></svg>text" +
		`<section class="figures" aria-labelledby="figures-1"><figure>one</figure><figure>two</figure></section>`)
	if err != nil || !strings.Contains(page, "one") || strings.Contains(page, "two") || strings.Contains(page, "text") {
		t.Errorf("%v: %s", err, page)
	}
	if _, err := firstFigure("<body>"); err == nil {
		t.Error("a figure that is not there is drawn")
	}
}
