package placement

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"plimsoll/internal/model"
	"plimsoll/internal/result"
)

// levels is how many sizes of memory the relaxation has.
const levels = 16

// program is a linear program: maximize the sum of values of columns, where the rows that they take are within bounds.
type program struct {
	names   []string // of columns
	values  []float64
	takes   []map[int]float64 // by row
	rows    []string
	bounds  []float64
	numbers map[string]int // of rows

	placed  float64 // value of placing a container beyond its operations, so that none with room is left out
	demands []int   // demands of columns, each of which takes one container; -1 for those that are hosts
}

// row returns the number of a row, which it adds with its bound if there is none of the name.
func (p *program) row(name string, bound float64) int {
	if number, ok := p.numbers[name]; ok {
		return number
	}
	p.numbers[name] = len(p.rows)
	p.rows, p.bounds = append(p.rows, name), append(p.bounds, bound)
	return len(p.rows) - 1
}

func (p *program) add(name string, demand int, value float64, takes map[int]float64) {
	p.names, p.demands = append(p.names, name), append(p.demands, demand)
	p.values, p.takes = append(p.values, value), append(p.takes, takes)
}

// relaxation returns a linear program whose value is an upper bound of all plans. In the program containers and hosts
// come in parts, each container does at most what it would do alone with its memory, and all containers on the hosts of
// a kind use no more of each resource than these have together. A container's use of a resource is a lower bound: that
// of an operation alone with the most memory of its level, while the container takes the least memory of the level. The
// value is the operations a second of all, or, with price, the negative price of the hosts.
func (s *search) relaxation(counts []int, price bool) *program {
	out := &program{numbers: map[string]int{}, placed: 4 * s.penalty}
	for d, n := range counts {
		out.row("containers_"+s.fleet.Containers[d].Name, float64(n))
	}
	for k, kind := range s.kinds {
		if kind.Count == 0 {
			continue
		}
		hosts := float64(kind.Count)
		paid := map[int]float64{}
		if price { // what hosts have, they have as far as they are paid for
			paid[out.row("hosts_"+kind.Name, hosts)] = 1
			out.add("hosts_"+kind.Name, -1, -kind.price(), paid)
		}
		row := func(name string) int {
			if !price {
				return out.row(name, hosts)
			}
			number := out.row(name, 0)
			paid[number] = -1
			return number
		}
		for d := range counts {
			if counts[d] > 0 {
				for _, drive := range kind.able {
					s.relaxOn(out, k, d, drive, price, row)
				}
			}
		}
	}
	return out
}

// relaxOn adds the columns of a demand on a drive of a kind of hosts: at each level of memory one with the highest rate
// and one with the least that is allowed.
func (s *search) relaxOn(program *program, k, d, drive int, price bool, row func(string) int) {
	kind, containers := s.kinds[k], s.fleet.Containers[d]
	if kind.refuses(d, drive) != "" {
		return
	}
	memory, least := float64(kind.is.Host.MemoryBytes), 0.0
	leastRate := s.leastRate(kind, d, drive, goal{})
	for level := range levels {
		placed := kind.single(d, drive)
		largest := memory * math.Pow(2, float64(level+1-levels)/2)
		if limit := float64(containers.Limits.MemoryBytes); memory > 0 && (limit == 0 || largest < limit) {
			placed.Own = containers.Limits.With(result.Limits{MemoryBytes: int64(largest)})
		}
		solved, err := kind.model.Solve(kind.is, []model.Placed{placed})
		if err == nil && solved.Rate >= leastRate*(1-slack) {
			uses, _ := kind.model.Uses(kind.is, []model.Placed{placed}) // it was solved
			full := map[int]float64{d: 1}
			if memory > 0 {
				full[row("memory_"+kind.Name)] = least / memory
			}
			if containers.Apart { // one on each host
				full[row(fmt.Sprintf("%s_apart_%s", kind.Name, containers.Name))] = 1
			}
			idle := maps.Clone(full)
			for i, use := range uses {
				if use.Share > 0 {
					number := row(fmt.Sprintf("%s_%d_%s_%s", kind.Name, i, use.Resource, use.Name))
					full[number] = float64(use.Share)
					idle[number] = float64(use.Share) * leastRate / solved.Rate
				}
			}
			name := fmt.Sprintf("%s_on_%s_%d_%d", containers.Name, kind.Name, drive+1, level)
			if price {
				program.add(name, d, program.placed, idle)
			} else {
				program.add(name+"_most", d, program.placed+containers.weight()*solved.Rate, full)
				program.add(name+"_least", d, program.placed+containers.weight()*leastRate, idle)
			}
		}
		if least = largest; memory == 0 { // there is no end of it
			return
		}
	}
}

// relaxed returns a bound of all plans: the most operations a second, or, with price, the least price of the hosts.
func (s *search) relaxed(counts []int, price bool) float64 {
	program := s.relaxation(counts, price)
	parts, value := program.solve()
	for j, d := range program.demands {
		if d >= 0 {
			value -= program.placed * parts[j]
		}
	}
	if price {
		return -value
	}
	return value
}

// solve returns the parts of each column in the best solution, and its value.
func (p *program) solve() (parts []float64, value float64) {
	columns := make([][]float64, len(p.takes))
	for j, takes := range p.takes {
		columns[j] = make([]float64, len(p.rows))
		for at, v := range takes {
			columns[j][at] = v
		}
	}
	parts, _, value = maximize(p.values, columns, p.bounds)
	return parts, value
}

// WriteMPS writes the linear program that bounds what plans of a fleet can reach, for other solvers: the most
// operations a second of all, or, for FewHosts, the least that hosts cost, below zero. What it is worth that a
// container stands somewhere, so that none is left out, is in the objective, too.
func WriteMPS(w io.Writer, fitted *model.Model, fleet *Fleet) error {
	search, err := newSearch(fitted, fleet, Options{})
	if err != nil {
		return err
	}
	search.assume(search.users(nil))
	return search.relaxation(search.counts(), fleet.Objective == FewHosts).writeMPS(w)
}

func (p *program) writeMPS(w io.Writer) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "* %v a container of each column but those of hosts is worth to stand somewhere\nNAME "+
		"plimsoll\nOBJSENSE\n    MAX\nROWS\n N "+
		"worth\n", p.placed)
	for i := range p.rows {
		fmt.Fprintf(out, " L r%d\n", i)
	}
	fmt.Fprintln(out, "COLUMNS")
	for j, name := range p.names {
		fmt.Fprintf(out, "* %q\n    c%d worth %.17g\n", name, j, p.values[j])
		for _, row := range slices.Sorted(maps.Keys(p.takes[j])) {
			if v := p.takes[j][row]; v != 0 {
				fmt.Fprintf(out, "    c%d r%d %.17g\n", j, row, v)
			}
		}
	}
	fmt.Fprintln(out, "RHS")
	for i, b := range p.bounds {
		fmt.Fprintf(out, "* %q\n", p.rows[i])
		if b != 0 {
			fmt.Fprintf(out, "    RHS r%d %.17g\n", i, b)
		}
	}
	fmt.Fprintln(out, "ENDATA")
	return out.Flush()
}
