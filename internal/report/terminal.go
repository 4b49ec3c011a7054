package report

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"plimsoll/internal/fact"
	"plimsoll/internal/finding"
	"plimsoll/internal/finding/instances"
	"plimsoll/internal/finding/prose"
	"plimsoll/internal/finding/timeseries"
	"plimsoll/internal/finding/traced"
	"plimsoll/internal/finding/workloads"
	"plimsoll/internal/printable"
	"plimsoll/internal/result"
	answer "plimsoll/internal/section"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
)

// TerminalOptions tell what the terminal can show.
type TerminalOptions struct {
	Color bool
	ASCII bool   // nothing else can be shown
	Width int    // columns; 0 for 80
	Dir   string // the run directory, to say where the files are; "" says nothing
	Short bool   // the verdict and at most two tables
}

// Terminal prints a run for people: the verdict first, then tables, what both
// were drawn from, what went wrong, the environment, and where the files are.
func Terminal(w io.Writer, run *result.Run, findings []fact.Finding, opt TerminalOptions) error {
	return writeTerminal(w, run, findings, finding.Points(run), opt)
}

func writeTerminal(w io.Writer, run *result.Run, findings []fact.Finding, points []fact.Point,
	opt TerminalOptions) error {
	out := bufio.NewWriter(w)
	t := newTerminal(out, opt)
	t.withControls, t.run, t.findings = run, placed(run), findings
	t.mixed = instances.Points(t.run)
	t.heading(opt.Dir)
	t.verdict()
	if opt.Short {
		t.short(points, opt.Dir)
		return out.Flush()
	}
	tables := t.tables(points, len(t.run.Ran()))
	t.draw(answers(t.findings))
	t.legend(tables)
	if s := traced.Section(t.run, points); s != nil {
		t.draw([]*answer.Section{s})
	}
	t.behind()
	t.list(fact.KindFastest, "Fastest honest stack")
	t.scaling()
	t.illusions()
	t.siblings()
	t.list(fact.KindTime, "Where the time of I/Os goes")
	t.draw(lateAnswers(t.findings))
	t.list(fact.KindCaveat, "What limits this")
	t.problems()
	t.environment()
	t.files(opt.Dir)
	return out.Flush()
}

// skippedByBudget reports whether a run with a budget left a mix out: it planned no trial of it.
func (t *terminal) skippedByBudget(mix string) bool {
	tried := slices.ContainsFunc(t.withControls.Trials, func(trial result.Trial) bool { return trial.Mix == mix })
	return t.run.Experiment.BudgetSeconds > 0 && !tried && len(t.run.Mixes) > 0
}

// shortTables is how many tables the short form has at most.
const shortTables = 2

// ofLatency are words of a verdict that speaks of latency.
var ofLatency = regexp.MustCompile(`\b(latency|latencies|p50|p99)\b`)

// untraced says of a verdict on latency that trials were to be traced and were not.
func (t *terminal) untraced() {
	for _, verdict := range t.findingsOf(fact.KindRecommendation) {
		text := verdict.Title
		if r := verdict.Recommendation; r != nil {
			text = strings.Join([]string{r.Headline, r.Use, r.Avoid, r.Next, r.Reason}, " ")
		}
		for _, f := range t.findingsOf(fact.KindCaveat) {
			if f.Case == "untraced" && concerns(f, verdict) && ofLatency.MatchString(text) {
				t.text("  ", "  ", f.Title+".", t.style.warn)
				t.reasons("  ", f.Why, t.style.dim)
				return
			}
		}
	}
}

// short prints the caveat of traces; the first tables, those that the verdict is drawn from before others; what was not
// measured; and where the rest is.
func (t *terminal) short(points []fact.Point, dir string) {
	t.untraced()
	var drawn []*answer.Section
	for _, f := range t.findings {
		if f.Section != nil && !f.Section.Late && isBehind(t.findings, f) && len(drawn) < shortTables {
			drawn = append(drawn, f.Section)
		}
	}
	t.draw(drawn)
	t.legend(t.tables(points, shortTables-len(drawn)))
	t.problems()
	if dir != "" {
		t.section("To see more")
		t.copied("all of it", "plimsoll show --full "+printable.Command(dir))
		t.copied("report", filepath.Join(dir, "report.html"))
	}
}

