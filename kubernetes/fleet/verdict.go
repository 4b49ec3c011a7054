package fleet

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/finding/compare"
	"plimsoll/internal/finding/loadline"
	"plimsoll/internal/printable"
	"plimsoll/internal/report"
	"plimsoll/internal/result"
	"plimsoll/internal/result/store"
	"plimsoll/internal/runview"
	"plimsoll/internal/section"
	"plimsoll/internal/units/plural"
)

// Result is a node and what was measured on it.
type Result struct {
	Node

	Run     *result.Run
	Carries *loadline.Line // of the mix with the most points; nil where the run asks for none
	Ratio   float64        // of its throughput to the middle node's, over all that is alike; 0 where nothing is
	Low     float64        // 95% interval of Ratio; 0 where there is none
	High    float64
	Differs bool     // and that is more than chance
	Why     []string // what it has otherwise than that node
}

// Kind is the nodes of a kind.
type Kind struct {
	Name   string
	Middle string   // the node that others are compared with: half do more, half do less
	Nodes  []Result // the slowest first
}

// Kinds reads the results of a run of a fleet, and compares nodes of a kind with each other.
func Kinds(r *Record, dir string) (kinds []Kind, err error) {
	for _, n := range r.Nodes {
		if n.State != Done {
			continue
		}
		run, err := store.Read(filepath.Join(dir, n.Name))
		if err != nil {
			return nil, fmt.Errorf("results of node %s: %w", n.Name, err)
		}
		i := slices.IndexFunc(kinds, func(k Kind) bool { return k.Name == n.Kind })
		if i < 0 {
			i = len(kinds)
			kinds = append(kinds, Kind{Name: n.Kind})
		}
		kinds[i].Nodes = append(kinds[i].Nodes, Result{Node: n, Run: run, Carries: carries(run)})
	}
	for i := range kinds {
		kinds[i].compare()
	}
	return kinds, nil
}

// carries returns the load line of a run.
func carries(run *result.Run) (line *loadline.Line) {
	view, longest := runview.New(run), 0
	for _, s := range view.Scalings() {
		if len(s.Levels) > longest {
			c := loadline.CurveOf(view, s)
			longest, line = len(s.Levels), &c.Line
		}
	}
	return line
}

// compare compares the nodes with the one in the middle.
func (k *Kind) compare() {
	options := compare.Options{Threshold: compare.DefaultThreshold, Alpha: compare.DefaultAlpha}
	// Beside the one that measured most, all have a ratio that can have one.
	fullest := slices.MaxFunc(k.Nodes, func(a, b Result) int { return a.Run.Done() - b.Run.Done() })
	for i := range k.Nodes {
		k.Nodes[i].Ratio, _, _, _ = ratio(compare.Runs(fullest.Run, k.Nodes[i].Run, options))
	}
	slower := func(a, b Result) int {
		return cmp.Or(cmp.Compare(a.Ratio, b.Ratio), cmp.Compare(a.Name, b.Name))
	}
	slices.SortFunc(k.Nodes, slower)
	middle := k.Nodes[len(k.Nodes)/2]
	k.Middle = middle.Name
	for i := range k.Nodes {
		n := &k.Nodes[i]
		c := compare.Runs(middle.Run, n.Run, options)
		if n.Ratio, n.Low, n.High, n.Differs = ratio(c); !n.Differs {
			continue
		}
		for _, d := range c.Differs {
			if d.What != "host" {
				n.Why = append(n.Why, fmt.Sprintf("%s: %s there, %s here", d.What, orNone(d.A), orNone(d.B)))
			}
		}
	}
}

func orNone(text string) string {
	if text == "" {
		return "nothing"
	}
	return printable.Line(text)
}

// ratio returns by how much B does more than A, and whether any row that decides differs by more
// than chance. It is the geometric mean over all points; a curve counts as its points. The interval
// takes rows for independent of each other, and is 0 to 0 where one of them has none.
func ratio(c compare.Comparison) (r, low, high float64, differs bool) {
	sum, square, points := 0.0, 0.0, 0.0
	for _, row := range c.Rows {
		if !row.Decides || row.Ratio == nil || *row.Ratio <= 0 {
			continue
		}
		differs = differs || row.Differs
		if row.Curve != "" {
			continue
		}
		weight, half := float64(max(1, row.Points)), math.Inf(1)
		if row.Low != nil {
			half = weight * math.Log(*row.High / *row.Low) / 2
		}
		sum, square, points = sum+weight*math.Log(*row.Ratio), square+half*half, points+weight
	}
	if points == 0 {
		return 0, 0, 0, false
	}
	r = math.Exp(sum / points)
	if half := math.Exp(math.Sqrt(square) / points); !math.IsInf(half, 0) {
		low, high = r/half, r*half
	}
	return r, low, high, differs
}

