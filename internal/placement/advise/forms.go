package advise

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"plimsoll/internal/field"
	"plimsoll/internal/host/iocost"
	"plimsoll/internal/model"
	"plimsoll/internal/printable"
	"plimsoll/internal/result"
)

// Device is the drive that limits on devices are for.
type Device struct {
	Path   string       // as Docker and systemd take it; "" for none
	MajMin string       // as control groups take it
	Is     *model.Drive // nil where no model knows it
}

// form is a way to write limits.
type form struct {
	name  string
	write func(w *writer, all []Advice, d Device)
	// takesPath and takesNumber report what it needs of the device where limits on devices are written.
	takesPath, takesNumber bool
}

// forms are all of them.
var forms = []form{
	{name: "docker", write: docker, takesPath: true},
	{name: "compose", write: compose, takesPath: true},
	{name: "systemd", write: systemd, takesPath: true},
	{name: "kubernetes", write: kubernetes},
	{name: "io.cost", write: ioCost, takesNumber: true},
}

// Forms returns the names of the forms.
func Forms() (names []string) {
	for _, f := range forms {
		names = append(names, f.name)
	}
	return names
}

// Write writes advice in a form, one of Forms.
func Write(to io.Writer, name string, advice []Advice, device Device) error {
	for _, form := range forms {
		if form.name != name {
			continue
		}
		if strings.ContainsFunc(device.Path, func(r rune) bool { return !strings.ContainsRune(pathLetters, r) }) {
			return fmt.Errorf("device %q: a path without blanks and quotes is needed, of letters, digits and /_-.:+@",
				printable.Shorten(device.Path, mostName))
		}
		for _, entry := range advice {
			if set := entry.Limits.CPUSet; set != "" && !field.IsProcessorSet(set) {
				return fmt.Errorf("%q: %q is no list of processors, such as 0-3,8", printable.Shorten(entry.Name, mostName),
					printable.Shorten(set, mostName))
			}
			limited := entry.Limits.Read != (result.Rate{}) || entry.Limits.Write != (result.Rate{})
			if limited && (form.takesPath && device.Path == "" || form.takesNumber && device.MajMin == "") {
				return fmt.Errorf("%s has limits on its drive: name that on the host where it will run, such as --device "+
					"/dev/nvme0n1", printable.Line(entry.Name))
			}
		}
		out := &writer{}
		form.write(out, bounded(advice), device)
		_, err := io.WriteString(to, out.text.String())
		return err
	}
	return fmt.Errorf("there is no form %q: there are %s", name, strings.Join(Forms(), ", "))
}

// pathLetters are those of the paths of devices, which no form quotes.
const pathLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/_-.:+@"

// The longest name and the longest comment: a key of YAML has 1024 letters at most.
const (
	mostName    = 200
	mostComment = 1000
)

// bounded returns advice whose names are no longer than forms take, and differ: they are keys.
func bounded(advice []Advice) (out []Advice) {
	taken := map[string]bool{}
	for _, entry := range advice {
		entry.Name, entry.Class = printable.Shorten(entry.Name, mostName), printable.Shorten(entry.Class, mostName)
		name := entry.Name
		for i := 2; taken[entry.Name]; i++ {
			entry.Name = fmt.Sprintf("%s-%d", name, i)
		}
		taken[entry.Name] = true
		out = append(out, entry)
	}
	return out
}

// writer writes lines. Texts of runs, plans and models reach a form through comment, yamlText and printable.Command
// alone, and CPUSet, which Write checks; all else is numbers.
type writer struct{ text strings.Builder }

func (w *writer) line(format string, args ...any) {
	fmt.Fprintf(&w.text, format+"\n", args...)
}

// comment writes a comment, which is one line whatever is in the text. A backslash does not end it: to systemd, the
// next line would belong to the same.
func (w *writer) comment(indent, text string) {
	text = strings.TrimRight(printable.Line(printable.Shorten(text, mostComment)), "\\ ")
	w.line("%s# %s", indent, text)
}

