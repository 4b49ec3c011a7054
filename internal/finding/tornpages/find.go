package tornpages

import (
	"maps"
	"slices"
	"strings"

	"plimsoll/internal/database"
	"plimsoll/internal/fact"
	"plimsoll/internal/result"
	"plimsoll/internal/runview"
	"plimsoll/internal/section"
	"plimsoll/internal/units"
	"plimsoll/internal/workload"
)

// Find compares each database that writes pages twice with the one that does not.
func Find(v *runview.View) []fact.Finding {
	f, facts := find(v)
	if len(facts.Pairs) == 0 {
		return nil
	}
	return []fact.Finding{f}
}

func find(v *runview.View) (fact.Finding, *Facts) {
	facts := &Facts{}
	var cells []*runview.Cell
	guarded := guardedCells(v)
	for _, on := range guarded {
		for _, off := range guarded {
			if on.guard.On && !off.guard.On && on.key == off.key {
				facts.Pairs = append(facts.Pairs, pairOf(v, on, off))
				cells = append(cells, on.cell, off.cell)
			}
		}
	}
	return fact.Finding{
		ID: "torn-pages", Case: "torn pages", Kind: fact.KindScaling, Facts: facts, Title: facts.summary(),
		Why: facts.why(), Section: facts.section(), Evidence: runview.Points(cells...), Caveats: runview.MarksOf(cells...),
	}, facts
}

// guardedCell is what was measured of a database with an option that writes pages twice.
type guardedCell struct {
	cell  *runview.Cell
	guard database.PageGuard
	title string // of the database
	stack result.Stack
	key   string // equal for cells that differ in the option alone
}

// guardedCells returns those of mixes of one workload on one stack.
func guardedCells(v *runview.View) (cells []guardedCell) {
	for _, c := range v.All() {
		m, _ := v.Run.Mix(c.Workload.Name)
		places := m.Places(c.Stack.Name)
		if len(m.Tenants) != 1 || len(places) != 1 || m.Varies != nil {
			continue
		}
		server, ok := v.Server(m.Tenants[0].Workload)
		guarded, guards := server.(database.PageGuarder)
		stack, found := v.Run.Stack(places[0])
		if !ok || !guards || !found {
			continue
		}
		w, _ := v.Run.Workload(m.Tenants[0].Workload)
		asked, _ := v.Asked(w.Name)
		g := guardedCell{cell: c, guard: guarded.Guard(), stack: stack, title: runview.DatabaseTitle(asked.Database)}
		g.key = keyOf(m, w, server, g)
		cells = append(cells, g)
	}
	return cells
}

// keyOf returns a text that is equal for mixes on one stack that differ in nothing but the option.
func keyOf(m result.Mix, w result.Workload, server database.Server, g guardedCell) string {
	load, _ := workload.DeclaredWithout(w.Declared, "database")
	t := m.Tenants[0]
	parts := []string{g.stack.Name, w.Kind, load, g.title, units.Exact(float64(t.Count)), runview.HostText(m.Host),
		t.Policy, t.Limits.String()}
	parameters := server.Parameters()
	delete(parameters, g.guard.Option)
	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		parts = append(parts, name+"="+parameters[name])
	}
	return strings.Join(parts, "\n")
}

func pairOf(v *runview.View, on, off guardedCell) Pair {
	p := Pair{Database: on.title, Option: on.guard.Option, Stack: on.stack.Name, PageBytes: on.guard.PageBytes,
		Atomic: on.guard.Atomic, On: v.Summary(on.cell, nil), Off: v.Summary(off.cell, on.cell)}
	if u, known := on.stack.AtomicWrites(); known {
		p.Files = &u
	}
	p.Needed = needOf(p.PageBytes, p.Files, p.Atomic)
	return p
}

