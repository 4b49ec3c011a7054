package runtest

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strconv"
	"strings"

	"plimsoll/internal/result"
)

// toldTrace is what a story says of the traces of a stack's trials.
type toldTrace struct {
	parts       []result.TracePart
	residue     float64
	perIO, size float64 // requests of the application, and their bytes, per I/O and byte
	served      []result.Served
	servedPerIO []float64 // requests of served per I/O
	lost        uint64
	missing     []string
	noise       float64 // of parts, as a share
	empty       bool    // the story only says that there was a trace
}

// tell takes a word of a story; false for one that is not about traces.
func (t *toldTrace) tell(s Stopper, key, value string) bool {
	s.Helper()
	number := func(text string) float64 {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			s.Fatalf("%s=%s: %v", key, value, err)
		}
		return v
	}
	switch key {
	case "trace":
		for part := range strings.SplitSeq(value, ",") {
			name, ns, _ := strings.Cut(part, ":")
			t.parts = append(t.parts, result.TracePart{Name: result.PartName(name), MeanNS: number(ns)})
		}
		t.perIO, t.size = 1, 1
	case "residue":
		t.residue = number(value)
	case "perio":
		ios, bytes, _ := strings.Cut(value, "/")
		t.perIO, t.size = number(ios), number(bytes)
	case "served":
		w := strings.Split(value, ";")
		if len(w) != 4 {
			s.Fatalf("served=%s is not OWNER;OP;PER_IO;BYTES_EACH", value)
		}
		t.served = append(t.served, result.Served{Owner: strings.ReplaceAll(w[0], "-attributed", " attributed"), Op: w[1],
			Bytes: uint64(number(w[3])), Kernel: true})
		t.servedPerIO = append(t.servedPerIO, number(w[2]))
	case "lost":
		t.lost = uint64(number(value))
	case "missing":
		t.missing = append(t.missing, strings.Replace(value, ":", ": ", 1))
	case "noise":
		t.noise = number(value)
	default:
		return false
	}
	return true
}

// trial returns the trace of one trial, and its mean latency in nanoseconds.
func (t *toldTrace) trial(o Outcome, seed string, repeat int, iops float64) (*result.Trace, float64) {
	switch {
	case t.parts == nil && t.empty:
		return &result.Trace{Recorder: "BPF"}, 0
	case t.parts == nil:
		return nil, 0
	}
	h := fnv.New64()
	_, _ = fmt.Fprint(h, seed, t.parts)
	rng := rand.New(rand.NewPCG(h.Sum64(), uint64(repeat)))
	ios := max(1, uint64(iops*o.Seconds))
	b := &result.Breakdown{IOs: ios, Bytes: ios * o.block, ResidueNS: t.residue, TotalNS: t.residue,
		PerIO: t.perIO, BytesPerIO: t.size * float64(o.block)}
	kernel := -1
	for i, p := range t.parts {
		p.MeanNS *= 1 + t.noise*(2*rng.Float64()-1)
		b.TotalNS += p.MeanNS
		switch {
		case p.Name != result.PartKernel:
			b.Parts = append(b.Parts, p)
		case kernel < 0:
			kernel = i
			b.Parts = append(b.Parts, p)
		default: // a second one is the way back
			b.EntryNS, b.ReturnNS = b.Parts[kernel].MeanNS, p.MeanNS
			b.Parts[kernel].MeanNS += p.MeanNS
		}
	}
	trace := &result.Trace{Recorder: "BPF", Lost: t.lost, Missing: t.missing, Write: b}
	op := "write"
	if o.Read {
		trace.Read, trace.Write, op = trace.Write, nil, "read"
	}
	for depth, d := range o.devices {
		if d.Depth != depth {
			break
		}
		served := result.Served{Device: d.Name, Owner: "application", Application: true, Op: op,
			Requests: uint64(t.perIO * float64(ios)), Bytes: uint64(t.size * float64(b.Bytes))}
		trace.Served = append(trace.Served, served)
		for i, s := range t.served {
			s.Device, s.Requests = d.Name, uint64(t.servedPerIO[i]*float64(ios))
			s.Bytes *= s.Requests
			trace.Served = append(trace.Served, s)
		}
	}
	return trace, b.TotalNS
}
