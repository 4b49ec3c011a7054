// Package modeltest has models for tests of what plans by them.
package modeltest

import (
	"bytes"
	"math"

	"plimsoll/internal/model"
)

// ThreeClasses knows a class that reads the more the less memory it has, one that writes, and one that computes.
func ThreeClasses() *model.Model {
	class := func(name string, reads model.Miss, writes, cpu, fixed float64) model.Fitted {
		f := model.Fitted{Name: name, Drive: "slow", Params: model.Params{Reads: reads, ReadBytes: 4096,
			Writes: model.Writes{At1: model.Number(writes)}, WriteBytes: 4096,
			CPU: model.Line{Base: model.Number(cpu)}, HostCPU: model.Line{Base: model.Number(math.NaN())},
			Latency: model.Line{Base: 2e-4, More: 4e-4}, Late: model.Sharp{Processors: 2, Device: 6},
			Reach: model.Reach{Machine: 1, Reads: 1, Writes: 1}, Tail: model.Tail{{Mean: 1e-3, Times: 3}}}}
		for n := 1; n <= 4; n++ {
			f.Points = append(f.Points, model.Point{Instances: n, Clients: 8, Host: model.Host{CPUs: 8, MemoryBytes: 8 << 30},
				Units: []model.Unit{{Rate: 1400 * model.Number(n), Held: model.Number(n * int(fixed) * 2),
					Fixed: model.Number(n * int(fixed))}}})
		}
		return f
	}
	side := func(iops, bandwidth, latency model.Number) model.Side {
		return model.Side{IOPS: iops, Bandwidth: bandwidth, Latency: latency, Sharp: 3}
	}
	m := &model.Model{Kind: "plimsoll model", Schema: model.SchemaVersion, Classes: []model.Fitted{
		class("reads", model.Miss{Scale: 2, Fits: 1 << 30, Shape: 1}, 0.1, 5e-5, 100<<20),
		class("writes", model.Miss{Floor: 0.2, Shape: 1}, 2, 1e-4, 200<<20),
		class("computes", model.Miss{Floor: 0.01, Shape: 1}, 0, 4e-4, 50<<20),
	}, Drives: []model.Drive{
		{Name: "slow", Read: side(2e4, 2e8, 4e-4), Write: side(1e4, 1e8, 3e-4), Competes: 1},
		{Name: "fast", Read: side(1e5, 1e9, 8e-5), Write: side(5e4, 5e8, 3e-5), Competes: 0.5, Mixed: 1}}}
	var text bytes.Buffer
	if err := m.Write(&text); err != nil {
		panic(err)
	}
	read, err := model.Read(text.Bytes()) // as users have models, with all that is found of points once
	if err != nil {
		panic(err)
	}
	return read
}
