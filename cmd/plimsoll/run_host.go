package main

import (
	"fmt"
	"strings"

	"plimsoll/internal/experiment"
	"plimsoll/internal/host/hostinfo"
	"plimsoll/internal/result"
	"plimsoll/internal/units"
)

// checkHost returns an error for each limit of the scaled-down host that exceeds this host.
func checkHost(asked result.HostOverrides, h *hostinfo.Host) (problems []error) {
	has := h.Capacity()
	if asked.Limits.CPUs > has.CPUs {
		problems = append(problems, fmt.Errorf("--host cpus=%v: this host has %v processors; give no more, or none for all "+
			"of them", asked.Limits.CPUs, has.CPUs))
	}
	if asked.Limits.MemoryBytes > has.MemoryBytes {
		problems = append(problems, fmt.Errorf("--host memory=%s: this host has %s; give no more, or none for all of it",
			units.FormatSize(asked.Limits.MemoryBytes), units.Bytes(uint64(max(0, has.MemoryBytes)))))
	}
	cpu, outside := experiment.Outside(asked.Limits.CPUSet, h.Online())
	if outside {
		problems = append(problems, fmt.Errorf("--host cpuset=%s: this host has no processor %d; it has %s",
			asked.Limits.CPUSet, cpu, h.Online()))
	}
	return problems
}

// indent indents each line of a text.
func indent(text string) string { return "  " + strings.ReplaceAll(text, "\n", "\n  ") }
