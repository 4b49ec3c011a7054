package report

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"plimsoll/internal/fact"
	"plimsoll/internal/finding"
	"plimsoll/internal/result"
	"plimsoll/internal/result/store"
	answer "plimsoll/internal/section"
	"plimsoll/internal/stats"
	"plimsoll/internal/testkit/soak"
)

// stored gives the run back as the store holds it.
func stored(t *testing.T, run *result.Run) *result.Run {
	t.Helper()
	dir := filepath.Join(t.TempDir(), run.ID)
	must(t, store.Keep(t.Context(), dir, *run, func(result.Trial) map[string][]byte { return nil }))
	back, err := store.Read(dir)
	must(t, err)
	return back
}

// tip is what is shown of the mark under the pointer or the keyboard; "" for
// nothing.
const tip = `[...document.querySelectorAll('.tip')].filter(e => !e.hidden).map(e => e.textContent).join(' | ')`

// aloud is what a screen reader says.
const aloud = `document.querySelector('.aloud')?.textContent ?? ''`

// hover moves the pointer to the middle of an element, and gives what is shown.
func (b *browser) hover(t *testing.T, element string) string {
	t.Helper()
	at := eval[[]float64](t, b, `(() => { const e = `+element+`; e.scrollIntoView({block: 'center'}); const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()`)
	do(t, b, chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, at[0], at[1]))
	return eval[string](t, b, tip)
}

// figureOf gives the selector of the figure of that kind and title.
func figureOf(t *testing.T, run *result.Run, kind answer.Kind, title string) string {
	t.Helper()
	for _, s := range sections(run, finding.Points(run), finding.All(run)) {
		for _, f := range s.Figures {
			if f.Kind == kind && f.Title == title {
				return "#" + f.ID
			}
		}
	}
	t.Fatalf("there is no figure of %s called %s", kind, title)
	return ""
}

