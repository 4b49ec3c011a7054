package report

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"plimsoll/internal/fact"
	"plimsoll/internal/finding"
	"plimsoll/internal/result"
	"plimsoll/internal/testkit/soak"
	"plimsoll/web"
)

// browser is a tab of a headless Chromium that writes down what it should not see.
type browser struct {
	ctx context.Context

	noScripts bool // whether pages run theirs

	mu         sync.Mutex
	complaints []string // console messages, exceptions
	requests   []string // all but the page itself
}

// chromium is one for all tests, whose tabs are those of one test each.
var chromium struct {
	once    sync.Once
	ctx     context.Context
	dir     string
	problem error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if chromium.ctx != nil {
		if err := errors.Join(chromedp.Cancel(chromium.ctx), os.RemoveAll(chromium.dir)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// startChromium starts it, without a page.
func startChromium() error {
	program := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			program = path
			break
		}
	}
	if program == "" {
		return errors.New("no chromium in PATH (apt-get install chromium)")
	}
	// Chromium leaves its socket's directory there when it is ended. A short
	// name: a socket's path has at most 107 letters.
	var err error
	if chromium.dir, err = os.MkdirTemp("", "browser-"); err != nil {
		return err
	}
	ctx, _ := chromedp.NewExecAllocator(context.Background(), append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("process-per-site", true), chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true),
		chromedp.Env("TMPDIR="+chromium.dir), chromedp.UserDataDir(filepath.Join(chromium.dir, "profile")))...)
	chromium.ctx, _ = chromedp.NewContext(ctx)
	return chromedp.Do(chromium.ctx)
}

// startBrowser returns a tab that ends with the test.
func startBrowser(t testing.TB) *browser {
	t.Helper()
	if testing.Short() {
		t.Skip("opens a browser, which go test -short leaves out")
	}
	chromium.once.Do(func() { chromium.problem = startChromium() })
	if chromium.problem != nil {
		t.Skipf("SKIPPED, the report was not looked at: %v", chromium.problem)
	}
	ctx, cancel := chromedp.NewContext(chromium.ctx)
	t.Cleanup(cancel)

	b := &browser{ctx: ctx}
	must(t, chromedp.Listen(ctx, func(event any) {
		b.mu.Lock()
		defer b.mu.Unlock()
		switch e := event.(type) {
		case *runtime.EventConsoleAPICalled:
			b.complaints = append(b.complaints, fmt.Sprintf("console %s: %v", e.Type, e.Args))
		case *runtime.EventExceptionThrown:
			b.complaints = append(b.complaints, e.ExceptionDetails.Text)
		case *log.EventEntryAdded:
			b.complaints = append(b.complaints, string(e.Entry.Level)+": "+e.Entry.Text)
		case *network.EventRequestWillBeSent:
			if e.Type != network.ResourceTypeDocument && !strings.HasPrefix(e.Request.URL, "data:") {
				b.requests = append(b.requests, e.Request.URL)
			}
		}
	}))
	call(t, b, network.Enable, network.EnableParams{})
	call(t, b, log.Enable, cdp.Empty{})
	call(t, b, runtime.Enable, cdp.Empty{})
	return b
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// call sends a command of the protocol.
func call[P, R any](t testing.TB, b *browser, command cdp.Command[P, R], params P) {
	t.Helper()
	_, err := chromedp.Call(b.ctx, command, params)
	must(t, err)
}

// do runs an action and gives its value. A browser that hangs fails the test.
func do[T any](t testing.TB, b *browser, action chromedp.Action[T]) T {
	t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, 2*time.Minute)
	defer cancel()
	v, err := chromedp.Run(ctx, action)
	must(t, err)
	return v
}

// eval evaluates an expression in the page.
func eval[T any](t testing.TB, b *browser, expression string) T {
	t.Helper()
	return do(t, b, chromedp.Evaluate[T](expression))
}

// open writes the report to a file and loads it.
func (b *browser) open(t testing.TB, run *result.Run, findings []fact.Finding) {
	t.Helper()
	b.openWith(t, run, findings, web.ReportScript)
}

// openWith loads the report with that script; "" for none.
func (b *browser) openWith(t testing.TB, run *result.Run, findings []fact.Finding, script string) {
	t.Helper()
	var html bytes.Buffer
	must(t, writePage(&html, run, findings, finding.Points(run), script, ownSeries(run)))
	path := filepath.Join(t.TempDir(), "report.html")
	must(t, os.WriteFile(path, html.Bytes(), 0o600))
	do(t, b, chromedp.Navigate("file://"+path))
	b.settle(t)
}

