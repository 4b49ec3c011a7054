// Pictures draws what the documentation shows of real runs, as SVG on standard output:
//
//	go run ./scripts/pictures stack RUN       the stack that the run's verdict names, layer by layer
//	plimsoll show RUN | go run ./scripts/pictures verdict
//	go run ./scripts/pictures timeline RUN    rounds, setups and trials
//	go run ./scripts/pictures keep RUN        no picture: what the pages' test reads of the run, compressed
//	go run ./scripts/pictures figure RUN      a page with the first figure of the run's report alone, for a browser
//
// scripts/pictures.sh makes all of them.
package main

import (
	"errors"
	"fmt"
	"html"
	"io"
	"os"
	"path/filepath"
	"strings"

	"plimsoll/internal/result"
	"plimsoll/internal/result/store"
)

func main() {
	text, err := picture(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "pictures:", err)
		os.Exit(1)
	}
	fmt.Print(text)
}

func picture(args []string) (string, error) {
	if len(args) == 1 && args[0] == "verdict" {
		shown, err := io.ReadAll(os.Stdin)
		if err != nil {
			return "", err
		}
		return drawVerdict(string(shown))
	}
	if len(args) != 2 {
		return "", errors.New("which one, and of which run?")
	}
	if args[0] == "keep" {
		var packed strings.Builder
		err := keep(&packed, args[1])
		return packed.String(), err
	}
	if args[0] == "figure" {
		page, err := os.ReadFile(filepath.Join(args[1], "report.html"))
		if err != nil {
			return "", err
		}
		return firstFigure(string(page))
	}
	run, err := store.Read(args[1])
	if err != nil {
		return "", err
	}
	switch args[0] {
	case "stack":
		return drawStack(run)
	case "timeline":
		return drawTimeline(run)
	default:
		return "", fmt.Errorf("no picture is called %s", args[0])
	}
}

const width = 560 // narrow enough for a phone

// canvas is an SVG under way.
type canvas struct {
	strings.Builder
}

const style = `
text{font:15px system-ui,sans-serif;fill:#0f172a}
.m{font:15px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;white-space:pre}
.h{font-weight:600}
.n{fill:#475569}
.r{fill:#c2410c;white-space:pre}
`

// finish returns the SVG of a height, with what it shows for those who do not see it.
func (c *canvas) finish(title, description string, height int) string {
	return fmt.Sprintf(
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" role="img" aria-labelledby="t d">
<title id="t">%s</title>
<desc id="d">%s</desc>
<style>%s</style>
<rect width="100%%" height="100%%" fill="#ffffff"/>
%s</svg>
`,
		width,
		height,
		width,
		html.EscapeString(title),
		html.EscapeString(description),
		style,
		c.String(),
	)
}

func (c *canvas) text(x, y int, class, text string) {
	fmt.Fprintf(c, `<text x="%d" y="%d" class="%s">%s</text>`+"\n", x, y, class, html.EscapeString(text))
}

func (c *canvas) box(x, y, w, h float64, fill, stroke string) {
	fmt.Fprintf(c, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="%.0f" fill="%s" stroke="%s"/>`+"\n",
		x, y, w, h, min(6, w/4), fill, stroke)
}

// drawStack draws a stack of three steps, the last of the run that has a view.
func drawStack(run *result.Run) (string, error) {
	line := ""
	for _, s := range run.Stacks {
		if strings.Count(s.Line, " > ") == 2 && strings.HasSuffix(s.Line, " > volume") {
			line = s.Line
		}
	}
	if line == "" {
		return "", errors.New("the run has no stack of a source, a file system and a data volume")
	}
	steps := strings.Split(line, " > ")
	layers := []struct{ fill, stroke, role, does, caption string }{
		{"#fff7ed", "#c2410c", "source: what holds the bytes", "a file, attached as a loop device",
			"or a drive, a remote drive, a directory"},
		{"#ecfdf5", "#047857", "layer: what is put on it", "mkfs and mount, with the options you name",
			"or ext4, btrfs, a stripe, a thin pool"},
		{"#eff6ff", "#1d4ed8", "view: what the workload sees", "a data volume in a container",
			"or a writable layer (overlay2), the host"},
	}
	var c canvas
	c.text(20, 34, "n", "One line of an experiment names a stack, the device first:")
	left := 20.0
	for i, step := range steps {
		w := float64(len(step))*9.1 + 20
		c.box(left, 50, w, 34, layers[i].fill, layers[i].stroke)
		c.text(int(left)+10, 72, "m h", step)
		left += w
		if i < len(steps)-1 {
			c.text(int(left)+8, 72, "m", ">")
			left += 25
		}
	}
	c.text(20, 118, "n", "Set up, it stands the other way round: the load is on top.")
	c.box(150, 134, width-300, 38, "#f1f5f9", "#64748b")
	c.text(190, 158, "h", "workload: fio, or a server")
	const height = 92
	for i := range layers {
		l, y := layers[len(layers)-1-i], 186+i*(height+10)
		c.box(20, float64(y), width-40, height, l.fill, l.stroke)
		c.text(36, y+30, "m h", steps[len(steps)-1-i])
		c.text(196, y+30, "h", l.role)
		c.text(196, y+54, "", l.does)
		c.text(196, y+76, "n", l.caption)
	}
	bottom := 186 + 3*(height+10)
	c.text(20, bottom+24, "n", "The device check reads the counters of the disk below,")
	c.text(20, bottom+44, "n", "and compares them with what the load on top reports.")
	return c.finish(
		"A storage stack: "+line,
		"The line "+line+" is a stack from the bottom up: source, "+
			"file system, view. The workload runs on top.",
		bottom+62,
	), nil
}

