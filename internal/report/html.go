package report

import (
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"sync"

	"plimsoll/internal/cli/glossary"
	"plimsoll/internal/fact"
	"plimsoll/internal/finding"
	"plimsoll/internal/finding/instances"
	"plimsoll/internal/finding/prose"
	"plimsoll/internal/finding/timeseries"
	"plimsoll/internal/finding/workloads"
	"plimsoll/internal/result"
	"plimsoll/internal/runview"
	answer "plimsoll/internal/section"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
	"plimsoll/web"
)

//go:embed report.html.tmpl
var pageSource string

//go:embed figures.html.tmpl
var figuresSource string

// pageTemplate is parsed when it is first used: most commands write no page.
var pageTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("report").Funcs(template.FuncMap{
		"rated":     ratedText,
		"bandwidth": bandwidthText,
		"latency":   latencyText,
		"honesty":   honestyText,
		"size":      units.Bytes,
		"count":     counted,
		"join":      strings.Join,
		"slot":      slotClass,
		"filled":    filled,
		"sliced":    sliced,
		"percentOf": percentOf,
		"reasons":   reasonsOf,
		"symbol":    symbol,
		"means":     pageMeanings,
		"head":      columnHead,
		"words":     glossary.All,
		"isLong":    func(rows int) bool { return rows > answer.MostPrinted },
		"isStrip":   func(class string) bool { return strings.HasPrefix(class, "binds-") },

		"percentText": units.SignificantPercent,
		"seconds":     units.Elapsed,
	}).Parse(pageSource + figuresSource))
})

// PageOptions configures the HTML report of a run.
type PageOptions struct {
	// Series reads what was sampled while the trial of that number ran; nil for a
	// run of which nothing was. It is asked for few trials.
	Series func(trial int) ([]result.Series, error)
}

// HTML writes the report of a run as one page that needs nothing else: no
// network and no other file. It shows findings as they are given, and draws
// what finding.Points makes of the run. The script of package web lets its
// figures be read mark by mark; a browser that runs no scripts shows the same.
func HTML(w io.Writer, run *result.Run, findings []fact.Finding, opt PageOptions) error {
	return writePage(w, run, findings, finding.Points(run), web.ReportScript, opt)
}

// writePage writes the page with that script; "" for none.
func writePage(w io.Writer, run *result.Run, findings []fact.Finding, points []fact.Point, script string,
	opt PageOptions) error {
	p := newPage(run, findings, points, opt)
	p.addScript(script)
	if err := pageTemplate().Execute(w, p); err != nil {
		return fmt.Errorf("write the HTML report of run %s: %w", run.ID, err)
	}
	return nil
}

// page has the values of the template.
type page struct {
	shell
	Run       *result.Run
	Miniature string    // that everything was measured in; "" for the host itself
	WholeHost string    // what the host has, where a run was to measure all of it; "" for any other
	Ran       []section // what instances did, and what was sampled meanwhile
	Elapsed   string
	Command   string
	Unit      string // that is repeated: "setup", "trial"
	Paired    bool   // stacks are compared within rounds
	Counts    trialCounts
	Verdicts  []verdict
	Others    []fact.Finding // what neighbours did meanwhile, where no verdict says so
	Behind    []fact.Finding // what else stands behind the verdict: neighbours, and the noise of the run
	Marks     []string       // that every number of the run carries
	Workloads []workloadView
	Groups    []findingGroup
	Late      []section // what stands behind what was found
	Missing   string    // leads to the first finding on what was not measured; "" for none
	Lanes     []lane
	Blocks    []percent
	Stacks    []stackView
	Roles     roles          // of the stacks
	Scaled    bool           // the run asks how many instances the host carries, or what limits or others cost them
	Latencies []otherLatency // of imported results
}

// shell has the parts of every page: its style, its figures, and the script that makes them readable.
type shell struct {
	Title     string
	Version   string // plimsoll's own
	CSS       template.CSS
	Sections  []section
	Script    template.JS // "" for none
	ScriptSum string      // its SHA-256 sum in base64, as the page's policy has it
}

// addScript puts the script into the page. The policy names it by its sum:
// whatever a name or a file might smuggle in does not run.
func (p *shell) addScript(script string) {
	if script == "" {
		return
	}
	sum := sha256.Sum256([]byte(script))
	p.Script, p.ScriptSum = template.JS(script), base64.StdEncoding.EncodeToString(sum[:])
}

type trialCounts struct{ Total, Done, Failed, Skipped, Planned int }

