package main

import (
	"fmt"
	"strings"

	"plimsoll/internal/experiment"
	"plimsoll/internal/hostinfo"
	"plimsoll/internal/result"
	"plimsoll/internal/units"
)

// checkHost returns which limits of the miniature are of what this host does not have.
func checkHost(asked result.HostAsked, h *hostinfo.Host) (problems []error) {
	has := h.Has()
	if asked.Limits.CPUs > has.CPUs {
		problems = append(problems, fmt.Errorf("--host-cpus %v: this host has %v processors; give no more, or none for all "+
			"of them", asked.Limits.CPUs, has.CPUs))
	}
	if asked.Limits.MemoryBytes > has.MemoryBytes {
		problems = append(problems, fmt.Errorf("--host-memory %s: this host has %s; give no more, or none for all of it",
			units.FormatSize(asked.Limits.MemoryBytes), units.Bytes(uint64(max(0, has.MemoryBytes)))))
	}
	cpu, outside := experiment.Outside(asked.Limits.CPUSet, h.Online())
	if outside {
		problems = append(problems, fmt.Errorf("--host-cpuset %s: this host has no processor %d; it has %s",
			asked.Limits.CPUSet, cpu, h.Online()))
	}
	return problems
}

// indented is a text each line of which is indented.
func indented(text string) string { return "  " + strings.ReplaceAll(text, "\n", "\n  ") }
