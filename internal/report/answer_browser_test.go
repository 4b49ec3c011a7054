package report

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"plimsoll/internal/placement"
	answer "plimsoll/internal/section"
)

// aPlan is one of three hosts with moves, and of more kinds of containers than there are colours.
func aPlan() *placement.Plan {
	p := &placement.Plan{Objective: placement.Throughput, Used: 3, Of: 4, Placed: 24, Price: 3, Asked: 9,
		Left:   []placement.Left{{Containers: "orders", Count: 2, Why: "one more on 3 hosts: no memory"}},
		Clash:  []string{"orders", "<b>web</b>"},
		Worth:  []placement.Worth{{Kind: "big", Resource: "memory", Power: 0.4}},
		Beside: []placement.Strategy{{Name: "round robin over all hosts", Rate: 9000, P99: 0.01, Used: 4, Broken: 1}},
		Moves: &placement.Moves{Now: 8000, Bytes: 5e9, Joins: 1, Steps: []placement.Move{
			{Containers: "orders", From: "big-1", To: "big-2", Bytes: 5e9, Seconds: 12}, {Containers: "web", To: "small"},
			{Containers: "web", From: "small", To: "big-1", Breaks: "a limit"}}}}
	p.Rate.Value, p.Rate.Low, p.Rate.High = 12000, 11000, 13000
	for h := range 3 {
		group := placement.Filled{Kind: "big", Hosts: []string{fmt.Sprint("big-", h+1)}, Binds: "memory"}
		group.Rate.Value = 4000
		for c := range 8 {
			one := placement.Stands{Containers: fmt.Sprint("class-", c), Drive: "nvme", Count: c + 1, Memory: 1 << 28,
				Kept: 0.9, Why: "as good"}
			one.Rate.Value, one.P99.Value = 500, 0.004
			group.Stands = append(group.Stands, one)
		}
		p.Hosts = append(p.Hosts, group)
	}
	p.Moves.From = p.Hosts[:1]
	return p
}

// Pages of answers that are no run's fit the window of a phone, can be read by those who do not see, and run
// nothing that a name brings in.
func TestBrowserShowsAnswers(t *testing.T) {
	b := startBrowser(t)
	plan := aPlan()
	filled := &answer.Section{Title: "Fill", Fill: []answer.Fill{{Caption: "what fills", Series: []string{"a", "b"},
		Rows: []answer.FillRow{{Name: "host", Note: "1 a, 2 b", Bars: []answer.FillBar{{Of: "memory", Size: 0.6,
			Text:  "3 of 4 GiB",
			Parts: []answer.FillPart{{Share: 0.25, Text: "a"}, {Share: 0.9, Series: 1, Text: "b"}}}}}}}}}
	for name, page := range map[string]Answer{
		"plan": {Kind: "plan of f.yaml", Title: "Which <script>alert(1)</script>", Verdict: plan.Verdict(),
			Meta:     []string{"predicted"},
			Sections: plan.Sections()},
		"fill": {Kind: "answer", Title: "Fill", Verdict: "Full.", Sections: []*answer.Section{filled}},
	} {
		var text bytes.Buffer
		must(t, AnswerHTML(&text, page, "1.0"))
		if strings.Contains(text.String(), "<script>alert") || strings.Contains(text.String(), "<b>web") {
			t.Errorf("%s: a name is taken for markup", name)
		}
		path := filepath.Join(t.TempDir(), "answer.html")
		must(t, os.WriteFile(path, text.Bytes(), 0o600))
		do(t, b, chromedp.Navigate("file://"+path))
		b.look(t, views[0])
		b.unfold(t)
		for _, v := range daily() {
			b.look(t, v)
			b.fits(t, v)
		}
		b.accessible(t, name == "plan")
	}
	if ends := eval[[]float64](t, b, `[...document.querySelectorAll('.fill-bar .part')].map(r => r.x.baseVal.valueInSpecifiedUnits + `+
		`r.width.baseVal.valueInSpecifiedUnits)`); len(ends) == 2 && ends[1] > 60.01 {
		t.Errorf("parts that are more than fill a bar of 60%% end at %v", ends)
	}
	b.quiet(t)
}
