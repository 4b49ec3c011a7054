// Package runtest makes runs of what tests tell: a story states what was measured,
// one thing a line.
//
//	stack NAME [marks]: LINE
//	control NAME: STACK
//	fact STACK NAME: VALUE
//	workload NAME PATTERN|ycsb|tpcc [DECLARED]
//	kernel RELEASE
//	cpus N
//	drive NAME solid|rotates [MODEL]
//	WORKLOAD STACK IOPS... [unknown] [memory=PER_IO] [writes=IOS/BYTES] [slat=NS] [clat=NS] [seconds=S]
//	    [target=US_PER_IO/CPUS] [traced] [untraced=WHY] [trace=PART:NS,...] [residue=NS] [perio=IOS/BYTES]
//	    [served=OWNER;OP;PER_IO;BYTES_EACH]... [lost=N] [missing=WHAT] [noise=SHARE]
//	failed|skipped|planned WORKLOAD STACK N: WHAT | WHY | REMEDY
//	host [cpus=N] [memory=MIB] [reads=N] [writes=N]
//	objective [p99=NS] [standalone=SHARE]
//	instances WORKLOAD STACK xN RATE,RATE|- ... [reads=PER_OP] [writes=PER_OP]
//	    [cpus=N] [limit=CPUS] [cache=MIB] [io=SHARE]
//	    [memory=SHARE] [busy=SHARE] [throttled=SHARE] [mean=NS] [p99=NS] [weakest=SHARE] [killed=N]
//	    [policy=NAME] [level=FACTOR:NAME] [on=STACK,...] [peak=MIB] [memory-limit=MIB]
//	beside STACK WORKLOADxN WORKLOADxN RATE/RATE...
//	varied LIMIT*FACTOR WORKLOAD STACK xN ...
//
// It belongs to tests, and no other code imports it.
package runtest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/problem"
	"plimsoll/internal/result"
	"plimsoll/internal/result/hist"
	"plimsoll/internal/units"
	"plimsoll/internal/workload/fio"
	"plimsoll/internal/workload/ycsb"
)

// Stopper is a *testing.T or a *rapid.T.
type Stopper interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// Tell makes the run that a story states.
func Tell(t Stopper, story string) *result.Run {
	t.Helper()
	run := &result.Run{Schema: result.SchemaVersion, Status: result.RunComplete, Seed: 1}
	var host *result.Limits
	for text := range strings.Lines(story) {
		text = strings.TrimSpace(text)
		words := strings.Fields(text)
		if len(words) == 0 {
			continue
		}
		switch words[0] {
		case "stack":
			head, lineText, ok := strings.Cut(strings.TrimPrefix(text, "stack "), ": ")
			if !ok {
				t.Fatalf("no line in %q", text)
			}
			name, marks, _ := strings.Cut(head, " ")
			s := result.Stack{Name: name, Line: strings.TrimSpace(lineText)}
			for mark := range strings.SplitSeq(strings.Trim(marks, "[]"), ", ") {
				if mark != "" {
					s.Marks = append(s.Marks, result.Mark(mark))
				}
			}
			s.Devices = DevicesOf(s)
			run.Stacks = append(run.Stacks, s)
		case "control":
			// control NAME: STACK
			name, of, _ := strings.Cut(strings.TrimPrefix(text, "control "), ": ")
			i := slices.IndexFunc(run.Stacks, func(s result.Stack) bool { return s.Name == of })
			twin := run.Stacks[i]
			twin.Name, twin.Control = name, of
			run.Stacks = append(run.Stacks, twin)
		case "fact":
			name, value, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(text), "fact "+words[1]+" "), ": ")
			for i := range run.Stacks {
				if run.Stacks[i].Name == words[1] {
					run.Stacks[i].Facts = append(run.Stacks[i].Facts, result.Fact{Name: name, Value: value})
				}
			}
		case "workload":
			w := result.Workload{Name: words[1], Pattern: words[2]}
			_, w.Declared, _ = strings.Cut(text, "{")
			switch {
			case w.Pattern == ycsb.Kind.Name, w.Pattern == ycsb.TPCC.Name:
				w.Kind, w.Pattern, w.Declared = w.Pattern, "", "{"+w.Declared
			case w.Declared != "":
				w.Kind, w.Declared = "fio", "{rw: "+w.Pattern+", "+w.Declared
			}
			run.Workloads = append(run.Workloads, w)
		case "kernel":
			run.Environment.Kernel = words[1]
		case "host":
			host = tellHost(t, words[1:])
		case "objective":
			run.Experiment.Objective = tellObjective(t, words[1:])
		case "instances":
			tellCrowd(t, run, host, nil, words[1:])
		case "varied":
			limit, factor, _ := strings.Cut(words[1], "*")
			tellCrowd(t, run, host, &result.Variation{Limit: limit, Factor: numberOf(t, factor)}, words[2:])
		case "beside":
			tellBeside(t, run, host, words[1:])
		case "tenants":
			tellTenants(t, run, host, words[1:])
		case "cpus":
			n, err := strconv.Atoi(words[1])
			if err != nil {
				t.Fatal(err)
			}
			run.Environment.CPUs = n
		case "drive":
			run.Environment.Devices = append(run.Environment.Devices, result.DeviceInfo{
				Name: words[1], Rotational: words[2] == "rotates", Model: strings.Join(words[3:], " "),
			})
		case "failed", "skipped", "planned":
			head, tail, _ := strings.Cut(text, ":")
			words := strings.Fields(head)
			n, err := strconv.Atoi(words[3])
			if err != nil {
				t.Fatal(err)
			}
			for range n {
				trial := result.Trial{Mix: words[1], Stack: words[2], Status: result.TrialStatus(words[0])}
				if parts := strings.Split(strings.TrimSpace(tail), " | "); len(parts) == 3 {
					trial.Problem = &problem.Problem{What: parts[0], Why: parts[1], Remedy: parts[2]}
				}
				run.Trials = append(run.Trials, trial)
			}
		default:
			tellTrials(t, run, words)
		}
	}
	return run
}

