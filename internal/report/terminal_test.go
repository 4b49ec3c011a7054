package report

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"plimsoll/internal/fact"
	"plimsoll/internal/finding"
	"plimsoll/internal/result"
	answer "plimsoll/internal/section"
	"plimsoll/internal/units"
)

var updateTerminal = flag.Bool("update-terminal", false, "rewrite the golden terminal reports")

// sampleFindings are findings of every kind by hand, so that the golden
// reports do not hang on the wording of rules.
func sampleFindings() []fact.Finding {
	compare := func(subject, baseline, workload, title string, ratio float64, differs bool) fact.Finding {
		return fact.Finding{Kind: fact.KindComparison, Workload: workload, Stacks: []string{subject}, Title: title,
			Effect: &fact.Effect{Metric: "IOPS", Subject: subject, Baseline: baseline, Ratio: ratio, Differs: differs}}
	}
	return []fact.Finding{
		{Kind: fact.KindRecommendation, Title: "Likely: use a data volume on XFS",
			Why:     "Its device answered, and no honest stack is significantly faster.",
			Caveats: []string{"loop device", "trials of 1.5 s"}, Recommendation: sampleRecommendation()},
		{Kind: fact.KindNoise, Title: "This run's noise floor: two copies of loop-raw differ by 2.1% under RR",
			Why: "No smaller difference is taken for real.",
			Noise: []fact.Noise{{Workload: "RR", Twin: "loop-raw", Control: &fact.Effect{Ratio: 1.021}, Within: ptr(0.04),
				Blocks: ptr(0.14),
				Text:   "two copies of loop-raw differ by 2.1%; rates vary by 4% within a setup and 14% between rounds"}}},
		{Kind: fact.KindFastest, Workload: "RR", Title: "RR: xfs leads, and six stacks are level with it (~)"},
		{Kind: fact.KindIllusion, Workload: "RR", Stacks: []string{"loop-buffered"},
			Title: "loop-buffered answers RR from memory", Why: "why RR"},
		{Kind: fact.KindIllusion, Workload: "RR", Stacks: []string{"fuse-overlayfs"},
			Title: "fuse-overlayfs answers RR from memory", Why: "why fuse"},
		{Kind: fact.KindIllusion, Workload: "RW", Stacks: []string{"loop-buffered"},
			Title: "loop-buffered answers RW from memory",
			Why: "With direct-io=off a loop device keeps its file in the page cache, O_DIRECT or not. Set direct-io=on, or " +
				"leave the option out."},
		compare("xfs", "loop-raw", "RR", "xfs against the baseline", 1.02, false),
		compare("btrfs", "loop-raw", "RW", "btrfs against the baseline", 0.359, true),
		compare("loop-buffered", "loop-raw", "RR", "an illusion against the baseline", 2.66, true),
		compare("btrfs-nodatacow", "btrfs", "RW", "btrfs-nodatacow writes 2.4x what btrfs does", 2.4, true),
		compare("xfs-overlay2", "xfs-volume", "RW", "xfs-overlay2 writes ~ what xfs-volume does", 0.98, false),
		{Kind: fact.KindTime, Title: "Software takes from 5.7% of a read on loop-raw to 15% on xfs: RR; there, the largest " +
			"part of it is the kernel above the block layer, 12.0 us"},
		{Kind: fact.KindPublished, Title: "55 more published results", Section: &answer.Section{
			Title: "Published results, tested here", Late: true, Remarks: []answer.Remark{
				{Text: "Confirmed here: btrfs RW nodatacow against btrfs RW: btrfs-nodatacow is 5.0x (4.8 to 5.1) of btrfs, " +
					"published 5x (MSST'17, 5.2 fig 3h)"},
				{Text: "Contradicted here: loop-lvm RR 1 job qd1 against raw RR 1 job qd1: loop-buffered is 0.90x (0.88 to 0.92) " +
					"of loop-raw, published 1.4x (MSST'17, 5.2 fig 3i). Why: memory did not answer", Warn: true},
				{Text: "Not testable here: 2 published results"},
			},
			Parts: []*answer.Section{{Title: "left out of terminals"}},
		}},
		{Kind: fact.KindCaveat, Title: "Trials measured 1.5 s: no steady state was established"},
		{Kind: fact.KindMissing, Title: "two trials are missing"},
	}
}

