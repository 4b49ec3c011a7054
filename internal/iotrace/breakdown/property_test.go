package breakdown

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"plimsoll/internal/iotrace"
	"plimsoll/internal/result"
	"plimsoll/internal/result/hist"
)

// anyAccount has cells of all kinds, most of which make no sense together.
func anyAccount() *rapid.Generator[*iotrace.Account] {
	dist := rapid.Custom(func(t *rapid.T) *iotrace.Dist {
		d := &iotrace.Dist{}
		for _, ns := range rapid.SliceOfN(rapid.Uint64Range(0, 1<<40), 0, 3).Draw(t, "ns") {
			d.Add(ns)
		}
		return d
	})
	cell := rapid.Custom(func(t *rapid.T) iotrace.Cell {
		c := iotrace.Cell{Requests: rapid.Uint64Range(0, 5).Draw(t, "requests")}
		c.Device = rapid.SampledFrom([]string{"dm-0", "loop0", "vda"}).Draw(t, "device")
		c.Op = iotrace.Op(rapid.IntRange(0, int(iotrace.Ops)-1).Draw(t, "op"))
		c.Owner = iotrace.Owner{Cgroup: rapid.Uint64Range(6, 8).Draw(t, "cgroup"), Call: rapid.Bool().Draw(t, "call"),
			Kernel: rapid.Bool().Draw(t, "kernel")}
		c.Bytes = 4096 * c.Requests
		for i := range c.Intervals {
			if rapid.Bool().Draw(t, "has") {
				c.Intervals[i] = dist.Draw(t, "interval")
			}
		}
		return c
	})
	return rapid.Custom(func(t *rapid.T) *iotrace.Account {
		return &iotrace.Account{Lost: rapid.Uint64Range(0, 2).Draw(t, "lost"),
			Cells: rapid.SliceOfN(cell, 0, 8).Draw(t, "cells")}
	})
}

func anyInput(t *rapid.T) Input {
	direction := rapid.Custom(func(t *rapid.T) result.Operation {
		d := result.Operation{Count: rapid.Uint64Range(0, 20).Draw(t, "ios")}
		d.SetLatency(result.Total, hist.Histogram{MeanNS: rapid.Float64Range(0, 1e12).Draw(t, "total")})
		d.SetLatency(result.Submission, hist.Histogram{MeanNS: rapid.Float64Range(0, 1e12).Draw(t, "slat")})
		return d
	})
	in := Input{
		Account: anyAccount().Draw(t, "account"), Owns: owns, Calls: rapid.Bool().Draw(t, "calls"),
		Share:   rapid.Float64Range(0, 1).Draw(t, "share"),
		Saw:     result.Measurement{Operations: result.ReadsWrites(direction.Draw(t, "read"), direction.Draw(t, "write"))},
		Devices: []result.Device{{Name: "dm-0"}, {Name: "loop0", Depth: 1}},
	}
	if rapid.Bool().Draw(t, "remote") {
		in.Target = &Target{
			Lost: rapid.Uint64Range(0, 1).Draw(t, "lost there"),
			Read: Completed{Requests: rapid.Uint64Range(0, 5).Draw(t, "there"), NS: rapid.Float64Range(0, 1e12).Draw(t, "far")},
		}
		if rapid.Bool().Draw(t, "recorded there") {
			in.Target.Read.Recorded = &Recorded{
				WholeNS: rapid.Float64Range(0, 1e12).Draw(t, "all there"), Passed: rapid.Uint64Range(0, 5).Draw(t, "passed"),
				Own: rapid.Uint64Range(0, 5).Draw(t, "own"), SoftwareNS: rapid.Float64Range(0, 1e12).Draw(t, "software there"),
			}
		}
	}
	return in
}

func breakdowns(t *result.Trace) (out []*result.Breakdown) {
	for _, b := range []*result.Breakdown{t.Read, t.Write} {
		if b != nil {
			out = append(out, b)
		}
	}
	return out
}

// Whatever was recorded, the parts and the residue are the total, all are
// numbers, each part comes once and in its place, and every request is served
// to somebody.
func TestItAlwaysSumsUp(t *testing.T) {
	order := []result.PartName{result.PartUser, result.PartKernel, result.PartBlock, result.PartDriver,
		result.PartFabric, result.PartTarget, result.PartDevice}
	rapid.Check(t, func(t *rapid.T) {
		in := anyInput(t)
		out := Join(in)
		if (out.Read == nil) != (in.Saw.Operation(result.Read).Count == 0) ||
			(out.Write == nil) != (in.Saw.Operation(result.Write).Count == 0) {
			t.Fatal("there is a breakdown exactly where the application did something")
		}
		for _, b := range breakdowns(out) {
			sum, largest, last := b.ResidueNS, b.TotalNS, -1
			for _, p := range b.Parts {
				i := slices.Index(order, p.Name)
				if i <= last {
					t.Fatalf("%s is out of its place in %+v", p.Name, b.Parts)
				}
				last = i
				sum += p.MeanNS
				largest = max(largest, math.Abs(p.MeanNS))
			}
			if !(math.Abs(sum-b.TotalNS) <= 1e-9*largest) || math.IsInf(b.PerIO, 0) || math.IsNaN(b.PerIO) {
				t.Fatalf("%+v sums up to %v", b, sum)
			}
		}
		var want, got uint64
		for _, c := range in.Account.Cells {
			want += c.Requests
		}
		for _, s := range out.Served {
			got += s.Requests
		}
		if got != want {
			t.Fatalf("%d requests were served to somebody, of %d", got, want)
		}
	})
}

