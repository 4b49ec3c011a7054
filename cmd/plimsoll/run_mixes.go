package main

import (
	"fmt"
	"strings"

	"plimsoll/internal/experiment"
	"plimsoll/internal/result"
)

// writeMixes describes the mixes, and the scaled-down host.
func writeMixes(out *strings.Builder, e *experiment.Experiment) {
	if e.Host == nil && e.HostAsked.None {
		out.WriteString("\nEverything runs on the whole host: no scaled-down host, and no limits.\n")
	}
	if e.Host != nil {
		fmt.Fprintf(out, "\nEverything runs in a scaled-down host, a smaller host made of this one: %s.\n",
			describeHost(*e.Host))
	}
	if !e.Mixed() {
		return
	}
	out.WriteString("\nWould run at the same time:\n")
	for _, m := range e.Mixes {
		fmt.Fprintf(out, "  %s: %s\n", m.Name, m)
		if m.Host != nil && e.Host == nil {
			fmt.Fprintf(out, "      in a scaled-down host of %s\n", describeHost(*m.Host))
		}
	}
}

func describeHost(l result.Limits) string {
	text := l.String()
	return strings.Replace(text, " of memory", " of memory with the page cache", 1)
}