// about writes comments: the container and its limits, what they cost, and the limits that the form has no words for.
func (w *writer) about(indent string, advice Advice, cannot ...string) {
	w.comment(indent, advice.Name+": "+advice.Limits.String())
	if advice.Cost != "" {
		w.comment(indent, advice.Cost)
	}
	if advice.Left != "" {
		w.comment(indent, advice.Left)
	}
	if advice.Limits.Pinned > 0 {
		cannot = append(
			cannot,
			fmt.Sprintf("%d processors of its own: choose them, and keep the others away", advice.Limits.Pinned),
		)
	}
	if advice.Limits.IO != (result.Rate{}) {
		cannot = append(cannot, "one limit on reads and writes together")
	}
	for _, c := range cannot {
		w.comment(indent, "not here: "+c)
	}
}

// deviceLimit is one limit on a device.
type deviceLimit struct {
	docker, compose, systemd, kernel, key string
	value                                 int64
}

func deviceLimits(limits result.Limits) (out []deviceLimit) {
	for _, limit := range []deviceLimit{
		{"--device-read-iops", "device_read_iops", "IOReadIOPSMax", "riops", "read-iops", limits.Read.OperationsPerSecond},
		{"--device-write-iops", "device_write_iops", "IOWriteIOPSMax", "wiops", "write-iops",
			limits.Write.OperationsPerSecond},
		{"--device-read-bps", "device_read_bps", "IOReadBandwidthMax", "rbps", "read-bandwidth", limits.Read.BytesPerSecond},
		{"--device-write-bps", "device_write_bps", "IOWriteBandwidthMax", "wbps", "write-bandwidth",
			limits.Write.BytesPerSecond},
	} {
		if limit.value > 0 {
			out = append(out, limit)
		}
	}
	return out
}

func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// yamlText returns a string as YAML has it, between quotes: what Go escapes, YAML reads alike.
func yamlText(text string) string { return strconv.Quote(strings.ToValidUTF8(text, "?")) }

// docker writes a command line for each container.
func docker(out *writer, advice []Advice, device Device) {
	for _, entry := range advice {
		out.about("", entry)
		words := []string{"docker", "run", "--name", entry.Name}
		if entry.Class != "" {
			words = append(words, "--label", "plimsoll.class="+entry.Class)
		}
		if entry.Limits.CPUs > 0 {
			words = append(words, "--cpus="+number(entry.Limits.CPUs))
		}
		if entry.Limits.CPUSet != "" {
			words = append(words, "--cpuset-cpus="+entry.Limits.CPUSet)
		}
		if m := strconv.FormatInt(entry.Limits.MemoryBytes, 10); entry.Limits.MemoryBytes > 0 {
			words = append(words, "--memory="+m, "--memory-swap="+m) // no swap on top
		}
		for _, limit := range deviceLimits(entry.Limits) {
			words = append(words, fmt.Sprintf("%s=%s:%d", limit.docker, device.Path, limit.value))
		}
		out.line("%s IMAGE", printable.Command(words...))
	}
}

// compose writes a service for each container.
func compose(out *writer, advice []Advice, device Device) {
	out.line("services:")
	for _, entry := range advice {
		out.line("  %s:", yamlText(entry.Name))
		out.about("    ", entry)
		if entry.Class != "" {
			out.line("    labels:\n      plimsoll.class: %s", yamlText(entry.Class))
		}
		if entry.Limits.CPUs > 0 {
			out.line("    cpus: %s", number(entry.Limits.CPUs))
		}
		if entry.Limits.CPUSet != "" {
			out.line("    cpuset: %s", yamlText(entry.Limits.CPUSet))
		}
		if entry.Limits.MemoryBytes > 0 {
			out.line("    mem_limit: %d\n    memswap_limit: %d", entry.Limits.MemoryBytes, entry.Limits.MemoryBytes)
		}
		limits := deviceLimits(entry.Limits)
		if len(limits) > 0 {
			out.line("    blkio_config:")
		}
		for _, limit := range limits {
			out.line("      %s:\n        - path: %s\n          rate: %d", limit.compose, yamlText(device.Path), limit.value)
		}
	}
}

// systemd writes a file of a unit's settings for each container.
func systemd(out *writer, advice []Advice, device Device) {
	for _, entry := range advice {
		out.about("", entry)
		out.line("# /etc/systemd/system/UNIT.service.d/limits.conf")
		out.line("[Service]")
		if entry.Limits.CPUs > 0 {
			out.line("CPUQuota=%s%%", number(math.Round(10000*entry.Limits.CPUs)/100))
		}
		if entry.Limits.CPUSet != "" {
			out.line("AllowedCPUs=%s", entry.Limits.CPUSet)
		}
		if entry.Limits.MemoryBytes > 0 {
			out.line("MemoryMax=%d\nMemorySwapMax=0", entry.Limits.MemoryBytes)
		}
		for _, limit := range deviceLimits(entry.Limits) {
			out.line("%s=%s %d", limit.systemd, device.Path, limit.value)
		}
		out.line("")
	}
}