// sampleRecommendation is a verdict that something speaks against.
func sampleRecommendation() *fact.Recommendation {
	const command = "plimsoll run --resume 20260512-093000-quick-4f1c --budget +6m"
	return &fact.Recommendation{
		Confidence: fact.Likely, Headline: "Likely: use a data volume on XFS, as fast as anything here and 2.6 times as " +
			"fast as btrfs for random writes.",
		Use:   "xfs-volume; its data stays when the container goes",
		Avoid: "btrfs, 38% as fast for random writes; fuse-overlayfs: memory answered there, not the device",
		Next:  "in about 6 minutes, this would show more: " + command, Command: command, Seconds: 360,
		Doubts: []string{"it cannot be distinguished from xfs-overlay2 so far"},
		Reason: "Only likely, because it cannot be distinguished from xfs-overlay2 so far.", Pick: "xfs-volume",
	}
}

// The verdict stands before the tables and what it was drawn from behind them;
// its stack is marked in every table, and the control is in none.
func TestTerminalPutsTheVerdictFirst(t *testing.T) {
	run := sampleRun()
	controlled(run)
	findings := append(sampleFindings(), fact.Finding{Kind: fact.KindNeighbours,
		Title: "The host was not quiet: others did 40% of the I/O on vda", Why: "Measure again."})
	for _, color := range []bool{false, true} {
		got := terminalText(t, run, findings, TerminalOptions{Width: 80, Color: color})
		position := -1
		for _, want := range []string{"Verdict", "Likely: use", "- Use: xfs-volume", "- Avoid: btrfs",
			"- Check next: in about 6 minutes", "\n      plimsoll run --resume 20260512-093000-quick-4f1c --budget +6m\n",
			"Only likely, because it cannot be", "The host was not quiet", "RR: randread",
			"noise floor: two copies of loop-raw differ by 2.1%; rates vary by", "RW: randwrite",
			"plimsoll help words", "Behind the verdict", "Measure again.", "Fastest honest stack", "Served from memory",
			"Environment"} {
			next := strings.Index(got, want)
			if next <= position {
				t.Fatalf("%q is not found behind what comes before it, in colour %t:\n%s", want, color, got)
			}
			position = next
		}
		if n := strings.Count(got, "★ xfs-volume "); n != 2 {
			t.Errorf("the stack of the verdict is marked in %d tables of 2:\n%s", n, got)
		}
		if strings.Contains(got, "control") {
			t.Errorf("the control is shown:\n%s", got)
		}
	}
}

// controlled gives a run a copy of its baseline, measured as that is.
func controlled(run *result.Run) {
	twin := run.Stacks[0]
	twin.Name, twin.Control = "control", twin.Name
	run.Stacks = append(run.Stacks, twin)
	for _, trial := range run.Trials {
		if trial.Stack == twin.Control {
			trial.Stack, trial.Seq = twin.Name, len(run.Trials)+1
			run.Trials = append(run.Trials, trial)
		}
	}
}

// A workload that is named as its pattern is not named twice.
func TestHeadingsSayAPatternOnce(t *testing.T) {
	run := sampleRun()
	run.Workloads[0].Name = "randread"
	for i := range run.Trials {
		if run.Trials[i].Mix == "RR" {
			run.Trials[i].Mix = "randread"
		}
	}
	findings := finding.All(run)
	text := terminalText(t, run, findings, TerminalOptions{Width: 120})
	for _, heading := range []string{"\nrandread 4 KiB, 1 job x", "\nRW: randwrite 4 KiB, 1 job x"} {
		if strings.Count(text, heading) != 1 {
			t.Errorf("no heading is %q:\n%s", heading, text)
		}
	}
	var page bytes.Buffer
	must(t, HTML(&page, run, findings, PageOptions{}))
	for _, heading := range []string{`">randread</h2>` + "\n" + `<p class="sub">4 KiB, 1 job x`,
		`">RW</h2>` + "\n" + `<p class="sub">randwrite 4 KiB, 1 job x`} {
		if !strings.Contains(page.String(), heading) {
			t.Errorf("no heading of the page is %q", heading)
		}
	}
}