func TestBrowserFiguresAreReadable(t *testing.T) {
	run := stored(t, stoppedRun())
	findings, points := finding.All(run), finding.Points(run)
	b := startBrowser(t)
	b.look(t, views[0])
	b.open(t, run, findings)

	// What is expected is computed here from the store, and not with what
	// draws: the number under the pointer is the number that is held.
	t.Run("hover shows what the store holds", func(t *testing.T) {
		figure := figureOf(t, run, figureBars, "RW")
		seen := map[string]bool{}
		for i := range b.count(t, figure+" rect.bar") {
			got := b.hover(t, fmt.Sprintf(`document.querySelectorAll('%s rect.bar')[%d]`, figure, i))
			stack, number, _ := strings.Cut(got, ", RW: median ")
			var rates []float64
			for _, trial := range run.Trials {
				if trial.Stack == stack && trial.Mix == "RW" && trial.Status == result.TrialDone {
					rates = append(rates, trial.Measured().Operation(result.Write).Rate)
				}
			}
			if want := withThousands(fmt.Sprintf("%.3f", stats.Median(rates))) + " IOPS"; len(rates) == 0 ||
				!strings.HasPrefix(number, want) {
				t.Errorf("bar %d says %q, the store holds %s", i, got, want)
			}
			seen[stack] = true
		}
		if len(seen) != len(run.Stacks) {
			t.Errorf("%d stacks have a bar, want %d: %v", len(seen), len(run.Stacks), seen)
		}
	})

	t.Run("hover shows the ratio of a finding", func(t *testing.T) {
		figure := figureOf(t, run, figureForest, "Ratios")
		for i := range b.count(t, figure+" .effect-dot") {
			got := b.hover(t, fmt.Sprintf(`document.querySelectorAll('%s .effect-dot')[%d]`, figure, i))
			if !slices.ContainsFunc(findings, func(f fact.Finding) bool {
				e := f.Effect
				return e != nil && strings.HasPrefix(got, e.Subject+" against "+e.Baseline+", "+f.Workload+":") &&
					strings.Contains(got, "of "+withThousands(fmt.Sprintf("%.3f", e.Ratio))+" times")
			}) {
				t.Errorf("row %d says %q, which no finding does", i, got)
			}
		}
	})

	t.Run("hover shows what a row of a workload's charts holds", func(t *testing.T) {
		row := workloadViews(run, points, findings)[0].Rows[0]
		want := row.Point.Stack + ": median " + withThousands(fmt.Sprintf("%.3f", row.Point.Median)) + " IOPS"
		if got := b.hover(t, `document.querySelector('.rates .row .plot')`); !strings.HasPrefix(got, want) {
			t.Errorf("the first row says %q, want %q", got, want)
		}
	})

	t.Run("a finger reads", func(t *testing.T) {
		figure := figureOf(t, run, figureBars, "RR")
		eval[bool](t, b, fmt.Sprintf(`(() => {
			const frame = document.querySelector('%s .frame'), r = frame.querySelector('rect.bar').getBoundingClientRect();
			for (const name of ['pointerdown', 'pointerup', 'pointerleave']) {
				frame.dispatchEvent(new PointerEvent(name, {pointerType: 'touch', clientX: r.x + 2, clientY: r.y + 9}));
			}
			return true;
		})()`, figure))
		if got := eval[string](t, b, tip); !strings.Contains(got, ", RR: median ") {
			t.Errorf("once the finger is lifted it says %q", got)
		}
		eval[bool](t, b, fmt.Sprintf(`document.querySelector('%s .frame').dispatchEvent(new FocusEvent('blur'))`, figure))
	})

	t.Run("the keyboard reads samples of a trial", func(t *testing.T) {
		var trial result.Trial
		for _, o := range run.Trials {
			if o.Stack == "ext4" && o.Mix == "RW" && o.Preconditioning != nil {
				trial = o
			}
		}
		focus(t, b, figureOf(t, run, answer.Repeats, "ext4, RW"))
		rounds := trial.Preconditioning.Rounds.IOPS
		for i, v := range rounds {
			want := fmt.Sprintf("round %d: %s IOPS", i+1, withThousands(fmt.Sprintf("%.3f", v)))
			if i > 0 {
				do(t, b, chromedp.KeyEvent(kb.ArrowRight))
			} else if shown := eval[string](t, b, tip); shown == "" {
				do(t, b, chromedp.KeyEvent(kb.Home)) // focus that a script gives may not show the first
			}
			if shown, said := eval[string](t, b, tip), eval[string](t, b, aloud); !strings.HasSuffix(shown, want) ||
				said != shown {
				t.Errorf("shows %q and says %q, want %q", shown, said, want)
			}
		}
		do(t, b, chromedp.KeyEvent(kb.Escape))
		if shown := eval[string](t, b, tip); shown != "" {
			t.Errorf("after Escape it still shows %q", shown)
		}
	})

	t.Run("the keyboard reads percentiles, the stack of the verdict and the baseline first", func(t *testing.T) {
		stackRoles := rolesOf(run, findings)
		pick, baseline := stackRoles.named(rolePick), stackRoles.named(roleBaseline)
		focus(t, b, figureOf(t, run, answer.Curves, "RR"))
		do(t, b, chromedp.KeyEvent(kb.Home))
		first := eval[string](t, b, tip)
		do(t, b, chromedp.KeyEvent(kb.ArrowDown))
		if second := eval[string](t, b, tip); pick == "" || !strings.HasPrefix(first, pick+", p") ||
			!strings.HasPrefix(second, baseline+", p") {
			t.Errorf("it reads %q and, one down, %q; want %q and %q", first, second, pick, baseline)
		}
		do(t, b, chromedp.KeyEvent(kb.Home))
		for range 20 { // 10 steps for each power of ten
			do(t, b, chromedp.KeyEvent(kb.ArrowRight))
		}
		p := points[slices.IndexFunc(points, func(p fact.Point) bool { return p.Stack == pick && p.Workload == "RR" })]
		want := fmt.Sprintf("%s, p99: ", p.Stack)
		if got := eval[string](t, b, tip); !strings.HasPrefix(got, want) ||
			!strings.Contains(got, "("+withThousands(fmt.Sprintf("%.0f", p.P99NS))+" ns)") {
			t.Errorf("it reads %q, want %s%.0f ns", got, want, p.P99NS)
		}
		do(t, b, chromedp.KeyEvent(kb.Escape))
	})

	t.Run("folded figures are read as well, trial by trial", func(t *testing.T) {
		figure := figureOf(t, run, answer.Repeats, "xfs, RR")
		eval[bool](t, b, fmt.Sprintf(`(document.querySelector('%s').closest('details').open = true)`, figure))
		focus(t, b, figure)
		var trials []result.Trial
		for _, o := range run.Trials {
			if o.Stack == "xfs" && o.Mix == "RR" {
				trials = append(trials, o)
			}
		}
		read := map[string]bool{}
		do(t, b, chromedp.KeyEvent(kb.Home))
		for range len(trials) + 2 {
			read[eval[string](t, b, tip)] = true
			do(t, b, chromedp.KeyEvent(kb.ArrowDown))
		}
		for _, trial := range trials {
			if want := fmt.Sprintf("trial %d, 0.1 s: %s IOPS", trial.Seq,
				withThousands(fmt.Sprintf("%.3f", trial.Rates.IOPS[0]))); !read[want] {
				t.Errorf("%q is not read", want)
			}
		}
	})
	t.Run("what is read stands out", func(t *testing.T) { highlights(t, b, run) })
	b.quiet(t)
}