// kubernetes writes the annotations and limits of a pod for each container: docs/reference/kubernetes.md.
func kubernetes(out *writer, advice []Advice, _ Device) {
	for _, entry := range advice {
		var cannot []string
		if entry.Limits.CPUSet != "" {
			cannot = append(cannot, "processors "+entry.Limits.CPUSet+": kubelets choose them (cpuManagerPolicy static)")
		}
		out.line("---")
		out.about("", entry, cannot...)
		var limits []string
		for _, limit := range deviceLimits(entry.Limits) {
			limits = append(limits, fmt.Sprintf("%s: %d", limit.key, limit.value))
			if strings.HasSuffix(limit.key, "bandwidth") {
				limits[len(limits)-1] += "B/s"
			}
		}
		if entry.Class != "" || len(limits) > 0 {
			out.line("metadata:\n  annotations:")
		}
		if entry.Class != "" {
			out.line("    plimsoll.dev/class: %s", yamlText(entry.Class))
		}
		if len(limits) > 0 {
			out.line("    plimsoll.dev/limits: %s", yamlText(strings.Join(limits, ", ")))
		}
		if entry.Limits.CPUs == 0 && entry.Limits.MemoryBytes == 0 {
			continue
		}
		out.line("spec:\n  containers:\n    - name: %s\n      resources:\n        limits:", yamlText(entry.Name))
		if entry.Limits.CPUs > 0 {
			out.line("          cpu: %s", yamlText(number(entry.Limits.CPUs)))
		}
		if entry.Limits.MemoryBytes > 0 {
			out.line("          memory: %s", yamlText(strconv.FormatInt(entry.Limits.MemoryBytes, 10)))
		}
	}
}

// ioCost writes the model of the drive for io.cost of control groups, version 2, and a weight for each container: its
// share of what all of them may do. Weights cost nothing while the others leave the drive idle.
func ioCost(out *writer, advice []Advice, device Device) {
	if device.Is == nil {
		out.line("# no model of the drive: io.cost goes by its own guess. Fit a run of devices on it for one.")
	} else {
		reads, writes := device.Is.Read, device.Is.Write
		out.comment("", device.Is.Name+", as measured; sequential I/O counts as random I/O.")
		values := map[string]string{}
		for key, value := range map[string]float64{
			"rbps": float64(reads.Bandwidth), "rseqiops": float64(reads.IOPS), "rrandiops": float64(reads.IOPS),
			"wbps": float64(writes.Bandwidth), "wseqiops": float64(writes.IOPS), "wrandiops": float64(writes.IOPS),
		} {
			values[key] = fmt.Sprint(whole(value))
		}
		out.line("echo '%s %s' > /sys/fs/cgroup/%s", device.MajMin, iocost.Model(values), iocost.ModelFile)
	}
	out.line("echo '%s %s' > /sys/fs/cgroup/%s", device.MajMin, iocost.QoS(nil), iocost.QoSFile)
	largest := 0.0
	share := func(l result.Limits) float64 {
		return float64(l.Read.OperationsPerSecond + l.Write.OperationsPerSecond)
	}
	for _, a := range advice {
		largest = max(largest, share(a.Limits))
	}
	const least, greatest = 1, 1000
	for _, entry := range advice {
		out.about("", entry)
		weight := int64(100)
		if s := share(entry.Limits); s > 0 {
			weight = max(least, int64(math.Round(greatest*s/largest)))
		}
		out.line("echo 'default %d' > /sys/fs/cgroup/GROUP/io.weight", weight)
		var rates []string
		for _, limit := range deviceLimits(entry.Limits) {
			rates = append(rates, fmt.Sprintf("%s=%d", limit.kernel, limit.value))
		}
		if len(rates) > 0 {
			out.line(
				"# or a limit that holds while the drive is idle, too:\n# echo '%s %s' > /sys/fs/cgroup/GROUP/io.max",
				device.MajMin,
				strings.Join(rates, " "),
			)
		}
	}
}