// A run in setups is compared in pairs, and one of trials by the test of Mann and Whitney: each names its own.
func TestReportsNameTheirTest(t *testing.T) {
	for _, setups := range []bool{false, true} {
		run := sampleRun()
		for i := range run.Trials {
			if setups {
				run.Trials[i].BringUp = run.Trials[i].Block
			}
		}
		findings := finding.All(run)
		var page bytes.Buffer
		must(t, HTML(&page, run, findings, PageOptions{}))
		for format, text := range map[string]string{
			"page": page.String(), "terminal": terminalText(t, run, findings, TerminalOptions{Width: 120}),
			"short terminal": terminalText(t, run, findings, TerminalOptions{Width: 120, Short: true}),
		} {
			text = oneLine(text)
			if strings.Contains(text, "paired test") != setups || strings.Contains(text, "Mann-Whitney") == setups {
				t.Errorf("in setups is %t, but the %s names another test: %s", setups, format, text)
			}
		}
	}
}

// So few that there is no interval have none, and no ~ either.
func TestTerminalOfFewBringUps(t *testing.T) {
	run := sampleRun()
	run.Trials = slices.DeleteFunc(run.Trials, func(t result.Trial) bool { return t.Block > 3 })
	got := terminalText(t, run, finding.All(run), TerminalOptions{Width: 120})
	if !strings.Contains(got, "Too early to say which stack to use") || !strings.Contains(got, "too few") {
		t.Errorf("the report does not say that it is too early:\n%s", got)
	}
	if found := regexp.MustCompile(`(?m)^.*([0-9]x? \([0-9.]+ to |~ *[0-9]|[0-9] +~).*$`).FindString(got); found != "" {
		t.Errorf("an interval, or a ~, of three: %s", found)
	}
}

func terminalText(t *testing.T, run *result.Run, findings []fact.Finding, opt TerminalOptions) string {
	t.Helper()
	var b bytes.Buffer
	must(t, Terminal(&b, run, findings, opt))
	return b.String()
}

func TestTerminalGolden(t *testing.T) {
	for _, width := range []int{80, 120} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			run := sampleRun()
			got := terminalText(t, run, sampleFindings(), TerminalOptions{Width: width, Dir: "plimsoll-runs/" + run.ID})
			path := fmt.Sprintf("testdata/terminal-%d.golden.txt", width)
			if *updateTerminal {
				must(t, os.WriteFile(path, []byte(got), 0o644))
			}
			want, err := os.ReadFile(path)
			must(t, err)
			if got != string(want) {
				t.Errorf("the report differs from %s; look at the difference, then go test -update-terminal\n%s", path,
					firstDifference([]byte(got), want))
			}
		})
	}
}

// The report fits the terminal; columns that do not fit are named, and those
// that a reader cannot do without stay.
func TestTerminalFits(t *testing.T) {
	run := sampleRun()
	findings := finding.All(run)
	for _, width := range []int{60, 72, 80, 100, 120, 200} {
		got := terminalText(t, run, findings, TerminalOptions{Width: width})
		for line := range strings.Lines(got) {
			if line = strings.TrimSuffix(line, "\n"); utf8.RuneCountInString(line) > width {
				t.Errorf("at %d columns, a line has %d: %s", width, utf8.RuneCountInString(line), line)
			}
			if line != strings.TrimRight(line, " ") {
				t.Errorf("a line ends in spaces: %q", line)
			}
		}
		for _, head := range []string{"IOPS", "p99", "served", "ratio"} {
			if !regexp.MustCompile(`(?m)^  stack .*\b` + head + `\b`).MatchString(got) {
				t.Errorf("at %d columns, the tables lack %s", width, head)
			}
		}
		if left := strings.Contains(got, "left out to fit the terminal"); left != (width < 100) {
			t.Errorf("at %d columns, left out: %t", width, left)
		}
	}
}