// TestBrowserReadsWhatWasSampled: each value of a line is read by keyboard, folded
// or not, a line for each instance.
func TestBrowserReadsWhatWasSampled(t *testing.T) {
	run := mixedRun()
	b := startBrowser(t)
	b.look(t, views[0])
	b.open(t, run, finding.All(run))
	readAll := func(figure string) map[string]bool {
		eval[bool](t, b, fmt.Sprintf(`(document.querySelector('%s').closest('details').open = true)`, figure))
		focus(t, b, figure)
		do(t, b, chromedp.KeyEvent(kb.Home))
		read := map[string]bool{}
		for range 60 {
			read[eval[string](t, b, tip)] = true
			do(t, b, chromedp.KeyEvent(kb.ArrowRight))
		}
		return read
	}
	const combined, single = "#sampled-1-4", "#sampled-1-each-2-2" // page cache of all, and of the second
	for figure, wanted := range map[string][]string{
		combined: {"scaled-down host, 1 s: 640 MiB", "all were measured, from 4 to 12 s"},
		single:   {"readers 1, 1 s: 160 MiB", "readers 1, 12 s: 192 MiB", "all were measured, from 4 to 12 s"},
	} {
		read := readAll(figure)
		for _, want := range wanted {
			if !read[want] {
				t.Errorf("%s: %q is not read among %d marks: %q", figure, want, len(read), slices.Collect(maps.Keys(read)))
			}
		}
		if read["readers 1, 6 s: 160 MiB"] || read["readers 1, 6 s: 192 MiB"] {
			t.Error("a value is read that the kernel did not show")
		}
	}
	t.Run("the cursor is shared", func(t *testing.T) { cursorIsShared(t, b, single) })
	b.quiet(t)
}

