package plan

import (
	"slices"
	"strconv"
	"strings"
	"testing"
)

// ladderOf reads a ladder: a rung for each word, INSTANCES:BRINGUPS, with ~ behind it where its mean is not
// precise, and ! where it failed.
func ladderOf(text string, line Line) ladder {
	l := ladder{line: line, fewest: 4, limit: 10, target: 0.03}
	words := strings.Fields(text)
	for i, word := range words {
		r := rung{relative: 0.01, coarse: i%2 == 0 || i == len(words)-1}
		if strings.HasSuffix(word, "~") {
			r.relative = 0.2
		}
		if strings.HasSuffix(word, "!") {
			r.ended = "it fails"
		}
		instances, bringUps, _ := strings.Cut(strings.TrimRight(word, "~!"), ":")
		r.instances, _ = strconv.Atoi(instances)
		r.bringUps, _ = strconv.Atoi(bringUps)
		l.rungs = append(l.rungs, r)
	}
	return l
}

func TestWhatALadderMeasuresNext(t *testing.T) {
	lineAt := func(instances, low, high int) Line { return Line{Instances: instances, Low: low, High: high} }
	for _, c := range []struct {
		name, ladder string
		line         Line
		next         []int // instances
	}{
		{"at first a coarse set", "1:0~ 2:0~ 3:0~ 4:0~ 5:0~ 6:0~ 7:0~ 8:0~", Line{}, []int{1, 3, 5, 7, 8}},
		{"then those next to the line, too", "1:1~ 2:0~ 3:1~ 4:0~ 5:1~ 6:0~ 7:1~ 8:1~", lineAt(5, 0, 0), []int{1, 3, 4, 5, 6, 7, 8}},
		{"the line is at the end", "1:1~ 2:0~ 3:1~ 4:0~ 5:1~ 6:0~ 7:1~ 8:1~", lineAt(8, 0, 0), []int{1, 3, 5, 7, 8}},
		{"what came later catches up, beside the line", "1:4 2:0~ 3:4 4:3 5:4 6:3 7:4 8:4", lineAt(5, 0, 0), []int{4, 5, 6}},
		{"an open line", "1:4 2:0~ 3:4~ 4:4 5:4 6:4 7:4 8:4", lineAt(5, 4, 5), []int{4, 5, 6}},
		{"a wide interval", "1:4 2:0~ 3:4~ 4:4 5:4 6:4 7:4 8:4", lineAt(5, 3, 5), []int{3, 4, 5, 6}},
		{"a decided line, and a mean that is not known", "1:4~ 2:0~ 3:4~ 4:4~ 5:4 6:4 7:4 8:4", lineAt(5, 5, 5), []int{4}},
		{"the valley's end", "1:4~ 2:0~ 3:4~ 4:4 5:4 6:4 7:4~ 8:4~", Line{Instances: 5, Low: 5, High: 5, Valley: 8}, []int{8}},
		{"all is known", "1:4~ 2:0~ 3:4~ 4:4 5:4 6:4 7:4~ 8:4", lineAt(5, 5, 5), nil},
		{"what fails gets no more", "1:4 2:0~ 3:4 4:4 5:4 6:2! 7:4 8:4", lineAt(5, 4, 5), []int{4, 5}},
		{"no more than the most", "1:4 2:0~ 3:4 4:10 5:10 6:10 7:4 8:4", lineAt(5, 4, 5), nil},
		{"no line at all", "1:4 2:0~ 3:4 4:0~ 5:4 6:0~ 7:4 8:4", Line{}, nil},
		{"the number that shows most", "1:4 2:0~ 4:4 8:0~ 16:4", Line{Instances: 16, Low: 16, High: 16, Next: 2}, []int{2, 8, 16}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := ladderOf(c.ladder, c.line)
			var next []int
			for _, i := range l.next() {
				next = append(next, l.rungs[i].instances)
			}
			if !slices.Equal(next, c.next) {
				t.Errorf("%v, not %v", next, c.next)
			}
			for i := range l.rungs {
				reason, why := l.reason(i)
				if reason == "" || why == "" {
					t.Errorf("no reason for %+v", l.rungs[i])
				}
			}
		})
	}
}
