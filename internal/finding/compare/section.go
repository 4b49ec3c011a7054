package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/finding/prose"
	"plimsoll/internal/result"
	"plimsoll/internal/runview"
	"plimsoll/internal/section"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
)

// Sections returns the differences between the runs, a section for each workload or curve that was compared, those that
// were not, and warnings.
func (c Comparison) Sections() (sections []*section.Section) {
	list := func(title string, warn bool, texts []string) {
		if len(texts) == 0 {
			return
		}
		s := &section.Section{Title: title}
		for _, text := range texts {
			s.Remarks = append(s.Remarks, section.Remark{Text: text, Warn: warn})
		}
		sections = append(sections, s)
	}
	list("Differs", false, c.differsTexts())
	for _, under := range grouped(c.Rows, func(r Row) string { return cmp.Or(r.Curve, r.Workload) }) {
		sections = append(sections, c.section(under))
	}
	list("Not compared", true, c.apartTexts())
	list("Mind", true, c.Notes)
	return sections
}

// grouped returns what has the same key together, in the order in which keys are first met.
func grouped[T any](elements []T, key func(T) string) (groups [][]T) {
	groupOf := map[string]int{}
	for _, element := range elements {
		i, known := groupOf[key(element)]
		if !known {
			i = len(groups)
			groupOf[key(element)] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], element)
	}
	return groups
}

func (c Comparison) differsTexts() (texts []string) {
	for _, d := range c.Differs {
		text := fmt.Sprintf("%s: %s in A, %s in B", d.What, cmp.Or(d.A, units.Unknown), cmp.Or(d.B, units.Unknown))
		if len(d.Stacks) > 0 {
			text += " (" + strings.Join(d.Stacks, ", ") + ")"
		}
		texts = append(texts, text)
	}
	return texts
}

func (c Comparison) apartTexts() (texts []string) {
	for _, alike := range grouped(c.Apart, func(a Apart) string { return a.Stack + "\x00" + a.Why }) {
		var workloads []string
		for _, a := range alike {
			workloads = append(workloads, a.Workload)
		}
		texts = append(texts, fmt.Sprintf("%s under %s: %s", alike[0].Stack, strings.Join(workloads, ", "), alike[0].Why))
	}
	return texts
}

// section has a table for each metric of rows under one workload.
func (c Comparison) section(workloadRows []Row) *section.Section {
	workload := result.Workload{Name: cmp.Or(workloadRows[0].Curve, workloadRows[0].Workload),
		Summary: workloadRows[0].Summary}
	s := &section.Section{Title: workload.Title()}
	marked := map[string][]string{} // stacks by mark
	var stacks, order []string
	for _, r := range workloadRows {
		if slices.Contains(stacks, r.Stack) {
			continue
		}
		stacks = append(stacks, r.Stack)
		for _, m := range r.Marks {
			if marked[m] == nil {
				order = append(order, m)
			}
			marked[m] = append(marked[m], r.Stack)
		}
	}
	for _, m := range order {
		text := prose.EveryNumber(m)
		if len(marked[m]) < len(stacks) {
			text = plural.And(marked[m]) + ": " + m
		}
		s.Remarks = append(s.Remarks, section.Remark{Text: text, Warn: true})
	}
	for _, m := range Metrics() {
		rows := slices.DeleteFunc(slices.Clone(workloadRows), func(r Row) bool { return r.Metric != m.ID })
		if len(rows) > 0 {
			s.Tables = append(s.Tables, c.table(m, rows))
		}
	}
	return s
}