// cursorIsShared: what is read of one instance is marked in the figures of all
// others of the trial, with their values at that time, and goes when nothing is read.
func cursorIsShared(t *testing.T, b *browser, figure string) {
	focus(t, b, figure)
	do(t, b, chromedp.KeyEvent(kb.Home))
	const cursors = `[...document.querySelectorAll('.cursor')].filter(e => !e.hidden)`
	if n := eval[int](t, b, cursors+`.length`); n != 13 { // five of all together, and two of each of four
		t.Errorf("%d cursors are shown", n)
	}
	shown := eval[[]string](t, b, cursors+`.map(e => e.textContent).filter(t => t)`)
	const want = "640 MiB, 0.12 CPUs, 0.22 CPUs, 0.32 CPUs, 0.42 CPUs, 160 MiB, 160 MiB, 160 MiB"
	if got := strings.Join(shown, ", "); got != want {
		t.Errorf("the others say %s", got)
	}
	apart := eval[float64](t, b, `(() => {
		const at = (id) => { const f = document.querySelector(id), a = f.querySelector('.area').getBoundingClientRect();
			return (f.querySelector('.cursor').getBoundingClientRect().x - a.x) / a.width; };
		return Math.abs(at('#sampled-1-each-2-2') - at('#sampled-1-each-1-3'));
	})()`)
	if apart > 0.01 {
		t.Errorf("cursors stand %g of the width apart", apart)
	}
	do(t, b, chromedp.KeyEvent(kb.Escape))
	if n := eval[int](t, b, cursors+`.length`); n != 0 {
		t.Errorf("%d cursors are left", n)
	}
}

// onlyLit returns the series that a figure shows lit, and whether all its
// others went grey.
func (b *browser) onlyLit(t *testing.T, figure string) (names []string, grey bool) {
	t.Helper()
	names = eval[[]string](t, b, fmt.Sprintf(`[...new Set([...document.querySelectorAll('%s .one.on')].map(e => e.dataset.s))]`, figure))
	grey = eval[bool](t, b, fmt.Sprintf(`(() => {
		const grey = getComputedStyle(document.documentElement).getPropertyValue('--faint').trim();
		const own = e => getComputedStyle(e).getPropertyValue('--shown').trim();
		return [...document.querySelectorAll('%[1]s .one')].every(e => e.classList.contains('on') ? own(e) !== grey : own(e) === grey);
	})()`, figure))
	return names, grey
}

// highlights: the series that is read stands out, by pointer and by
// keyboard, in every figure that has it, and the others are grey.
func highlights(t *testing.T, b *browser, run *result.Run) {
	figure, other := figureOf(t, run, answer.Curves, "RR"), figureOf(t, run, answer.Curves, "RW")
	expect := func(when, want string) {
		t.Helper()
		for _, f := range []string{figure, other} {
			if names, grey := b.onlyLit(t, f); !slices.Equal(names, []string{want}) || !grey {
				t.Errorf("%s: %s shows %q lit, others grey: %t; want %s alone", when, f, names, grey, want)
			}
		}
	}
	labels := b.count(t, figure+" .label.end")
	if labels != len(run.Stacks) {
		t.Fatalf("%d labels at the ends of lines, want %d", labels, len(run.Stacks))
	}
	for i := range labels {
		label := fmt.Sprintf(`document.querySelectorAll('%s .label.end')[%d]`, figure, i)
		b.hover(t, label)
		expect("pointer on a label", eval[string](t, b, label+`.closest('[data-s]').dataset.s`))
	}
	do(t, b, chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, 1, 1))
	if n := b.count(t, ".lit, .on"); n != 0 {
		t.Errorf("%d elements stay lit when the pointer is gone", n)
	}
	focus(t, b, figure)
	do(t, b, chromedp.KeyEvent(kb.Home))
	seen := map[string]bool{}
	for range run.Stacks {
		name, _, _ := strings.Cut(eval[string](t, b, tip), ", p")
		seen[name] = true
		expect("keyboard", name)
		do(t, b, chromedp.KeyEvent(kb.ArrowDown))
	}
	if len(seen) != len(run.Stacks) {
		t.Errorf("the arrow keys reach %d stacks, want %d", len(seen), len(run.Stacks))
	}
	b.look(t, views[1])
	b.pictureBy(t, "highlight-dark.png", chromedp.CaptureScreenshot())
	do(t, b, chromedp.KeyEvent(kb.Escape))
	if n := b.count(t, ".lit, .on"); n != 0 {
		t.Errorf("%d elements stay lit after Escape", n)
	}
}

