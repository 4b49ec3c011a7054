package report

import (
	"bytes"
	"flag"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"plimsoll/internal/fact"
	"plimsoll/internal/finding"
	"plimsoll/internal/printable"
	"plimsoll/internal/problem"
	"plimsoll/internal/result"
	answer "plimsoll/internal/section"
	"plimsoll/internal/stats"
	"plimsoll/internal/units"
	"plimsoll/web"
)

var updateHTML = flag.Bool("update-html", false, "rewrite the golden HTML report")

// smallRun is three stacks under one workload, with points and findings by
// hand: what the golden page shows hangs on nothing else.
func smallRun() (*result.Run, []fact.Finding, []fact.Point) {
	start := time.Date(2026, 5, 12, 9, 30, 0, 0, time.UTC)
	done := func(seq, block int, stack string, iops float64) result.Trial {
		return result.Trial{Seq: seq, Block: block, Stack: stack, Mix: "RR", Repeat: block, Status: result.TrialDone,
			Instances: result.One(&result.Measurement{Operations: result.ReadsWrites(result.Operation{Rate: iops,
				BytesPerSecond: iops * 4096}, result.Operation{})})}
	}
	run := &result.Run{
		Schema: 1, ID: "20260512-093000-small", Version: "0.1.0", Status: result.RunInterrupted, Seed: 7,
		Command: []string{"plimsoll", "run", "my experiment.yaml", "--seed", "7"},
		Started: start, Finished: start.Add(75 * time.Second),
		Experiment: result.Experiment{Name: "small", Question: "Is ext4 slower than the raw device?", Baseline: "raw",
			Repeat: 2, Source: "name: small\n"},
		Environment: result.Environment{Hostname: "drydock", Kernel: "6.18.0", OS: "Debian GNU/Linux 12",
			CPUModel: "some CPU", CPUs: 2,
			MemoryBytes: 24 << 30, Virtualization: "kvm", CgroupVersion: "v1", FioVersion: "3.33",
			Devices: []result.DeviceInfo{{Name: "vda", Path: "/dev/vda", Model: "virtio", SizeBytes: 128 << 30,
				Scheduler: "none", WriteCache: "write back"}}},
		Stacks: []result.Stack{
			{Name: "raw", Line: "loop(size=1GiB)", Marks: []result.Mark{result.MarkLoop},
				Devices: []result.Device{{Name: "loop0"}, {Name: "vda"}},
				Facts:   []result.Fact{{Name: "loop direct-io", Value: "on"}}},
			{Name: "ext4", Line: "loop(size=1GiB) > ext4", Marks: []result.Mark{result.MarkLoop}},
			{Name: "memory", Line: "tmpfs(size=1GiB)", Marks: []result.Mark{result.MarkMemory}},
		},
		Workloads: []result.Workload{{Name: "RR", Kind: "fio", Summary: "randread 4 KiB", Pattern: "randread",
			Declared: "rw: randread\n"}},
		Trials: []result.Trial{
			done(1, 1, "ext4", 9000), done(2, 1, "raw", 10000), done(3, 1, "memory", 90000),
			done(4, 2, "raw", 10400),
			{Seq: 5, Block: 2, Stack: "ext4", Mix: "RR", Repeat: 2, Status: result.TrialFailed,
				Problem: &problem.Problem{What: "fio on ext4", Why: "no space left on device",
					Remedy: "make the loop device larger"}},
			{Seq: 6, Block: 2, Stack: "memory", Mix: "RR", Repeat: 2, Status: result.TrialPlanned},
		},
	}
	points := []fact.Point{
		{Stack: "raw", Workload: "RR", Metric: "IOPS",
			Estimate: fact.Estimate{N: 2, Median: 10200, Low: 10000, High: 10400}, Source: "device",
			Ratio: ptr(1.0),
			Marks: []string{"loop device"}, P50NS: 310e3, P99NS: 1.2e6, P999NS: 4.5e6, BytesPerSecond: 41.8e6, BytesLow: 41e6,
			BytesHigh: 42.6e6},
		{Stack: "ext4", Workload: "RR", Metric: "IOPS",
			Estimate: fact.Estimate{N: 1, Median: 9000, Low: 9000, High: 9000}, Source: "unknown",
			Marks: []string{"loop device"}, P50NS: 340e3, P99NS: 1.4e6, P999NS: 5e6, BytesPerSecond: 36.9e6, BytesLow: 36.9e6,
			BytesHigh: 36.9e6},
		{Stack: "memory", Workload: "RR", Metric: "IOPS",
			Estimate: fact.Estimate{N: 1, Median: 90000, Low: 90000, High: 90000}, Source: "unknown",
			Marks: []string{"served from memory"}, P50NS: 9e3, P99NS: 20e3, P999NS: 80e3, BytesPerSecond: 369e6, BytesLow: 369e6,
			BytesHigh: 369e6},
	}
	findings := []fact.Finding{
		{ID: "recommend", Kind: fact.KindRecommendation, Stacks: []string{"ext4"}, Title: "Take ext4.",
			Why:     "It is close to the raw device.",
			Caveats: []string{"measured on a loop device"}},
		{ID: "baseline/ext4/RR", Kind: fact.KindComparison, Workload: "RR", Stacks: []string{"ext4"},
			Title: "ext4 reaches 88% of raw", Why: "Its journal costs.",
			Effect: &fact.Effect{Metric: "IOPS", Subject: "ext4", Baseline: "raw", Ratio: 0.88, Low: 0.86, High: 0.9, P: 0.03,
				N: [2]int{1, 2}, Differs: true}},
		{ID: "published/fs-ext4-rr-gap/ext4/RR", Kind: fact.KindPublished, Workload: "RR", Stacks: []string{"ext4", "raw"},
			Title: "Contradicted here", Why: "The verdict, and what was measured.",
			Caveats: []string{"measured on a loop device"},
			Claim: &fact.Claim{ID: "fs-ext4-rr-gap", Paper: "MSST'17", Where: "5.1 fig 3a", Statement: "ext4 RR against raw RR",
				Published: "0.75x ± 0.05", Measured: "0.88x (0.86 to 0.90)",
				StandIn: "this for that", Verdict: fact.ClaimContradicted, Why: "the interval lies outside of 0.70 to 0.80"}},
		{ID: "published/others", Kind: fact.KindPublished, Title: "57 more published results", Why: "What would test them.",
			Section: &answer.Section{
				Title: "Published results, tested here", Late: true,
				Remarks: []answer.Remark{{Text: "Contradicted here", Warn: true}},
				Parts: []*answer.Section{{Title: "What was measured", Tables: []answer.Table{{
					Caption: "what papers measured, and this run",
					Columns: []answer.Column{{Head: "published result", Text: true}, {Head: "verdict", Text: true}},
					Rows: []answer.Row{
						{Warn: true, Cells: []answer.Cell{answer.Text("ext4 RR against raw RR"), answer.Text("contradicted here")}},
						{Words: "The verdict, and what was measured."},
					},
				}}}},
			}},
		{ID: "caveats/repeats", Kind: fact.KindCaveat, Title: "two trials are few", Why: "Intervals are wide."},
	}
	return run, findings, points
}

