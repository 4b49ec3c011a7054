package finding

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"plimsoll/internal/hist"
	"plimsoll/internal/result"
	"plimsoll/internal/units"
	"plimsoll/internal/workload/fio"
)

// The stories in testdata state what was measured and show the findings.
//
//	stack NAME [marks]: LINE
//	control NAME: STACK
//	fact STACK NAME: VALUE
//	workload NAME PATTERN [DECLARED]
//	kernel RELEASE
//	cpus N
//	drive NAME solid|rotates [MODEL]
//	WORKLOAD STACK IOPS... [unknown] [memory=PER_IO] [writes=IOS/BYTES] [slat=NS] [clat=NS] [seconds=S] [target=US_PER_IO/CPUS] [traced] [untraced=WHY]
//	    [trace=PART:NS,...] [residue=NS] [perio=IOS/BYTES] [served=OWNER;OP;PER_IO;BYTES_EACH]... [lost=N] [missing=WHAT] [noise=SHARE]
//	failed|skipped|planned WORKLOAD STACK N: WHAT | WHY | REMEDY
//
// `findings` prints them whole, `titles` their titles, `claims` the published
// results with their verdicts; all take baseline=, and only= for the rules, or
// the claims, that matter.
func TestStories(t *testing.T) {
	datadriven.Walk(t, "testdata/stories", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			run := tell(t, d.Input)
			var only []string
			for _, arg := range d.CmdArgs {
				switch arg.Key {
				case "baseline":
					run.Experiment.Baseline = arg.Vals[0]
				case "only":
					only = arg.Vals
				default:
					d.Fatalf(t, "unknown argument %s", arg.Key)
				}
			}
			var b strings.Builder
			for _, f := range All(run) {
				about := f.Rule
				if d.Cmd == "claims" && f.Claim != nil {
					about = f.Claim.ID
				}
				if len(only) > 0 && !slices.Contains(only, about) {
					continue
				}
				switch d.Cmd {
				case "claims":
					if c := f.Claim; c != nil {
						fmt.Fprintf(&b, "%s (%s %s): %s: %s, published %s: %s\n", c.ID, c.Paper, c.Where, f.Workload, c.Measured, c.Published, c.Verdict)
						fmt.Fprintf(&b, "    %s\n", c.Why)
						for _, c := range f.Caveats {
							fmt.Fprintf(&b, "    ! %s\n", c)
						}
					} else if f.Kind == KindPublished && len(only) == 0 {
						fmt.Fprintf(&b, "%s\n    %s\n", f.Title, f.Why)
					}
				case "titles":
					fmt.Fprintf(&b, "%s: %s\n", f.Rule, f.Title)
				case "findings":
					fmt.Fprintf(&b, "%s: %s\n", f.ID, f.Title)
					if r := f.Recommendation; r != nil {
						isPlain(t, r)
						fmt.Fprintf(&b, "  (%s)\n", strings.Join(append([]string{string(r.Confidence)}, r.Doubts...), "; "))
						for _, bullet := range [][2]string{{"use", r.Use}, {"avoid", r.Avoid}, {"next", r.Next}} {
							if bullet[1] != "" {
								fmt.Fprintf(&b, "  %s: %s\n", bullet[0], bullet[1])
							}
						}
					}
					for sentence := range strings.SplitSeq(f.Why, ". ") {
						fmt.Fprintf(&b, "    %s\n", strings.TrimSuffix(sentence, ".")+".")
					}
					for _, c := range f.Caveats {
						fmt.Fprintf(&b, "    ! %s\n", c)
					}
				default:
					d.Fatalf(t, "unknown command %s", d.Cmd)
				}
			}
			return b.String()
		})
	})
}

// isPlain fails a test on a verdict that holds more than words: statistics
// belong below it, and ~ into tables.
func isPlain(t *testing.T, r *Recommendation) {
	t.Helper()
	statistics := regexp.MustCompile(`[][()~±]|\bp [=<]|interval`)
	for _, said := range append([]string{r.Headline, r.Use, r.Avoid, r.Next, r.Reason()}, r.Doubts...) {
		if found := statistics.FindString(said); found != "" {
			t.Errorf("the verdict holds %q: %s", found, said)
		}
	}
	word := map[Confidence]string{Sure: "Sure: ", Likely: "Likely: ", TooEarly: "Too early to say "}[r.Confidence]
	if !strings.HasPrefix(r.Headline, word) || regexp.MustCompile(`[a-z]\. [A-Z]`).MatchString(r.Headline) {
		t.Errorf("a verdict that is %s is no sentence that says so: %s", r.Confidence, r.Headline)
	}
}