// labelsThatCollide lists labels that run into another of their figure, and
// those that leave it.
func (b *browser) labelsThatCollide(t *testing.T) []string {
	t.Helper()
	return eval[[]string](t, b, `(() => {
		const bad = [];
		for (const fig of document.querySelectorAll('.fig')) {
			const frame = fig.querySelector('.still') ?? fig.querySelector('.frame');
			if (!frame.checkVisibility()) continue;
			const edge = frame.getBoundingClientRect();
			const labels = [...frame.querySelectorAll('svg text')].filter(e => e.checkVisibility() && e.textContent.trim() !== '');
			const name = fig.id + ', ' + (fig.querySelector('figcaption b')?.textContent ?? '').slice(0, 40);
			// Lines of slanting text are as far apart as their beginnings, times the sine of their angle.
			const turned = e => e.hasAttribute('transform');
			const boxes = labels.map(e => { const r = e.getBoundingClientRect(); return {e, text: e.textContent, left: r.left + .5, right: r.right - .5, top: r.top + 1, bottom: r.bottom - 1}; });
			for (const [i, a] of boxes.entries()) {
				if (a.left < edge.left - 2 || a.right > edge.right + 2 || a.top < edge.top - 2 || a.bottom > edge.bottom + 2) bad.push(name + ': ' + a.text + ' leaves the figure');
				for (const c of boxes.slice(i + 1)) {
					if (turned(a.e) && turned(c.e)) {
						if (Math.hypot(a.e.getScreenCTM().e - c.e.getScreenCTM().e, a.e.getScreenCTM().f - c.e.getScreenCTM().f) < 14.4 * (a.e.currentCSSZoom ?? 1)) bad.push(name + ': ' + a.text + ' runs into ' + c.text);
						continue;
					}
					if (a.left < c.right && c.left < a.right && a.top < c.bottom && c.top < a.bottom) bad.push(name + ': ' + a.text + ' lies on ' + c.text);
				}
			}
		}
		return bad.slice(0, 8);
	})()`)
}

// shownRun is a run whose page tests look at.
type shownRun struct {
	name string
	run  *result.Run
	soak bool // only in make soak: another shows the same of what breaks most
}

// shownRuns are runs of every kind, those that reports seldom are of included.
func shownRuns(t *testing.T) (runs []shownRun) {
	add := func(name string, run *result.Run, soak bool) { runs = append(runs, shownRun{name, run, soak}) }
	add("sample", sampleRun(), true) // TestBrowserShowsTheReport looks at it
	add("stopped", stoppedRun(), false)
	add("swept", sweptRun(), false)
	add("published", publishedRun(), false)
	add("traced", tracedRun(), false)
	add("of 200 trials", largeRun(), true)
	rare := []string{"mixes", "nothing measured yet", "all failed", "one stack once", "interrupted"}
	for _, u := range unusualRuns() {
		add(u.name, u.run, slices.Contains(rare, u.name))
	}
	crowded := crowdedRuns(t)
	for _, name := range slices.Sorted(maps.Keys(crowded)) {
		add(name, crowded[name], name != "objective" && name != "many")
	}
	return runs
}

// checkedRuns are the runs whose pages axe-core reads, which takes seconds: those that have most kinds of
// sections. In make soak it reads all.
var checkedRuns = []string{"stopped", "traced", "objective"}