// A number from memory says so in its own row, at any width, and is never
// given as a ratio to a device.
func TestTerminalMarksMemory(t *testing.T) {
	run := sampleRun()
	for _, width := range []int{80, 120} {
		got := terminalText(t, run, sampleFindings(), TerminalOptions{Width: width})
		rows := 0
		for line := range strings.Lines(got) {
			if regexp.MustCompile(`^  (loop-buffered|fuse-overlayfs) +[0-9]`).MatchString(line) {
				rows++
				if !strings.Contains(line, "memory") || strings.Contains(line, "x ") {
					t.Errorf("at %d columns: %s", width, line)
				}
			}
		}
		if rows != 4 {
			t.Errorf("at %d columns, %d rows of stacks that answer from memory, want 4", width, rows)
		}
		_, table, _ := strings.Cut(got, "\nRR: ")
		if at := strings.Index(table, "from memory: "); at < 0 || strings.Index(table, "  loop-buffered") < at ||
			strings.Index(table, "  btrfs ") > at {
			t.Errorf("at %d columns, memory does not stand below the devices:\n%s", width, table)
		}
	}
}

// A mark that not all stacks share is shown at the name of each that has it.
func TestTerminalTagsMarks(t *testing.T) {
	run := sampleRun()
	for i := range run.Stacks {
		if run.Stacks[i].Name == "xfs" {
			run.Stacks[i].Marks = []result.Mark{result.MarkShared}
		}
	}
	got := terminalText(t, run, nil, TerminalOptions{Width: 120})
	for _, want := range []string{"  xfs [D] ", "  ext4 [L] ", "[L] loop device", "[D] shared directory"} {
		if !strings.Contains(got, want) {
			t.Errorf("the report lacks %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "every number here") {
		t.Error("a mark of some stacks is given to all")
	}
}

// Colours change nothing but the colours.
func TestTerminalColor(t *testing.T) {
	run := sampleRun()
	plain := terminalText(t, run, sampleFindings(), TerminalOptions{})
	color := terminalText(t, run, sampleFindings(), TerminalOptions{Color: true})
	if strings.Contains(plain, "\x1b") {
		t.Error("a report without colours has escape sequences")
	}
	if color == plain || regexp.MustCompile("\x1b\\[[0-9;]*m").ReplaceAllString(color, "") != plain {
		t.Error("the coloured report is another one")
	}
}

func TestTerminalUnusualRuns(t *testing.T) {
	for _, u := range unusualRuns() {
		t.Run(u.name, func(t *testing.T) {
			findings := finding.All(u.run)
			for _, width := range []int{0, 1, 40, 80} {
				got := terminalText(t, u.run, findings, TerminalOptions{Width: width, Dir: "a dir"})
				for _, bad := range []string{"NaN", "Inf", "%!", "\x1b", "\t"} {
					if strings.Contains(got, bad) {
						t.Errorf("at %d columns the report holds %q:\n%s", width, bad, got)
					}
				}
				complete := u.run.Status == result.RunComplete
				if width == 80 && complete == strings.Contains(got, "--resume 'a dir'") {
					t.Errorf("status %q and the way to go on do not agree:\n%s", u.run.Status, got)
				}
			}
		})
	}
}

// Text of others cannot steer the terminal.
func TestTerminalIsNotSteered(t *testing.T) {
	run := sampleRun()
	renameStacks(run, func(name string) string { return name + "\x1b[2J\r\n\a" })
	for i := range run.Trials {
		if p := run.Trials[i].Problem; p != nil {
			p.Why += "\x1b]0;owned\a"
		}
	}
	run.Environment.Hostname, run.Experiment.Name, run.Workloads[0].Summary = "\x1b[31mhost", "\x1b[32mname", "\x9b31m"
	got := terminalText(t, run, finding.All(run), TerminalOptions{Width: 200, Dir: "\x1bdir"})
	if i := strings.IndexAny(got, "\x1b\r\a\u009b"); i >= 0 {
		t.Errorf("a control character went through: %q", got[max(0, i-40):i+10])
	}
}

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		text                 string
		width, first, indent int
		want                 string
	}{
		{"", 10, 0, 0, ""},
		{"one two three", 20, 0, 0, "one two three"},
		{"one two three", 7, 0, 0, "one two|three"},
		{"one two three", 7, 4, 0, "one|two|three"},
		{"one two three", 8, 0, 5, "one two|three"},
		{"unbreakable word", 5, 0, 0, "unbreakable|word"},
		{"µµµ µµµ", 7, 0, 0, "µµµ µµµ"},
		{"a\nb  c", 9, 0, 0, "a b c"},
	} {
		if got := strings.Join(wrap(c.text, c.width, c.first, c.indent), "|"); got != c.want {
			t.Errorf("wrap(%q, %d, %d, %d) = %q, want %q", c.text, c.width, c.first, c.indent, got, c.want)
		}
	}
}

