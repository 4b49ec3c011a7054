package placement

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"plimsoll/internal/model"
	"plimsoll/internal/testkit/modeltest"
)

// largeFleet has so many containers of twenty classes on so many hosts of five kinds.
func largeFleet(containers, hosts int) (*model.Model, *Fleet) {
	m := modeltest.ThreeClasses()
	r := rand.New(rand.NewPCG(11, 11))
	base := m.Classes
	m.Classes = nil
	for i := range 20 {
		c := base[i%len(base)]
		c.Name = fmt.Sprint(c.Name, i)
		factor := model.Number(0.5 + 1.5*r.Float64())
		c.Params.Reads.Scale *= factor
		c.Params.Reads.Floor *= factor
		c.Params.Reads.Fits *= factor
		c.Params.CPU.Base *= model.Number(0.5 + 1.5*r.Float64())
		c.Params.Writes.At1 *= model.Number(0.5 + 1.5*r.Float64())
		m.Classes = append(m.Classes, c)
	}
	f := &Fleet{Objective: Throughput}
	for k := range 5 {
		is := model.HostKind{Host: model.Host{CPUs: float64(int(4) << (k % 3)), MemoryBytes: int64(6+3*k) << 30}}
		for d := range 1 + k%2 {
			is.Drives = append(is.Drives, model.HostDrive{Name: fmt.Sprint("d", d), Is: m.Drives[(k+d)%2]})
		}
		f.Hosts = append(f.Hosts, Hosts{Name: fmt.Sprint("h", k), Count: part(hosts, k, 5), Is: is})
	}
	for c := range 20 {
		f.Containers = append(f.Containers, Containers{Name: fmt.Sprint("c", c), Class: c, Count: part(containers, c, 20)})
	}
	f.Hosts = slices.DeleteFunc(f.Hosts, func(h Hosts) bool { return h.Count == 0 })
	f.Containers = slices.DeleteFunc(f.Containers, func(c Containers) bool { return c.Count == 0 })
	return m, f
}

// part returns the i-th of so many parts of a number, which are as alike as whole numbers can be.
func part(whole, i, parts int) int { return whole*(i+1)/parts - whole*i/parts }

// limitedFleet is a large fleet: a third of its containers has a least throughput, a quarter a limit of p99,
// and a fifth are to be apart.
func limitedFleet(containers, hosts int, o Objective) (*model.Model, *Fleet) {
	m, f := largeFleet(containers, hosts)
	f.Objective = o
	r := rand.New(rand.NewPCG(12, 12))
	for i := range f.Containers {
		c := &f.Containers[i]
		if i%3 == 0 {
			c.LeastRate = 200 + 400*r.Float64()
		}
		if i%4 == 1 {
			c.MostP99 = 0.02 + 0.04*r.Float64()
		}
		c.Apart = i%5 == 2
		if o == FewHosts { // each is to have a limit
			c.LeastRate = max(c.LeastRate, 100)
		}
	}
	for k := range f.Hosts {
		f.Hosts[k].Price = float64(1 + k%3)
	}
	return m, f
}

// BenchmarkLimited plans fleets with limits for each objective.
func BenchmarkLimited(b *testing.B) {
	for _, size := range [][2]int{{20, 5}, {100, 10}, {1000, 100}, {10_000, 1000}} {
		for _, o := range Objectives() {
			b.Run(fmt.Sprintf("%s/%dx%d", o[0], size[0], size[1]), func(b *testing.B) {
				m, f := limitedFleet(size[0], size[1], Objective(o[0]))
				for b.Loop() {
					p, err := Best(m, f, Options{Seed: 1})
					if err != nil {
						b.Fatal(err)
					}
					b.ReportMetric(100*float64(p.Gap), "%gap")
					b.ReportMetric(100*float64(p.Near), "%near")
					b.ReportMetric(float64(p.Asked), "predictions")
					b.ReportMetric(float64(p.Reached), "reached")
					b.ReportMetric(float64(left(p)), "left")
				}
			})
		}
	}
}

// BenchmarkBudget plans fleets with limits in a time that is given, and reports how many times as long it took.
func BenchmarkBudget(b *testing.B) {
	for _, size := range [][2]int{{100, 10}, {1000, 100}, {10_000, 1000}} {
		for _, o := range Objectives() {
			for _, budget := range []time.Duration{500 * time.Millisecond, time.Second, 3 * time.Second} {
				b.Run(fmt.Sprintf("%s/%dx%d/%v", o[0], size[0], size[1], budget), func(b *testing.B) {
					m, f := limitedFleet(size[0], size[1], Objective(o[0]))
					for b.Loop() {
						start := time.Now()
						p, err := Best(m, f, Options{Seed: 1, Spent: Within(budget)})
						if err != nil {
							b.Fatal(err)
						}
						b.ReportMetric(time.Since(start).Seconds()/budget.Seconds(), "of-budget")
						b.ReportMetric(100*float64(p.Gap), "%gap")
						b.ReportMetric(float64(p.Reached), "reached")
						b.ReportMetric(float64(left(p)), "left")
					}
				})
			}
		}
	}
}

func BenchmarkPlan(b *testing.B) {
	for _, size := range [][2]int{{10, 3}, {100, 10}, {1000, 100}, {10_000, 1000}, {100_000, 10_000}} {
		b.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(b *testing.B) {
			m, f := largeFleet(size[0], size[1])
			for b.Loop() {
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				p, err := Best(m, f, Options{Seed: 1})
				if err != nil || len(p.Left) > 0 {
					b.Fatal(err, p.Left)
				}
				runtime.ReadMemStats(&after)
				b.ReportMetric(100*float64(p.Gap), "%gap")
				b.ReportMetric(100*float64(p.Near), "%near")
				b.ReportMetric(float64(p.Asked), "predictions")
				b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/1e6, "MB-allocated")
				b.ReportMetric(float64(after.HeapInuse)/1e6, "MB-heap")
				b.ReportMetric(float64(p.Rate.Value), "ops/s")
			}
		})
	}
}