// remarks say of the parts of a verdict what they are, by how their first line begins.
var remarks = []struct{ begins, says string }{
	{"Sure:", "sure: the evidence decides"},
	{"Likely:", "likely: the best choice so far, with a reason for doubt below"},
	{"Too early", "too early: no answer yet. More time may give one"},
	{"- Use:", "what to take, and what is known to do as well"},
	{"- Avoid:", "what is slower for sure; and what only looks fast, since a cache answered"},
	{"- Check next:", "the command that would show more, and how long it takes"},
	{"Only likely,", "why not sure: what could not be distinguished, and what else used the host"},
	{"The host was", "what else used the host meanwhile"},
}

// drawVerdict draws the verdict that plimsoll show printed, with a remark at each part.
func drawVerdict(shown string) (string, error) {
	_, verdict, found := strings.Cut(shown, "\nVerdict\n")
	if !found {
		return "", errors.New("there is no verdict")
	}
	verdict, _, _ = strings.Cut(verdict, "\n\n")
	const columns = 54
	var c canvas
	y := 34
	c.text(20, y, "m h", "Verdict")
	remark, parts := "", 0
	flush := func() {
		if remark == "" {
			return
		}
		mark := "▲ "
		for _, row := range wrap(remark, columns) {
			y += 22
			c.text(50, y, "r", mark+row)
			mark = "   "
		}
		y += 8
	}
	for _, line := range items(verdict) {
		for _, r := range remarks {
			if strings.HasPrefix(line, r.begins) {
				flush()
				remark = r.says
				parts++
			}
		}
		indent, room := 30, columns
		if strings.HasPrefix(line, "plimsoll ") || strings.HasPrefix(line, "sudo ") {
			indent, room = 50, columns-2
		}
		for _, row := range wrap(line, room) {
			y += 22
			c.text(indent, y, "m", row)
		}
	}
	flush()
	if parts < 3 {
		return "", fmt.Errorf("only %d parts of the verdict are known", parts)
	}
	return c.finish(
		"A verdict, part by part",
		"The verdict of a run. A remark under each part says what it is: how sure it is, "+
			"what to use, what to avoid, what to check next, and why it is not sure.",
		y+20,
	), nil
}

// items returns the sentences and points of a verdict, each in one line.
func items(verdict string) []string {
	var out []string
	for line := range strings.Lines(verdict) {
		text := strings.TrimSpace(line)
		begins := len(out) == 0 || strings.HasPrefix(text, "- ") || strings.HasPrefix(text, "plimsoll ") ||
			strings.HasPrefix(text, "sudo ")
		for _, r := range remarks {
			begins = begins || strings.HasPrefix(text, r.begins)
		}
		if begins {
			out = append(out, text)
		} else {
			out[len(out)-1] += " " + text
		}
	}
	return out
}

func wrap(text string, columns int) []string {
	var rows []string
	for _, word := range strings.Fields(text) {
		last := len(rows) - 1
		if last >= 0 && len(rows[last])+1+len(word) <= columns {
			rows[last] += " " + word
		} else {
			rows = append(rows, word)
		}
	}
	return rows
}

