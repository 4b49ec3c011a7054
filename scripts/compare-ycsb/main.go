// Command compare-ycsb prints, for a workload, what our core asks a database for
// beside what YCSB's own does: the mix of operations, and how often the hottest
// records are asked for. It reads what Counts.java printed; compare-ycsb.sh runs both.
package main

import (
	"bufio"
	"cmp"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/database"
	"plimsoll/internal/workload/ycsb"
)

func main() {
	title := flag.String("title", "", "of the workload")
	distribution := flag.String("distribution", "uniform", "of the records")
	mix := flag.String("mix", "read=1", "of the operations: read=0.5,update=0.5")
	records := flag.Int64("records", 1000, "that there are")
	operations := flag.Int("operations", 1000000, "to draw")
	flag.Parse()
	if err := compare(*title, *distribution, *mix, *records, *operations); err != nil {
		fmt.Fprintln(os.Stderr, "compare-ycsb: "+err.Error())
		os.Exit(1)
	}
}

// counts are how often each kind of operation and each record was asked for.
type counts struct{ kinds, keys map[string]int }

func compare(title, distribution, mix string, records int64, operations int) error {
	theirs, err := read(os.Stdin)
	if err != nil {
		return err
	}
	ours, err := draw(distribution, mix, records, operations)
	if err != nil {
		return err
	}
	worst := 0.0
	row := func(what string, theirs, ours int) {
		a, b := float64(theirs)/float64(operations), float64(ours)/float64(operations)
		sigma := math.Sqrt((a*(1-a) + b*(1-b)) / float64(operations))
		z := 0.0
		if sigma > 0 {
			z = (b - a) / sigma
		}
		worst = max(worst, math.Abs(z))
		fmt.Fprintf(os.Stdout, "| %s | %s | %.4f%% | %.4f%% | %+.1f σ |\n", title, what, 100*a, 100*b, z)
	}
	for _, kind := range ycsb.Names {
		if theirs.kinds[kind]+ours.kinds[kind] > 0 {
			row(kind, theirs.kinds[kind], ours.kinds[kind])
		}
	}
	hottest := make([]string, 0, len(theirs.keys))
	for key := range theirs.keys {
		hottest = append(hottest, key)
	}
	slices.SortFunc(hottest, func(a, b string) int {
		return cmp.Or(-cmp.Compare(theirs.keys[a], theirs.keys[b]), cmp.Compare(a, b))
	})
	for _, key := range hottest[:min(5, len(hottest))] {
		row(key, theirs.keys[key], ours.keys[key])
	}
	share := func(c counts) (top int) {
		n := make([]int, 0, len(c.keys))
		for _, count := range c.keys {
			n = append(n, count)
		}
		slices.Sort(n)
		slices.Reverse(n)
		for _, count := range n[:min(100, len(n))] {
			top += count
		}
		return top
	}
	row("the 100 hottest", share(theirs), share(ours))
	fmt.Fprintf(os.Stderr, "%s: at most %.1f sigma apart\n", title, worst)
	return nil
}

// read reads what Counts.java printed.
func read(r io.Reader) (counts, error) {
	c := counts{map[string]int{}, map[string]int{}}
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if len(words) != 3 {
			return c, fmt.Errorf("the program Counts.java printed %q", lines.Text())
		}
		n, err := strconv.Atoi(words[2])
		if err != nil {
			return c, err
		}
		switch words[0] {
		case "kind":
			c.kinds[words[1]] = n
		case "key":
			c.keys[words[1]] = n
		}
	}
	if len(c.kinds) == 0 {
		return c, fmt.Errorf("the program Counts.java printed nothing")
	}
	return c, lines.Err()
}

// draw draws operations from our core.
func draw(distribution, mix string, records int64, operations int) (counts, error) {
	p := &ycsb.Plan{Dataset: database.Dataset{Records: records, Fields: 10, FieldBytes: 100}, Mix: ycsb.Mix{},
		Distribution: ycsb.Distribution(distribution), HotSet: 0.2, HotOperations: 0.8, MaxScan: 100, Threads: 1,
		Seed: uint64(time.Now().UnixNano())}
	for part := range strings.SplitSeq(mix, ",") {
		name, share, _ := strings.Cut(part, "=")
		x, err := strconv.ParseFloat(share, 64)
		if err != nil {
			return counts{}, err
		}
		p.Mix[name] = x
	}
	c := counts{map[string]int{}, map[string]int{}}
	inserts := ycsb.NewInserts(records)
	o := p.Operations(0, inserts)
	for range operations {
		op := o.Next()
		key := string(database.Key(nil, op.Record))
		if p.Distribution == ycsb.Latest {
			key = fmt.Sprintf("age-%d", inserts.There()-1-op.Record)
		}
		switch kind := ycsb.Names[op.Kind]; kind {
		case ycsb.Insert:
			c.kinds[kind]++
			inserts.Done(op.Record, true)
		case ycsb.ReadModifyWrite: // YCSB asks for both
			c.kinds[ycsb.Read]++
			c.kinds[ycsb.Update]++
			c.keys[key]++
		default:
			c.kinds[kind]++
			c.keys[key]++
		}
	}
	return c, nil
}
