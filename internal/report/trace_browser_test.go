package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"plimsoll/internal/finding"
	"plimsoll/internal/iotrace"
	"plimsoll/web"
)

// openTrace loads the page of a trace.
func (b *browser) openTrace(t testing.TB, a *iotrace.Account, source, script string) {
	t.Helper()
	var html bytes.Buffer
	must(t, writeTracePage(&html, a, source, "test", script))
	path := filepath.Join(t.TempDir(), "trace.html")
	must(t, os.WriteFile(path, html.Bytes(), 0o600))
	do(t, b, chromedp.Navigate("file://"+path))
	b.settle(t)
}

// longTrace is the sample over an hour, with a pause in it.
func longTrace() *iotrace.Account {
	a := sampleTrace()
	for i := range a.Devices {
		d := &a.Devices[i]
		seconds := d.Seconds
		d.Seconds = nil
		for at := range int64(3600) {
			if at/600 == 3 {
				continue
			}
			s := seconds[at%int64(len(seconds))]
			s.At, s.Depth = at, 20+10*math.Sin(float64(at)/200)
			d.Seconds = append(d.Seconds, s)
		}
	}
	return a
}

// manyTrace has more of everything than fits a page.
func manyTrace() *iotrace.Account {
	a := &iotrace.Account{Recorder: "blktrace capture", Missing: []string{"Q, G, I: not in this capture",
		strings.Repeat("a long reason ", 30)}}
	from := sampleTrace()
	for i := range 80 {
		name := fmt.Sprintf("dm-%d", i)
		a.Devices = append(a.Devices, iotrace.Device{Name: name, Requests: uint64(i), Seconds: from.Devices[0].Seconds})
		c := from.Cells[i%len(from.Cells)]
		c.Device = name
		c.Owner.Command = fmt.Sprintf("%s-%d", hostile, i)
		a.Cells = append(a.Cells, c)
	}
	return a
}

func TestBrowserShowsTraces(t *testing.T) {
	b := startBrowser(t)
	script := web.ReportScript
	empty := &iotrace.Account{Recorder: "BPF"}
	for name, a := range map[string]*iotrace.Account{"sample": sampleTrace(), "nvme": nvmeTrace(), "long": longTrace(),
		"many": manyTrace(), "empty": empty} {
		t.Run(name, func(t *testing.T) {
			b.openTrace(t, a, "t.blktrace.*", script)
			if n := b.count(t, "script:not(body > script), img, iframe, object, embed"); n != 0 {
				t.Errorf("%d elements that somebody's name brought in", n)
			}
			for _, v := range views {
				b.look(t, v)
				for _, e := range b.overflowing(t) {
					t.Errorf("%s: wider than the window: %s", v.name, e)
				}
				if name == "sample" || v == views[1] {
					b.picture(t, "trace-"+name+"-"+v.name+".png")
				}
			}
			b.quiet(t)
		})
	}
}

// A bar of the page is as high as the mean it stands for, and reads as it.
func TestBrowserReadsTraces(t *testing.T) {
	b := startBrowser(t)
	b.look(t, views[0])
	script := web.ReportScript
	a := sampleTrace()
	b.openTrace(t, a, "", script)
	sections := traceSections(a)
	shares := sections[0].Figures[0]
	if got := b.count(t, "#"+shares.ID+" rect.bar"); got != len(shares.Marks) {
		t.Errorf("%d marks, want %d", got, len(shares.Marks))
	}
	texts := map[string]bool{}
	for _, m := range shares.Marks {
		texts[m.Text] = true
	}
	read := 0
	for i := range shares.Marks {
		if texts[b.hover(t, fmt.Sprintf(`document.querySelectorAll('#%s rect.bar')[%d]`, shares.ID, i))] {
			read++
		}
	}
	if read != len(shares.Marks) {
		t.Errorf("%d of %d parts can be read", read, len(shares.Marks))
	}
	for _, s := range sections {
		if s.Title == "Over time" {
			focus(t, b, "#"+s.Figures[0].ID)
			do(t, b, chromedp.KeyEvent(kb.Home))
			do(t, b, chromedp.KeyEvent(kb.ArrowRight))
			want := fmt.Sprintf("read, 1 s: %s IOPS", withThousands(fmt.Sprint(a.Devices[0].Seconds[1].Requests[iotrace.Read])))
			if got := eval[string](t, b, aloud); got != want {
				t.Errorf("the second second says %q, want %q", got, want)
			}
		}
	}
	b.quiet(t)
}

func TestBrowserTracesAreAccessible(t *testing.T) {
	axe := axeCore(t)
	b := startBrowser(t)
	script := web.ReportScript
	for name, open := range map[string]func(){
		"a trace":            func() { b.openTrace(t, sampleTrace(), "t", script) },
		"without its script": func() { b.openTrace(t, nvmeTrace(), "t", "") },
		"a traced run":       func() { run := tracedRun(); b.openWith(t, run, finding.All(run), script) },
	} {
		open()
		for _, v := range views[:2] {
			b.look(t, v)
			eval[bool](t, b, `document.querySelectorAll('details').forEach(d => d.open = true) ?? true`)
			b.settle(t)
			for _, violation := range b.violations(t, axe) {
				t.Errorf("%s, %s: %s", name, v.name, violation)
			}
		}
	}
	b.quiet(t)
}

// violations runs axe-core on the page.
func (b *browser) violations(t testing.TB, axe string) []string {
	t.Helper()
	eval[bool](t, b, axe+"; true")
	found := do(t, b, chromedp.Evaluate[json.RawMessage](`axe.run(document, {resultTypes: ['violations']}).then(r => r.violations.map(v => v.id + ': ' + v.help + '\n' + v.nodes.slice(0, 3).map(n => n.html.slice(0, 200) + ' ' + n.failureSummary).join('\n')))`, chromedp.EvalAwaitPromise))
	var violations []string
	must(t, json.Unmarshal(found, &violations))
	return violations
}

func TestBrowserShowsTracedRuns(t *testing.T) {
	b := startBrowser(t)
	run := tracedRun()
	b.open(t, run, finding.All(run))
	for _, v := range views {
		b.look(t, v)
		for _, e := range b.overflowing(t) {
			t.Errorf("%s: wider than the window: %s", v.name, e)
		}
		if v == views[0] || v == views[1] {
			b.picture(t, "traced-run-"+v.name+".png")
		}
	}
	b.quiet(t)
}