func TestTerminalNumbers(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{units.Range(11800, 13178), "11.8 to 13.2k"}, {units.Range(850, 990), "850 to 990"},
		{units.Range(980, 1020), "980 to 1,020"}, {units.Range(780, 12300), "0.780 to 12.3k"}, {units.Range(0, 0), "0 to 0"},
		{units.Range(1.2e6, 1.31e6), "1.20 to 1.31M"},
		{units.Compact(12345), "12,345"}, {units.Compact(99.9), "99.9"}, {units.Compact(99.99), "100"},
		{units.Compact(0.0014), "0.00140"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

// The document is one object of the run and what was found, with percentiles
// and without histograms, and always has a list of findings.
func TestJSON(t *testing.T) {
	run := sampleRun()
	var b bytes.Buffer
	must(t, JSON(&b, run, nil))
	var got struct {
		Run      map[string]any
		Tables   []map[string]any
		Findings []fact.Finding
	}
	d := json.NewDecoder(&b)
	d.DisallowUnknownFields()
	must(t, d.Decode(&got))
	if got.Run["id"] != run.ID || got.Findings == nil || len(got.Findings) != 0 {
		t.Errorf("id %v, findings %v", got.Run["id"], got.Findings)
	}
	b.Reset()
	must(t, JSON(&b, run, sampleFindings()))
	for _, want := range []string{`"p99_9_ns"`, `"title": "Trials measured 1.5 s: no steady state was established"`,
		`"loop(size=2GiB) > xfs > volume"`} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the document lacks %s", want)
		}
	}
	if strings.Contains(b.String(), `"bins"`) {
		t.Error("the document holds histograms")
	}
}

// Columns of a terminal that has ASCII alone line up, where cells have letters that become several.
func TestTableOfASCIILinesUp(t *testing.T) {
	var out bytes.Buffer
	w := bufio.NewWriter(&out)
	term := newTerminal(w, TerminalOptions{ASCII: true})
	term.run = &result.Run{}
	rows := []tableRow{
		{cells: []string{"a", "10", "end"}, paint: strings.Clone},
		{cells: []string{"a long na…", "9 ±1", "end"}, paint: strings.Clone},
	}
	term.table([]column{{head: "stack", left: true}, {head: "µs"}, {head: "last", left: true}}, rows)
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	want := "" +
		"  stack            us  last\n" +
		"  a                10  end\n" +
		"  a long na...  9 +-1  end\n"
	if got := out.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if rows[1].cells[0] != "a long na…" {
		t.Errorf("the caller's cells became %q", rows[1].cells)
	}
}