// tables prints what was measured: a table for each workload or mix that no other section has, the first ones. It
// returns their sections.
func (t *terminal) tables(points []fact.Point, limit int) []*answer.Section {
	var mixes []result.Workload
	for _, w := range ran(t.run) {
		if len(mixes) < limit && !t.skippedByBudget(w.Name) && !t.hasOwnSection(w.Name) {
			mixes = append(mixes, w)
		}
	}
	points = slices.DeleteFunc(slices.Clone(points), func(p fact.Point) bool {
		return !slices.ContainsFunc(mixes, func(w result.Workload) bool { return w.Name == p.Workload })
	})
	sections := workloads.Sections(t.run, mixes, points, t.findings)
	for i, s := range sections {
		t.workload(s, mixes[i].Name)
	}
	return sections
}

// copied prints what is made to be copied, which is not wrapped.
func (t *terminal) copied(name, text string) {
	t.line(fmt.Sprintf("  %-11s", name) + printable.Line(text))
}

// legendOf prints what explains the tables above it, and the columns of them that did not fit.
func (t *terminal) legendOf(legend ...string) {
	if len(t.dropped) > 0 {
		legend = append(legend, "left out to fit the terminal: "+strings.Join(t.dropped, ", "))
		t.dropped = nil
	}
	t.line("")
	for _, text := range legend {
		t.text("  ", "    ", text, t.style.dim)
	}
}

// sectionOn begins a section on what was measured on a stack, which is named where there are several.
func (t *terminal) sectionOn(title, stack string) {
	if stack != "" && len(t.run.Stacks) > 1 {
		title += ", on " + stack
	}
	t.section(title)
}

// hasOwnSection reports whether a section of a finding has the numbers of a mix.
func (t *terminal) hasOwnSection(mix string) bool {
	return covered(t.findings, "", mix)
}

type terminal struct {
	out      *bufio.Writer
	style    style
	ascii    bool
	width    int
	run      *result.Run // as it is shown
	mixed    []instances.Point
	findings []fact.Finding
	dropped  []string // heads of columns that did not fit

	withControls *result.Run // as it was stored
}

func newTerminal(out *bufio.Writer, opt TerminalOptions) *terminal {
	return &terminal{out: out, style: style(opt.Color), ascii: opt.ASCII, width: cmp.Or(max(opt.Width, 0), 80)}
}

