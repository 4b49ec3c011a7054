package repeats

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"plimsoll/internal/result"
)

// Environment returns the same facts, in the same order, of every run.
func Environment(run *result.Run) []result.Fact {
	e := run.Environment
	return []result.Fact{
		{Name: "host", Value: e.Hostname},
		{Name: "kernel", Value: e.Kernel},
		{Name: "OS", Value: e.OS},
		{Name: "fio", Value: e.FioVersion},
		{Name: "Docker", Value: e.DockerVersion},
		{Name: "CPU", Value: e.CPUModel},
		{Name: "CPUs", Value: positive(uint64(max(0, e.CPUs)), "")},
		{Name: "CPU governor", Value: e.Governor},
		{Name: "memory", Value: positive(e.MemoryBytes, " bytes")},
		{Name: "virtualization", Value: e.Virtualization},
		{Name: "cgroups", Value: e.CgroupVersion},
		{Name: "plimsoll", Value: run.Version},
		{Name: "images", Value: images(run)},
		{Name: "clients", Value: clients(run)},
	}
}

// clients is where the load was generated.
func clients(run *result.Run) string {
	if c := run.Experiment.Clients; c != nil {
		return c.Host
	}
	return "its own host"
}

// images are those of a run's servers, in one line.
func images(run *result.Run) string {
	var all []string
	for _, i := range run.Images() {
		all = append(all, i.String())
	}
	return strings.Join(all, "; ")
}

func positive(n uint64, unit string) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatUint(n, 10) + unit
}

// identifier is what file systems get each time that they are made.
var identifier = regexp.MustCompile(`[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}`)

// StackFacts returns what was read back of a stack, and of the devices under it. Names that the kernel hands out as
// they come (loop5) give way to what the device is to the stack.
func StackFacts(run *result.Run, s result.Stack) []result.Fact {
	var renamed []string
	var out []result.Fact
	for i, d := range s.Devices {
		role := "the " + d.Role + " device"
		if d.Role == "under" {
			role = fmt.Sprintf("device %d from the top", i+1)
		}
		renamed = append(renamed, "/dev/"+d.Name, role, d.Name, role)
		for _, info := range run.Environment.Devices {
			if info.MajMin != d.MajMin {
				continue
			}
			out = append(out,
				result.Fact{Name: "model of " + role, Value: info.Model},
				result.Fact{Name: "serial of " + role, Value: info.Serial},
				result.Fact{Name: "firmware of " + role, Value: info.Firmware},
				result.Fact{Name: "size of " + role, Value: positive(info.SizeBytes, " bytes")},
				result.Fact{Name: "write cache of " + role, Value: info.WriteCache})
		}
	}
	plain := strings.NewReplacer(renamed...)
	for _, f := range s.Facts {
		value := identifier.ReplaceAllString(plain.Replace(f.Value), "UUID")
		out = append(out, result.Fact{Name: plain.Replace(f.Name), Value: value})
	}
	return out
}
