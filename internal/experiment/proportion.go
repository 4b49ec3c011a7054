package experiment

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	"plimsoll/internal/plural"
	"plimsoll/internal/result"
	"plimsoll/internal/units"
)

// leastRecords are those below which a server answers from its own buffers whatever the host has.
const leastRecords = 1000

// Proportion has servers and their data be to the host that a command line asks for as they are to the host of the
// file: as many more instances as it has processors, and so much data in all as it has memory, so that memory binds
// where it did. What the command line says itself stays, and the other follows from it. has is what this machine has
// of what nothing limits. Where the file's host has no limit of memory, or records differ, nothing is changed.
func (e *Experiment) Proportion(has result.Limits) {
	records, alike := e.records()
	if e.HostAsked.Nothing() || e.Host == nil || e.Host.MemoryBytes == 0 || !alike || e.Scaled.Bytes > 0 {
		return
	}
	host := has.With(e.askedHost())
	memory := float64(host.MemoryBytes) / float64(e.Host.MemoryBytes)
	most, counted := e.most()
	instances := 1.0
	switch {
	case !counted:
	case e.Instances > 0:
		instances = float64(e.Instances) / float64(most)
	case e.Scaled.Records > 0:
		instances = memory * float64(records) / float64(e.Scaled.Records)
	case e.Host.CPUs > 0:
		instances = host.CPUs / e.Host.CPUs
	}
	if counted && e.Instances == 0 {
		asked := min(MaxInstances, max(2, int(math.Round(instances*float64(most)))))
		instances = float64(asked) / float64(most)
		if asked != most {
			e.Instances, e.proportioned = asked, true
		}
	}
	if e.Scaled.Records == 0 {
		asked := max(leastRecords, twoDigits(float64(records)*memory/instances))
		if asked != int(records) {
			e.Scaled.Records, e.proportioned = asked, true
		}
	}
}

// records returns how many each server has; false where there are none, or servers differ in it.
func (e *Experiment) records() (count int64, alike bool) {
	for _, w := range e.Workloads {
		if !w.hasRecords() {
			continue
		}
		own := w.Abilities().Scaling.Records.Count
		if count != 0 && own != count {
			return 0, false
		}
		count = own
	}
	return count, count > 0
}

// most returns the instances of the largest mix of those that differ in their number; false where none do.
func (e *Experiment) most() (instances int, counted bool) {
	for _, f := range e.Families() {
		instances = max(instances, f[len(f)-1].Count())
	}
	return instances, instances > 0
}

// askedHost is the miniature as a command line has it.
func (e *Experiment) askedHost() result.Limits {
	host := (&parser{Options: Options{asked: asked{host: e.HostAsked}}}).hostAsked(e.Host)
	if host == nil {
		return result.Limits{}
	}
	return *host
}

// twoDigits rounds to two digits that count.
func twoDigits(n float64) int {
	unit := math.Pow(10, math.Floor(math.Log10(max(1, n)))-1)
	return int(math.Round(n/unit) * unit)
}

// HostPlan is what a run of servers asks of the host, as far as that is known before it starts.
type HostPlan struct {
	Made        bool          `json:"made,omitempty"`    // instances or data were made to be in proportion to it
	Limits      result.Limits `json:"limits,omitzero"`   // of the miniature; none for the host itself
	CPUs        float64       `json:"cpus"`              // that servers may use
	MemoryBytes int64         `json:"memory_bytes"`      // that they may use, page cache included
	Left        result.Limits `json:"left,omitzero"`     // what others keep of processors and memory
	Records     int64         `json:"records,omitempty"` // of each server; 0 where they differ
	DataBytes   int64         `json:"data_bytes"`        // of each server, of those with most
	Outgrows    float64       `json:"outgrows"`          // instances whose data outgrows the memory
	Instances   int           `json:"instances"`         // of the mix with most
	RoomBytes   int64         `json:"room_bytes"`        // that all data takes on a stack at most
	Loading     Loading       `json:"loading"`           // of the data, once

	content string // of the data of the server with most
}

// Loading is how long loading data takes, as far as an earlier run on this host tells.
type Loading struct {
	Kept    bool    `json:"kept,omitempty"`             // an earlier run loaded this data: it is copied
	Seconds float64 `json:"seconds,omitempty"`          // that it takes; 0 where that is not known
	Speed   float64 `json:"bytes_per_second,omitempty"` // at which Of was loaded
	Of      string  `json:"measured_with,omitempty"`    // the data that an earlier run loaded
}

// Loaded is data that an earlier run on this host loaded, and keeps.
type Loaded struct {
	Content string
	Bytes   int64
	Took    time.Duration
}

