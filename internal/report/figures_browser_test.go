package report

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"plimsoll/internal/finding"
	"plimsoll/internal/result"
	"plimsoll/internal/result/store"
	"plimsoll/internal/stats"
	"plimsoll/web"
)

// bundled skips a test of the script where there is none.
func bundled(t testing.TB) {
	t.Helper()
	if _, ok := web.ReportScript(); !ok {
		t.Skip("SKIPPED, the report's script was not tested: it was not bundled (scripts/bundle.sh, or make build, with Node in PATH)")
	}
}

// stored gives the run back as the store holds it.
func stored(t *testing.T, run *result.Run) *result.Run {
	t.Helper()
	dir := filepath.Join(t.TempDir(), run.ID)
	must(t, store.Keep(dir, *run, func(result.Trial) map[string][]byte { return nil }))
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
func figureOf(t *testing.T, run *result.Run, kind figureKind, title string) string {
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
	bundled(t)
	run := stored(t, stoppedRun())
	findings, points := finding.All(run), finding.Points(run)
	b := startBrowser(t)
	b.look(t, views[0])
	b.open(t, run, findings)

	t.Run("every figure is live and has its marks", func(t *testing.T) {
		for _, s := range sections(run, points, findings) {
			for _, f := range s.Figures {
				if s.Folded {
					continue
				}
				if b.count(t, "#"+f.ID+".is-live > .live[tabindex='0']") != 1 {
					t.Errorf("%s, %s is not live", s.Title, f.Title)
				}
				switch f.Kind {
				case figureSeries:
					if painted := eval[bool](t, b, `(() => { const c = document.querySelector('#`+f.ID+` canvas'); return c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some(v => v !== 0); })()`); !painted {
						t.Errorf("%s, %s: nothing is painted", s.Title, f.Title)
					}
				case figureCurves:
					if got := b.count(t, "#"+f.ID+" .live g[data-part=line] path"); got != len(f.Curves) {
						t.Errorf("%s, %s: %d curves, want %d", s.Title, f.Title, got, len(f.Curves))
					}
				default:
					if got := b.count(t, "#"+f.ID+" .live [class^=layer-] > *"); got != len(f.Marks) {
						t.Errorf("%s, %s: %d marks, want %d", s.Title, f.Title, got, len(f.Marks))
					}
				}
			}
		}
	})

	// What is expected is computed here from the store, and not with what
	// draws: the number under the pointer is the number that is held.
	t.Run("hover shows what the store holds", func(t *testing.T) {
		figure := figureOf(t, run, figureBars, "RW")
		seen := map[string]bool{}
		for i := range b.count(t, figure+" .live [class^=layer-] > *") {
			got := b.hover(t, fmt.Sprintf(`document.querySelectorAll('%s .live [class^=layer-] > *')[%d]`, figure, i))
			stack, number, _ := strings.Cut(got, ", RW: median ")
			var rates []float64
			for _, trial := range run.Trials {
				if trial.Stack == stack && trial.Workload == "RW" && trial.Status == result.TrialDone {
					rates = append(rates, trial.Measurement.Write.IOPS)
				}
			}
			if want := withThousands(fmt.Sprintf("%.3f", stats.Median(rates))) + " IOPS"; len(rates) == 0 || !strings.HasPrefix(number, want) {
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
		for i := range b.count(t, figure+" .live .layer-0 > *") {
			got := b.hover(t, fmt.Sprintf(`document.querySelectorAll('%s .live .layer-0 > *')[%d]`, figure, i))
			if !slices.ContainsFunc(findings, func(f finding.Finding) bool {
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
			const live = document.querySelector('%s .live'), r = live.querySelector('.layer-0 > *').getBoundingClientRect();
			for (const name of ['pointerdown', 'pointerup', 'pointerleave']) live.dispatchEvent(new PointerEvent(name, {pointerType: 'touch', clientX: r.x + 2, clientY: r.y + 9}));
			return true;
		})()`, figure))
		if got := eval[string](t, b, tip); !strings.Contains(got, ", RR: median ") {
			t.Errorf("once the finger is lifted it says %q", got)
		}
		eval[bool](t, b, fmt.Sprintf(`document.querySelector('%s .live').onblur() ?? true`, figure))
	})

	t.Run("the keyboard reads samples of a trial", func(t *testing.T) {
		var trial result.Trial
		for _, o := range run.Trials {
			if o.Stack == "ext4" && o.Workload == "RW" && o.Preconditioning != nil {
				trial = o
			}
		}
		focus(t, b, figureOf(t, run, figureSeries, "ext4, RW"))
		rounds := trial.Preconditioning.Rounds.IOPS
		for i, v := range rounds {
			want := fmt.Sprintf("round %d: %s IOPS", i+1, withThousands(fmt.Sprintf("%.3f", v)))
			if i > 0 {
				do(t, b, chromedp.KeyEvent(kb.ArrowRight))
			} else if shown := eval[string](t, b, tip); shown == "" {
				do(t, b, chromedp.KeyEvent(kb.Home)) // focus that a script gives may not show the first
			}
			if shown, said := eval[string](t, b, tip), eval[string](t, b, aloud); !strings.HasSuffix(shown, want) || said != shown {
				t.Errorf("shows %q and says %q, want %q", shown, said, want)
			}
		}
		do(t, b, chromedp.KeyEvent(kb.Escape))
		if shown := eval[string](t, b, tip); shown != "" {
			t.Errorf("after Escape it still shows %q", shown)
		}
	})

	t.Run("the keyboard reads percentiles", func(t *testing.T) {
		focus(t, b, figureOf(t, run, figureCurves, "RR"))
		do(t, b, chromedp.KeyEvent(kb.Home))
		first := eval[string](t, b, tip)
		do(t, b, chromedp.KeyEvent(kb.ArrowDown))
		if second := eval[string](t, b, tip); second == first || !strings.HasPrefix(first, run.Stacks[0].Name+", p") || !strings.HasPrefix(second, run.Stacks[1].Name+" (from memory), p") {
			t.Errorf("it reads %q and, one down, %q; want the first two stacks", first, second)
		}
		do(t, b, chromedp.KeyEvent(kb.Home))
		for range 20 { // 10 steps for each power of ten
			do(t, b, chromedp.KeyEvent(kb.ArrowRight))
		}
		p := points[slices.IndexFunc(points, func(p finding.Point) bool { return p.Stack == run.Stacks[0].Name && p.Workload == "RR" })]
		want := fmt.Sprintf("%s, p99: ", p.Stack)
		if got := eval[string](t, b, tip); !strings.HasPrefix(got, want) || !strings.Contains(got, "("+withThousands(fmt.Sprintf("%.0f", p.P99NS))+" ns)") {
			t.Errorf("it reads %q, want %s%.0f ns", got, want, p.P99NS)
		}
	})

	t.Run("a button leaves a series out", func(t *testing.T) {
		figure := figureOf(t, run, figureCurves, "RR")
		before := b.count(t, figure+" .live g[data-part=line] path")
		button := fmt.Sprintf(`document.querySelector('%s').closest('section').querySelector('li.series button')`, figure)
		eval[bool](t, b, button+".click() ?? true")
		if after := b.count(t, figure+" .live g[data-part=line] path"); after != before-1 {
			t.Errorf("%d curves after %d", after, before)
		}
		if pressed := eval[string](t, b, button+".getAttribute('aria-pressed')"); pressed != "false" {
			t.Errorf("the button says pressed: %s", pressed)
		}
		eval[bool](t, b, button+".click() ?? true")
	})

	t.Run("folded figures are drawn when unfolded, and their trials come to the front", func(t *testing.T) {
		figure := figureOf(t, run, figureSeries, "xfs, RR")
		eval[bool](t, b, fmt.Sprintf(`(document.querySelector('%s').closest('details').open = true)`, figure))
		b.settle(t)
		if b.count(t, figure+".is-live canvas") != 1 {
			t.Fatal("it was not drawn")
		}
		eval[bool](t, b, fmt.Sprintf(`document.querySelectorAll('%s .trials button')[1].click() ?? true`, figure))
		focus(t, b, figure)
		do(t, b, chromedp.KeyEvent(kb.Home))
		var trials []result.Trial
		for _, o := range run.Trials {
			if o.Stack == "xfs" && o.Workload == "RR" {
				trials = append(trials, o)
			}
		}
		want := fmt.Sprintf("trial %d, 0.1 s: %s IOPS", trials[1].Seq, withThousands(fmt.Sprintf("%.3f", trials[1].Series.IOPS[0])))
		if got := eval[string](t, b, tip); got != want {
			t.Errorf("it reads %q, want %q", got, want)
		}
	})
	b.quiet(t)
}

// focus gives a figure the focus, as the tabulator key would.
func focus(t *testing.T, b *browser, figure string) {
	t.Helper()
	if !eval[bool](t, b, fmt.Sprintf(`(() => { const e = document.querySelector('%s .live'); e.scrollIntoView({block: 'center'}); e.focus({focusVisible: true}); return document.activeElement === e; })()`, figure)) {
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
	dir := screenshots(t)
	b.noScripts = true
	call(t, b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	b.look(t, views[0])
	b.open(t, run, findings)
	all := sections(run, finding.Points(run), findings)
	for _, s := range all {
		for _, f := range s.Figures {
			marks := len(f.Marks)
			still := "#" + f.ID + " > .still "
			if got := b.count(t, still+"rect.bar, "+still+".symbol, "+still+".effect-dot"); f.Kind != figureSeries && f.Kind != figureCurves && got != marks {
				t.Errorf("%s, %s: %d marks, want %d", s.Title, f.Title, got, marks)
			}
			if got := b.count(t, still+"path.line:not(.across)"); len(f.Curves) > 0 && got != len(f.Curves) {
				t.Errorf("%s, %s: %d curves, want %d", s.Title, f.Title, got, len(f.Curves))
			}
			if !s.Folded && !eval[bool](t, b, fmt.Sprintf(`document.querySelector('%s').checkVisibility()`, still)) {
				t.Errorf("%s, %s is not to be seen", s.Title, f.Title)
			}
		}
	}
	if got, want := b.count(t, ".workload .numbers tbody tr"), len(finding.Points(run)); got != want {
		t.Errorf("%d rows of numbers, want %d", got, want)
	}
	writeArtifact(t, dir, "report-without-javascript.png", do(t, b, chromedp.FullScreenshot(100)))
	b.quiet(t)
}

// TestBrowserStillWhereTheScriptFails: a figure that cannot be drawn again
// stays what it was, and the others do not mind.
func TestBrowserStillWhereTheScriptFails(t *testing.T) {
	bundled(t)
	script, _ := web.ReportScript()
	run := stoppedRun()
	b := startBrowser(t)
	b.look(t, views[0])
	b.openWith(t, run, finding.All(run), `{const e = document.getElementById('figure-data'), d = JSON.parse(e.textContent); d[1].y = null; e.textContent = JSON.stringify(d)};`+script)
	var seen []string
	for _, figure := range []string{"#figure-1-1", "#figure-1-2", "#figure-2-1"} {
		seen = append(seen, eval[string](t, b, fmt.Sprintf(`['still', 'live'].filter(c => document.querySelector('%s > .' + c)?.checkVisibility()).join()`, figure)))
	}
	if got, want := strings.Join(seen, " "), "live still live"; got != want {
		t.Errorf("to be seen are %s, want %s", got, want)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.complaints) != 1 || !strings.Contains(b.complaints[0], "error") {
		t.Errorf("the console has %q, want one error", b.complaints)
	}
}

// TestBrowserSeriesFollowTheScheme: a canvas has colours of its own, which
// change with those of the page.
func TestBrowserSeriesFollowTheScheme(t *testing.T) {
	bundled(t)
	run := stoppedRun()
	b := startBrowser(t)
	b.look(t, views[0])
	b.open(t, run, finding.All(run))
	painted := fmt.Sprintf(`document.querySelector('%s canvas').toDataURL()`, figureOf(t, run, figureSeries, "ext4, RW"))
	light := eval[string](t, b, painted)
	b.look(t, views[1])
	if dark := eval[string](t, b, painted); dark == light {
		t.Error("the series looks the same in the dark")
	}
	b.look(t, views[0])
	if again := eval[string](t, b, painted); again != light {
		t.Error("back in the light, the series looks different")
	}
	b.quiet(t)
}

// TestBrowserStillOnPaper: paper gets the still pictures, whatever the screen shows.
func TestBrowserStillOnPaper(t *testing.T) {
	bundled(t)
	b := startBrowser(t)
	run := sweptRun()
	b.open(t, run, finding.All(run))
	b.look(t, views[len(views)-1])
	if n := eval[int](t, b, `[...document.querySelectorAll('.live')].filter(e => e.checkVisibility()).length`); n != 0 {
		t.Errorf("%d live figures are printed", n)
	}
	if n := eval[int](t, b, `[...document.querySelectorAll('.fig > .still')].filter(e => e.getBoundingClientRect().height < 50).length`); n != 0 {
		t.Errorf("%d still figures are not printed", n)
	}
	b.quiet(t)
}

// TestBrowserFiguresLook takes pictures of every form of figure.
func TestBrowserFiguresLook(t *testing.T) {
	b := startBrowser(t)
	dir := screenshots(t)
	for name, run := range map[string]*result.Run{"stopped": stoppedRun(), "swept": sweptRun(), "published": publishedRun()} {
		b.open(t, run, finding.All(run))
		for _, v := range views {
			b.look(t, v)
			for _, e := range b.overflowing(t) {
				t.Errorf("%s, %s: wider than the window: %s", name, v.name, e)
			}
			if wide := eval[[]string](t, b, `[...document.querySelectorAll('.live > svg, .uplot')].filter(e => e.checkVisibility() && e.getBoundingClientRect().right > document.documentElement.clientWidth + 1).map(e => e.closest('figure').id)`); len(wide) > 0 {
				t.Errorf("%s, %s: figures wider than the window: %v", name, v.name, wide)
			}
			writeArtifact(t, dir, "figures-"+name+"-"+v.name+".png", do(t, b, chromedp.FullScreenshot(100)))
		}
	}
	b.quiet(t)
}

// TestBrowserAccessibility runs axe-core on the page, in the light and in the dark.
func TestBrowserAccessibility(t *testing.T) {
	axe, err := os.ReadFile(filepath.Join("..", "..", "web", "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		t.Skipf("SKIPPED, the report's accessibility was not checked: axe-core is not there (scripts/bundle.sh fetches it, with npm in PATH): %v", err)
	}
	b := startBrowser(t)
	script, ok := web.ReportScript()
	for name, run := range map[string]*result.Run{"stopped": stoppedRun(), "swept": sweptRun(), "published": publishedRun(), "nothing": {}, "of 200 trials": largeRun()} {
		for _, with := range []string{"", script} {
			if with == "" && !ok || with != "" || name == "stopped" {
				b.openWith(t, run, finding.All(run), with)
			} else {
				continue // the still pictures of one run are like those of another
			}
			for _, v := range views[:2] {
				b.look(t, v)
				eval[bool](t, b, `document.querySelectorAll('details').forEach(d => d.open = true) ?? true`)
				b.settle(t)
				for _, violation := range b.violations(t, string(axe)) {
					t.Errorf("%s, %s, script %t: %s", name, v.name, with != "", violation)
				}
			}
		}
	}
	b.quiet(t)
}

// TestHTMLIsSmall holds the report of a run of 200 trials, each with a series
// of 600 samples, to what fits a mail.
func TestHTMLIsSmall(t *testing.T) {
	run := largeRun()
	if len(run.Trials) != 200 {
		t.Fatalf("%d trials", len(run.Trials))
	}
	var b bytes.Buffer
	must(t, HTML(&b, run, finding.All(run)))
	const most = 2_000_000
	if b.Len() >= most {
		t.Errorf("%d bytes, want less than %d", b.Len(), most)
	}
	_, bundled := web.ReportScript()
	t.Logf("%d bytes, script %t", b.Len(), bundled)
}

// BenchmarkBrowserOpensReport opens the report of a run of 200 trials anew
// each time. It prints the medians of how long the page takes to load and to
// have every figure drawn that is not folded away, and the size of the file.
func BenchmarkBrowserOpensReport(bench *testing.B) {
	run := largeRun()
	var html bytes.Buffer
	must(bench, HTML(&html, run, finding.All(run)))
	path := filepath.Join(bench.TempDir(), "report.html")
	must(bench, os.WriteFile(path, html.Bytes(), 0o600))
	b := startBrowser(bench)
	b.look(bench, views[0])
	var loaded, drawn []float64
	bench.ResetTimer()
	for range bench.N {
		do(bench, b, chromedp.Navigate("about:blank"))
		do(bench, b, chromedp.Navigate("file://"+path))
		b.settle(bench)
		times := eval[[]float64](bench, b, `(([n]) => [n.loadEventEnd, Number(document.documentElement.dataset.drawn ?? 0)])(performance.getEntriesByType('navigation'))`)
		loaded, drawn = append(loaded, times[0]), append(drawn, times[1])
	}
	_, ok := web.ReportScript()
	if !ok {
		bench.Log("without the script: it was not bundled")
	}
	bench.ReportMetric(stats.Median(loaded), "ms-loaded")
	bench.ReportMetric(stats.Median(drawn), "ms-drawn")
	bench.ReportMetric(float64(html.Len())/1e6, "MB")
	bench.ReportMetric(float64(len(run.Trials)), "trials")
}
