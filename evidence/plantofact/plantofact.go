// Package plantofact holds a plan against what is then measured. Two small hosts, scaled-down hosts of this one, of
// which one has three times the memory of the other, are to carry six key-value servers of two kinds. A few runs
// are fitted, the fleet is planned, what is planned is tried and fitted, too, until the plan stays; and what the
// plan, round robin, first fit and the worst placement would have on each host is measured in random order, five
// setups each. It takes some 20 minutes.
package plantofact

import (
	"encoding/csv"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

const (
	readers, writers = 4, 2 // servers that only read, and that update half of the time
	bringUps         = 5
	mostRounds       = 5
	cpus, reads      = 1.2, 1200
)

// hosts are the memories of the two.
var hosts = map[string]string{"big": "900MiB", "small": "300MiB"}

const head = `question: Does a plan come true?
trials: 1
runtime: 4s
ramp: 2s
stacks:
  disk: loop(size=8GiB, direct-io=on) > xfs > volume
workloads:
`

// load is how many readers and writers stand on a host.
type load struct{ c, a int }

func (l load) mix() string {
	var parts []string
	for _, p := range []struct {
		name string
		n    int
	}{{"C", l.c}, {"A", l.a}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%s: %d", p.name, p.n))
		}
	}
	return strings.Join(parts, ", ")
}

func (l load) name() string { return fmt.Sprintf("c%d-a%d", l.c, l.a) }

// rest is what stands on the other host.
func (l load) rest() load { return load{readers - l.c, writers - l.a} }

type bench struct{ plimsoll, dir string }

