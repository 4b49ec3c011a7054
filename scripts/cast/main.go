// Cast draws a recorded terminal session as an animated SVG:
//
//	stty cols 100; script -q --log-out quick.log -c 'plimsoll run quick'
//	go run ./scripts/cast '$ sudo plimsoll run quick' <quick.log >docs/pictures/quick.svg
//
// Progress is shown by a few of its lines, in one place; then comes what the command printed, as far as -lines goes.
// Without animation, as on paper, the last state is shown.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"html"
	"io"
	"os"
	"regexp"
	"strings"
)

func main() {
	lines := flag.Int("lines", 30, "lines of the output to show")
	flag.Parse()
	log, err := io.ReadAll(os.Stdin)
	if err != nil || flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "cast: go run ./scripts/cast COMMAND <LOG >SVG:", err)
		os.Exit(2)
	}
	fmt.Print(draw(flag.Arg(0), read(log), *lines))
}

// session is what a terminal showed.
type session struct {
	output   []string // its lines
	progress []string // states of the one line that was written again and again
	line     int      // the line of output that replaces the progress in the end
}

// read takes the log of script apart. A line that a carriage return begins anew is progress.
func read(log []byte) session {
	var s session
	text := strings.ReplaceAll(string(bytes.ToValidUTF8(log, nil)), "\r\n", "\n")
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "Script started") || strings.HasPrefix(line, "Script done") {
			continue
		}
		states := strings.Split(line, "\r")
		for _, state := range states[:len(states)-1] {
			state = strings.TrimRight(cursor.ReplaceAllString(state, ""), " ")
			if state != "" {
				s.progress, s.line = append(s.progress, state), len(s.output)
			}
		}
		last := cursor.ReplaceAllString(states[len(states)-1], "")
		if len(s.output) > 0 || strings.TrimSpace(last) != "" {
			s.output = append(s.output, wrap(last)...)
		}
	}
	return s
}

// wrap breaks a line where the terminal does. Lines with colors are shorter.
func wrap(line string) (rows []string) {
	runes := []rune(line)
	for len(runes) > columns && !strings.Contains(line, "\x1b") {
		rows = append(rows, string(runes[:columns]))
		runes = runes[columns:]
	}
	return append(rows, string(runes))
}

var (
	cursor = regexp.MustCompile(`\x1b\[\??[0-9;]*[A-LN-Za-ln-z]`) // all sequences but those that color
	color  = regexp.MustCompile(`\x1b\[([0-9;]*)m`)
)

const (
	rowHeight, width = 19, 880
	columns          = 100
	states           = 8 // of the progress that are shown
)

// draw returns the picture of a session: each row appears when its time has come.
func draw(command string, s session, lines int) string {
	output := s.output[:min(lines, len(s.output))]
	height := (len(output)+1)*rowHeight + 44
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" role="img" aria-label="%s">
<style>
text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;white-space:pre;fill:#e2e8f0}
.b{font-weight:700;fill:#fff}.d{fill:#94a3b8}.y{fill:#fbbf24}.g{fill:#4ade80}
@media not (prefers-reduced-motion:reduce){@media screen{
.r{animation:show 1ms both}.p{animation:pass 0.5s}
@keyframes show{from{visibility:hidden}to{visibility:visible}}
@keyframes pass{from,to{visibility:visible}}
}}
.p{visibility:hidden}
</style>
<rect width="100%%" height="100%%" rx="8" fill="#0f172a"/>
<circle cx="18" cy="16" r="5" fill="#f87171"/>
<circle cx="36" cy="16" r="5" fill="#fbbf24"/>
<circle cx="54" cy="16" r="5" fill="#4ade80"/>
`, width, height, width, html.EscapeString(strings.TrimPrefix(command, "$ ")))
	row := func(n int, class, style, text string) {
		fmt.Fprintf(&b, `<text x="12" y="%d" class="%s" style="%s">%s</text>`+"\n",
			44+n*rowHeight, class, style, spans(text))
	}
	row(0, "", "", "\x1b[32m"+command+"\x1b[0m")
	now := 1.0
	for i, line := range output {
		if i == s.line {
			for n := range min(states, len(s.progress)) {
				row(i+1, "p", fmt.Sprintf("animation-delay:%.1fs", now), s.progress[n*(len(s.progress)-1)/(states-1)])
				now += 0.5
			}
		}
		row(i+1, "r", fmt.Sprintf("animation-delay:%.1fs", now), line)
		now += 0.1
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// spans returns a line with its colors as spans.
func spans(line string) string {
	classes := map[string]string{"1": "b", "2": "d", "33": "y", "32": "g"}
	var b strings.Builder
	class := ""
	write := func(text string) {
		switch {
		case text == "":
		case class == "":
			b.WriteString(html.EscapeString(text))
		default:
			fmt.Fprintf(&b, `<tspan class="%s">%s</tspan>`, class, html.EscapeString(text))
		}
	}
	for {
		match := color.FindStringSubmatchIndex(line)
		if match == nil {
			write(line)
			return b.String()
		}
		write(line[:match[0]])
		class = classes[line[match[2]:match[3]]]
		line = line[match[1]:]
	}
}
