package fio

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/host/version"
	"plimsoll/internal/problem"
	"plimsoll/internal/workload"
)

// came is the version of fio in which an option came, where an older one that is supported does not know it, or takes
// it and does something else. Sources: fio's HOWTO, and options.c of its releases 3.18 to 3.42.
var came = map[string]version.Version{
	"thinkcycles": {Major: 3, Minor: 37}, "thinktime_blocks_type": {Major: 3, Minor: 26},
	"thinktime_iotime": {Major: 3, Minor: 28}, "latency_run": {Major: 3, Minor: 20},
	"dedupe_mode": {Major: 3, Minor: 28}, "dedupe_working_set_percentage": {Major: 3, Minor: 28},
	"dedupe_global": {Major: 3, Minor: 31},
	"priohint":      {Major: 3, Minor: 36}, "cmdprio": {Major: 3, Minor: 28}, "cmdprio_class": {Major: 3, Minor: 28},
	"cmdprio_bssplit": {Major: 3, Minor: 28}, "cmdprio_hint": {Major: 3, Minor: 36},
	"nowait": {Major: 3, Minor: 21}, "force_async": {Major: 3, Minor: 24},
	"sprandom": {Major: 3, Minor: 41}, "spr_num_regions": {Major: 3, Minor: 41}, "spr_op": {Major: 3, Minor: 41},
	"spr_cs": {Major: 3, Minor: 42},
	"atomic": {Major: 3, Minor: 38}, "uncached": {Major: 3, Minor: 40},
}

// silent is what an fio before that does with an option that it takes.
var silent = map[string]string{
	"atomic":   "an older one opens files with a flag that Linux ignores, and makes plain writes",
	"uncached": "an older one sets a flag that means another thing to Linux",
}

// inquiries are what is asked of this host's fio beside the file itself.
func (w *userFile) inquiries() []workload.Inquiry {
	return []workload.Inquiry{
		{Command: workload.Command{Argv: []string{name, "--version"}}, Answer: w.tooOld},
		{Command: workload.Command{Argv: []string{name, "--enghelp"}}, Answer: w.notBuiltIn},
	}
}

// eachSetting calls do once for each line and key of the file that make a setting.
func (w *userFile) eachSetting(do func(o setting)) {
	type place struct {
		line int
		key  string
	}
	done := map[place]bool{}
	for _, j := range w.jobs {
		for _, o := range j.settings {
			if at := (place{o.line, o.key}); o.line > 0 && !done[at] {
				done[at] = true
				do(o)
			}
		}
	}
}

// tooOld returns the options that came with a later fio than the one that printed its version.
func (w *userFile) tooOld(code int, output string) (all problem.List) {
	has, err := version.ParseFio(output)
	if code != 0 || err != nil {
		return nil
	}
	w.eachSetting(func(o setting) {
		since, known := came[o.key]
		if !known || has.AtLeast(since) || o.value == "0" {
			return
		}
		why := ""
		if silent[o.key] != "" {
			why = ": " + silent[o.key]
		}
		all.InLine(o.line, fmt.Sprintf("here, \"%s=%s\" needs fio %s or newer, and this host has %s%s", o.key, o.value, since,
			has, why), "install a newer fio, or leave the option out")
	})
	return all
}

// notBuiltIn returns the engines that are not in the list that fio printed.
func (w *userFile) notBuiltIn(code int, output string) (all problem.List) {
	has := strings.Fields(output)
	if code != 0 || !slices.Contains(has, "engines:") {
		return nil
	}
	w.eachSetting(func(o setting) {
		if o.key == "ioengine" && !slices.Contains(has, o.value) {
			all.InLine(o.line, fmt.Sprintf("here, fio was built without the ioengine %q", o.value),
				"install the package that brings it, or take another one: fio --enghelp lists those it has")
		}
	})
	return all
}

// lacks returns the processors and nodes of memory that jobs are to use, and the host has not online.
func (w *userFile) lacks(host workload.Numbers) (all problem.List) {
	wrong := func(o setting, resource string, n int, has string) {
		all.InLine(o.line, fmt.Sprintf("here, \"%s=%s\" names %s %d, and this host has %s", o.key, o.value, resource, n, has),
			"name those of the host that it is to run on, or leave the option out")
	}
	w.eachSetting(func(o setting) {
		var numbers []int
		resource, has := "CPU", host.CPUs
		switch o.key {
		case "cpus_allowed", "sqthread_poll_cpu", "gtod_cpu":
			numbers = numbersOf(o.value)
		case "cpumask":
			numbers = bitsOf(o.value)
		case "numa_cpu_nodes":
			resource, has, numbers = "node", host.Nodes, numbersOf(o.value)
		case "numa_mem_policy":
			_, nodes, _ := strings.Cut(o.value, ":")
			resource, has, numbers = "node", host.Nodes, numbersOf(nodes)
		}
		online := numbersOf(has)
		i := slices.IndexFunc(numbers, func(n int) bool { return !slices.Contains(online, n) })
		if i >= 0 && len(online) > 0 {
			wrong(o, resource, numbers[i], has)
		}
	})
	return all
}

// mostNumbers is more than a host has processors.
const mostNumbers = 1 << 16

// numbersOf returns the numbers of a list such as "0-3,6"; those before the first that is none.
func numbersOf(list string) (all []int) {
	for _, part := range strings.Split(strings.TrimSpace(list), ",") {
		from, to, isRange := strings.Cut(strings.TrimSpace(part), "-")
		first, err := strconv.Atoi(from)
		last := first
		if err == nil && isRange {
			last, err = strconv.Atoi(to)
		}
		if err != nil || first < 0 || last > mostNumbers || len(all) > mostNumbers {
			return all
		}
		for n := first; n <= last; n++ {
			all = append(all, n)
		}
	}
	return all
}

// bitsOf returns the places of the bits of a mask, decimal or hexadecimal.
func bitsOf(mask string) (all []int) {
	bits, err := strconv.ParseUint(mask, 0, 64)
	for n := 0; err == nil && bits>>n > 0; n++ {
		if bits>>n&1 == 1 {
			all = append(all, n)
		}
	}
	return all
}
