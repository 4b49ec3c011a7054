package placement

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

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
		by := model.Number(0.5 + 1.5*r.Float64())
		c.Params.Reads.Scale *= by
		c.Params.Reads.Floor *= by
		c.Params.Reads.Fits *= by
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
		f.Hosts = append(f.Hosts, Hosts{Name: fmt.Sprint("h", k), Count: hosts / 5, Is: is})
	}
	for c := range 20 {
		f.Containers = append(f.Containers, Containers{Name: fmt.Sprint("c", c), Class: c, Count: containers / 20})
	}
	return m, f
}

func BenchmarkPlan(b *testing.B) {
	for _, size := range [][2]int{{1000, 100}, {10_000, 1000}, {100_000, 10_000}} {
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