func TestHTMLGolden(t *testing.T) {
	var got bytes.Buffer
	run, findings, points := smallRun()
	must(t, writePage(&got, run, findings, points, "", PageOptions{}))
	const path = "testdata/report.golden.html"
	if *updateHTML {
		must(t, os.MkdirAll("testdata", 0o755))
		must(t, os.WriteFile(path, withoutStyles(got.Bytes()), 0o644))
	}
	want, err := os.ReadFile(path)
	must(t, err)
	if !bytes.Equal(withoutStyles(got.Bytes()), want) {
		t.Errorf("the page differs from %s; look at the difference, then go test -update-html\n%s", path,
			firstDifference(withoutStyles(got.Bytes()), want))
	}
}

// withoutStyles leaves the style sheet out: its changes are looked at in
// pictures, not in a golden file.
func withoutStyles(html []byte) []byte {
	return regexp.MustCompile(`(?s)<style>.*</style>`).ReplaceAll(html, []byte("<style></style>"))
}

func firstDifference(got, want []byte) string {
	g, w := strings.Split(string(got), "\n"), strings.Split(string(want), "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return "got:  " + g[i] + "\nwant: " + w[i]
		}
	}
	return "one is longer"
}

// TestHTMLNeedsNothingElse reads the page as a browser's loader would: no
// attribute, style or element may name anything outside of it.
func TestHTMLNeedsNothingElse(t *testing.T) {
	for _, u := range append(unusualRuns(), unusualRun{"stopped", stoppedRun()}, unusualRun{"swept", sweptRun()}) {
		t.Run(u.name, func(t *testing.T) {
			var b bytes.Buffer
			must(t, writePage(&b, u.run, finding.All(u.run), finding.Points(u.run), "'use strict'", ownSeries(u.run)))
			html := strings.Replace(b.String(), "<script>'use strict'</script>", "", 1)
			active := regexp.MustCompile(`(?i)<(script|img|iframe|object|embed|base|form)[\s>]`)
			for _, m := range active.FindAllString(html, -1) {
				t.Errorf("the page has a %s", m)
			}
			links := regexp.MustCompile(`\s(?:href|src|srcset|action|xlink:href)="([^"]*)"`)
			for _, m := range links.FindAllStringSubmatch(html, -1) {
				if m[1] != "data:," && !strings.HasPrefix(m[1], "#") {
					t.Errorf("the page refers to %q", m[1])
				}
			}
			for _, m := range regexp.MustCompile(`@import|url\(([^)]*)\)`).FindAllStringSubmatch(html, -1) {
				if !strings.HasPrefix(m[1], "#") {
					t.Errorf("its styles refer to %q", m[0])
				}
			}
			for _, m := range regexp.MustCompile(`[^\s"]*\b(NaN|Inf)\b[^\s"<]*|ZgotmplZ|<nil>|%!`).FindAllString(html, -1) {
				t.Errorf("the page shows %q", m)
			}
		})
	}
}