// Verdict draws the verdict of a run that asks whether pages have to be written twice: all of its mixes are of a pair,
// on a host that was quiet or not. ok is false for any other run.
func Verdict(v *runview.View, quiet bool) (f fact.Finding, facts *Facts, ok bool) {
	f, facts = find(v)
	if len(facts.Pairs) == 0 {
		return f, nil, false
	}
	for _, c := range v.All() {
		if !facts.has(c.Workload.Name) {
			return f, nil, false
		}
	}
	f.ID, f.Kind, f.Section = "recommendation", fact.KindRecommendation, nil
	f.Recommendation = &fact.Recommendation{Confidence: facts.confidence(quiet)}
	f.Title = facts.verdict(f.Recommendation.Confidence)
	return f, facts, true
}

// Next returns what is open of what writing pages twice costs.
func (f *Facts) Next(_ *result.Run, c fact.Confidence) fact.Next { return fact.MoreSetups(c) }

func (f *Facts) has(mix string) bool {
	return slices.ContainsFunc(f.Pairs, func(p Pair) bool { return p.On.Mix == mix || p.Off.Mix == mix })
}

// confidence is how sure the gains are. What is needed is no matter of chance: the kernel said it.
func (f *Facts) confidence(quiet bool) fact.Confidence {
	open := func(p Pair) bool { return !p.Off.Throughput.Differs && runview.MayBeLarge(*p.Off.Throughput) }
	switch {
	case slices.ContainsFunc(f.Pairs, func(p Pair) bool { return p.Off.Throughput.TooFew }):
		return fact.TooEarly
	case slices.ContainsFunc(f.Pairs, open) || !quiet:
		return fact.Likely
	}
	return fact.Sure
}

// moved returns the bytes that devices moved for each operation, for people; "" if not known.
func moved(s fact.Summary) string {
	if !(s.Rate > 0) || !(s.DeviceBytes > 0) {
		return ""
	}
	return units.DecimalBytes(uint64(s.DeviceBytes / s.Rate))
}

// section has a table of all pairs.
func (f *Facts) section() *section.Section {
	s := &section.Section{Title: "Pages that are written twice", Note: "Medians over setups; ratios are to the mix that " +
		"writes pages twice, in the same rounds, and ~ for no significant difference."}
	t := section.Table{Columns: []section.Column{
		{Head: "database", Text: true}, {Head: "stack", Text: true}, {Head: "option", Text: true},
		{Head: "on", Means: "operations a second, pages written twice"}, {Head: "off", Means: "the same, pages written once"},
		{Head: "off against on"}, {Head: "interval", Drop: 2},
		{Head: "disk/op on", Text: true, Means: "bytes that devices move for each operation, pages written twice", Drop: 3},
		{Head: "disk/op off", Text: true, Means: "the same, pages written once", Drop: 3},
		{Head: "page", Means: "bytes of a page", Drop: 1},
		{Head: "atomic writes", Text: true, Means: "that the kernel promises of the stack's files, with RWF_ATOMIC"},
		{Head: "off is", Text: true, Means: "safe if the kernel promises that no page is torn"},
	}}
	for _, p := range f.Pairs {
		ratio, interval := p.Off.Throughput.Cells()
		safe := "not safe"
		if p.Needed == NotNeeded {
			safe = "safe"
		}
		s.Covers = append(s.Covers, result.Point{Stack: p.Stack, Mix: p.On.Mix}, result.Point{Stack: p.Stack, Mix: p.Off.Mix})
		t.Rows = append(t.Rows, section.Row{Stack: p.Stack, Cells: []section.Cell{
			section.Text(p.Database), section.Text(p.Stack), section.Text(p.Option), section.Count.Cell(p.On.Rate),
			section.Count.Cell(p.Off.Rate), ratio, interval, section.Text(moved(p.On)),
			section.Text(moved(p.Off)), section.Text(units.Bytes(uint64(p.PageBytes))),
			section.Text(p.promised()), section.Text(safe),
		}})
	}
	s.Tables = []section.Table{t.Known()}
	return s
}