// Answer says what a fleet's nodes carry, and which are slower than their like.
func Answer(r *Record, kinds []Kind) report.Answer {
	a := report.Answer{
		Kind: "run of a fleet", Title: fmt.Sprintf("%s on %s", r.Experiment, plural.Count(len(r.Nodes), "node")),
		Meta: []string{r.ID, "started " + r.Started.UTC().Format("2006-01-02 15:04 UTC")},
	}
	var sentences []string
	for i := range kinds {
		sentences = append(sentences, kinds[i].sentence())
		a.Sections = append(a.Sections, kinds[i].section())
	}
	var failed section.Table
	failed.Columns = []section.Column{{Head: "node", Text: true}, {Head: "state", Text: true}, {Head: "why", Text: true}}
	for _, n := range r.Nodes {
		if n.State != Done {
			failed.Rows = append(failed.Rows, section.Row{Warn: n.State == Failed, Cells: []section.Cell{section.Text(n.Name),
				section.Text(string(n.State)), section.Text(printable.Line(n.Reason))}})
		}
	}
	if len(failed.Rows) > 0 {
		sentences = append(sentences, plural.Count(len(failed.Rows), "node")+" without results.")
		a.Sections = append(a.Sections, &section.Section{Title: "Nodes without results", Tables: []section.Table{failed}})
	}
	a.Verdict = strings.Join(sentences, " ")
	return a
}

// sentence is the verdict on a kind: "Nodes of kind storage carry 5; node-17 does 22% less: drive".
func (k *Kind) sentence() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s of kind %s", plural.Count(len(k.Nodes), "node"), named(k.Name))
	if low, high, ok := k.line(); ok && low == high {
		fmt.Fprintf(&b, " carry %d", high)
	} else if ok {
		fmt.Fprintf(&b, " carry %d to %d", low, high)
	} else {
		b.WriteString(" measured")
	}
	var apart []string
	for _, n := range k.Nodes {
		if n.Differs && n.Name != k.Middle {
			text := fmt.Sprintf("%s does %s", n.Name, byHowMuch(n.Ratio))
			if len(n.Why) > 0 {
				text += " (" + n.Why[0] + ")"
			}
			apart = append(apart, text)
		}
	}
	switch {
	case len(apart) > 0:
		fmt.Fprintf(&b, "; beside %s, %s.", k.Middle, plural.And(apart))
	case len(k.Nodes) > 1:
		b.WriteString("; none differs from the others by more than chance.")
	default:
		b.WriteString(".")
	}
	return b.String()
}

// line returns the fewest and the most instances that nodes of the kind carry.
func (k *Kind) line() (least, most int, ok bool) {
	for _, n := range k.Nodes {
		if n.Carries == nil || n.Carries.Instances == 0 {
			continue
		}
		if !ok || n.Carries.Instances < least {
			least = n.Carries.Instances
		}
		most, ok = max(most, n.Carries.Instances), true
	}
	return least, most, ok
}

// byHowMuch says a ratio of throughputs.
func byHowMuch(r float64) string {
	if r < 1 {
		return fmt.Sprintf("%.0f%% less", (1-r)*100)
	}
	return fmt.Sprintf("%.0f%% more", (r-1)*100)
}

func (k *Kind) section() *section.Section {
	t := section.Table{
		Caption: "the slowest first",
		Columns: []section.Column{
			{Head: "node", Text: true},
			{Head: "carries", Means: "instances that together do as much as any number does, and the 95% interval"},
			{Head: "beside " + k.Middle, Means: "throughput, the geometric mean over all that both measured " +
				"alike; plimsoll compare " + k.Middle + " NODE has each"},
			{Head: "95% interval", Means: "as if all of these were independent of each other"},
			{Head: "trials done"}, {Head: "what differs", Text: true},
		},
	}
	for _, n := range k.Nodes {
		carries, ratioCell, interval := section.Text("-"), section.Text("nothing to compare"), section.Cell{}
		if n.Carries != nil && n.Carries.Instances > 0 {
			carries = section.Text(strconv.Itoa(n.Carries.Instances))
			if l := n.Carries; l.Low > 0 {
				carries.Text += fmt.Sprintf(" (%d to %d)", l.Low, l.High)
			}
		}
		if n.Ratio > 0 {
			ratioCell = section.Times.Cell(n.Ratio)
		}
		if n.Name != k.Middle {
			interval = section.Times.Between(n.Low, n.High)
		}
		why := strings.Join(n.Why, "; ")
		if !n.Differs && n.Name != k.Middle && n.Ratio > 0 {
			why = "no more than chance"
		}
		t.Rows = append(t.Rows, section.Row{Warn: n.Differs && n.Ratio < 1, Cells: []section.Cell{
			section.Text(n.Name), carries, ratioCell, interval, section.Count.Cell(float64(n.Run.Done())), section.Text(why),
		}})
	}
	s := &section.Section{
		Title: "Nodes of kind " + named(k.Name), Tables: []section.Table{t},
		Note: "Each node's own report is NODE/report.html, beside this one.",
	}
	if len(k.Nodes) > 1 && len(k.Nodes) < 3 {
		s.Remarks = []section.Remark{{Text: fmt.Sprintf("%s cannot show which is the odd one: --each-kind takes more.",
			plural.Count(len(k.Nodes), "node"))}}
	}
	return s
}