// LoadedBefore tells how long loading takes from what earlier runs loaded, the latest first: the
// same data is copied, and other data of the same database is loaded about as fast.
func (p *HostPlan) LoadedBefore(kept []Loaded) {
	database, _, _ := strings.Cut(p.content, " ")
	for _, one := range kept {
		before, _, _ := strings.Cut(one.Content, ", image ")
		if before == p.content {
			p.Loading = Loading{Kept: true}
			return
		}
		of, _, _ := strings.Cut(before, " ")
		if p.Loading.Of == "" && of == database && one.Bytes > 0 && one.Took > 0 {
			speed := float64(one.Bytes) / one.Took.Seconds()
			p.Loading = Loading{Seconds: float64(p.DataBytes) / speed, Speed: speed, Of: before}
		}
	}
}

// String says how long loading takes.
func (l Loading) String() string {
	switch {
	case l.Kept:
		return "an earlier run loaded it, and it is copied"
	case l.Of == "":
		return "how long loading it takes, once, is not known: no run whose data is kept has loaded any of this database"
	}
	return fmt.Sprintf("loading it takes about %s, once, at the %s of an earlier run (%s)",
		time.Duration(l.Seconds*float64(time.Second)).Round(time.Second), units.Bandwidth(l.Speed), l.Of)
}

// Smallest says the least data with which the memory still binds, where that is less than there is:
// for a host that has no room for more. "" where there is none.
func (p HostPlan) Smallest() string {
	if p.Records == 0 || p.Instances < 2 || p.Outgrows >= float64(p.Instances-1) {
		return ""
	}
	share := p.Outgrows / (float64(p.Instances) - 1)
	return fmt.Sprintf("the least data that fills the memory before the last of %d instances takes %s of room: "+
		"--records %d", p.Instances, bytesText(int64(share*float64(p.RoomBytes))), int64(math.Ceil(share*float64(p.Records))))
}

// PlanHost returns what a run asks of a host; false where no servers run on it. has is what the machine has.
func (e *Experiment) PlanHost(has result.Limits) (p HostPlan, ok bool) {
	for _, w := range e.Workloads {
		serving := w.Abilities().Serving
		if serving != nil && serving.Bytes > p.DataBytes {
			p.DataBytes, p.content = serving.Bytes, serving.Content
		}
	}
	if p.DataBytes == 0 || len(e.Mixes) == 0 {
		return p, false
	}
	for _, m := range e.Mixes {
		p.Instances = max(p.Instances, m.Count())
	}
	for _, s := range e.Stacks {
		p.RoomBytes = max(p.RoomBytes, e.Need(s))
	}
	if e.Host != nil {
		p.Limits = *e.Host
	}
	all := has.With(p.Limits)
	p.CPUs, p.MemoryBytes = min(all.CPUs, has.CPUs), min(all.MemoryBytes, has.MemoryBytes)
	p.Left = result.Limits{CPUs: has.CPUs - p.CPUs, MemoryBytes: has.MemoryBytes - p.MemoryBytes}
	p.Records, _ = e.records()
	p.Made = e.proportioned
	p.Outgrows = float64(p.MemoryBytes) / float64(p.DataBytes)
	return p, true
}

// String says the plan in words, a line for each part of it.
func (p HostPlan) String() string {
	host := "the whole host: nothing of it is limited"
	if !p.Limits.None() {
		host = p.Limits.String()
	}
	made := ""
	if p.Made {
		made = "\nas large in proportion to it as those of the file are to its host; --records and --instances say otherwise"
	}
	data := fmt.Sprintf("%s of data for each server", bytesText(p.DataBytes))
	if p.Records > 0 {
		data = fmt.Sprintf("%d records, ", p.Records) + data
	}
	binds := fmt.Sprintf("the data of %.1f fill its %s of memory", p.Outgrows, bytesText(p.MemoryBytes))
	if p.Outgrows >= float64(p.Instances) {
		binds += fmt.Sprintf(", and no more than %d run: memory will not bind", p.Instances)
	}
	left := "nothing: others wait for the same processors and memory"
	if p.Left.CPUs > 0 || p.Left.MemoryBytes > 0 {
		left = fmt.Sprintf("%s processors, %s of memory", number2(p.Left.CPUs), bytesText(p.Left.MemoryBytes))
	}
	return fmt.Sprintf("host: %s\ndata: %s, up to %s; %s%s\n%s\nit takes %s of room at most\n"+
		"left for others, what asks the servers included: %s",
		host, data, plural.Count(p.Instances, "instance"), binds, made,
		p.Loading, bytesText(p.RoomBytes), left)
}

func bytesText(n int64) string { return units.Bytes(uint64(max(0, n))) }

func number2(n float64) string { return cmp.Or(fmt.Sprintf("%.3g", n), "0") }