// TestBrowserShowsAnyRun opens the page of each run once, and looks at it in every window: nothing leaves
// the window, no label leaves its figure or lies on another, no name brings in an element, and those who
// do not see can read it.
func TestBrowserShowsAnyRun(t *testing.T) {
	b := startBrowser(t)
	for _, s := range shownRuns(t) {
		if s.soak && !soak.On() {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			b.look(t, views[0])
			b.open(t, s.run, finding.All(s.run))
			if got, want := b.count(t, ".rates .plot rect.bar"), len(finding.Points(s.run)); got != want {
				t.Errorf("%d bars, want %d", got, want)
			}
			if n := b.count(t, "script:not(body > script), img, iframe, object, embed"); n != 0 {
				t.Errorf("%d elements that somebody's name brought in", n)
			}
			if n := b.count(t, "body > script"); n != 1 {
				t.Errorf("%d scripts, want that of the report", n)
			}
			// Once as it comes, and then with all that unfolds.
			b.fits(t, views[0])
			b.picture(t, "run-"+strings.ReplaceAll(s.name, " ", "-")+"-"+views[0].name+".png")
			b.unfold(t)
			for _, v := range daily() {
				b.look(t, v)
				b.fits(t, v)
				for _, e := range b.labelsThatCollide(t) {
					t.Errorf("%s: %s", v.name, e)
				}
				b.picture(t, "run-"+strings.ReplaceAll(s.name, " ", "-")+"-"+v.name+"-unfolded.png")
			}
			if soak.On() || slices.Contains(checkedRuns, s.name) {
				b.accessible(t, s.name == "stopped" || soak.On())
			}
			b.quiet(t)
		})
	}
	t.Run("without its script", func(t *testing.T) {
		soak.Only(t)
		run := stoppedRun()
		b.openWith(t, run, finding.All(run), "")
		b.accessible(t, false)
		b.quiet(t)
	})
}

// unfold opens all that a reader can unfold.
func (b *browser) unfold(t testing.TB) {
	t.Helper()
	eval[bool](t, b, `document.querySelectorAll('details').forEach(d => d.open = true) ?? true`)
	b.settle(t)
}

// fits fails the test for what is wider than the window.
func (b *browser) fits(t *testing.T, v view) {
	t.Helper()
	for _, e := range b.overflowing(t) {
		t.Errorf("%s: wider than the window: %s", v.name, e)
	}
	for _, id := range eval[[]string](t, b, `[...document.querySelectorAll('.live > svg, .uplot')].filter(e => e.checkVisibility() && e.getBoundingClientRect().right > document.documentElement.clientWidth + 1).map(e => e.closest('figure').id)`) {
		t.Errorf("%s: figure wider than the window: %s", v.name, id)
	}
}

// focus gives a figure the focus, as the tabulator key would, and takes the pointer away:
// what scrolls under it shows what it holds, a moment later.
func focus(t *testing.T, b *browser, figure string) {
	t.Helper()
	do(t, b, chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, 1, 1))
	if !eval[bool](t, b, fmt.Sprintf(`(() => { const e = document.querySelector('%s .frame'); e.scrollIntoView({block: 'center'}); e.focus({focusVisible: true}); return document.activeElement === e; })()`, figure)) {
		t.Fatalf("%s cannot have the focus", figure)
	}
}

// withThousands puts commas into a number and takes zeros from its end.
func withThousands(number string) string {
	if strings.Contains(number, ".") {
		number = strings.TrimRight(strings.TrimRight(number, "0"), ".")
	}
	whole, rest, point := strings.Cut(number, ".")
	for short := ""; short != whole; {
		short = whole
		whole = regexp.MustCompile(`^(\d+)(\d{3})`).ReplaceAllString(whole, "$1,$2")
	}
	if point {
		whole += "." + rest
	}
	return whole
}