// TestHTMLPolicy holds the page to what keeps scripts and requests out even if
// escaping ever failed.
func TestHTMLPolicy(t *testing.T) {
	for script, want := range map[string]string{
		"": `content="default-src 'none'; style-src 'unsafe-inline'; img-src data:"`,
		// printf alert | sha256sum | xxd -r -p | base64
		"alert": `content="default-src 'none'; script-src 'sha256-35BQWN1npAn&#43;&#43;BSA6B5HNlcrDttNf7mHxpXNB&#43;Jg7IE='; style-src 'unsafe-inline'; img-src data:"`,
	} {
		var b bytes.Buffer
		must(t, writePage(&b, &result.Run{}, nil, nil, script, PageOptions{}))
		if !strings.Contains(b.String(), want) {
			t.Errorf("with the script %q: no content security policy %s", script, want)
		}
	}
}

func TestHTMLOrdersBestHonestFirst(t *testing.T) {
	run, findings, points := smallRun()
	points[0].Median = 8000 // slower than ext4, but its device was seen to answer
	var names []string
	for _, row := range workloadViews(run, points, findings)[0].Rows {
		names = append(names, row.Point.Stack+" "+row.Class)
	}
	if got, want := strings.Join(names, ", "), "raw device, ext4 unknown, memory memory"; got != want {
		t.Errorf("order: %s, want %s", got, want)
	}
}

// TestHTMLMemoryDoesNotFlattenTheRest: a bar from memory nine times as long
// is cut, so that honest ones fill a third of the chart.
func TestHTMLMemoryDoesNotFlattenTheRest(t *testing.T) {
	run, findings, points := smallRun()
	rows := workloadViews(run, points, findings)[0].Rows
	if raw := rows[0].IOPS; raw.Length < 30 || raw.Cut {
		t.Errorf("the best honest bar takes %s of the chart, cut %v", raw.Length, raw.Cut)
	}
	if memory := rows[2].IOPS; memory.Length != 100 || !memory.Cut {
		t.Errorf("the bar from memory takes %s of the chart, cut %v", memory.Length, memory.Cut)
	}
}

