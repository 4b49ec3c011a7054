package report

import (
	"slices"
	"strings"
	"unicode/utf8"

	"plimsoll/internal/runview"
	answer "plimsoll/internal/section"
)

// column of a table of stacks. Where the terminal is too narrow, columns go
// in the order of drop; 0 stays.
type column struct {
	head string
	left bool
	drop int

	paint func(string) string // of its cells, beside what paints their row; nil for none
}

// tableRow is a row of cells, or a line of its own across all columns.
type tableRow struct {
	cells []string
	stack string // that it is of; "" for none
	span  string
	paint func(string) string
}

// workload prints the table of a workload or mix: what the device answered first, what memory answered last and apart.
func (t *terminal) workload(s *answer.Section, mix string) {
	t.section(s.Title)
	for _, r := range s.Remarks {
		if r.Warn {
			t.text("  ! ", "    ", r.Text, t.style.warn)
		} else {
			t.text("  ", "    ", r.Text, t.style.dim)
		}
	}
	if len(s.Tables) == 0 {
		t.line("  nothing was measured")
	}
	for _, table := range s.Tables {
		t.table(t.drawn(table))
	}
	t.instances(mix)
	for _, table := range s.Tables {
		t.belowTable(table)
	}
	if len(s.Tables) > 0 {
		t.otherLatencies(mix)
	}
}

// belowTable prints what the letters of tags are, and the notes of a table.
func (t *terminal) belowTable(table answer.Table) {
	var tags []answer.Tag
	for _, r := range table.Rows {
		tags = runview.AddNew(tags, r.Tags...)
	}
	for _, tag := range tags {
		t.text("  ", "    ", "["+tag.Letter+"] "+tag.Text, t.style.warn)
	}
	for _, note := range table.Notes {
		t.text("  ", "    ", note, t.style.dim)
	}
}

// legend explains the columns of the tables of workloads, once for all of them.
func (t *terminal) legend(drawn []*answer.Section) {
	var lines []string
	for _, s := range drawn {
		lines = runview.AddNew(lines, meaningsOf(s)...)
	}
	if len(lines) == 0 {
		return
	}
	if len(picks(t.findings)) > 0 {
		lines = slices.Insert(lines, min(1, len(lines)), strings.TrimSpace(picked)+" the stack of the verdict")
	}
	lines = append(lines, wordsHint)
	// The source is said by the groups of rows too.
	if left := slices.DeleteFunc(t.dropped, func(head string) bool { return head == "source" }); len(left) > 0 {
		lines = append(lines, "left out to fit the terminal: "+strings.Join(left, ", "))
	}
	t.line("")
	for _, text := range lines {
		t.text("  ", "    ", text, t.style.dim)
	}
}

// instances prints what each tenant of a mix did.
func (t *terminal) instances(mix string) {
	stacks := 0
	for _, p := range t.mixed {
		if p.Mix == mix {
			stacks++
		}
	}
	for _, p := range t.mixed {
		if p.Mix != mix {
			continue
		}
		for _, v := range p.Tenants {
			said := v.Said()
			if stacks > 1 || v.Stack != p.Stack {
				said = v.Stack + ", " + said
			}
			t.text("  ", "    ", said, t.style.plain)
		}
		for _, r := range p.Doubts() {
			t.text("  ! ", "    ", r, t.style.warn)
		}
	}
}

// table prints rows in as many columns as fit the terminal.
func (t *terminal) table(columns []column, rows []tableRow) {
	widths, heads := make([]int, len(columns)), make([]string, len(columns))
	rows = slices.Clone(rows)
	for i := range rows {
		rows[i].cells = t.spelledCells(rows[i].cells)
	}
	for i, c := range columns {
		heads[i] = t.spelled(c.head)
		widths[i] = utf8.RuneCountInString(heads[i])
		for _, r := range rows {
			if r.cells != nil {
				widths[i] = max(widths[i], utf8.RuneCountInString(r.cells[i]))
			}
		}
	}
	shown := make([]bool, len(columns))
	total := 0
	for i := range columns {
		shown[i] = true
		total += 2 + widths[i]
	}
	for drop := 1; total > t.width; drop++ {
		i := slices.IndexFunc(columns, func(c column) bool { return c.drop == drop })
		if i < 0 {
			break
		}
		shown[i] = false
		total -= 2 + widths[i]
		if !slices.Contains(t.dropped, columns[i].head) {
			t.dropped = append(t.dropped, columns[i].head)
		}
	}
	print := func(cells []string, stack string, paint func(string) string, painted bool) {
		b := strings.Builder{}
		indent := t.indent(stack)
		for i, c := range columns {
			if !shown[i] {
				continue
			}
			text, space := cells[i], strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cells[i]))
			if painted && c.paint != nil {
				text = c.paint(text)
			}
			if c.left {
				b.WriteString(indent + text + space)
			} else {
				b.WriteString(indent + space + text)
			}
			indent = "  "
		}
		t.line(paint(strings.TrimRight(b.String(), " ")))
	}
	print(heads, "", t.style.dim, false)
	for _, r := range rows {
		if r.cells == nil {
			indent := "  " + r.span[:len(r.span)-len(strings.TrimLeft(r.span, " "))]
			t.text(indent, indent, r.span, r.paint)
			continue
		}
		print(r.cells, r.stack, r.paint, true)
	}
}
