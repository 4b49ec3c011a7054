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

// levels is how many sizes of memory the relaxation tells apart.
const levels = 16

// program is a linear program: maximize the sum of values of columns, where the rows that they take are within bounds.
type program struct {
	names   []string // of columns
	values  []float64
	takes   []map[int]float64 // by row
	rows    []string
	bounds  []float64
	numbers map[string]int // of rows

	placed float64 // what a container is worth beyond what it does, so that none is left out that has room
	of     []int   // demands of columns, each of which takes one container; -1 for those that are hosts
}

// row returns the number of a row.
func (p *program) row(name string, bound float64) int {
	if at, ok := p.numbers[name]; ok {
		return at
	}
	p.numbers[name] = len(p.rows)
	p.rows, p.bounds = append(p.rows, name), append(p.bounds, bound)
	return len(p.rows) - 1
}

func (p *program) add(name string, demand int, value float64, takes map[int]float64) {
	p.names, p.of = append(p.names, name), append(p.of, demand)
	p.values, p.takes = append(p.values, value), append(p.takes, takes)
}

// relaxation returns a linear program that no plan can be beyond: in it containers and hosts come in parts, each
// container does at most what it would do alone with the memory that it has, and all on the hosts of a kind use no more
// of each resource than these have together. What a container uses, it uses of as many operations as least cost it:
// alone, with the most memory of its level, while it takes the least of it. Its value is the most operations a
// second of all, or, with price, the least that hosts cost, below zero.
func (s *search) relaxation(counts []int, price bool) *program {
	p := &program{numbers: map[string]int{}, placed: 4 * s.penalty}
	for d, n := range counts {
		p.row("containers_"+s.fleet.Containers[d].Name, float64(n))
	}
	for k, kind := range s.kinds {
		if kind.Count == 0 {
			continue
		}
		hosts := float64(kind.Count)
		paid := map[int]float64{}
		if price { // what hosts have, they have as far as they are paid for
			paid[p.row("hosts_"+kind.Name, hosts)] = 1
			p.add("hosts_"+kind.Name, -1, -kind.price(), paid)
		}
		of := func(name string) int {
			if !price {
				return p.row(name, hosts)
			}
			at := p.row(name, 0)
			paid[at] = -1
			return at
		}
		for d := range counts {
			if counts[d] > 0 {
				for _, drive := range kind.able {
					s.relaxOn(p, k, d, drive, price, of)
				}
			}
		}
	}
	return p
}

// relaxOn adds a demand on a drive of hosts of a kind: at each level of memory, with as much as it can do and as
// little as it has to.
func (s *search) relaxOn(p *program, k, d, drive int, price bool, row func(string) int) {
	kind, one := s.kinds[k], s.fleet.Containers[d]
	if kind.refuses(d, drive) != "" {
		return
	}
	memory, least := float64(kind.is.Host.MemoryBytes), 0.0
	for level := range levels {
		placed := kind.one(d, drive)
		most := memory * math.Pow(2, float64(level+1-levels)/2)
		if own := float64(one.Limits.MemoryBytes); memory > 0 && (own == 0 || most < own) {
			placed.Own = one.Limits.With(result.Limits{MemoryBytes: int64(most)})
		}
		solved, err := kind.model.Solve(kind.is, []model.Placed{placed})
		if err == nil && solved.Rate >= one.LeastRate*(1-slack) {
			uses, _ := kind.model.Uses(kind.is, []model.Placed{placed}) // it was solved
			full := map[int]float64{d: 1}
			if memory > 0 {
				full[row("memory_"+kind.Name)] = least / memory
			}
			if one.Apart { // one on each host
				full[row(fmt.Sprintf("%s_apart_%s", kind.Name, one.Name))] = 1
			}
			idle := maps.Clone(full)
			for i, u := range uses {
				if u.Share > 0 {
					at := row(fmt.Sprintf("%s_%d_%s_%s", kind.Name, i, u.Resource, u.Name))
					full[at] = float64(u.Share)
					idle[at] = float64(u.Share) * one.LeastRate / solved.Rate
				}
			}
			name := fmt.Sprintf("%s_on_%s_%d_%d", one.Name, kind.Name, drive+1, level)
			if price {
				p.add(name, d, p.placed, idle)
			} else {
				p.add(name+"_most", d, p.placed+one.weight()*solved.Rate, full)
				p.add(name+"_least", d, p.placed+one.weight()*one.LeastRate, idle)
			}
		}
		if least = most; memory == 0 { // there is no end of it
			return
		}
	}
}

// relaxed returns what no plan can be beyond: the most operations a second of all, or, with price, the least that
// hosts cost.
func (s *search) relaxed(counts []int, price bool) float64 {
	p := s.relaxation(counts, price)
	x, value := p.solve()
	for j, d := range p.of {
		if d >= 0 {
			value -= p.placed * x[j]
		}
	}
	if price {
		return -value
	}
	return value
}

// solve returns how much of each column the best has, and what that is worth.
func (p *program) solve() (x []float64, value float64) {
	columns := make([][]float64, len(p.takes))
	for j, takes := range p.takes {
		columns[j] = make([]float64, len(p.rows))
		for at, v := range takes {
			columns[j][at] = v
		}
	}
	x, _, value = maximize(p.values, columns, p.bounds)
	return x, value
}

// WriteMPS writes the linear program that bounds what plans of a fleet can reach, for other solvers: the most
// operations a second of all, or, for FewHosts, the least that hosts cost, below zero. What it is worth that a
// container stands somewhere, so that none is left out, is in the objective, too.
func WriteMPS(w io.Writer, m *model.Model, fleet *Fleet) error {
	s, err := newSearch(m, fleet, Options{})
	if err != nil {
		return err
	}
	s.assume(s.users(nil))
	return s.relaxation(s.counts(), fleet.Objective == FewHosts).writeMPS(w)
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
		for _, at := range slices.Sorted(maps.Keys(p.takes[j])) {
			if v := p.takes[j][at]; v != 0 {
				fmt.Fprintf(out, "    c%d r%d %.17g\n", j, at, v)
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