// settle waits until the page was laid out. One whose scripts are off has
// nothing to wait with.
func (b *browser) settle(t testing.TB) {
	t.Helper()
	if b.noScripts {
		return
	}
	do(t, b, chromedp.Evaluate[bool](`new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))`, chromedp.EvalAwaitPromise))
}

func (b *browser) count(t testing.TB, selector string) int {
	t.Helper()
	return eval[int](t, b, fmt.Sprintf("document.querySelectorAll(%q).length", selector))
}

// quiet fails the test when the page complained or asked for anything.
func (b *browser) quiet(t *testing.T) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.complaints {
		t.Errorf("the page complained: %s", c)
	}
	for _, r := range b.requests {
		t.Errorf("the page asked for %s", r)
	}
}

// view is a window, and what the reader's system prefers.
type view struct {
	name          string
	width, height int64
	scheme        string
	media         string
}

var views = []view{
	{name: "desktop-light", width: 1280, height: 900, scheme: "light"},
	{name: "desktop-dark", width: 1280, height: 900, scheme: "dark"},
	{name: "tablet-light", width: 820, height: 1100, scheme: "light"},
	{name: "phone-light", width: 360, height: 740, scheme: "light"},
	{name: "phone-dark", width: 360, height: 740, scheme: "dark"},
	{name: "paper", width: 700, height: 1000, scheme: "light", media: "print"},
}

// daily are the windows that a page is looked at in where one of another colour or a little wider shows nothing
// new: all of them in make soak, and where pictures are wanted.
func daily() []view {
	if soak.On() || os.Getenv("PLIMSOLL_SCREENSHOTS") != "" {
		return views
	}
	return []view{views[0], views[3], views[5]}
}

func (b *browser) look(t testing.TB, v view) {
	t.Helper()
	call(t, b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: v.width, Height: v.height, DeviceScaleFactor: 1, Mobile: v.width < 500,
	})
	call(t, b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Media: v.media, Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: v.scheme}},
	})
	b.settle(t)
}

// overflowing lists what is wider than the window although nothing scrolls it.
func (b *browser) overflowing(t *testing.T) []string {
	t.Helper()
	return eval[[]string](t, b, `(() => {
		const limit = document.documentElement.clientWidth + 1, wide = [];
		for (const e of document.body.querySelectorAll('*')) {
			const scroller = e.parentElement.closest('.scroll, .fig.bars > .frame') ?? e.closest('.scroll');
			if (scroller && getComputedStyle(scroller).overflowX === 'auto' || e.closest('svg')) continue;
			const r = e.getBoundingClientRect();
			if (r.width > 0 && r.right > limit && e.checkVisibility()) wide.push(e.tagName + '.' + e.className + ' ' + Math.round(r.right) + ' ' + e.textContent.trim().slice(0, 40));
		}
		return wide.slice(0, 5);
	})()`)
}

// picture writes what the page looks like where PLIMSOLL_SCREENSHOTS says, for people to see.
func (b *browser) picture(t *testing.T, name string) {
	b.pictureBy(t, name, chromedp.FullScreenshot(100))
}

// pictureBy does so with an action that draws.
func (b *browser) pictureBy(t *testing.T, name string, draw chromedp.Action[[]byte]) {
	t.Helper()
	dir := os.Getenv("PLIMSOLL_SCREENSHOTS")
	if dir == "" {
		return
	}
	must(t, os.MkdirAll(dir, 0o755))
	must(t, os.WriteFile(filepath.Join(dir, name), do(t, b, draw), 0o644))
}