// Where nothing was measured, the page leads to the reasons.
func TestHTMLLeadsToWhatIsMissing(t *testing.T) {
	runs := unusualRuns()
	run := runs[slices.IndexFunc(runs, func(u unusualRun) bool { return u.name == "all failed" })].run
	findings := slices.DeleteFunc(finding.All(run), func(f fact.Finding) bool { return f.Kind == fact.KindRecommendation })
	var page bytes.Buffer
	must(t, HTML(&page, run, findings, PageOptions{}))
	for _, want := range []string{`href="#finding/missing/1"`, `id="finding/missing/1"`, "Not measured</h3>", "trials failed ("} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("%s is not on the page", want)
		}
	}
}

func TestHTMLIntervalsSayWhatTheyAreWorth(t *testing.T) {
	single := []fact.Point{{Estimate: fact.Estimate{N: 1}}}
	if got, want := intervalNote(single, "setup"), "no intervals (none below 4 setups)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for n, want := range map[int]string{
		1: "95% interval (none below 4 setups)",
		3: "95% interval (none below 4 setups)",
		5: "interval: smallest to largest of 5 setups, 94%",
		6: "95% interval",
		9: "95% interval",
	} {
		p := fact.Point{Estimate: fact.Estimate{N: n}}
		if n >= stats.FewestPairs {
			p.Coverage = stats.MedianInterval(make([]float64, n)).Coverage
		}
		if got := intervalNote([]fact.Point{{Estimate: fact.Estimate{N: 10, Coverage: 0.97}}, p}, "setup"); got != want {
			t.Errorf("%d trials: %q, want %q", n, got, want)
		}
	}
}

func TestHTMLUnits(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{ratedText(0, units.IOPS), "0 IOPS"},
		{ratedText(950, units.IOPS), "950 IOPS"},
		{ratedText(999.6, units.IOPS), "1.00k IOPS"},
		{ratedText(4020, units.IOPS), "4.02k IOPS"},
		{ratedText(12345, units.IOPS), "12.3k IOPS"},
		{ratedText(258100, units.IOPS), "258k IOPS"},
		{ratedText(1.25e6, units.IOPS), "1.25M IOPS"},
		{ratedText(math.NaN(), units.IOPS), "unknown"},
		{bandwidthText(512), "512 B/s"},
		{bandwidthText(48.1e6), "48.1 MB/s"},
		{bandwidthText(3.2e9), "3.20 GB/s"},
		{bandwidthText(math.Inf(1)), "unknown"},
		{latencyText(850), "850 ns"},
		{latencyText(1100), "1.10 µs"},
		{latencyText(310e3), "310 µs"},
		{latencyText(2.74e6), "2.74 ms"},
		{latencyText(1.5e9), "1.50 s"},
		{latencyText(0), "unknown"},
		{units.Grouped(1234567), "1,234,567"},
		{units.Grouped(999), "999"},
		{units.Grouped(-1234), "-1,234"},
		{honestyText(nil), "unknown"},
		{honestyText(ptr(0.00142)), "0.0014"},
		{honestyText(ptr(0.0)), "0.00"},
		{honestyText(ptr(1.314)), "1.31"},
		{units.P(0.00004), "< 0.0001"},
		{units.P(0.0317), "0.032"},
		{printable.Command("plimsoll", "run", "it's.yaml", "", "a b", "--seed=7"),
			`plimsoll run 'it'\''s.yaml' '' 'a b' --seed=7`},
		{tickLabel(rateText)(10000), "10k"},
		{tickLabel(rateText)(2500), "2.5k"},
		{tickLabel(latencyText)(1e6), "1 ms"},
		{tickLabel(bandwidthText)(0), "0"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

// TestHTMLScalesStayInTheChart: whatever was measured, marks are drawn inside.
func TestHTMLScalesStayInTheChart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		low, high, v := rapid.Float64().Draw(t, "low"), rapid.Float64().Draw(t, "high"), rapid.Float64().Draw(t, "v")
		for _, s := range []scale{linearScale(high), logScale(low, high)} {
			position := s.position(v)
			if !(position >= 0 && position <= 100) {
				t.Errorf("%+v puts %g at %s", s, v, position)
			}
			if bigger := s.position(math.Nextafter(v, math.Inf(1))); bigger < position {
				t.Errorf("%+v puts what is more than %g to the left of it", s, v)
			}
			var ticks []tick
			if s.log {
				ticks = s.decades(5, latencyText)
			} else {
				ticks = s.ticks(4, rateText)
			}
			if len(ticks) > 6 {
				t.Errorf("%+v has %d ticks", s, len(ticks))
			}
			for i, tick := range ticks {
				if !(tick.At >= 0 && tick.At <= 100) || i > 0 && tick.At <= ticks[i-1].At {
					t.Errorf("%+v has ticks at %v", s, ticks)
				}
			}
		}
	})
}