// A known truth: I/Os with times for everything, of which an account and fio's
// means are made. The parts are the truth, however an I/O is split, and the
// residue is what fio's clock adds.
func TestTheTruthComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var (
			synchronous = rapid.Bool().Draw(t, "synchronous")
			nvme        = rapid.Bool().Draw(t, "nvme")
			n           = rapid.IntRange(1, 50).Draw(t, "ios")
			pieces      = 1
			ns          = func(what string) uint64 { return rapid.Uint64Range(0, 1e6).Draw(t, what) }
			cells       [2]iotrace.Cell // of two tasks
			truth       = map[result.PartName]float64{}
			total, slat float64
		)
		if synchronous { // of others it is not known which completion is of which I/O
			pieces = rapid.IntRange(1, 4).Draw(t, "requests per I/O")
		}
		const after = 300 // from the call to fio's clock
		for i := range cells {
			cells[i].Device, cells[i].Owner = "nvme0n1", iotrace.Owner{Cgroup: 7, PID: uint32(i), Call: true}
			for interval := range cells[i].Intervals {
				cells[i].Intervals[interval] = &iotrace.Dist{}
			}
		}
		for range n {
			user := ns("user")
			path := ns("path") + 1000 // from the system call until the application has it
			call := path
			if !synchronous {
				call = ns("call") + 1 // none takes no time: fio's 0 says that it did not look
			}
			for piece := range pieces {
				c := &cells[rapid.IntRange(0, 1).Draw(t, "task")]
				// Each request cuts the path into its own five.
				cut := []uint64{0}
				for range 4 {
					cut = append(cut, rapid.Uint64Range(0, path).Draw(t, "cut"))
				}
				cut = append(cut, path)
				slices.Sort(cut)
				s2q, q2d, d2n, n2c, c2r := cut[1], cut[2]-cut[1], cut[3]-cut[2], cut[4]-cut[3], cut[5]-cut[4]
				add := func(i iotrace.Interval, ns uint64) { c.Intervals[i].Add(ns) }
				c.Requests++
				add(iotrace.S2Q, s2q)
				add(iotrace.Q2D, q2d)
				add(iotrace.D2C, d2n+n2c)
				if nvme {
					add(iotrace.D2N, d2n)
					add(iotrace.N2C, n2c)
					truth[result.PartDriver] += float64(d2n)
					truth[result.PartDevice] += float64(n2c)
				} else {
					truth[result.PartDevice] += float64(d2n + n2c)
				}
				add(iotrace.C2R, c2r)
				truth[result.PartKernel] += float64(s2q + c2r)
				truth[result.PartBlock] += float64(q2d)
				if piece == 0 {
					add(iotrace.S2X, call)
				}
			}
			truth[result.PartUser] += float64(user) * float64(pieces)
			total += float64(user + path + after)
			slat += float64(user + call)
			if synchronous {
				truth[result.PartUser] += after * float64(pieces)
			}
		}
		in := Input{Account: &iotrace.Account{Cells: cells[:]}, Owns: owns, Calls: true, Share: 1}
		saw := result.Operation{Count: uint64(n),
			Latency: map[result.Stage]hist.Histogram{result.Total: {MeanNS: total / float64(n)}}}
		if !synchronous {
			saw.SetLatency(result.Submission, hist.Histogram{MeanNS: slat / float64(n)})
		}
		in.Saw.Operations = result.ReadsWrites(saw, result.Operation{})
		b := Join(in).Read
		near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-6*max(1, total) }
		for _, p := range b.Parts {
			if want := truth[p.Name] / float64(n*pieces); !near(p.MeanNS, want) {
				t.Fatalf("%s is %v, not %v", p.Name, want, p.MeanNS)
			}
		}
		want := float64(after)
		if synchronous {
			want = 0 // fio's own code is its time
		}
		if !near(b.ResidueNS, want) {
			t.Fatalf("the residue is %v, not %v of %+v", b.ResidueNS, want, b)
		}
	})
}

// What others do changes nothing of the application's parts.
func TestOthersChangeNoPart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyInput(t)
		alone := Join(in)
		neighbours := anyAccount().Draw(t, "others")
		for i := range neighbours.Cells {
			neighbours.Cells[i].Owner.Cgroup = 8
		}
		in.Account.Cells = slices.Concat(in.Account.Cells, neighbours.Cells)
		among := Join(in)
		before, after := breakdowns(alone), breakdowns(among)
		for i := range before {
			if before[i].ResidueNS != after[i].ResidueNS || before[i].PerIO != after[i].PerIO ||
				len(before[i].Parts) != len(after[i].Parts) {
				t.Fatalf("%+v became %+v", before[i], after[i])
			}
		}
	})
}
