package experiment

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	"plimsoll/internal/result"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
)

// minRecords is the number of records below which a server answers from its own buffers, whatever the host's memory.
const minRecords = 1000

// Proportion scales servers and their data from the file's host to the command line's host: instances in proportion
// to processors, and data in proportion to memory, so that memory binds where it did. It keeps explicit values of the
// command line, and derives the others. has is this machine's capacity, for resources without a limit. Where the
// file's host has no limit of memory, or records differ, it changes nothing.
func (e *Experiment) Proportion(has result.Limits) {
	records, alike := e.records()
	if e.HostAsked.Empty() || e.Host == nil || e.Host.MemoryBytes == 0 || !alike || e.Scaled.Bytes > 0 {
		return
	}
	host := has.With(e.askedHost())
	memory := float64(host.MemoryBytes) / float64(e.Host.MemoryBytes)
	largest, counted := e.largestMix()
	instances := 1.0
	switch {
	case !counted:
	case e.Instances > 0:
		instances = float64(e.Instances) / float64(largest)
	case e.Scaled.Records > 0:
		instances = memory * float64(records) / float64(e.Scaled.Records)
	case e.Host.CPUs > 0:
		instances = host.CPUs / e.Host.CPUs
	}
	if counted && e.Instances == 0 {
		asked := min(MaxInstances, max(2, int(math.Round(instances*float64(largest)))))
		instances = float64(asked) / float64(largest)
		if asked != largest {
			e.Instances, e.proportioned = asked, true
		}
	}
	if e.Scaled.Records == 0 {
		asked := max(minRecords, twoDigits(float64(records)*memory/instances))
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

// largestMix returns the number of instances of the largest of the mixes that differ in it; counted is false if none
// do.
func (e *Experiment) largestMix() (instances int, counted bool) {
	for _, f := range e.Families() {
		instances = max(instances, f[len(f)-1].Count())
	}
	return instances, instances > 0
}

// askedHost is the scaled-down host as a command line has it.
func (e *Experiment) askedHost() result.Limits {
	host := HostWith(e.Host, e.HostAsked)
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

// HostPlan is the expected use of the host by a run of servers, as far as it is known before the start.
type HostPlan struct {
	Made        bool          `json:"made,omitempty"`         // instances or data were scaled to the host
	Limits      result.Limits `json:"limits,omitzero"`        // of the scaled-down host; none for the host itself
	CPUs        float64       `json:"cpus"`                   // that servers may use
	MemoryBytes int64         `json:"memory_bytes"`           // that they may use, page cache included
	Left        result.Limits `json:"left,omitzero"`          // processors and memory left for others
	Records     int64         `json:"records,omitempty"`      // of each server; 0 where they differ
	DataBytes   int64         `json:"data_bytes"`             // of each server, of those with most
	ServerBytes int64         `json:"server_bytes,omitempty"` // memory that each server needs besides its data
	Outgrows    float64       `json:"outgrows"`               // instances that fill the memory with servers and data
	Instances   int           `json:"instances"`              // of the mix with most
	RoomBytes   int64         `json:"room_bytes"`             // that all data takes on a stack at most
	MergeBytes  int64         `json:"merge_bytes,omitempty"`  // of RoomBytes, in which one server merges its largest files
	Loading     Loading       `json:"loading"`                // of the data, once

	content string // of the data of the server with most
}

// Loading is the expected time to load data, from earlier runs on this host.
type Loading struct {
	Kept    bool    `json:"kept,omitempty"`             // an earlier run kept this data: it is copied
	Seconds float64 `json:"seconds,omitempty"`          // that it takes; 0 where that is not known
	Speed   float64 `json:"bytes_per_second,omitempty"` // the speed at which Of was loaded
	Of      string  `json:"measured_with,omitempty"`    // the data that an earlier run loaded
}

// Loaded describes data that an earlier run on this host loaded and kept.
type Loaded struct {
	Content string
	Bytes   int64
	Took    time.Duration
}

// EstimateLoading estimates the loading time from data that earlier runs kept, the latest first: the same data is
// copied, and other data of the same database is loaded about as fast.
func (p *HostPlan) EstimateLoading(kept []Loaded) {
	database, _, _ := strings.Cut(p.content, " ")
	for _, loaded := range kept {
		before, _, _ := strings.Cut(loaded.Content, ", image ")
		if before == p.content {
			p.Loading = Loading{Kept: true}
			return
		}
		name, _, _ := strings.Cut(before, " ")
		if p.Loading.Of == "" && name == database && loaded.Bytes > 0 && loaded.Took > 0 {
			speed := float64(loaded.Bytes) / loaded.Took.Seconds()
			p.Loading = Loading{Seconds: float64(p.DataBytes) / speed, Speed: speed, Of: before}
		}
	}
}

// String describes the loading time.
func (l Loading) String() string {
	switch {
	case l.Kept:
		return "an earlier run loaded it, and it is copied"
	case l.Of == "":
		return "the time to load it once is not known: no kept data of this database has been loaded yet"
	}
	return fmt.Sprintf("loading it takes about %s, once, at the %s of an earlier run (%s)",
		time.Duration(l.Seconds*float64(time.Second)).Round(time.Second), units.Bandwidth(l.Speed), l.Of)
}

// Smallest describes the smallest data with which memory still binds, where that is less than planned, for a host
// with less room. It returns "" where there is none.
func (p HostPlan) Smallest() string {
	if p.Records == 0 || p.Instances < 2 || p.Outgrows >= float64(p.Instances-1) {
		return ""
	}
	caches := max(0, float64(p.MemoryBytes)/float64(p.Instances-1)-float64(p.ServerBytes))
	if caches == 0 { // the servers alone take all of it
		return ""
	}
	share := caches / float64(p.DataBytes)
	return fmt.Sprintf("the least data that fills the memory before the last of %d instances takes %s of room: "+
		"--records %d", p.Instances, bytesText(int64(share*float64(p.RoomBytes))), int64(math.Ceil(share*float64(p.Records))))
}

// PlanHost returns the expected use of the host by a run; ok is false where no servers run. has is the machine's
// capacity.
func (e *Experiment) PlanHost(has result.Limits) (p HostPlan, ok bool) {
	for _, w := range e.Workloads {
		serving := w.Abilities().Serving
		if serving != nil && serving.Bytes > p.DataBytes {
			p.DataBytes, p.content, p.ServerBytes = serving.Bytes, serving.Content, w.Info().ServerMemory
			p.MergeBytes = serving.MergeBytes
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
	capacity := has.With(p.Limits)
	p.CPUs, p.MemoryBytes = min(capacity.CPUs, has.CPUs), min(capacity.MemoryBytes, has.MemoryBytes)
	p.Left = result.Limits{CPUs: has.CPUs - p.CPUs, MemoryBytes: has.MemoryBytes - p.MemoryBytes}
	p.Records, _ = e.records()
	p.Made = e.proportioned
	p.Outgrows = float64(p.MemoryBytes) / float64(p.ServerBytes+p.DataBytes)
	return p, true
}

// String describes the plan, a line for each part.
func (p HostPlan) String() string {
	host := "the whole host, without limits"
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
	filling := "the data of %.1f fill its %s of memory"
	if p.ServerBytes > 0 {
		filling = fmt.Sprintf(
			"each server needs %s besides; %%.1f of them and their data fill its %%s of memory",
			bytesText(p.ServerBytes),
		)
	}
	if servers := p.ServerBytes * int64(p.Instances); 2*servers > p.MemoryBytes && servers <= p.MemoryBytes {
		made += fmt.Sprintf("\n%d servers take %s of it, and leave %s for the page cache and everything else",
			p.Instances, bytesText(servers), bytesText(p.MemoryBytes-servers))
	}
	binds := fmt.Sprintf(filling, p.Outgrows, bytesText(p.MemoryBytes))
	if p.Outgrows >= float64(p.Instances) {
		binds += fmt.Sprintf(", and no more than %d run: memory will not bind", p.Instances)
	}
	left := "nothing: they wait for the same processors and memory"
	if p.Left.CPUs > 0 || p.Left.MemoryBytes > 0 {
		left = fmt.Sprintf("%s processors, %s of memory", number2(p.Left.CPUs), bytesText(p.Left.MemoryBytes))
	}
	room := fmt.Sprintf("it takes %s of room at most", bytesText(p.RoomBytes))
	if p.MergeBytes > 0 && p.Instances > 1 {
		room = fmt.Sprintf("it takes %s of room, with %s in which one server merges its largest files; all at the same time "+
			"would take %s", bytesText(p.RoomBytes), bytesText(p.MergeBytes),
			bytesText(p.RoomBytes+int64(p.Instances-1)*p.MergeBytes))
	}
	return fmt.Sprintf("host: %s\ndata: %s, up to %s; %s%s\n%s\n%s\n"+
		"left for others, what asks the servers included: %s",
		host, data, plural.Count(p.Instances, "instance"), binds, made,
		p.Loading, room, left)
}

func bytesText(n int64) string { return units.Bytes(uint64(max(0, n))) }

func number2(n float64) string { return cmp.Or(fmt.Sprintf("%.3g", n), "0") }
