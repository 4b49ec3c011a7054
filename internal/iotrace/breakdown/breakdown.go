package breakdown

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/iotrace"
	"plimsoll/internal/result"
)

// Input is the data of one trial.
type Input struct {
	Account *iotrace.Account
	Calls   bool // the recorder followed system calls

	// Owns reports whether an owner's requests are the application's.
	Owns func(iotrace.Owner) bool

	// Saw is the application's own measurement. Share is the part of its I/Os that Saw covers: below 1 where it
	// leaves out a ramp that the account includes.
	Saw   result.Measurement
	Share float64

	// Devices are the stack's, the top first.
	Devices []result.Device

	// Target is the target's side of the requests; nil where the device is local or its host does not report it.
	Target *Target
}

// Target holds the requests that completed at the host of a remote device during the trial.
type Target struct {
	Read, Write Completed
	Lost        uint64 // requests that the target's recorder missed
}

// Completed counts requests and their total time.
type Completed struct {
	Requests uint64
	NS       float64 // in the device

	// Recorded is set where the target recorded its own requests, which the counts above are then of.
	Recorded *Recorded
}

// Recorded splits the time of requests at their target.
type Recorded struct {
	WholeNS    float64 // of all of them, from the arrival of a command
	Passed     uint64  // requests that reached a device
	Own        uint64  // of these, that did not have to wait for the network,
	SoftwareNS float64 // the part of the time spent in the target's software
}

// minCallShare is the share of I/Os that must have been seen in a system call. Below it, the rest of the
// application's latency cannot be called its own time.
const minCallShare = 0.98

// Join makes the trace of a trial.
func Join(in Input) *result.Trace {
	a := in.Account
	j := &join{Input: in, out: &result.Trace{Recorder: a.Recorder, Lost: a.Lost}}
	switch a.Lost {
	case 0:
	case 1:
		j.miss("1 event was lost: the parts are means of those that were seen")
	default:
		j.miss("%d events were lost: the parts are means of those that were seen", a.Lost)
	}
	j.out.Read = j.direction(iotrace.Read, "read", in.Saw.Operation(result.Read))
	j.out.Write = j.direction(iotrace.Write, "write", in.Saw.Operation(result.Write))
	j.out.Served = countServed(a, in.Owns)
	return j.out
}

type join struct {
	Input
	out *result.Trace
}

func (j *join) miss(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(j.out.Missing, text) {
		j.out.Missing = append(j.out.Missing, text)
	}
}

// addMissingReason adds the recorder's reason for a missing interval that a part needs.
func (j *join) addMissingReason(i iotrace.Interval) {
	for _, why := range j.Account.Missing {
		if strings.Contains(why, i.String()) {
			j.miss("%s", why)
		}
	}
}

// direction breaks the application's reads, or its writes, down.
func (j *join) direction(op iotrace.Op, name string, saw result.Operation) *result.Breakdown {
	if saw.Count == 0 {
		return nil
	}
	queued, total := j.requestsOf(op)
	ios := float64(saw.Count)
	if j.Share > 0 {
		ios /= j.Share // as many as the account is about
	}
	b := &result.Breakdown{
		IOs: saw.Count, Bytes: saw.Bytes, TotalNS: saw.Latency[result.Total].MeanNS,
		PerIO: float64(total.requests) / ios, BytesPerIO: float64(total.bytes) / ios,
	}
	p := parts{join: j, name: name, queued: queued, to: b, waits: saw.Latency[result.Submission].MeanNS == 0, ios: ios}
	if op == iotrace.Write {
		p.flushes = j.flushes()
	}
	switch {
	case queued.requests == 0 && total.requests > 0:
		j.miss("%s: none of its calls queued a request: fsync and its kin or kernel threads do its I/O, and how long "+
			"a %s waits for these is not known", name, name)
	case queued.requests == 0:
		j.miss("%s: no request was seen that the application queued itself: a cache answered, or kernel threads do "+
			"its I/O", name)
	default:
		p.covered = min(1, (float64(queued.bios())+float64(j.Account.Lost))/ios)
		p.calls = min(1, (float64(queued.count(iotrace.S2X))+float64(j.Account.Lost))/ios)
		p.user(saw)
		p.kernel()
		p.block()
		p.device(op)
	}
	b.ResidueNS = b.TotalNS
	for _, part := range b.Parts {
		b.ResidueNS -= part.MeanNS
	}
	return b
}

// minFlushShare is the number of flushes per write from which they are reported.
const minFlushShare = 0.01

