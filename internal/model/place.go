package model

import (
	"math"
	"slices"
	"sync"

	"plimsoll/internal/result"
)

// instances are some of one class on one host.
type instances struct {
	params  *Params
	host    *HostKind
	at      int // number of the host
	drive   int // of the host's, on which they stand; -1 where it has none
	shares  []Share
	stood   *Drive
	own     result.Limits
	count   float64
	clients float64 // of each
	think   float64 // s
	memory  float64 // of each, in bytes; 0 for as much as there may be

	fixed float64 // of its memory that no shortage takes from it; 0 where nobody knows
	held  float64 // the most that one was seen to hold
}

// onDrives returns the shares of I/O on each drive that instances stand on; none where no drive is known. alone is
// memory for a single share.
func (in *instances) onDrives(alone *[1]Share) []Share {
	switch {
	case len(in.shares) > 0:
		return in.shares
	case in.drive >= 0 && in.drive < len(in.host.Drives):
		alone[0] = Share{Drive: in.drive, Reads: 1, Writes: 1}
		return alone[:]
	}
	return nil
}

// station is where operations wait, and whose it is.
type station struct {
	of   Resource
	host int
	name string // of a drive or target; "" for the host's own
	own  bool   // of one flow alone
}

// network is the network of queues that instances form on hosts and on targets that these share.
type network struct {
	stations []station
	flows    []flow
	uses     []use   // of all flows
	others   float64 // hosts that use what is added next as this one does

	drives  []sharedDrive
	targets []sharedTarget

	search search
	placed []instances // memory for what Solve places
}

type sharedDrive struct {
	target *Target
	host   int // of a local one
	name   string
	first  int // of its stations
}

type sharedTarget struct {
	target *Target
	first  int
}

// The stations of each host come first, in this order.
var ofHost = [...]Resource{Processors, Machine, Reads, Writings, ReadBytes, WriteBytes, IOs, IOBytes, Network, Network,
	Drives}

const (
	atProcessors = iota
	atMachine
	atReads
	atWrites
	atReadBytes
	atWriteBytes
	atIOs
	atIOBytes
	atNetworkIn
	atNetworkOut
	atDrive
)

// networks keeps the memory of networks that were solved: a plan solves tens of thousands of small ones.
var networks = sync.Pool{New: func() any { return &network{} }}

// newNetwork returns a network to lay, which release takes back. Its solutions depend on nothing that was solved in the
// same memory before: lay and search.begin set all that they read.
func newNetwork() *network {
	n, _ := networks.Get().(*network)
	return n
}

// release ends the use of a network, and of what solve returned.
func (n *network) release() { networks.Put(n) }

// lay makes the network of instances on so many hosts.
func (n *network) lay(all []instances, hosts int) {
	n.flows = slices.Grow(n.flows[:0], len(all))[:len(all)]
	n.uses, n.stations = slices.Grow(n.uses[:0], 24*len(all)), slices.Grow(n.stations[:0], hosts*len(ofHost)+8*len(all))
	n.stations, n.uses, n.drives, n.targets = n.stations[:0], n.uses[:0], n.drives[:0], n.targets[:0]
	for h := range hosts {
		for _, r := range ofHost {
			n.stations = append(n.stations, station{of: r, host: h})
		}
	}
	for i := range all {
		first := len(n.uses)
		n.flows[i] = n.place(&all[i])
		n.flows[i].uses = n.uses[first:len(n.uses):len(n.uses)]
	}
}

// add notes what an operation does to a station that does so much a second; nothing where it has no bound.
func (n *network) add(station int, sharp, capacity, fixed, writes float64) {
	if !(capacity > 0) || math.IsInf(capacity, 1) {
		return
	}
	fixed, writes = fixed/capacity, writes/capacity
	if !(fixed > 0) {
		fixed = 0 // of what nobody knows, also
	}
	if !(writes > 0) {
		writes = 0
	}
	if fixed+writes > 0 {
		n.uses = append(n.uses, use{station, sharp, fixed, writes, n.others})
	}
}

// private is a station that only one flow has.
func (n *network) private(of Resource, host int, sharp, capacity, fixed, writes float64) {
	before := len(n.uses)
	n.add(len(n.stations), sharp, capacity, fixed, writes)
	if len(n.uses) > before {
		n.stations = append(n.stations, station{of: of, host: host, own: true})
	}
}

// place returns the instances as a flow.
func (n *network) place(in *instances) flow { return n.reading(in, in.params.Reads.At(in.memory)) }