// stopper is a *testing.T or a *rapid.T.
type stopper interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// tell makes the run that a story states.
func tell(t stopper, story string) *result.Run {
	t.Helper()
	run := &result.Run{Schema: result.SchemaVersion, Status: result.RunComplete, Seed: 1}
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
			s.Devices = devicesOf(s)
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
			if w.Declared != "" {
				w.Kind, w.Declared = "fio", "{rw: "+w.Pattern+", "+w.Declared
			}
			run.Workloads = append(run.Workloads, w)
		case "kernel":
			run.Environment.Kernel = words[1]
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
				trial := result.Trial{Workload: words[1], Stack: words[2], Status: result.TrialStatus(words[0])}
				if parts := strings.Split(strings.TrimSpace(tail), " | "); len(parts) == 3 {
					trial.Problem = &result.Problem{What: parts[0], Why: parts[1], Remedy: parts[2]}
				}
				run.Trials = append(run.Trials, trial)
			}
		default:
			tellTrials(t, run, words)
		}
	}
	return run
}

func devicesOf(s result.Stack) []result.Device {
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

// outcome is what a story says beside the IOPS of a stack's trials.
type outcome struct {
	source     result.Source
	perIO      float64
	ios, bytes float64 // device writes per write of fio
	slat, clat float64
	seconds    float64
	read       bool
	block      uint64  // bytes
	target     float64 // us of a target's processors per I/O
	cpus       int     // of the target
	devices    []result.Device
	trace      toldTrace
	untraced   string
}

func tellTrials(t stopper, run *result.Run, words []string) {
	t.Helper()
	o := outcome{source: result.SourceDevice, perIO: 1, ios: 1, bytes: 1, slat: 2000, seconds: 120, block: 4096}
	for _, w := range run.Workloads {
		if w.Name == words[0] {
			o.read = strings.HasSuffix(w.Pattern, "read")
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
			o.source = result.SourceUnknown
		case "memory":
			o.source, o.perIO = result.SourceMemory, number(value)
		case "writes":
			ios, bytes, _ := strings.Cut(value, "/")
			o.ios, o.bytes = number(ios), number(bytes)
			o.perIO = o.ios
		case "slat":
			o.slat = number(value)
		case "clat":
			o.clat = number(value)
		case "seconds":
			o.seconds = number(value)
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
		run.Trials = append(run.Trials, o.trial(words[0], words[1], i+1, v))
	}
}

func (o outcome) trial(workload, stack string, repeat int, iops float64) result.Trial {
	clat := o.clat
	trace, ns := o.trace.of(o, workload+stack, repeat, iops)
	if clat == 0 && ns > 0 {
		clat = ns - o.slat
	}
	if clat == 0 && iops > 0 {
		clat = 16e9 / iops
	}
	ios := uint64(iops * o.seconds)
	at := func(ns float64) hist.Histogram {
		return hist.Histogram{Count: ios, MeanNS: ns, MinNS: uint64(ns), MaxNS: uint64(ns), Bins: []hist.Bin{{NS: uint64(ns), Count: ios}}}
	}
	dir := result.Direction{
		IOs: ios, Bytes: ios * o.block, IOPS: iops, BytesPerSecond: iops * float64(o.block),
		Submission: at(o.slat), Completion: at(clat), Total: at(o.slat + clat),
	}
	m, h := &result.Measurement{RuntimeSeconds: o.seconds, Write: dir}, &result.Honesty{Source: o.source}
	if o.read {
		m.Read, m.Write = m.Write, m.Read
	}
	if o.source != result.SourceUnknown {
		h.Ratio = &o.perIO
		for _, d := range o.devices {
			per := o.perIO
			if d.Role == "top" {
				per = 1
			}
			c := result.DeviceCounter{Device: d, PerIO: per}
			if o.read {
				c.Reads = uint64(float64(ios) * per)
			} else {
				c.Writes, c.WriteBytes = uint64(float64(ios)*per), uint64(float64(dir.Bytes)*per/o.ios*o.bytes)
			}
			h.Served = append(h.Served, c)
		}
		h.Reason = fmt.Sprintf("the devices counted %s of 100 I/Os", units.Digits(100*o.perIO))
	}
	t := result.Trial{Workload: workload, Stack: stack, Block: repeat, Repeat: repeat, BringUp: repeat, Region: repeat, Status: result.TrialDone, Measurement: m, Honesty: h, Trace: trace, Untraced: o.untraced}
	if o.cpus > 0 {
		t.TargetCPU = &result.TargetCPU{BusySeconds: o.target / 1e6 * float64(ios), Seconds: o.seconds, CPUs: o.cpus, IOs: float64(ios)}
	}
	return t
}
