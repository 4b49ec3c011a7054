// Package iocost has the lines of io.cost.model and io.cost.qos, the files of the
// kernel's controller io.cost (Documentation/admin-guide/cgroup-v2.rst). It is pure.
package iocost

import (
	"slices"
	"strconv"
	"strings"
)

// The files, in the root of the hierarchy of version 2.
const (
	ModelFile = "io.cost.model" // what I/O costs on a device
	QoSFile   = "io.cost.qos"   // whether io.cost is on for a device, and how far it goes from the model
)

// auto leaves the values of a file to the kernel.
const auto = "ctrl=auto"

// Setting is a value of a file.
type Setting struct {
	Key     string
	Default string // "" for a value that has none
}

// ModelKeys are what the model needs, all of them: bytes a second, and sequential and random I/Os of 4 KiB a second.
var ModelKeys = []Setting{
	{Key: "rbps"}, {Key: "rseqiops"}, {Key: "rrandiops"}, {Key: "wbps"}, {Key: "wseqiops"}, {Key: "wrandiops"},
}

// QoSKeys are how far io.cost goes from the model: percentiles of latency, their thresholds in microseconds, and the
// least and most in percent. A percentile of 0 is none. The defaults are those that the kernel has for SSDs.
var QoSKeys = []Setting{
	{"rpct", "0"}, {"rlat", "25000"}, {"wpct", "0"}, {"wlat", "25000"}, {"min", "1"}, {"max", "10000"},
}

// Model returns the settings of a model; without values, those by which the kernel guesses.
func Model(values map[string]string) string {
	if len(values) == 0 {
		return auto
	}
	return written("ctrl=user model=linear", ModelKeys, values)
}

// QoS returns the settings that switch io.cost on; without values, with the kernel's.
func QoS(values map[string]string) string {
	if len(values) == 0 {
		return "enable=1 " + auto
	}
	return written("enable=1 ctrl=user", QoSKeys, values)
}

func written(head string, keys []Setting, values map[string]string) string {
	words := []string{head}
	for _, k := range keys {
		value := values[k.Key]
		if value == "" {
			value = k.Default
		}
		words = append(words, k.Key+"="+value)
	}
	return strings.Join(words, " ")
}

// Of returns the settings of a device in the text of a file, "" where it has no line.
func Of(text, device string) string {
	for line := range strings.Lines(text) {
		if number, settings, _ := strings.Cut(strings.TrimSpace(line), " "); number == device {
			return settings
		}
	}
	return ""
}

// Hold reports whether all settings that were written are among those read. The kernel reads 95 back as 95.00.
func Hold(read, written string) bool {
	has := strings.Fields(read)
	for _, w := range strings.Fields(written) {
		if !slices.ContainsFunc(has, func(r string) bool { return equal(r, w) }) {
			return false
		}
	}
	return true
}

func equal(a, b string) bool {
	keyA, a, _ := strings.Cut(a, "=")
	keyB, b, _ := strings.Cut(b, "=")
	x, errA := strconv.ParseFloat(a, 64)
	y, errB := strconv.ParseFloat(b, 64)
	return keyA == keyB && (a == b || errA == nil && errB == nil && x == y)
}

// Restoring returns what brings settings of a file back; "" are those of a device that io.cost did not know. Values
// that the kernel chose are left out: written, they would be the user's.
func Restoring(file, was string) string {
	words := strings.Fields(was)
	switch {
	case slices.Contains(words, "ctrl=user"):
		return was
	case file != QoSFile:
		return auto
	case slices.Contains(words, "enable=1"):
		return "enable=1 " + auto
	}
	return "enable=0 " + auto
}