// parts adds parts to a breakdown.
type parts struct {
	*join
	name   string // of the direction
	queued requests
	to     *result.Breakdown
	ios    float64 // as many as the account is about

	waits   bool    // the application waits in the call that submits
	flushes float64 // flushes of the devices' caches, requested by anyone
	covered float64 // share of I/Os that led to a request
	calls   float64 // share of I/Os whose system call is known
}

// add adds a part that takes ns in an I/O that has it.
func (p *parts) add(name result.PartName, ns float64, from string, dist *iotrace.Dist) {
	part := result.TracePart{Name: name, MeanNS: ns, From: from}
	if dist != nil && dist.Count > 0 {
		l := dist.Latency()
		part.Latency = &l
	}
	p.to.Parts = append(p.to.Parts, part)
}

// user adds the time in the application's own code: its latency, or its submission latency where it does not wait in
// the call, less the system call.
func (p *parts) user(saw result.Operation) {
	call := p.queued.intervals[iotrace.S2X]
	switch {
	case call == nil:
		p.miss("%s: its system calls are not known: user and kernel are in the residue", p.name)
		p.addMissingReason(iotrace.S2X)
	case p.calls < minCallShare:
		p.miss("%s: only %.0f%% of its system calls led to a request: what the others took in user and kernel is in "+
			"the residue", p.name, 100*p.calls)
	case !p.waits:
		p.ownCode(saw.Latency[result.Submission].MeanNS-p.calls*(call.MeanNS()+p.wakeupDelay(call)),
			"submission less the system call")
	default:
		p.ownCode(saw.Latency[result.Total].MeanNS-p.calls*call.MeanNS(), "total less the system call")
	}
}

// nothing is the share of the latency that user may be below 0, by chance.
const nothing = 0.01

// ownCode adds the part user, unless it is less than nothing: calls count by
// the bios that they queued, and those that queue more last longer.
func (p *parts) ownCode(ns float64, from string) {
	split := float64(p.queued.bios()) / p.ios
	switch {
	case ns >= -nothing*p.to.TotalNS:
		p.add(result.PartUser, ns, from, nil)
	case split*minCallShare > 1:
		p.miss("%s: each I/O queued %.2f bios, some more than others, and parts are means of these: those of longer "+
			"I/Os count too often, which is in the residue, as is user", p.name, split)
	default:
		p.miss("%s: its system calls took longer than the application says: user is in the residue", p.name)
	}
}

// wakeupDelay returns by how much longer than at best the application took from the submitting call to the call in
// which it waits. It is often scheduled away there for the very thread that its I/O woke, and then reads the clock
// late: its submission latency includes time of the device.
func (p *parts) wakeupDelay(call *iotrace.Dist) float64 {
	d := p.queued.intervals[iotrace.X2W]
	if d == nil || d.Count == 0 {
		return 0
	}
	return (d.MeanNS() - float64(d.MinNS)) * min(1, float64(d.Count)/float64(call.Count))
}

// maxOverrun is the share of the latency by which the way back may exceed the time left for it.
const maxOverrun = 0.1

// remaining returns the latency not yet attributed to a part, which bounds the way back.
func (p *parts) remaining() float64 {
	before := 0.0
	for _, i := range []iotrace.Interval{iotrace.S2Q, iotrace.Q2D, iotrace.D2C} {
		before += p.queued.intervals[i].MeanNS()
	}
	return max(0, p.to.TotalNS-p.covered*before)
}