func TestBrowserShowsTheReport(t *testing.T) {
	b := startBrowser(t)
	run := sampleRun()
	findings := finding.All(run)
	points := finding.Points(run)
	b.open(t, run, findings)

	t.Run("every point has its marks", func(t *testing.T) {
		for selector, want := range map[string]int{
			".rates .plot rect.bar":         len(points),
			".bandwidth .plot rect.bar":     len(points),
			".latency .plot circle.p50":     len(points),
			".latency .plot circle.p99":     countPercentile(points, 99),
			".latency .plot line.p999":      countPercentile(points, 99.9),
			".honesty .plot circle.ratio":   len(points),
			".rates .plot .whisker":         len(points),
			".rates .row.memory":            countMemory(points),
			".rates .plot circle.trial":     run.Done(),
			".bandwidth .plot circle.trial": run.Done(),
			".timeline rect.cell":           len(run.Trials),
			".workload .numbers tbody th":   len(points),
			"#stacks ~ .scroll tbody tr":    len(run.Stacks),
			".panels svg[role=img]":         4 * len(points),
		} {
			if got := b.count(t, selector); got != want {
				t.Errorf("%d elements match %q, want %d", got, selector, want)
			}
		}
	})

	t.Run("bars grow with their values", func(t *testing.T) {
		widths := eval[[]float64](t, b,
			`[...document.querySelectorAll('#workload-1 ~ .panels .rates rect.bar')].map(r => r.getBoundingClientRect().width)`)
		view := workloadViews(run, points, findings)[0]
		if len(widths) != len(view.Rows) {
			t.Fatalf("%d bars, want %d", len(widths), len(view.Rows))
		}
		for i := range widths {
			want := widths[0] / view.Rows[0].Point.Median * view.Rows[i].Point.Median
			if !view.Rows[i].IOPS.Cut && (widths[i] < want-1 || widths[i] > want+1) {
				t.Errorf("the bar of %s is %.1f px wide, want %.1f", view.Rows[i].Point.Stack, widths[i], want)
			}
		}
	})

	for _, v := range daily() {
		t.Run(v.name, func(t *testing.T) {
			b.look(t, v)
			b.fits(t, v)
			b.picture(t, "report-"+v.name+".png")
		})
	}

	t.Run("first screen", func(t *testing.T) {
		b.look(t, view{width: 1280, height: 1180, scheme: "light"})
		b.pictureBy(t, "report-first-screen.png", chromedp.CaptureScreenshot())
		if bottom := eval[float64](t, b, `document.querySelector('.verdict').getBoundingClientRect().bottom`); bottom > 1180 {
			t.Errorf("the verdict ends at %.0f px, below the first screen", bottom)
		}
	})

	t.Run("PDF", func(t *testing.T) {
		b.look(t, views[0])
		call(t, b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{})
		pdf := do(t, b, chromedp.PrintToPDF(chromedp.PDFPreferCSSPageSize(), chromedp.PDFPrintBackground()))
		if !bytes.HasPrefix(pdf, []byte("%PDF-")) {
			t.Errorf("no PDF: %.20q", pdf)
		}
	})

	t.Run("details are open on paper", func(t *testing.T) {
		b.look(t, views[len(views)-1])
		hidden := eval[[]string](t, b, `[...document.querySelectorAll('details:not(.long)')].filter(d => !d.lastElementChild.checkVisibility({contentVisibilityAuto: true})).map(d => d.textContent.trim().slice(0, 60))`)
		if len(hidden) != 0 {
			t.Errorf("closed on paper: %q", hidden)
		}
	})

	t.Run("a phone shows every number without scrolling", func(t *testing.T) {
		b.look(t, view{width: 375, height: 667, scheme: "light"})
		outside := eval[[]string](t, b, `[...document.querySelectorAll('.workload .numbers tbody :is(td, th)')].filter(e => {
			const r = e.getBoundingClientRect();
			return e.checkVisibility() && (r.left < 0 || r.right > 375 || r.height === 0);
		}).map(e => e.dataset.label + ': ' + e.textContent)`)
		if len(outside) != 0 {
			t.Errorf("outside of the window: %q", outside)
		}
		named := eval[[]string](t, b, `[...document.querySelector('.workload .numbers tbody tr').cells].slice(1).map(e => getComputedStyle(e, '::before').content)`)
		for _, want := range []string{"ratio to loop-raw", "p50", "IOPS"} {
			if !slices.ContainsFunc(named, func(n string) bool { return strings.Contains(n, want) }) {
				t.Errorf("no value is called %q: %q", want, named)
			}
		}
		if p := b.count(t, ".workload .numbers tbody td:nth-child(7)"); p != len(points) {
			t.Errorf("%d p values, want %d", p, len(points))
		}
	})

	t.Run("pages are full", func(t *testing.T) {
		b.look(t, views[len(views)-1])
		for _, breaks := range eval[[]string](t, b, `[...document.querySelectorAll('body *')].flatMap(e => {
			const s = getComputedStyle(e), r = e.getBoundingClientRect(), page = 1000;
			const forced = ['page', 'left', 'right', 'recto', 'verso', 'always'];
			const bad = [];
			if (forced.includes(s.breakBefore) || forced.includes(s.breakAfter)) bad.push(e.tagName + '.' + e.className + ' begins or ends a page');
			if (s.breakInside === 'avoid' && r.height > page / 2) bad.push(e.tagName + '.' + e.className + ' leaves up to ' + Math.round(r.height) + ' px of a page empty');
			return bad;
		})`) {
			t.Error(breaks)
		}
	})

	b.quiet(t)
}

// countPercentile returns how many points have I/Os enough for a percentile.
func countPercentile(points []fact.Point, percent float64) int {
	n := 0
	for _, p := range points {
		if !p.TooFewFor(percent) {
			n++
		}
	}
	return n
}

func countMemory(points []fact.Point) int {
	n := 0
	for _, p := range points {
		if sourceClass(p) == classMemory {
			n++
		}
	}
	return n
}