// TestBrowserWithoutJavaScript: the page tells the same without its script.
func TestBrowserWithoutJavaScript(t *testing.T) {
	run := stoppedRun()
	findings := finding.All(run)
	b := startBrowser(t)
	b.noScripts = true
	call(t, b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	b.look(t, views[0])
	b.open(t, run, findings)
	drawn := sections(run, finding.Points(run), findings)
	for _, s := range drawn {
		for _, f := range s.Figures {
			marks := len(f.Marks)
			frame := "#" + f.ID + " .frame "
			if got := b.count(t, frame+"rect.bar, "+frame+".symbol, "+frame+".effect-dot"); f.Kind != answer.Repeats &&
				f.Kind != answer.Curves && got != marks {
				t.Errorf("%s, %s: %d marks, want %d", s.Title, f.Title, got, marks)
			}
			if got := b.count(t, frame+"path.line"); len(f.Curves) > 0 && got != len(f.Curves) {
				t.Errorf("%s, %s: %d curves, want %d", s.Title, f.Title, got, len(f.Curves))
			}
			if !s.Folded && !eval[bool](t, b, fmt.Sprintf(`document.querySelector('#%s .frame').checkVisibility()`, f.ID)) {
				t.Errorf("%s, %s is not to be seen", s.Title, f.Title)
			}
		}
	}
	if got, want := b.count(t, ".workload .numbers tbody th"), len(finding.Points(run)); got != want {
		t.Errorf("%d rows of numbers, want %d", got, want)
	}
	b.picture(t, "report-without-javascript.png")
	b.quiet(t)
}

// axeCore returns the program that checks accessibility, which
// scripts/axe-core.sh fetches. Tests skip where it is not.
var axeCore = sync.OnceValues(func() (string, error) {
	axe, err := os.ReadFile(filepath.Join("..", "..", "bin", "axe-core", "axe.min.js"))
	return string(axe), err
})

// accessible runs axe-core on the page with all of it unfolded, in the light, and where that is asked for its
// colours in the dark, too.
func (b *browser) accessible(t *testing.T, dark bool) {
	t.Helper()
	t.Run("is accessible", func(t *testing.T) {
		axe, err := axeCore()
		if err != nil {
			t.Skipf("SKIPPED, the report's accessibility was not checked: axe-core is not there (scripts/axe-core.sh "+
				"fetches it): %v", err)
		}
		eval[bool](t, b, axe+"; true")
		for _, v := range views[:2] {
			options := `resultTypes: ['violations']`
			if v.scheme == "dark" {
				options += `, runOnly: ['color-contrast']`
			}
			if v.scheme == "dark" && !dark {
				continue
			}
			b.look(t, v)
			b.unfold(t)
			for _, violation := range do(t, b, chromedp.Evaluate[[]string](`axe.run(document, {`+options+`}).then(r => r.violations.map(v => v.id + ': ' + v.help + '\n' + v.nodes.slice(0, 3).map(n => n.html.slice(0, 200) + ' ' + n.failureSummary).join('\n')))`,
				chromedp.EvalAwaitPromise)) {
				t.Errorf("%s: %s", v.name, violation)
			}
		}
	})
}

// TestHTMLIsSmall holds the report of a run of 200 trials, each with a series
// of 600 samples, to what fits a mail.
func TestHTMLIsSmall(t *testing.T) {
	run := largeRun()
	if len(run.Trials) != 200 {
		t.Fatalf("%d trials", len(run.Trials))
	}
	var b bytes.Buffer
	must(t, HTML(&b, run, finding.All(run), PageOptions{}))
	const most = 2_000_000
	if b.Len() >= most {
		t.Errorf("%d bytes, want less than %d", b.Len(), most)
	}
	t.Logf("%d bytes", b.Len())
}

// BenchmarkBrowserOpensReport opens the report of a run of 200 trials anew
// each time. It prints the median of how long the page takes to load, and the
// size of the file.
func BenchmarkBrowserOpensReport(bench *testing.B) {
	run := largeRun()
	var html bytes.Buffer
	must(bench, HTML(&html, run, finding.All(run), PageOptions{}))
	path := filepath.Join(bench.TempDir(), "report.html")
	must(bench, os.WriteFile(path, html.Bytes(), 0o600))
	b := startBrowser(bench)
	b.look(bench, views[0])
	var loaded []float64
	bench.ResetTimer()
	for range bench.N {
		do(bench, b, chromedp.Navigate("about:blank"))
		do(bench, b, chromedp.Navigate("file://"+path))
		b.settle(bench)
		loaded = append(loaded, eval[float64](bench, b, `performance.getEntriesByType('navigation')[0].loadEventEnd`))
	}
	bench.ReportMetric(stats.Median(loaded), "ms-loaded")
	bench.ReportMetric(float64(html.Len())/1e6, "MB")
	bench.ReportMetric(float64(len(run.Trials)), "trials")
}