// reading returns the instances as a flow where an operation reads the device so often.
func (n *network) reading(in *instances, reads float64) flow {
	p, h := in.params, &in.host.Host
	speed := h.speed()
	cpu, hostCPU := p.CPU.At(reads)*loadAt(p.CPUTimes, in.clients)/speed, p.HostCPU.At(reads)/speed
	counted := reads
	if p.Inferred {
		counted = 0
	}
	readBytes, writeBytes := counted*float64(p.ReadBytes), float64(p.WriteBytes)
	late, device := float64(p.Late.Processors), float64(p.Late.Device)
	reach := p.Reach
	first := in.at * len(ofHost)
	n.add(first+atProcessors, late, h.CPUs, cpu, 0)
	n.add(first+atMachine, late, h.Machine*float64(reach.Machine), hostCPU, 0)
	n.add(first+atReads, device, float64(h.Read.OperationsPerSecond)*float64(reach.Reads), counted, 0)
	n.add(first+atWrites, device, float64(h.Write.OperationsPerSecond)*float64(reach.Writes), 0, 1)
	n.add(first+atReadBytes, device, float64(h.Read.BytesPerSecond)*float64(reach.Reads), readBytes, 0)
	n.add(first+atWriteBytes, device, float64(h.Write.BytesPerSecond)*float64(reach.Writes), 0, writeBytes)
	n.add(first+atIOs, device, float64(h.IO.OperationsPerSecond)*float64(reach.Reads), counted, 1)
	n.add(first+atIOBytes, device, float64(h.IO.BytesPerSecond)*float64(reach.Reads), readBytes, writeBytes)
	own := in.own
	n.private(OwnCPUs, in.at, late, own.CPUs*in.count, cpu, 0)
	if p.Locked != nil {
		n.private(Inside, in.at, lockLate, in.count, p.Locked.With(in.clients), 0)
	}

	var alone [1]Share
	shares := in.onDrives(&alone)
	for _, s := range shares {
		asked := demanded{s.Reads * counted, s.Reads * readBytes, s.Writes, s.Writes * writeBytes}
		n.limited(in, in.own, asked)
		n.limited(in, s.Own, asked)
		n.serve(in, &in.host.Drives[s.Drive], asked)
	}
	if len(shares) == 0 {
		n.limited(in, in.own, demanded{counted, readBytes, 1, writeBytes})
		n.add(first+atDrive, device, 1, counted*float64(p.Drive), float64(p.Drive))
	}
	base := math.Inf(-1)
	lines, count := in.alone()
	for _, l := range lines[:count] {
		base = max(base, l.At(reads))
	}
	return flow{clients: in.clients * in.count, count: in.count, base: base, writes: p.Writes}
}

// limited notes what an operation does to the limits of instances on one device.
func (n *network) limited(in *instances, own result.Limits, asked demanded) {
	read, write, io, reach, late := own.Read, own.Write, own.IO, in.params.Reach, float64(in.params.Late.Device)
	reads, writes := in.count*float64(reach.Reads), in.count*float64(reach.Writes)
	n.private(Reads, in.at, late, float64(read.OperationsPerSecond)*reads, asked.reads, 0)
	n.private(Writings, in.at, late, float64(write.OperationsPerSecond)*writes, 0, asked.writes)
	n.private(ReadBytes, in.at, late, float64(read.BytesPerSecond)*reads, asked.readBytes, 0)
	n.private(WriteBytes, in.at, late, float64(write.BytesPerSecond)*writes, 0, asked.writeBytes)
	n.private(IOs, in.at, late, float64(io.OperationsPerSecond)*reads, asked.reads, asked.writes)
	n.private(IOBytes, in.at, late, float64(io.BytesPerSecond)*reads, asked.readBytes, asked.writeBytes)
}

// alone returns how long a cycle of a client takes where no operation waits for another, in seconds: the highest of
// these lines over the reads of an operation.
func (in *instances) alone() (lines [3]Line, n int) {
	p, counted := in.params, Number(1)
	if p.Inferred {
		counted = 0
	}
	lines[0], n = p.Latency, 1
	if speed := Number(in.host.Host.speed()); speed != 1 && !math.IsNaN(float64(p.CPU.Base)) {
		saved := 1 - 1/speed // what is no processor's time does not get shorter
		lines[0] = Line{p.Latency.Base - saved*p.CPU.Base, p.Latency.More - saved*p.CPU.More}
		if speed > 1 {
			lines[1], n = Line{p.Latency.Base / speed, p.Latency.More / speed}, 2
		}
	}
	speeds := n
	var alone [1]Share
	shares := in.onDrives(&alone)
	if len(shares) > 0 && in.stood != nil {
		lines[n], n = Line{Base: p.Latency.Base / 10}, n+1
	}
	for _, s := range shares {
		d, part := &in.host.Drives[s.Drive], counted*Number(s.Reads)
		for i := range n {
			if in.stood != nil && i < speeds {
				lines[i].More += part * (d.Is.Read.Latency - in.stood.Read.Latency)
			}
			lines[i].More += part * Number(d.Delay)
		}
	}
	for i := range n {
		lines[i].Base += Number(in.think)
	}
	return lines, n
}

