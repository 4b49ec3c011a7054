package runtest

import (
	"fmt"
	"strings"
)

// Pick takes the first or the second of each {A|B}.
func Pick(text string, second bool) string {
	var b strings.Builder
	for part := range strings.SplitSeq(text, "{") {
		choice, rest, ok := strings.Cut(part, "}")
		if !ok {
			b.WriteString(part)
			continue
		}
		first, other, _ := strings.Cut(choice, "|")
		if second {
			first = other
		}
		b.WriteString(first + rest)
	}
	return b.String()
}

// Scatter makes trials of each line's one number.
func Scatter(data string, trials int) string {
	var b strings.Builder
	for text := range strings.SplitSeq(data, "\n") {
		words := strings.Fields(text)
		var center float64
		_, _ = fmt.Sscan(words[2], &center)
		fmt.Fprintf(&b, "%s %s", words[0], words[1])
		for i := range trials {
			fmt.Fprintf(&b, " %g", center*(1+0.002*float64(i)-0.005))
		}
		b.WriteString(" " + strings.Join(words[3:], " ") + "\n")
	}
	return b.String()
}
