// Package ycsb shows that the load generator and the original, site.ycsb:core 0.17.0, ask a database for the same: the
// mix of operations, and how often the hottest records are asked for, as docs/evidence/load-vs-ycsb.csv has them.
// Maven fetches the original, and Counts.java counts what it asks for.
package ycsb

import (
	"bufio"
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/database"
	"plimsoll/internal/workload/ycsb"
)

// work is where the original, and the class of Counts.java, are kept.
const work = "bin/compare-ycsb"

const pom = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>plimsoll</groupId><artifactId>compare-ycsb</artifactId><version>1</version>
  <dependencies><dependency>
    <groupId>site.ycsb</groupId><artifactId>core</artifactId><version>0.17.0</version>
  </dependency></dependencies>
</project>
`

// compared is a workload of which both draw operations.
type compared struct {
	title        string
	distribution ycsb.Distribution
	mix          ycsb.Mix
	records      int64
}

var comparisons = []compared{
	{"A", ycsb.Zipfian, ycsb.Mix{ycsb.Read: 0.5, ycsb.Update: 0.5}, 10_000},
	{"B", ycsb.Zipfian, ycsb.Mix{ycsb.Read: 0.95, ycsb.Update: 0.05}, 10_000},
	{"C", ycsb.Zipfian, ycsb.Mix{ycsb.Read: 1}, 10_000},
	// So many records that inserts hardly add to them: one place of YCSB's formula does not follow them.
	{"D", ycsb.Latest, ycsb.Mix{ycsb.Read: 0.95, ycsb.Insert: 0.05}, 10_000_000},
	{"E", ycsb.Zipfian, ycsb.Mix{ycsb.Scan: 0.95, ycsb.Insert: 0.05}, 10_000},
	{"F", ycsb.Zipfian, ycsb.Mix{ycsb.Read: 0.5, ycsb.ReadModifyWrite: 0.5}, 10_000},
	{"uniform", ycsb.Uniform, ycsb.Mix{ycsb.Read: 1}, 1000},
	{"hotspot", ycsb.Hotspot, ycsb.Mix{ycsb.Read: 1}, 1000},
	{"sequential", ycsb.Sequential, ycsb.Mix{ycsb.Read: 1}, 1000},
}

// Run prints the table.
func Run(args []string) error {
	flags := flag.NewFlagSet("ycsb", flag.ExitOnError)
	operations := flags.Int("operations", 1_000_000, "that each draws")
	_ = flags.Parse(args) // it exits
	err := os.MkdirAll(work, 0o755)
	if err == nil {
		err = os.WriteFile(filepath.Join(work, "pom.xml"), []byte(pom), 0o644)
	}
	if err == nil {
		_, err = output("mvn", "-q", "-B", "-f", filepath.Join(work, "pom.xml"), "dependency:copy-dependencies",
			"-DoutputDirectory=jars")
	}
	if err == nil {
		_, err = output("javac", "-cp", work+"/jars/*", "-d", work, "evidence/ycsb/Counts.java")
	}
	if err != nil {
		return err
	}
	fmt.Printf("| workload | what | YCSB 0.17.0 | Plimsoll | apart |\n|---|---|---|---|---|\n")
	for _, c := range comparisons {
		err := c.compare(*operations)
		if err != nil {
			return fmt.Errorf("%s: %w", c.title, err)
		}
	}
	return nil
}

// output runs a program, and returns what it prints.
func output(program string, args ...string) ([]byte, error) {
	cmd := exec.Command(program, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s", program, err, stderr.Bytes())
	}
	return out, nil
}

// original has YCSB draw operations.
func (c compared) original(operations int) (counts, error) {
	args := []string{"-cp", work + ":" + work + "/jars/*", "Counts", strconv.FormatInt(c.records, 10),
		strconv.Itoa(operations), "requestdistribution=" + string(c.distribution), "maxscanlength=100"}
	for _, kind := range ycsb.Names {
		args = append(args, fmt.Sprintf("%sproportion=%v", strings.ReplaceAll(kind, "-", ""), c.mix[kind]))
	}
	out, err := output("java", args...)
	if err != nil {
		return counts{}, err
	}
	return read(bytes.NewReader(out))
}

// counts are how often each kind of operation and each record was asked for.
type counts struct{ kinds, keys map[string]int }

// compare prints the rows of a workload.
func (c compared) compare(operations int) error {
	theirs, err := c.original(operations)
	if err != nil {
		return err
	}
	ours := c.draw(operations)
	worst := 0.0
	row := func(operation string, theirs, ours int) {
		a, b := float64(theirs)/float64(operations), float64(ours)/float64(operations)
		sigma := math.Sqrt((a*(1-a) + b*(1-b)) / float64(operations))
		z := 0.0
		if sigma > 0 {
			z = (b - a) / sigma
		}
		worst = max(worst, math.Abs(z))
		fmt.Fprintf(os.Stdout, "| %s | %s | %.4f%% | %.4f%% | %+.1f σ |\n", c.title, operation, 100*a, 100*b, z)
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
	fmt.Fprintf(os.Stderr, "%s: at most %.1f sigma apart\n", c.title, worst)
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

// draw has the load generator draw operations.
func (c compared) draw(operations int) counts {
	p := &ycsb.Plan{Dataset: database.Dataset{Records: c.records, Fields: 10, FieldBytes: 100}, Mix: c.mix,
		Distribution: c.distribution, HotSet: 0.2, HotOperations: 0.8, MaxScan: 100, Threads: 1,
		Seed: uint64(time.Now().UnixNano())}
	drawn := counts{map[string]int{}, map[string]int{}}
	inserts := ycsb.NewInserts(c.records)
	o := p.Operations(0, inserts)
	for range operations {
		op := o.Next()
		key := string(database.Key(nil, op.Record))
		if p.Distribution == ycsb.Latest {
			key = fmt.Sprintf("age-%d", inserts.There()-1-op.Record)
		}
		switch kind := ycsb.Names[op.Kind]; kind {
		case ycsb.Insert:
			drawn.kinds[kind]++
			inserts.Done(op.Record, true)
		case ycsb.ReadModifyWrite: // YCSB asks for both
			drawn.kinds[ycsb.Read]++
			drawn.kinds[ycsb.Update]++
			drawn.keys[key]++
		default:
			drawn.kinds[kind]++
			drawn.keys[key]++
		}
	}
	return drawn
}