// serve notes what an operation does to a drive, and to what it is reached over.
func (n *network) serve(in *instances, d *HostDrive, asked demanded) {
	if t := d.Target; t != nil {
		first := in.at * len(ofHost)
		n.add(first+atNetworkIn, networkLate, in.host.Host.NIC, asked.readBytes, 0)
		n.add(first+atNetworkOut, networkLate, in.host.Host.NIC, 0, asked.writeBytes)
		at := n.targetAt(t)
		n.others = max(0, t.Initiators-1)
		n.add(at, networkLate, t.CPUs, asked.reads*t.CPUSeconds, asked.writes*t.CPUSeconds)
		n.add(at+1, networkLate, t.NIC, asked.readBytes, 0)
		n.add(at+2, networkLate, t.NIC, 0, asked.writeBytes)
	}
	n.drive(n.driveAt(in.at, d), &d.Is, asked, true)
	n.others = 0
}

// demanded counts the I/Os of an operation on a drive; its writes are of each write where they depend on the rate.
type demanded struct{ reads, readBytes, writes, writeBytes float64 }

// drive notes what an operation asks of a drive whose stations begin at at.
func (n *network) drive(at int, d *Drive, of demanded, each bool) {
	write := func(at int, capacity, asked float64) {
		fixed, writes := asked, 0.0
		if each {
			fixed, writes = 0, asked
		}
		n.add(at, float64(d.Write.sharp()), capacity, fixed, writes)
	}
	n.add(at, float64(d.Read.sharp()), float64(d.Read.IOPS), of.reads, 0)
	n.add(at+2, float64(d.Read.sharp()), float64(d.Read.Bandwidth), of.readBytes, 0)
	iops, bandwidth, competes := float64(d.Write.IOPS), float64(d.Write.Bandwidth), float64(d.Competes)
	write(at, iops/competes, of.writes)
	write(at+2, bandwidth/competes, of.writeBytes)
	if competes < 1 { // else the above bounds writes, too
		write(at+1, iops, of.writes)
		write(at+3, bandwidth, of.writeBytes)
	}
}

// networkLate is how late waiting begins at networks and what serves drives: as of two servers.
const networkLate = 2

// lockLate is how late waiting begins at what one operation can have at a time: as of one server.
const lockLate = 1

// driveAt returns the first of a drive's four stations: reads, writes, bytes read and written.
func (n *network) driveAt(host int, d *HostDrive) int {
	for _, s := range n.drives {
		if s.name == d.Name && s.target == d.Target && (s.target != nil || s.host == host) {
			return s.first
		}
	}
	first := len(n.stations)
	n.drives = append(n.drives, sharedDrive{d.Target, host, d.Name, first})
	for _, r := range [...]Resource{Reads, Writings, ReadBytes, WriteBytes} {
		n.stations = append(n.stations, station{of: r, host: host, name: d.Name})
	}
	return first
}

// targetAt returns the first of a target's three stations: processors, and both ways of its network.
func (n *network) targetAt(t *Target) int {
	for _, s := range n.targets {
		if s.target == t {
			return s.first
		}
	}
	first := len(n.stations)
	n.targets = append(n.targets, sharedTarget{t, first})
	n.stations = append(n.stations, station{of: TargetCPUs, host: -1, name: t.Name},
		station{of: TargetNet, host: -1, name: t.Name}, station{of: TargetNet, host: -1, name: t.Name})
	return first
}

// solve returns the rates of the flows, and what is used of each station, until it is asked again. The search begins
// at rates that are near; nil for none. ok reports whether the rates are a solution.
func (n *network) solve(near []float64) (rates, used []float64, ok bool) {
	ok = n.search.solve(n.flows, len(n.stations), near)
	return n.search.now.rates, n.search.now.used, ok
}

// at returns the instances of a point.
func (p *Params) at(of *Point) instances {
	in := instances{params: p, drive: -1, own: of.Own, count: float64(of.Instances), clients: float64(of.Clients),
		think: of.Think, memory: of.Memory()}
	if in.host = of.on; in.host == nil {
		in.host = &HostKind{Host: of.Host}
		return in
	}
	in.drive = 0
	return in
}

// standOn tells points of the drive that they stood on.
func standOn(points []Point, d *Drive) {
	for i := range points {
		points[i].on = &HostKind{points[i].Host, []HostDrive{{Name: d.Name, Is: *d}}}
	}
}

// rate returns the predicted operations a second of a point's instances together; NaN where no solution is found.
func (p *Params) rate(of *Point) float64 {
	n := newNetwork()
	defer n.release()
	n.lay([]instances{p.at(of)}, 1)
	rates, _, ok := n.solve(nil)
	if !ok {
		return math.NaN()
	}
	return rates[0]
}

// usedAlone returns what some instances alone use, at most, of each kind of resource; nothing where no solution is
// found.
func (in instances) usedAlone() map[Resource]float64 {
	in.at = 0
	n := newNetwork()
	defer n.release()
	n.lay([]instances{in}, 1)
	_, used, ok := n.solve(nil)
	most := map[Resource]float64{}
	if !ok {
		return most
	}
	for s, u := range used {
		most[n.stations[s].of] = max(most[n.stations[s].of], u)
	}
	return most
}
