package model

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/result"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
)

// Host has the resources of a host, or of a scaled-down host, for its instances. A 0 is not limited, or not known to
// be.
type Host struct {
	CPUs        float64     `json:"cpus,omitempty"` // that instances may use
	MemoryBytes int64       `json:"memory_bytes,omitempty"`
	Read        result.Rate `json:"read,omitzero"` // of all devices together
	Write       result.Rate `json:"write,omitzero"`
	IO          result.Rate `json:"io,omitzero"` // reads and writes together

	// Machine is the number of processors that instances share with those who ask them,
	// where the generator ran on the same host; 0 where it need not.
	Machine float64 `json:"machine,omitempty"`

	Speed float64 `json:"speed,omitempty"`                    // of a processor, beside those that classes were measured on; 0 is 1
	NIC   float64 `json:"network_bytes_per_second,omitempty"` // each way, to remote drives
}

// HostKind is a host with its drives.
type HostKind struct {
	Host   Host        `json:"host"`
	Drives []HostDrive `json:"drives,omitempty"`
}

// HostDrive is a drive that a host has, or reaches over a network.
type HostDrive struct {
	Name string `json:"name"` // on this host
	Is   Drive  `json:"is"`

	Target *Target `json:"target,omitempty"` // that serves it; nil for a local one. Of hosts that share it, the same
	Delay  float64 `json:"delay_seconds,omitempty"`
}

// Target is a host that serves remote drives.
type Target struct {
	Name       string  `json:"name"`
	CPUs       float64 `json:"cpus,omitempty"`
	CPUSeconds float64 `json:"cpu_seconds,omitempty"` // of an I/O
	NIC        float64 `json:"network_bytes_per_second,omitempty"`

	// Initiators is how many hosts use it alike, this one included, where only this one is asked about; 0 is 1.
	Initiators float64 `json:"initiators,omitempty"`
}

// speed is how fast a processor is.
func (h Host) speed() float64 {
	if h.Speed > 0 {
		return h.Speed
	}
	return 1
}

// limits returns the host's resources as limits of experiment files.
func (h Host) limits() result.Limits {
	return result.Limits{CPUs: h.CPUs, MemoryBytes: h.MemoryBytes, Read: h.Read, Write: h.Write, IO: h.IO}
}

// With returns the host with those limits in place of its own that l has.
func (h Host) With(l result.Limits) Host {
	all := h.limits().With(l)
	h.CPUs, h.MemoryBytes, h.Read, h.Write, h.IO = all.CPUs, all.MemoryBytes, all.Read, all.Write, all.IO
	return h
}

// Describe says what a host has, in words.
func (h Host) Describe() string {
	words := []string{}
	if text := h.limits().String(); text != "" {
		words = append(words, text)
	}
	if h.Machine > 0 && h.Machine != h.CPUs {
		words = append(words, fmt.Sprintf("%s with those who ask", plural.Count(int(h.Machine), "processor")))
	}
	if h.Speed > 0 && h.Speed != 1 {
		words = append(words, fmt.Sprintf("each %s times as fast", units.Digits(h.Speed)))
	}
	return strings.Join(words, "; ")
}

// Describe says what a host has, its drives included, in words.
func (k HostKind) Describe() string {
	words := []string{k.Host.Describe()}
	for _, d := range k.Drives {
		text := "drive " + d.Name
		if d.Target != nil {
			text += " of target " + d.Target.Name
		}
		words = append(words, text)
	}
	return strings.Join(words, "; ")
}

// driveAt returns the number of a drive of the host; of the first one for "", and -1 for none.
func (k HostKind) driveAt(name string) int {
	return slices.IndexFunc(k.Drives, func(d HostDrive) bool { return name == "" || d.Name == name })
}

// Beside says what a host has that another has not; "" for the same.
func (h Host) Beside(other Host) string {
	if h == other {
		return ""
	}
	only := func(a, b int64) int64 {
		if a == b {
			return 0
		}
		return a
	}
	l := result.Limits{MemoryBytes: only(h.MemoryBytes, other.MemoryBytes)}
	if h.CPUs != other.CPUs {
		l.CPUs = h.CPUs
	}
	for _, r := range []struct{ to, a, b *result.Rate }{
		{&l.Read, &h.Read, &other.Read}, {&l.Write, &h.Write, &other.Write}, {&l.IO, &h.IO, &other.IO},
	} {
		r.to.OperationsPerSecond = only(r.a.OperationsPerSecond, r.b.OperationsPerSecond)
		r.to.BytesPerSecond = only(r.a.BytesPerSecond, r.b.BytesPerSecond)
	}
	return l.String()
}