func (t *terminal) heading(dir string) {
	title := t.run.Experiment.Name
	if t.run.Environment.Hostname != "" {
		title += " on " + t.run.Environment.Hostname
	}
	if !t.run.Started.IsZero() {
		title += t.run.Started.UTC().Format(", 2 January 2006 15:04 UTC")
	}
	t.text("", "", title, t.style.bold)
	t.text("", "", t.run.Experiment.Question, t.style.plain)
	n := map[result.TrialStatus]int{}
	for _, trial := range t.withControls.Trials {
		n[trial.Status]++
	}
	s := fmt.Sprintf("%d of %s done", n[result.TrialDone], counted(len(t.withControls.Trials), "trial"))
	for _, status := range []result.TrialStatus{result.TrialFailed, result.TrialSkipped} {
		if n[status] > 0 {
			s += fmt.Sprintf(", %d %s", n[status], status)
		}
	}
	if len(t.run.Imported) > 0 {
		s = fmt.Sprintf("%s, imported from %s: measured by other programs, and not checked against a device",
			counted(len(t.run.Trials), "trial"), counted(len(t.run.Imported), "file"))
		if n[result.TrialFailed] > 0 {
			s += fmt.Sprintf("; %d failed", n[result.TrialFailed])
		}
	} else if len(t.run.Pooled) > 0 {
		s += fmt.Sprintf(" in %s: %s", counted(len(t.run.Pooled), "run"),
			strings.Join(plural.Words(t.run.Pooled, func(r result.PooledRun) string { return r.ID }), ", "))
	} else if t.run.Finished.After(t.run.Started) {
		s += " in " + units.Elapsed(t.run.Finished.Sub(t.run.Started).Seconds())
	}
	t.text("", "", s, t.style.plain)
	if miniature := prose.Miniature(t.run); miniature != "" {
		if t.run.Imported == nil {
			miniature += ": a smaller host, made of this one"
		}
		t.text("", "", "Every number was measured "+miniature, t.style.warn)
	} else if whole := prose.WholeHost(t.run); whole != "" {
		t.text("", "", "Every number was measured "+whole, t.style.plain)
	}
	if ended := timeseries.PointsEnded(t.run); ended != "" {
		t.text("", "", "Points stopped: "+ended, t.style.plain)
	}
	if ended := timeseries.TrialsEnded(t.run); ended != "" {
		t.text("", "", "Trials stopped: "+ended, t.style.plain)
	}
	if t.run.Status == result.RunComplete {
		return
	}
	if len(t.run.Pooled) > 0 {
		t.line(t.style.warn("Not complete: one of the runs is under way, or was interrupted."))
		return
	}
	switch t.run.Status {
	case result.RunRunning:
		t.line(t.style.warn("Not complete: it is under way, or was cut off. To go on once it is cut off:"))
	default:
		t.line(t.style.warn("Not complete: it was interrupted. To go on:"))
	}
	if dir == "" {
		dir = "RUN-DIRECTORY"
	}
	t.line("  " + t.run.Again("run", "--resume", dir))
}

// findingsOf gives the findings of a kind, in their order.
func (t *terminal) findingsOf(kind fact.Kind) []fact.Finding {
	return slices.DeleteFunc(slices.Clone(t.findings), func(f fact.Finding) bool { return f.Kind != kind })
}

// list prints the sentences of the findings of a kind.
func (t *terminal) list(kind fact.Kind, title string) {
	for i, f := range t.findingsOf(kind) {
		if i == 0 {
			t.section(title)
		}
		t.text("  - ", "    ", f.Title, t.style.plain)
	}
}

// scaling prints what mixes do together, over the number of their instances, where the verdict
// is not drawn from it: that was said.
func (t *terminal) scaling() {
	scalings := slices.DeleteFunc(t.findingsOf(fact.KindScaling),
		func(f fact.Finding) bool { return isBehind(t.findings, f) })
	if len(scalings) == 0 {
		return
	}
	t.section("What instances do together")
	for _, f := range scalings {
		t.text("  - ", "    ", f.Title, t.style.plain)
		t.reasons("    ", f.Why, t.style.dim)
	}
}

// isBehind reports whether a verdict has a finding's reasons for its own.
func isBehind(findings []fact.Finding, f fact.Finding) bool {
	return slices.ContainsFunc(findings, func(verdict fact.Finding) bool {
		return verdict.Kind == fact.KindRecommendation && verdict.Why == f.Why
	})
}

// illusions explains each stack that memory answered for once, whatever the
// number of workloads.
func (t *terminal) illusions() {
	found := t.findingsOf(fact.KindIllusion)
	if len(found) == 0 {
		return
	}
	t.section("Served from memory")
	slices.SortStableFunc(found, func(a, b fact.Finding) int { return slices.Compare(a.Stacks, b.Stacks) })
	for i, f := range found {
		t.text("  - ", "    ", f.Title, t.style.warn)
		if last := i+1 == len(found); last || !slices.Equal(f.Stacks, found[i+1].Stacks) {
			t.text("    ", "    ", f.Why, t.style.dim)
		}
	}
}

