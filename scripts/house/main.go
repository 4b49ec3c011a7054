// Command house prints how large the packages are, without their tests: Go lines, files,
// and the longest function. Of two revisions it prints both side by side.
//
//	go run ./scripts/house [-top N] [REVISION [REVISION]]
//
// Without a revision it reads the files of this tree as they are. -top prints only the
// packages of which most changed, or without a second revision the largest.
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"text/tabwriter"
)

func main() {
	top := flag.Int("top", 0, "print only so many packages, and the totals")
	flag.Parse()
	if err := run(flag.Args(), *top); err != nil {
		fmt.Fprintln(os.Stderr, "house:", err)
		os.Exit(1)
	}
}

func run(revisions []string, top int) error {
	if len(revisions) > 2 {
		return fmt.Errorf("two revisions can be compared, not %d", len(revisions))
	}
	if len(revisions) == 0 {
		revisions = []string{""} // the tree as it is
	}
	var houses []house
	for _, revision := range revisions {
		files, err := sources(revision)
		if err != nil {
			return err
		}
		h, err := measure(files)
		if err != nil {
			return err
		}
		houses = append(houses, h)
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	if len(houses) == 1 {
		writeOne(w, houses[0], top)
	} else {
		writeTwo(w, revisions, houses[0], houses[1], top)
	}
	return w.Flush()
}

// writeOne prints one house, the largest packages first.
func writeOne(w *tabwriter.Writer, h house, top int) {
	fmt.Fprintln(w, "package\tlines\tfiles\tlongest function\t")
	names := h.names()
	slices.SortStableFunc(names, func(a, b string) int { return h[b].lines - h[a].lines })
	for _, name := range first(names, top) {
		p := h[name]
		fmt.Fprintf(w, "%s\t%d\t%d\t%s\t\n", name, p.lines, p.files, p.longest)
	}
	for _, part := range parts {
		p := h.total(part)
		fmt.Fprintf(w, "all of %s\t%d\t%d\t%s\t\n", part, p.lines, p.files, p.longest)
	}
}

// writeTwo prints two houses side by side, the packages that changed most first.
func writeTwo(w *tabwriter.Writer, revisions []string, before, after house, top int) {
	fmt.Fprintf(w, "package\tlines %s\t%s\tchange\tfiles\t\tlongest function %[1]s\t%[2]s\t\n", revisions[0], revisions[1])
	names := append(before.names(), after.names()...)
	slices.Sort(names)
	names = slices.Compact(names)
	change := func(name string) int { return after[name].lines - before[name].lines }
	slices.SortStableFunc(names, func(a, b string) int { return max(change(b), -change(b)) - max(change(a), -change(a)) })
	row := func(name string, b, a size) {
		fmt.Fprintf(w, "%s\t%d\t%d\t%+d\t%d\t%d\t%s\t%s\t\n",
			name, b.lines, a.lines, a.lines-b.lines, b.files, a.files, b.longest, a.longest)
	}
	for _, name := range first(names, top) {
		row(name, before[name], after[name])
	}
	for _, part := range parts {
		row("all of "+part, before.total(part), after.total(part))
	}
}

// first returns the first n names; all of them when n is 0.
func first(names []string, n int) []string {
	if n > 0 && n < len(names) {
		return names[:n]
	}
	return names
}