func TestHTMLTicksAreRound(t *testing.T) {
	for high, want := range map[float64]string{
		32000: "0 10k 20k 30k",
		12400: "0 5k 10k",
		1.2:   "0 0.5 1",
		7:     "0 2 4 6",
		96:    "0 25 50 75",
	} {
		var labels []string
		for _, tick := range linearScale(high).ticks(4, tickLabel(rateText)) {
			labels = append(labels, tick.Label)
		}
		if got := strings.Join(labels, " "); got != want {
			t.Errorf("up to %g: %s, want %s", high, got, want)
		}
	}
}

// TestHTMLContrast computes the contrast of text as WCAG 2 does: level AA asks
// for 4.5 to 1, in the light and in the dark.
func TestHTMLContrast(t *testing.T) {
	var schemes [][]string
	for _, block := range regexp.MustCompile(`(?s):root \{.*?\}`).FindAllString(web.ReportCSS, 2) {
		var colours []string
		for _, m := range regexp.MustCompile(`--([a-z0-9-]+): (#[0-9a-f]{6});`).FindAllStringSubmatch(block, -1) {
			colours = append(colours, m[1], m[2])
		}
		schemes = append(schemes, colours)
	}
	if len(schemes) != 2 {
		t.Fatalf("%d colour schemes, want light and dark", len(schemes))
	}
	for n, scheme := range schemes {
		colour := func(name string) string {
			at := slices.Index(scheme, name)
			if at < 0 {
				t.Fatalf("scheme %d has no colour %s", n+1, name)
			}
			return scheme[at+1]
		}
		for _, text := range []string{"ink", "soft", "memory", "bad", "device-deep"} {
			for _, ground := range []string{"paper", "raised"} {
				if c := contrast(colour(text), colour(ground)); c < 4.5 {
					t.Errorf("scheme %d: %s on %s has a contrast of %.2f, want 4.5", n+1, text, ground, c)
				}
			}
		}
		if c := contrast(colour("ink"), colour("memory-ground")); c < 4.5 {
			t.Errorf("scheme %d: notices have a contrast of %.2f, want 4.5", n+1, c)
		}
		for i := range colours {
			if c := contrast(colour(fmt.Sprintf("c%d", i)), colour("paper")); c < 3 {
				t.Errorf("scheme %d: line %d has a contrast of %.2f, want 3", n+1, i, c)
			}
		}
		for _, mark := range []string{"device", "unknown", "memory"} {
			if c := contrast(colour(mark), colour("paper")); c < 2 {
				t.Errorf("scheme %d: bars of %s have a contrast of %.2f, want 2", n+1, mark, c)
			}
		}
	}
}

func contrast(a, b string) float64 {
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

func luminance(hex string) float64 {
	rgb, _ := strconv.ParseUint(hex[1:], 16, 32)
	l := 0.0
	for i, weight := range []float64{0.0722, 0.7152, 0.2126} {
		c := float64(rgb>>(8*i)&0xff) / 255
		if c <= 0.04045 {
			l += weight * c / 12.92
		} else {
			l += weight * math.Pow((c+0.055)/1.055, 2.4)
		}
	}
	return l
}