// kernel is from the system call to the block layer, and from completion back
// to the application.
func (p *parts) kernel() {
	entry, back := p.queued.intervals[iotrace.S2Q], p.queued.intervals[iotrace.C2R]
	if entry == nil {
		return // without calls, nothing is known of completions either
	}
	returned := min(1, (float64(p.queued.count(iotrace.C2R))+float64(p.Account.Lost))/float64(p.queued.requests))
	if split := float64(p.queued.requests) / p.ios; !p.waits && split*minCallShare > 1 {
		// The kernel's events tell which request is complete, and not which I/O.
		returned, back = 0, nil
		p.miss("%s: each I/O became %.2f requests: when the application got its completions is not known, and in the "+
			"residue", p.name, split)
	} else if !p.waits && p.covered*returned*back.MeanNS() > p.remaining()+maxOverrun*p.to.TotalNS {
		// One completion that no I/O was of puts all that come after it off.
		returned, back = 0, nil
		p.miss("%s: the application's completions could not be distinguished from others that its calls waited for (of "+
			"metadata): when it got them is not known, and in the residue", p.name)
	} else if returned < minCallShare {
		p.miss("%s: when the application got %.0f%% of its completions is not known: what these took is in the "+
			"residue", p.name, 100*(1-returned))
		p.addMissingReason(iotrace.C2R)
	}
	from := "S2Q + C2R"
	switch {
	case back == nil:
		from = "S2Q"
	case p.waits && p.flushes >= p.ios*minFlushShare && back.MeanNS() > p.queued.intervals[iotrace.D2C].MeanNS():
		p.miss("%s: its calls go on waiting after their data is written, for a journal or for the %.2f flushes that "+
			"were made for each: that time is in kernel, after completion, and partly the device's", p.name, p.flushes/p.ios)
	}
	p.to.EntryNS, p.to.ReturnNS = p.covered*entry.MeanNS(), p.covered*returned*back.MeanNS()
	p.add(result.PartKernel, p.to.EntryNS+p.to.ReturnNS, from, nil)
}

func (p *parts) block() {
	if d := p.queued.intervals[iotrace.Q2D]; d != nil {
		p.add(result.PartBlock, p.covered*d.MeanNS(), "Q2D", d)
	}
}

// device adds the time from issue, or from submission to the hardware, to completion. For a remote device it splits
// this time into fabric and device.
func (p *parts) device(op iotrace.Op) {
	issued, has, whole := p.queued.intervals[iotrace.D2C], p.queued.intervals[iotrace.N2C], p.queued.intervals[iotrace.Q2C]
	wait, from := issued, "D2C"
	driver := p.queued.intervals[iotrace.D2N]
	switch {
	case issued == nil && whole != nil:
		wait, from = whole, "Q2C: the device has no requests, only bios"
	case issued == nil:
		p.miss("%s: no completion of its requests was seen", p.name)
		return
	case driver == nil || has == nil:
		p.addMissingReason(iotrace.D2N)
	case float64(has.Count) < minCallShare*float64(issued.Count):
		p.miss("%s: the driver reported %d of %d requests when the device had them: driver is in device", p.name,
			has.Count, issued.Count)
	default:
		wait, from = has, "N2C"
		p.add(result.PartDriver, p.covered*driver.MeanNS(), "D2N", driver)
	}
	completed := p.atTarget(op)
	if completed.Requests == 0 {
		p.add(result.PartDevice, p.covered*wait.MeanNS(), from, wait)
		return
	}
	p.splitRemote(completed, wait, from)
}

// splitRemote splits this host's wait into fabric, target software and device.
func (p *parts) splitRemote(completed Completed, wait *iotrace.Dist, from string) {
	n := float64(completed.Requests)
	software, device := 0.0, completed.NS/n
	completer, deviceFrom := "the target's device", "T: the target's counters"
	fabricFrom := from + " less the target's device"
	if r := completed.Recorded; r != nil {
		completer, fabricFrom, deviceFrom = "the target", from+" less what it takes at the target", "Q2C at the target"
		switch {
		case float64(r.Passed) < minCallShare*n:
			device, deviceFrom = r.WholeNS/n, "T: the target, and what is behind it"
		case float64(r.Own) < minCallShare*n:
			p.miss("%s: the target had to fetch the data of %.0f%% of them: its own part of these is in fabric", p.name,
				100*(1-float64(r.Own)/n))
			fallthrough
		default:
			software = r.SoftwareNS / n
		}
	}
	if asked := float64(p.queued.requests); n > 1.1*asked || n < asked/1.1 {
		p.miss("%s: %s completed %d requests, and this host asked for %d: its time is the mean of all of them", p.name,
			completer, completed.Requests, p.queued.requests)
	}
	if lost := p.Target.Lost; lost > 0 {
		p.miss("the target could not record %d requests: its time is the mean of the others", lost)
	}
	p.add(result.PartFabric, p.covered*(wait.MeanNS()-software-device), fabricFrom, nil)
	if software > 0 {
		p.add(result.PartTarget, p.covered*software, "A2Q: the target's own", nil)
	}
	p.add(result.PartDevice, p.covered*device, deviceFrom, nil)
}

// atTarget returns the target's requests of an operation.
func (p *parts) atTarget(op iotrace.Op) Completed {
	switch {
	case p.Target == nil:
		return Completed{}
	case op == iotrace.Read:
		return p.Target.Read
	}
	return p.Target.Write
}