// drawTimeline draws when each trial of a run ran: the whole run, and its second round enlarged.
func drawTimeline(run *result.Run) (string, error) {
	var c canvas
	last := run.Trials[len(run.Trials)-1]
	if last.Block < 2 {
		return "", errors.New("the run has only one round")
	}
	c.text(20, 30, "h", fmt.Sprintf("The whole run: %d trials in %d rounds", len(run.Trials), last.Block))
	y := drawRounds(&c, run, 44, 0)
	c.text(20, y+34, "h", "Round 2: each stack is set up anew")
	y = drawRounds(&c, run, y+48, 2)
	c.box(20, float64(y+12), 14, 14, "#dbeafe", "#93c5fd")
	c.text(42, y+24, "n", "setup of a stack, until its last trial ends")
	c.box(20, float64(y+36), 14, 14, "#1d4ed8", "#1d4ed8")
	c.box(40, float64(y+36), 14, 14, "#c2410c", "#c2410c")
	c.text(62, y+48, "n", "trials of "+mixes(run)[0]+", and of the other workloads")
	return c.finish(
		"The timeline of a run",
		"Rows are stacks, time runs to the right. In each round every stack is set up once, in "+
			"random order, and runs its trials.",
		y+64,
	), nil
}

func mixes(run *result.Run) (names []string) {
	seen := map[string]bool{}
	for _, t := range run.Trials {
		if !seen[t.Mix] {
			seen[t.Mix] = true
			names = append(names, t.Mix)
		}
	}
	return names
}

// drawRounds draws the trials of one round, or of all for 0, and returns where it ends.
func drawRounds(c *canvas, run *result.Run, top, round int) int {
	const row, left, right = 18, 144, width - 10
	var trials []result.Trial
	for _, t := range run.Trials {
		if (round == 0 || t.Block == round) && !t.Started.IsZero() {
			trials = append(trials, t)
		}
	}
	begin := trials[0].Started
	end := trials[len(trials)-1]
	total := end.Started.Sub(begin).Seconds() + end.ElapsedSeconds
	x := func(seconds float64) float64 { return left + seconds/total*(right-left) }
	rows := map[string]int{}
	for i, s := range run.Stacks {
		rows[s.Name] = i
		c.text(20, top+(i+1)*row-4, "n", s.Name)
	}
	bottom := top + len(run.Stacks)*row
	first := mixes(run)[0]
	setup := map[[2]string]float64{} // where the setup of a stack begins, by round and stack
	for _, t := range trials {
		at := t.Started.Sub(begin).Seconds()
		key := [2]string{fmt.Sprint(t.Block), t.Stack}
		if _, has := setup[key]; !has {
			setup[key] = at
		}
	}
	drawn := map[[2]string]bool{}
	for i := len(trials) - 1; i >= 0; i-- { // the last trial of each setup first: its end is the setup's
		t := trials[i]
		key := [2]string{fmt.Sprint(t.Block), t.Stack}
		y := float64(top + rows[t.Stack]*row + 2)
		ends := t.Started.Sub(begin).Seconds() + t.ElapsedSeconds
		if !drawn[key] {
			drawn[key] = true
			c.box(x(setup[key]), y, x(ends)-x(setup[key]), row-4, "#dbeafe", "#93c5fd")
		}
	}
	for _, t := range trials {
		measured := t.Measured()
		if measured == nil {
			continue
		}
		color := "#c2410c"
		if t.Mix == first {
			color = "#1d4ed8"
		}
		ends := t.Started.Sub(begin).Seconds() + t.ElapsedSeconds
		begins := max(t.Started.Sub(begin).Seconds(), ends-measured.Seconds)
		c.box(x(begins), float64(top+rows[t.Stack]*row+4), max(1, x(ends)-x(begins)-1), row-8, color, "none")
	}
	for i, t := range trials {
		if i == 0 || t.Block != trials[i-1].Block {
			at := x(t.Started.Sub(begin).Seconds())
			fmt.Fprintf(c, `<path d="M%.1f %dV%d" stroke="#94a3b8"/>`+"\n", at, top, bottom+6)
			c.text(int(at)+4, bottom+18, "n", fmt.Sprintf("round %d", t.Block))
		}
	}
	fmt.Fprintf(c, `<text x="%d" y="%d" class="n" text-anchor="end">%.0f seconds</text>`+"\n", right, top-14, total)
	return bottom + 22
}

// firstFigure returns the page of a report with its first figure alone.
func firstFigure(page string) (string, error) {
	head, rest, found := strings.Cut(page, "</defs></svg>") // the patterns that figures are filled with
	_, rest, has := strings.Cut(rest, `<section class="figures" aria-labelledby="figures-1">`)
	figure, _, ends := strings.Cut(rest, "</figure>")
	if !found || !has || !ends {
		return "", errors.New("the report has no figures")
	}
	return head + `</defs></svg><main style="padding-top:0"><section class="figures" style="margin-top:0">` + figure +
		"</figure></div></section></main></body></html>\n", nil
}