func newPage(run *result.Run, findings []fact.Finding, points []fact.Point, opt PageOptions) page {
	whole := run
	run = placed(run)
	p := page{
		shell: shell{Title: "Plimsoll", Version: run.Version, CSS: template.CSS(web.ReportCSS),
			Sections: sections(run, points, findings)},
		Run:       run,
		Miniature: prose.Miniature(run), WholeHost: prose.WholeHost(run),
		Command:   run.Repeat(),
		Unit:      run.RepeatUnit(),
		Paired:    run.InSetups(),
		Workloads: workloadViews(run, points, findings),
		Marks:     workloads.SharedMarks(points),
		Groups:    findingGroups(run, points, findings),
		Late:      lateSections(run, findings),
		Stacks:    stackViews(run),
		Roles:     rolesOf(run, findings),
		Latencies: otherLatencies(run),
		Scaled:    len(answers(findings)) > 0,
	}
	p.Ran = ranSections(run, p.Roles, opt)
	if run.Experiment.Name != "" {
		p.Title += ": " + run.Experiment.Name
	}
	if run.Environment.Hostname != "" {
		p.Title += " on " + run.Environment.Hostname
	}
	if run.Finished.After(run.Started) && len(run.Imported) == 0 {
		p.Elapsed = units.Elapsed(run.Finished.Sub(run.Started).Seconds())
	}
	for _, t := range whole.Trials {
		p.Counts.Total++
		switch t.Status {
		case result.TrialDone:
			p.Counts.Done++
		case result.TrialFailed:
			p.Counts.Failed++
		case result.TrialSkipped:
			p.Counts.Skipped++
		default:
			p.Counts.Planned++
		}
	}
	p.Lanes, p.Blocks = timeline(whole)
	for _, f := range findings {
		switch f.Kind {
		case fact.KindRecommendation:
			p.Verdicts = append(p.Verdicts, newVerdict(f, findings))
		case fact.KindNeighbours, fact.KindNoise:
			p.Behind = append(p.Behind, f)
		case fact.KindMissing:
			p.Missing = cmp.Or(p.Missing, "#finding/"+f.ID)
		}
	}
	for _, f := range p.Behind {
		if f.Kind == fact.KindNeighbours && !saysSo(findings, f) {
			p.Others = append(p.Others, f)
		}
	}
	return p
}

// lateSections are those that stand behind what was found.
func lateSections(run *result.Run, findings []fact.Finding) []section {
	all := pageSections(run, lateAnswers(findings))
	for i := range all {
		all[i].ID = fmt.Sprintf("late-%d", i+1)
	}
	return all
}

// ranSections returns the sections on the parts of trials, which stand before their order.
func ranSections(run *result.Run, stackRoles roles, opt PageOptions) []section {
	var drawn []section
	add := func(id string, content *answer.Section) {
		if content != nil {
			s := sectionOf(content, axes{})
			s.nameAs(id)
			drawn = append(drawn, s)
		}
	}
	add("instances", instances.Section(run))
	add("sampled", timeseries.Sampled(run, stackRoles.order, opt.Series))
	return drawn
}

// nameAs names the elements of a section that has parts.
func (s *section) nameAs(id string) {
	s.ID = id
	for i, part := range s.Parts {
		for j := range part.Figures {
			part.Figures[j].ID = fmt.Sprintf("%s-%d-%d", id, i+1, j+1)
		}
		for j, row := range part.Rows {
			for k := range row.Figures {
				row.Figures[k].ID = fmt.Sprintf("%s-%d-each-%d-%d", id, i+1, j+1, k+1)
			}
		}
	}
}

// FoldWorkloads tells whether the sections of workloads are so many that they
// would bury the findings; the figures above show what they have in common.
func (p page) FoldWorkloads() bool { return len(p.Workloads) > 6 || p.Scaled }

// RateUnits are the units of the rates of workloads: "IOPS and ops/s".
func (p page) RateUnits() string {
	var units []string
	for _, w := range p.Workloads {
		units = runview.AddNew(units, w.RateUnit)
	}
	return plural.And(units)
}

// findingGroup is findings of one kind.
type findingGroup struct {
	Class    string
	Title    string
	Findings []findingView
	Folded   []findingView // comparisons that show no difference, or an illusion that is named elsewhere
	More     string        // what the fold holds
	Ticks    []tick        // of the effects, when there are any
	One      percent       // where nothing differs
}

type findingView struct {
	fact.Finding
	Effect *effectView
}

// effectView is a ratio and its interval on a logarithmic scale.
type effectView struct {
	fact.Effect
	Ticks      []tick // of its group's scale
	One        percent
	Class      string // memory when one of the two answered from it
	Text, Test string
	Title      string
	At         percent
	Interval   span
}

