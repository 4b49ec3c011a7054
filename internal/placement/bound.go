package placement

import (
	"fmt"
	"math"

	"plimsoll/internal/model"
)

// levels is how many sizes of memory the relaxation tells apart.
const levels = 16

// relaxed returns what no plan can be beyond: the most operations a second of all, or, with price, the least that
// hosts cost. It is the value of a linear program in which containers and hosts come in parts, each container
// does at most what it would do alone with the memory that it has, and all on the hosts of a kind use no more of
// each resource than these have together. What a container uses, it uses of as many operations as least cost it:
// alone, with the most memory of its level, while it takes the least of it.
func (s *search) relaxed(counts []int, price bool) float64 {
	var c []float64
	var a []map[int]float64
	rows := map[string]int{}
	var b []float64
	row := func(name string, bound float64) int {
		if at, ok := rows[name]; ok {
			return at
		}
		rows[name] = len(b)
		b = append(b, bound)
		return len(b) - 1
	}
	add := func(value float64, takes map[int]float64) { c, a = append(c, value), append(a, takes) }
	placed := 4 * s.penalty // of a container: no relaxed plan leaves one out that has room
	for d, n := range counts {
		row(fmt.Sprint("containers ", d), float64(n))
	}
	for k, kind := range s.kinds {
		if kind.Count == 0 {
			continue
		}
		each := float64(kind.Count)
		if price { // what hosts have, they have as far as they are paid for
			add(-kind.price(), map[int]float64{row(fmt.Sprint("hosts ", k), each): 1, row(fmt.Sprint("whole ", k), 0): 0})
		}
		paid := len(a) - 1
		of := func(name string) int {
			if !price {
				return row(name, each)
			}
			at := row(name, 0)
			a[paid][at] = -1
			return at
		}
		memory := float64(kind.is.Host.MemoryBytes)
		for d, one := range s.fleet.Containers {
			if counts[d] == 0 {
				continue
			}
			for _, drive := range kind.able {
				least := 0.0
				for level := range levels {
					p := model.Placed{Class: one.Class, Drive: drive, Count: 1, Own: one.Limits}
					most := memory
					if memory > 0 {
						most = memory * math.Pow(2, float64(level+1-levels)/2)
						if own := float64(one.Limits.MemoryBytes); own == 0 || most < own {
							p.Own.MemoryBytes = int64(most)
						}
					}
					solved, err := s.kinds[k].model.Solve(kind.is, []model.Placed{p})
					if err == nil && solved.Rate >= one.LeastRate*(1-slack) {
						uses, _ := kind.model.Uses(kind.is, []model.Placed{p})
						full := map[int]float64{d: 1}
						if memory > 0 {
							full[of(fmt.Sprint("memory ", k))] += least / memory
						}
						idle := map[int]float64{}
						for at, v := range full {
							idle[at] = v
						}
						for i, u := range uses {
							if u.Share > 0 {
								at := of(fmt.Sprint(k, u.Resource, u.Name, i))
								full[at] += float64(u.Share)
								idle[at] += float64(u.Share) * one.LeastRate / solved.Rate
							}
						}
						if !price {
							add(placed+solved.Rate, full)
						}
						add(placed*truth(price)+(placed+one.LeastRate)*truth(!price), idle)
					}
					least = most
					if memory == 0 {
						break
					}
				}
			}
		}
	}
	columns := make([][]float64, len(a))
	for j, takes := range a {
		columns[j] = make([]float64, len(b))
		for at, v := range takes {
			columns[j][at] = v
		}
	}
	x, _, value := maximize(c, columns, b)
	n := 0.0
	for j, takes := range a {
		for d := range counts {
			n += takes[d] * x[j]
		}
	}
	if price {
		return placed*n - value
	}
	return value - placed*n
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
