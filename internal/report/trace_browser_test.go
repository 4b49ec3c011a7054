package report

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"plimsoll/internal/iotrace"
	"plimsoll/internal/iotrace/show"
	"plimsoll/internal/result"
	"plimsoll/internal/testkit/soak"
	"plimsoll/internal/testkit/synthetic"
	"plimsoll/web"
)

// openTrace loads the page of a trace.
func (b *browser) openTrace(t testing.TB, a *iotrace.Account, source, script string) {
	t.Helper()
	var html bytes.Buffer
	must(t, writeAnswer(&html, Answer{Kind: "trace of " + source, Title: show.Title, Meta: show.Meta(a),
		Sections: show.Sections(a, show.Dimensions...)}, "test", script))
	path := filepath.Join(t.TempDir(), "trace.html")
	must(t, os.WriteFile(path, html.Bytes(), 0o600))
	do(t, b, chromedp.Navigate("file://"+path))
	b.settle(t)
}

// longTrace is the sample over an hour, with a pause in it.
func longTrace() *iotrace.Account {
	a := synthetic.Account()
	for i := range a.Devices {
		d := &a.Devices[i]
		seconds := d.Seconds
		d.Seconds = nil
		for second := range int64(3600) {
			if second/600 == 3 {
				continue
			}
			s := seconds[second%int64(len(seconds))]
			s.At, s.Depth = second, 20+10*math.Sin(float64(second)/200)
			d.Seconds = append(d.Seconds, s)
		}
	}
	return a
}

// manyTrace has more of everything than fits a page.
func manyTrace() *iotrace.Account {
	a := &iotrace.Account{Recorder: "blktrace capture", Missing: []string{"Q, G, I: not in this capture",
		strings.Repeat("a long reason ", 30)}}
	from := synthetic.Account()
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
	for name, a := range map[string]*iotrace.Account{"sample": synthetic.Account(), "nvme": synthetic.NVMe(),
		"long": longTrace(),
		"many": manyTrace(), "empty": empty} {
		t.Run(name, func(t *testing.T) {
			if name == "nvme" || name == "long" {
				soak.Only(t) // sample has the same sections
			}
			b.openTrace(t, a, "t.blktrace.*", script)
			if n := b.count(t, "script:not(body > script), img, iframe, object, embed"); n != 0 {
				t.Errorf("%d elements that somebody's name brought in", n)
			}
			for _, v := range daily() {
				b.look(t, v)
				b.fits(t, v)
				b.picture(t, "trace-"+name+"-"+v.name+".png")
			}
			if name == "sample" || soak.On() {
				b.accessible(t, true)
			}
			b.quiet(t)
		})
	}
	t.Run("without its script", func(t *testing.T) {
		soak.Only(t)
		b.openTrace(t, synthetic.NVMe(), "t", "")
		b.accessible(t, false)
		b.quiet(t)
	})
}

// A bar of the page is as high as the mean it stands for, and reads as it.
func TestBrowserReadsTraces(t *testing.T) {
	b := startBrowser(t)
	b.look(t, views[0])
	script := web.ReportScript
	a := synthetic.Account()
	b.openTrace(t, a, "", script)
	sections := identified(pageSections(&result.Run{}, show.Sections(a, show.Dimensions...)))
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
