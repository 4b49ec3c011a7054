package model

import (
	"math"

	"plimsoll/internal/result"
)

// instances are some of one class on one host.
type instances struct {
	params  *Params
	host    *HostKind
	at      int // number of the host
	drive   int // of the host's, on which they stand; -1 where it has none
	stood   *Drive
	own     result.Limits
	count   float64
	clients float64 // of each
	think   float64 // s
	memory  float64 // of each, in bytes; 0 for as much as there may be

	fixed float64 // of its memory that no shortage takes from it; 0 where nobody knows
	held  float64 // the most that one was seen to hold
}

// station is where operations wait, and whose it is.
type station struct {
	of   Resource
	host int
	name string // of a drive or target; "" for the host's own
}

// network is what instances use of hosts, and of what these share.
type network struct {
	stations []station
	flows    []flow
	uses     []use   // of all flows
	others   float64 // hosts that use what is added next as this one does

	drives  []sharedDrive
	targets []sharedTarget
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
var ofHost = [...]Resource{Processors, Machine, Reads, Writings, ReadBytes, WriteBytes, Network, Network}

const (
	atProcessors = iota
	atMachine
	atReads
	atWrites
	atReadBytes
	atWriteBytes
	atNetworkIn
	atNetworkOut
)

// networkOf returns the network of instances on so many hosts.
func networkOf(all []instances, hosts int) *network {
	n := &network{stations: make([]station, 0, hosts*len(ofHost)+16*len(all)), flows: make([]flow, len(all)),
		uses: make([]use, 0, 24*len(all))}
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
	return n
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
		n.stations = append(n.stations, station{of: of, host: host})
	}
}

// place returns the instances as a flow.
func (n *network) place(in *instances) flow {
	p, h := in.params, &in.host.Host
	reads := p.Reads.At(in.memory)
	speed := h.speed()
	cpu, hostCPU := p.CPU.At(reads)/speed, p.HostCPU.At(reads)/speed
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
	own := in.own
	n.private(OwnCPUs, in.at, late, own.CPUs*in.count, cpu, 0)
	n.private(Reads, in.at, device, float64(own.Read.OperationsPerSecond)*in.count*float64(reach.Reads), counted, 0)
	n.private(Writings, in.at, device, float64(own.Write.OperationsPerSecond)*in.count*float64(reach.Writes), 0, 1)
	n.private(ReadBytes, in.at, device, float64(own.Read.BytesPerSecond)*in.count*float64(reach.Reads), readBytes, 0)
	n.private(WriteBytes, in.at, device, float64(own.Write.BytesPerSecond)*in.count*float64(reach.Writes), 0, writeBytes)

	latency := p.Latency.At(reads)
	if saved := p.CPU.At(reads) - cpu; !math.IsNaN(saved) {
		latency = max(latency/speed, latency-saved) // what is no processor's time does not get shorter
		if saved < 0 {
			latency = p.Latency.At(reads) - saved
		}
	}
	if in.drive >= 0 && in.drive < len(in.host.Drives) {
		d := &in.host.Drives[in.drive]
		if in.stood != nil {
			each := float64(d.Is.Read.Latency - in.stood.Read.Latency)
			latency = max(float64(p.Latency.Base)*0.1, latency+counted*each)
		}
		latency += counted * d.Delay
		n.serve(in, d, counted, readBytes, writeBytes)
	}
	return flow{clients: in.clients * in.count, count: in.count, base: in.think + latency, writes: p.Writes}
}

// serve notes what an operation does to a drive, and to what it is reached over.
func (n *network) serve(in *instances, d *HostDrive, reads, readBytes, writeBytes float64) {
	if t := d.Target; t != nil {
		first := in.at * len(ofHost)
		n.add(first+atNetworkIn, networkLate, in.host.Host.NIC, readBytes, 0)
		n.add(first+atNetworkOut, networkLate, in.host.Host.NIC, 0, writeBytes)
		at := n.targetAt(t)
		n.others = max(0, t.Initiators-1)
		n.add(at, networkLate, t.CPUs, reads*t.CPUSeconds, t.CPUSeconds)
		n.add(at+1, networkLate, t.NIC, readBytes, 0)
		n.add(at+2, networkLate, t.NIC, 0, writeBytes)
	}
	n.drive(n.driveAt(in.at, d), &d.Is, demanded{reads, readBytes, 1, writeBytes}, true)
	n.others = 0
}

// demanded is what an operation asks of a drive; its writes are of each write where they depend on the rate.
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
		n.stations = append(n.stations, station{r, host, d.Name})
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
	n.stations = append(n.stations, station{TargetCPUs, -1, t.Name}, station{TargetNet, -1, t.Name},
		station{TargetNet, -1, t.Name})
	return first
}

// solve returns the rates of the flows, and what is used of each station.
func (n *network) solve() (rates, used []float64) { return solve(n.flows, len(n.stations)) }

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

// rate is what the instances of a point do together, by the parameters.
func (p *Params) rate(of *Point) float64 {
	rates, _ := networkOf([]instances{p.at(of)}, 1).solve()
	return rates[0]
}

// usedAlone returns what some instances alone use, at most, of each kind of resource.
func (in instances) usedAlone() map[Resource]float64 {
	in.at = 0
	n := networkOf([]instances{in}, 1)
	_, used := n.solve()
	most := map[Resource]float64{}
	for s, u := range used {
		most[n.stations[s].of] = max(most[n.stations[s].of], u)
	}
	return most
}