// DevicesOf returns the devices that a stack of a story stands on.
func DevicesOf(s result.Stack) []result.Device {
	switch {
	case strings.HasPrefix(s.Line, "tmpfs"):
		return nil
	case strings.HasPrefix(s.Line, "loop"):
		return []result.Device{{Name: "loop0", Role: "top"}, {Name: "vda", Role: "bottom", Depth: 1}}
	case strings.HasPrefix(s.Line, "/dev/"):
		name, _, _ := strings.Cut(strings.TrimPrefix(s.Line, "/dev/"), " ")
		return []result.Device{{Name: name, Role: "bottom"}}
	}
	return []result.Device{{Name: "nvme0n1", Role: "bottom"}}
}

// Outcome is what a story says beside the IOPS of a stack's trials.
type Outcome struct {
	Source     result.Source
	perIO      float64
	ios, bytes float64 // device writes per write of fio
	Slat, clat float64
	Seconds    float64
	Read       bool
	block      uint64  // bytes
	target     float64 // us of a target's processors per I/O
	cpus       int     // of the target
	devices    []result.Device
	trace      toldTrace
	untraced   string
}

func tellTrials(t Stopper, run *result.Run, words []string) {
	t.Helper()
	o := Outcome{Source: result.SourceDevice, perIO: 1, ios: 1, bytes: 1, Slat: 2000, Seconds: 120, block: 4096}
	for _, w := range run.Workloads {
		if w.Name == words[0] {
			o.Read = strings.HasSuffix(w.Pattern, "read")
			if l, ok := fio.LoadOf(w.Declared); ok {
				o.block = uint64(l.BlockBytes)
			}
		}
	}
	for _, s := range run.Stacks {
		if s.Name == words[1] {
			o.devices = s.Devices
		}
	}
	number := func(s string) float64 {
		v, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Fatalf("%q in %q: %v", s, words, err)
		}
		return v
	}
	var iops []float64
	for _, w := range words[2:] {
		key, value, _ := strings.Cut(w, "=")
		switch key {
		case "unknown":
			o.Source = result.SourceUnknown
		case "memory":
			o.Source, o.perIO = result.SourceMemory, number(value)
		case "writes":
			ios, bytes, _ := strings.Cut(value, "/")
			o.ios, o.bytes = number(ios), number(bytes)
			o.perIO = o.ios
		case "slat":
			o.Slat = number(value)
		case "clat":
			o.clat = number(value)
		case "seconds":
			o.Seconds = number(value)
		case "traced":
			o.trace.empty = true
		case "untraced":
			o.untraced = value
		case "target":
			us, cpus, _ := strings.Cut(value, "/")
			o.target, o.cpus = number(us), int(number(cpus))
		default:
			if !o.trace.tell(t, key, value) {
				iops = append(iops, number(w))
			}
		}
	}
	for i, v := range iops {
		run.Trials = append(run.Trials, o.Trial(words[0], words[1], i+1, v))
	}
}

// Trial makes a trial with the outcome.
func (o Outcome) Trial(workload, stack string, repeat int, iops float64) result.Trial {
	clat := o.clat
	trace, ns := o.trace.trial(o, workload+stack, repeat, iops)
	if clat == 0 && ns > 0 {
		clat = ns - o.Slat
	}
	if clat == 0 && iops > 0 {
		clat = 16e9 / iops
	}
	ios := uint64(iops * o.Seconds)
	histogram := func(ns float64) hist.Histogram {
		return hist.Histogram{Count: ios, MeanNS: ns, MinNS: uint64(ns), MaxNS: uint64(ns),
			Bins: hist.Pack([]hist.Bin{{NS: uint64(ns), Count: ios}})}
	}
	dir := result.Operation{
		Count: ios, Bytes: ios * o.block, Rate: iops, BytesPerSecond: iops * float64(o.block),
		Latency: map[result.Stage]hist.Histogram{result.Submission: histogram(o.Slat), result.Completion: histogram(clat),
			result.Total: histogram(o.Slat + clat)},
	}
	m := &result.Measurement{Seconds: o.Seconds, Operations: result.ReadsWrites(result.Operation{}, dir)}
	h := &result.Honesty{Source: o.Source}
	if o.Read {
		m.Operations = result.ReadsWrites(dir, result.Operation{})
	}
	if o.Source != result.SourceUnknown {
		h.Ratio = &o.perIO
		for _, d := range o.devices {
			per := o.perIO
			if d.Role == "top" {
				per = 1
			}
			c := result.DeviceCounter{Device: d, PerIO: per}
			if o.Read {
				c.Reads = uint64(float64(ios) * per)
			} else {
				c.Writes, c.WriteBytes = uint64(float64(ios)*per), uint64(float64(dir.Bytes)*per/o.ios*o.bytes)
			}
			h.Served = append(h.Served, c)
		}
		h.Reason = fmt.Sprintf("the devices counted %s of 100 I/Os", units.Digits(100*o.perIO))
	}
	t := result.Trial{Mix: workload, Stack: stack, Block: repeat, Repeat: repeat, BringUp: repeat, Region: repeat,
		Status: result.TrialDone, Instances: result.One(m), Checks: []result.Honesty{*h},
		Trace: trace, Untraced: o.untraced}
	if o.cpus > 0 {
		t.TargetCPU = &result.TargetCPU{BusySeconds: o.target / 1e6 * float64(ios), Seconds: o.Seconds, CPUs: o.cpus,
			IOs: float64(ios)}
	}
	return t
}