// findingGroups sorts the findings for display. Recommendations are the
// verdict and stand above; they are not repeated.
func findingGroups(run *result.Run, points []fact.Point, findings []fact.Finding) []findingGroup {
	baseline, sharedMarks := run.Experiment.Baseline, workloads.SharedMarks(points)
	versus := func(f fact.Finding) bool { return f.Effect != nil && f.Effect.Baseline == baseline }
	var shown []findingGroup
	for _, g := range []struct {
		title string
		kind  fact.Kind
		takes func(fact.Finding) bool
	}{
		{"What instances do together", fact.KindScaling, nil},
		{"Fastest honest stacks", fact.KindFastest, nil},
		{"Answered from memory", fact.KindIllusion, nil},
		{"Against the baseline, " + baseline, fact.KindComparison, versus},
		{"Between stacks", fact.KindComparison, func(f fact.Finding) bool { return !versus(f) }},
		{"Where the time of I/Os goes", fact.KindTime, nil},
		{"Caveats", fact.KindCaveat, nil},
		{"Not measured", fact.KindMissing, nil},
	} {
		var ofKind []fact.Finding
		for _, f := range findings {
			if f.Kind == g.kind && (g.takes == nil || g.takes(f)) {
				f.Caveats = slices.DeleteFunc(slices.Clone(f.Caveats),
					func(c string) bool { return slices.Contains(sharedMarks, c) })
				if f.Kind == fact.KindScaling && isBehind(findings, f) {
					f.Why = "Why is shown behind the verdict, at the top."
				}
				ofKind = append(ofKind, f)
			}
		}
		if len(ofKind) > 0 {
			shown = append(shown, newFindingGroup(string(g.kind), g.title, ofKind, points))
		}
	}
	return shown
}

func newFindingGroup(class, title string, findings []fact.Finding, points []fact.Point) findingGroup {
	g := findingGroup{Class: class, Title: title}
	low, high, effects := 1.0, 1.0, false
	for _, f := range findings {
		if e := f.Effect; e != nil && e.Low > 0 && finite(e.High) > 0 {
			low, high, effects = min(low, e.Low), max(high, e.High), true
		}
	}
	s := logScale(low, high)
	if effects {
		g.Ticks = s.decades(5, tickLabel(func(v float64) string { return units.Significant(v) + "x" }))
		g.One = s.position(1)
	}
	for _, f := range findings {
		v := findingView{Finding: f}
		if e := f.Effect; e != nil {
			v.Effect = &effectView{Effect: *e, Ticks: g.Ticks, One: g.One, At: s.position(e.Ratio),
				Interval: s.span(e.Low, e.High),
				Text:     e.Written(), Test: e.Tested(),
				Title: fmt.Sprintf("%s of %s against %s: ratio %s", e.Metric, e.Subject, e.Baseline, e.Written())}
			if slices.ContainsFunc(points, func(p fact.Point) bool {
				return p.Workload == f.Workload && (p.Stack == e.Subject || p.Stack == e.Baseline) && sourceClass(p) == classMemory
			}) {
				v.Effect.Class = classMemory
			}
		}
		if f.Kind == fact.KindComparison && v.Effect != nil && (!v.Effect.Differs || v.Effect.Class == classMemory) {
			g.Folded = append(g.Folded, v)
			continue
		}
		g.Findings = append(g.Findings, v)
	}
	g.More = foldTitle(g.Folded)
	return g
}

// foldTitle says what is behind a fold.
func foldTitle(folded []findingView) string {
	level, memory := 0, 0
	for _, v := range folded {
		if v.Effect.Class == classMemory {
			memory++
		} else {
			level++
		}
	}
	var parts []string
	if level > 0 {
		parts = append(parts, counted(level, "comparison")+" without a significant difference (~)")
	}
	if memory > 0 {
		parts = append(parts, fmt.Sprintf("%d with a stack that answered from memory", memory))
	}
	return strings.Join(parts, ", ")
}

// stackView is a stack with its devices on one line.
type stackView struct {
	result.Stack
	Baseline bool
	Path     string // "loop0 on vda"
}

func stackViews(run *result.Run) []stackView {
	var views []stackView
	for _, s := range run.Stacks {
		var names []string
		for _, d := range s.Devices {
			names = append(names, d.Name)
		}
		views = append(views, stackView{Stack: s, Baseline: s.Name == run.Experiment.Baseline,
			Path: strings.Join(names, " on ")})
	}
	return views
}