// siblings prints how stacks differ that are alike but for one layer.
// Comparisons with the baseline are a column of the tables, and what does not
// differ is not worth a line here.
func (t *terminal) siblings() {
	var shown, level int
	for _, f := range t.findingsOf(fact.KindComparison) {
		switch {
		case f.Effect != nil && f.Effect.Baseline == t.run.Experiment.Baseline:
			continue
		case f.Effect != nil && !f.Effect.Differs:
			level++
			continue
		}
		if shown++; shown == 1 {
			t.section("What one layer changes")
		}
		t.text("  - ", "    ", f.Title, t.style.plain)
	}
	if shown > 0 && level > 0 {
		t.text("  - ", "    ", fmt.Sprintf("%s without a significant difference (~): in the report and in --json",
			counted(level, "more comparison")), t.style.dim)
	}
}

// problems shows what was not measured, limits that did not hold, and instances that died: each reason once.
func (t *terminal) problems() {
	for i, f := range t.findingsOf(fact.KindMissing) {
		if i == 0 {
			t.section("Not measured")
		}
		t.text("  - ", "    ", f.Title, t.style.warn)
		t.text("    ", "    ", f.Why, t.style.plain)
	}
	for i, problem := range instances.Problems(t.mixed) {
		if i == 0 {
			t.section("Problems")
		}
		t.text("  - ", "    ", problem, t.style.warn)
	}
}

func (t *terminal) environment() {
	e := t.run.Environment
	t.section("Environment")
	t.fact("host", e.Hostname, e.OS, prefixedBy("kernel ", e.Kernel), virtualized(e.Virtualization))
	cpus, memory := "", ""
	if e.CPUs > 0 {
		cpus = counted(e.CPUs, "CPU")
	}
	if e.MemoryBytes > 0 {
		memory = units.Bytes(e.MemoryBytes) + " memory"
	}
	t.fact("CPU", e.CPUModel, cpus, prefixedBy("governor ", e.Governor), memory)
	t.fact("software", "plimsoll "+t.run.Version, prefixedBy("fio ", e.FioVersion), prefixedBy("Docker ", e.DockerVersion),
		prefixedBy("cgroup ", e.CgroupVersion))
	for _, i := range t.run.Images() {
		t.fact("image", i.String())
	}
	for _, d := range t.measuredDevices() {
		t.fact("device", d.Path, d.Model, d.Serial, prefixedBy("firmware ", d.Firmware), units.Bytes(d.SizeBytes),
			prefixedBy("scheduler ", d.Scheduler), d.WriteCache)
	}
	for _, note := range e.Notes {
		t.fact("note", note)
	}
}

// measuredDevices are the devices of the host that the stacks stood on; all
// of them when the stacks do not tell.
func (t *terminal) measuredDevices() []result.DeviceInfo {
	used := slices.DeleteFunc(slices.Clone(t.run.Environment.Devices), func(d result.DeviceInfo) bool {
		return !slices.ContainsFunc(t.run.Stacks, func(s result.Stack) bool {
			return slices.ContainsFunc(s.Devices, func(sd result.Device) bool { return sd.MajMin == d.MajMin })
		})
	})
	if len(used) == 0 {
		return t.run.Environment.Devices
	}
	return used
}

// files tells how to make the run again and where it is kept.
func (t *terminal) files(dir string) {
	t.section("To see more")
	t.copied("repeat it", t.run.Repeat())
	if dir != "" {
		t.copied("report", filepath.Join(dir, "report.html"))
		t.copied("results", filepath.Join(dir, "results.db"))
		t.copied("summary", filepath.Join(dir, "run.json"))
		t.copied("artifacts", filepath.Join(dir, "artifacts"))
	}
}

// fact prints a name and what is known of it.
func (t *terminal) fact(name string, values ...string) {
	values = slices.DeleteFunc(values, func(v string) bool { return v == "" })
	if len(values) > 0 {
		t.text(fmt.Sprintf("  %-11s", name), strings.Repeat(" ", 13), strings.Join(values, ", "), t.style.plain)
	}
}

func prefixedBy(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}

func virtualized(v string) string {
	switch v {
	case "", "none":
		return ""
	}
	return "virtual machine (" + v + ")"
}