func (c Comparison) table(m runview.Metric, rows []Row) section.Table {
	t := section.Table{Caption: rows[0].MetricName(m)}
	if slices.ContainsFunc(rows, func(r Row) bool { return r.MetricName(m) != t.Caption }) {
		t.Caption = m.Name
	}
	t.Caption += ", lower is better"
	if m.HigherIsBetter {
		t.Caption = strings.Replace(t.Caption, "lower", "higher", 1)
	}
	if !rows[0].Decides {
		t.Caption += "; does not decide"
	}
	t.Columns = []section.Column{
		{Head: "stack", Text: true},
		{Head: "A"}, {Head: "±", Drop: 3}, {Head: "B"}, {Head: "±", Drop: 4, Means: c.spreadMeans()},
		{Head: "B / A", Means: fmt.Sprintf(c.ratioMeans()+", and ~ is no significant difference (p below %s)", units.Setting(c.Alpha))},
		{Head: "95% interval"},
		{Head: "p", Drop: 2, Means: c.testMeans()},
		{Head: "trials", Drop: 1},
		{Head: "source", Text: true},
		{Head: "verdict", Text: true, Means: fmt.Sprintf("ok where the interval excludes a regression beyond %s, too noisy where "+
			"it does not, too few where so few trials cannot differ significantly", units.Setting(c.Threshold))},
	}
	for _, r := range rows {
		name := r.Stack
		if r.StackB != "" {
			name += " / " + r.StackB
		}
		if r.Curve != "" {
			name += " " + r.Workload
		}
		t.Rows = append(t.Rows, section.Row{Warn: r.Verdict == Regression || r.Source == string(result.SourceMemory), Cells: []section.Cell{
			section.Text(name), r.A.cell(m), r.A.spread(), r.B.cell(m), r.B.spread(), r.ratio(), r.interval(),
			section.Text(units.P(r.PAdjusted)), section.Text(r.sizes()),
			section.Text(result.Source(r.Source).Words()), section.Text(r.Verdict.word()),
		}})
	}
	return t
}

// spreadMeans says how sure the ends of the least sure median are.
func (c Comparison) spreadMeans() string {
	n, coverage := math.MaxInt, 1.0
	for _, r := range c.Rows {
		for _, s := range []Sample{r.A, r.B} {
			if s.N > 0 && s.Coverage > 0 {
				n, coverage = min(n, s.N), min(coverage, s.Coverage)
			}
		}
	}
	if n == math.MaxInt {
		return ""
	}
	return fmt.Sprintf("the farther end of the interval of the median, from %s or more, which holds with %.0f%%", plural.Count(n, "trial"),
		100*coverage)
}

// severalRuns reports whether a side has pooled runs.
func (c Comparison) severalRuns() bool { return len(c.A.Runs)+len(c.B.Runs) > 0 }

func (c Comparison) ratioMeans() string {
	if c.severalRuns() {
		return "of the means of the runs' medians"
	}
	return "of the medians"
}

func (c Comparison) testMeans() string {
	means := "Mann-Whitney"
	if c.severalRuns() {
		means = "Student's t of runs"
	}
	if c.Family > 1 {
		means += fmt.Sprintf(", corrected by Holm for the %d rows that decide", c.Family)
	}
	if slices.ContainsFunc(c.Rows, func(r Row) bool { return r.Points > 0 }) && !c.severalRuns() {
		means += ", and of a curve of several numbers of instances by ranks within each number, where one number decides only if it is worse by itself"
	}
	return means
}

func (s Sample) cell(m runview.Metric) section.Cell {
	switch {
	case s.N == 0:
		return section.Text("none")
	case m.Unit == "ns":
		return section.Latency.Cell(s.Median)
	case m.Unit == "bytes per second":
		return section.Bandwidth.Cell(s.Median)
	}
	return section.Text(units.Rate(s.Median))
}

// spread is the farther end of the interval of the median: "±18%".
func (s Sample) spread() section.Cell {
	if s.Coverage == 0 || !(s.Median > 0) {
		return section.Cell{}
	}
	return section.Text(fmt.Sprintf("±%.0f%%", 100*max(s.High-s.Median, s.Median-s.Low)/s.Median))
}

func (r Row) ratio() section.Cell {
	switch {
	case r.A.N == 0 || r.B.N == 0:
		return section.Cell{}
	case !r.Differs:
		return section.Text("~")
	case r.Ratio == nil:
		return section.Text(units.Unknown)
	}
	return section.Times.Cell(*r.Ratio)
}

func (r Row) interval() section.Cell {
	if r.Low == nil {
		return section.Cell{}
	}
	return section.Times.Between(*r.Low, *r.High)
}

// sizes are the setups of both sides: "8+8", or with several runs "24+24 in 3+3".
func (r Row) sizes() string {
	text := fmt.Sprintf("%d+%d", r.A.N, r.B.N)
	if r.A.Runs+r.B.Runs > 0 {
		text += fmt.Sprintf(" in %d+%d", r.A.Runs, r.B.Runs)
	}
	return text
}

// word is the verdict as a row has it: what is as it was stands back.
func (v Verdict) word() string {
	if v == Holds {
		return "ok"
	}
	return string(v)
}