// run runs plimsoll, and returns what it prints.
func (b bench) run(args ...string) ([]byte, error) {
	cmd := exec.Command(b.plimsoll, args...)
	cmd.Dir, cmd.Stderr = b.dir, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return out, fmt.Errorf("plimsoll %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return out, nil
}

func (b bench) write(name, text string) error {
	return os.WriteFile(filepath.Join(b.dir, name), []byte(text), 0o644)
}

// measure runs an experiment of those loads on a host, so many setups of each, into a directory.
func (b bench) measure(name, host string, loads []load, repeat int) error {
	if _, err := os.Stat(filepath.Join(b.dir, name)); err == nil {
		return nil // of a run before
	}
	text := fmt.Sprintf("name: %s\n%s", name, head)
	for _, class := range []struct {
		name string
		used func(load) bool
	}{{"C", func(l load) bool { return l.c > 0 }}, {"A", func(l load) bool { return l.a > 0 }}} {
		if slices.ContainsFunc(loads, class.used) {
			text += fmt.Sprintf("  %s: {ycsb: {workload: %[1]s, records: 200000, threads: 8, think: 5ms, distribution: "+
				"uniform}}\n",
				class.name)
		}
	}
	text += fmt.Sprintf("repeat: %d\nhost: {cpus: %v, memory: %s, read-iops: %d}\nmixes:\n", repeat, cpus, hosts[host],
		reads)
	for _, l := range loads {
		text += fmt.Sprintf("  %s: {%s}\n", l.name(), l.mix())
	}
	if err := b.write(name+".yaml", text); err != nil {
		return err
	}
	_, err := b.run("run", name+".yaml", "-o", name)
	return err
}

// predicted is what a load would do on a host; 0 for one that does not fit.
func (b bench) predicted(host string, l load) float64 {
	if l.mix() == "" {
		return 0
	}
	out, err := b.run("predict", "model.json", "--mix", l.mix(), "--memory", hosts[host], "--cpus", fmt.Sprint(cpus),
		"--read-iops",
		fmt.Sprint(reads), "--json")
	var answer struct {
		Rate struct{ Value float64 }
	}
	if err != nil || json.Unmarshal(out, &answer) != nil {
		return 0
	}
	return answer.Rate.Value
}

// planned returns what the plan has on the big host, and what it says of all, with its interval.
func (b bench) planned() (l load, rate, low, high float64, err error) {
	fleet := "model: model.json\nhosts:\n"
	for _, name := range []string{"big", "small"} {
		fleet += fmt.Sprintf("  %s: {cpus: %v, machine: %d, memory: %s, read-iops: %d}\n", name, cpus, runtime.NumCPU(),
			hosts[name],
			reads)
	}
	fleet += fmt.Sprintf("containers:\n  C: {class: C, count: %d}\n  A: {class: A, count: %d}\n", readers, writers)
	if err = b.write("fleet.yaml", fleet); err != nil {
		return
	}
	out, err := b.run("plan", "fleet.yaml", "--json")
	if err != nil {
		return
	}
	var document struct {
		Plan struct {
			Hosts []struct {
				Kind       string
				Containers []struct {
					Containers string
					Count      int
				}
				Rate struct{ Value, Low, High float64 }
			}
		}
	}
	if err = json.Unmarshal(out, &document); err != nil {
		return
	}
	for _, h := range document.Plan.Hosts {
		rate, low, high = rate+h.Rate.Value, low+h.Rate.Low, high+h.Rate.High
		for _, c := range h.Containers {
			switch {
			case h.Kind != "big":
			case c.Containers == "C":
				l.c = c.Count
			default:
				l.a = c.Count
			}
		}
	}
	return
}

// rates returns what a load did on a host in each setup, by its number.
func (b bench) rates(name string, l load) (map[string]float64, error) {
	if l.mix() == "" {
		return nil, nil
	}
	out, err := b.run("export", name, "--format", "csv")
	if err != nil {
		return nil, err
	}
	rows, err := csv.NewReader(strings.NewReader(string(out))).ReadAll()
	if err != nil {
		return nil, err
	}
	columnOf := map[string]int{}
	for i, column := range rows[0] {
		columnOf[column] = i
	}
	sum := map[string]float64{}
	for _, r := range rows[1:] {
		if r[columnOf["mix"]] == l.name() {
			rate, _ := strconv.ParseFloat(r[columnOf["rate"]], 64)
			sum[r[columnOf["block"]]] += rate
		}
	}
	return sum, nil
}

// Run measures, and prints a row for each placement. Runs that a directory has are not measured again.
func Run(args []string) error {
	flags := flag.NewFlagSet("plan-to-fact", flag.ExitOnError)
	program := flags.String("plimsoll", "./plimsoll", "the program `file` to measure with")
	dir := flags.String("dir", "bin/plan-to-fact", "the `directory` of the runs")
	_ = flags.Parse(args) // it exits
	plimsoll, err := filepath.Abs(*program)
	if err == nil {
		err = os.MkdirAll(*dir, 0o755)
	}
	if err != nil {
		return err
	}
	return bench{plimsoll, *dir}.measureAll()
}

func (b bench) measureAll() error {
	learn := []load{{1, 0}, {2, 0}, {4, 0}, {0, 1}, {0, 2}, {2, 1}, {1, 1}}
	if err := b.measure("learn-big", "big", learn, 2); err != nil {
		return err
	}
	if err := b.measure("learn-small", "small", []load{{1, 0}, {2, 0}, {0, 1}, {0, 2}, {1, 1}}, 2); err != nil {
		return err
	}
	runs := []string{"learn-big", "learn-small"}
	var known []load // on the big host, with the rest on the small one
	var plan load
	var planned, low, high float64
	for round := range mostRounds {
		var err error
		if _, err = b.run(append([]string{"fit"}, runs...)...); err != nil {
			return err
		}
		if plan, planned, low, high, err = b.planned(); err != nil {
			return err
		}
		if slices.Contains(known, plan) {
			break
		}
		// What is planned lies where the model promises most: it is tried, and learned from.
		fmt.Fprintf(os.Stderr, "round %d: %s on the big host is planned for %.0f operations a second\n", round+1,
			plan.name(), planned)
		known = append(known, plan)
		for host, l := range map[string]load{"big": plan, "small": plan.rest()} {
			if l.mix() == "" {
				continue
			}
			name := fmt.Sprintf("try-%d-%s", round+1, host)
			if err := b.measure(name, host, []load{l}, 2); err != nil {
				return err
			}
			runs = append(runs, name)
		}
	}
	// First fit: one after the other onto the big host, until one more does not add to it.
	first := load{}
	for _, next := range []load{{1, 0}, {2, 0}, {3, 0}, {4, 0}, {4, 1}, {4, 2}} {
		if b.predicted("big", next) <= b.predicted("big", first) {
			break
		}
		first = next
	}
	worst, least := load{}, math.Inf(1)
	for c := range readers + 1 {
		for a := range writers + 1 {
			l := load{c, a}
			if sum := b.predicted("big", l) + b.predicted("small", l.rest()); sum < least {
				worst, least = l, sum
			}
		}
	}
	ways := []struct {
		name string
		big  load
	}{{"plan", plan}, {"round robin", load{readers / 2, writers / 2}}, {"first fit", first}, {"worst found", worst}}
	var big, small []load
	for _, w := range ways {
		for at, l := range map[*[]load]load{&big: w.big, &small: w.big.rest()} {
			if l.mix() != "" && !slices.Contains(*at, l) {
				*at = append(*at, l)
			}
		}
	}
	if err := b.measure("fact-big", "big", big, bringUps); err != nil {
		return err
	}
	if err := b.measure("fact-small", "small", small, bringUps); err != nil {
		return err
	}
	fmt.Println("| placement | on the big host | on the small one | predicted, ops/s | measured, median of " +
		"setups | least and most |")
	fmt.Println("|---|---|---|---|---|---|")
	for _, w := range ways {
		big, err := b.rates("fact-big", w.big)
		if err != nil {
			return err
		}
		rest, err := b.rates("fact-small", w.big.rest())
		if err != nil {
			return err
		}
		var sums []float64
		for block := 1; block <= bringUps; block++ {
			sums = append(sums, big[fmt.Sprint(block)]+rest[fmt.Sprint(block)])
		}
		slices.Sort(sums)
		fmt.Printf("| %s | %s | %s | %.0f | %.0f | %.0f to %.0f |\n", w.name, w.big.mix(), w.big.rest().mix(),
			b.predicted("big", w.big)+b.predicted("small", w.big.rest()), sums[len(sums)/2], sums[0], sums[len(sums)-1])
	}
	fmt.Printf("\nThe plan said %.0f operations a second, %.0f to %.0f.\n", planned, low, high)
	return nil
}
