package breakdown

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"plimsoll/internal/iotrace"
	"plimsoll/internal/result"
	"plimsoll/internal/result/hist"
)

// The stories in testdata state what both sides saw, and show what comes of it.
//
//	fio read|write IOS slat=NS total=NS [share=SHARE]
//	OP DEVICE OWNER REQUESTS [INTERVAL=NS[xCOUNT]]...
//	target read|write REQUESTS NS [recorded=NS passed=REQUESTS own=REQUESTS software=NS]
//	lost-there REQUESTS
//	devices NAME...
//	lost EVENTS
//	missing WHAT
//	tracefs
//
// Requests are of 4096 bytes. OWNER is app (whose calls are followed), app-late
// (queued by another task), container:NAME, kernel:COMMAND, or a command.
func TestStories(t *testing.T) {
	datadriven.RunTest(t, "testdata/stories", func(t *testing.T, d *datadriven.TestData) string {
		in := Input{Account: &iotrace.Account{Recorder: "BPF"}, Owns: owns, Calls: true, Share: 1}
		for text := range strings.Lines(d.Input) {
			tell(t, &in, strings.Fields(text))
		}
		var b strings.Builder
		out := Join(in)
		for _, direction := range []struct {
			name      string
			breakdown *result.Breakdown
		}{{"read", out.Read}, {"write", out.Write}} {
			if direction.breakdown == nil {
				continue
			}
			fmt.Fprintf(&b, "%s: %d I/Os of %.0f ns, %.2f requests and %.0f bytes each\n",
				direction.name, direction.breakdown.IOs, direction.breakdown.TotalNS,
				direction.breakdown.PerIO, direction.breakdown.BytesPerIO)
			for _, p := range direction.breakdown.Parts {
				fmt.Fprintf(&b, "  %-8s %8.0f  %s\n", p.Name, p.MeanNS, p.From)
			}
			fmt.Fprintf(&b, "  %-8s %+8.0f\n", "residue", direction.breakdown.ResidueNS)
		}
		for _, s := range out.Served {
			fmt.Fprintf(&b, "%s %s for %s: %d\n", s.Device, s.Op, s.Owner, s.Requests)
		}
		for _, m := range out.Missing {
			fmt.Fprintf(&b, "! %s\n", m)
		}
		return b.String()
	})
}

func owns(o iotrace.Owner) bool { return o.Cgroup == 7 }

func tell(t *testing.T, in *Input, words []string) {
	number := func(text string) float64 {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatalf("%q in %q: %v", text, words, err)
		}
		return v
	}
	switch words[0] {
	case "fio":
		d := in.Saw.Operation(words[1])
		d.Count = uint64(number(words[2]))
		d.Bytes = 4096 * d.Count
		for _, w := range words[3:] {
			switch key, value, _ := strings.Cut(w, "="); key {
			case "slat":
				d.SetLatency(result.Submission, hist.Histogram{Count: d.Count, MeanNS: number(value)})
			case "total":
				d.SetLatency(result.Total, hist.Histogram{Count: d.Count, MeanNS: number(value)})
			case "share":
				in.Share = number(value)
			}
		}
		in.Saw.SetOperation(d)
	case "target":
		if in.Target == nil {
			in.Target = &Target{}
		}
		c := &in.Target.Read
		if words[1] == "write" {
			c = &in.Target.Write
		}
		*c = Completed{Requests: uint64(number(words[2])), NS: number(words[3])}
		if len(words) > 4 {
			c.Recorded = &Recorded{}
		}
		for _, word := range words[4:] {
			switch key, value, _ := strings.Cut(word, "="); key {
			case "recorded":
				c.Recorded.WholeNS = number(value)
			case "passed":
				c.Recorded.Passed = uint64(number(value))
			case "own":
				c.Recorded.Own = uint64(number(value))
			case "software":
				c.Recorded.SoftwareNS = number(value)
			}
		}
	case "lost-there":
		if in.Target == nil {
			in.Target = &Target{}
		}
		in.Target.Lost = uint64(number(words[1]))
	case "devices":
		for i, name := range words[1:] {
			in.Devices = append(in.Devices, result.Device{Name: name, Depth: i})
		}
	case "tracefs":
		in.Calls, in.Account.Recorder = false, "tracefs"
	case "lost":
		in.Account.Lost = uint64(number(words[1]))
	case "missing":
		in.Account.Missing = append(in.Account.Missing, strings.Join(words[1:], " "))
	default:
		in.Account.Cells = append(in.Account.Cells, tellCell(t, words, number))
	}
}

func tellCell(t *testing.T, words []string, number func(string) float64) iotrace.Cell {
	n := uint64(number(words[3]))
	c := iotrace.Cell{Key: iotrace.Key{Device: words[1]}, Requests: n, Bytes: 4096 * n}
	for c.Op.String() != words[0] {
		if c.Op++; c.Op == iotrace.Ops {
			t.Fatalf("no operation %q", words[0])
		}
	}
	switch kind, name, _ := strings.Cut(words[2], ":"); kind {
	case "app":
		c.Owner = iotrace.Owner{Cgroup: 7, Command: "fio", Call: true}
	case "app-late":
		c.Owner = iotrace.Owner{Cgroup: 7, Command: "fio"}
	case "container":
		c.Owner = iotrace.Owner{Cgroup: 8, Container: name, Call: true}
	case "kernel":
		c.Owner = iotrace.Owner{Command: name, Kernel: true}
	default:
		c.Owner = iotrace.Owner{Cgroup: 9, Command: kind, Path: name, Call: true}
	}
	for _, w := range words[4:] {
		name, value, _ := strings.Cut(w, "=")
		ns, count, given := strings.Cut(value, "x")
		if !given {
			count = words[3]
		}
		i := iotrace.Interval(0)
		for i.String() != name {
			if i++; i == iotrace.Intervals {
				t.Fatalf("no interval %q", name)
			}
		}
		c.Intervals[i] = new(iotrace.Dist)
		for range int(number(count)) {
			c.Intervals[i].Add(uint64(number(ns)))
		}
	}
	return c
}
