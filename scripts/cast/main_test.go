package main

import (
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
	s := read([]byte("Script started on 2026-11-28\nbegins\r\n1/2 |#  |  \x1b[0K\r2/2 |###|\x1b[0K\r\x1b[K" +
		"\x1b[1mVerdict\x1b[0m\r\n\r\nuse a < b\r\n"))
	if want := []string{"begins", "\x1b[1mVerdict\x1b[0m", "", "use a < b"}; !slices.Equal(s.output, want) {
		t.Errorf("output is %q", s.output)
	}
	if want := []string{"1/2 |#  |", "2/2 |###|"}; !slices.Equal(s.progress, want) || s.line != 1 {
		t.Errorf("progress is %q, at %d", s.progress, s.line)
	}
	if rows := wrap(strings.Repeat("x", 250)); len(rows) != 3 || len(rows[2]) != 50 {
		t.Errorf("wrapped are %q", rows)
	}
}

// A picture is well-formed, and has each row of the output as the reader is to see it.
func TestDraw(t *testing.T) {
	output := []string{"\x1b[1mVerdict\x1b[0m", "use a < b", "left out"}
	svg := draw("$ plimsoll run quick", session{output: output, progress: []string{"1/2"}}, 2)
	for _, want := range []string{`<tspan class="b">Verdict</tspan>`, ">use a &lt; b<", ">1/2<", "$ plimsoll run quick"} {
		if !strings.Contains(svg, want) {
			t.Errorf("it lacks %s", want)
		}
	}
	if strings.Contains(svg, "left out") {
		t.Error("it has more lines than were asked for")
	}
	d := xml.NewDecoder(strings.NewReader(svg))
	for {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
