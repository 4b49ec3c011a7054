package advise

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

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

// Forms returns the names of all forms.
func Forms() (names []string) {
	for _, f := range forms {
		names = append(names, f.name)
	}
	return names
}

// Write writes advice in a form, one of Forms.
func Write(to io.Writer, name string, all []Advice, d Device) error {
	for _, f := range forms {
		if f.name != name {
			continue
		}
		if strings.ContainsAny(d.Path, " \t\n\r\"'\\") {
			return fmt.Errorf("device %q: a path without blanks and quotes is needed", d.Path)
		}
		for _, a := range all {
			limited := a.Limits.Read != (result.Rate{}) || a.Limits.Write != (result.Rate{})
			if limited && (f.takesPath && d.Path == "" || f.takesNumber && d.MajMin == "") {
				return fmt.Errorf("%s has limits on its drive: name that on the host where it will run, such as --device "+
					"/dev/nvme0n1", printable.Line(a.Name))
			}
		}
		w := &writer{}
		f.write(w, all, d)
		_, err := io.WriteString(to, w.text.String())
		return err
	}
	return fmt.Errorf("there is no form %q: there are %s", name, strings.Join(Forms(), ", "))
}

// writer writes lines.
type writer struct{ text strings.Builder }

func (w *writer) line(format string, args ...any) {
	fmt.Fprintf(&w.text, format+"\n", args...)
}

// about writes comments: what is advised for whom, what it costs, and what the form cannot say.
func (w *writer) about(indent string, a Advice, cannot ...string) {
	w.line("%s# %s: %s", indent, printable.Line(a.Name), printable.Line(a.Limits.String()))
	if a.Cost != "" {
		w.line("%s# %s", indent, printable.Line(a.Cost))
	}
	if a.Limits.Pinned > 0 {
		cannot = append(
			cannot,
			fmt.Sprintf("%d processors of its own: choose them, and keep the others away", a.Limits.Pinned),
		)
	}
	if a.Limits.IO != (result.Rate{}) {
		cannot = append(cannot, "one limit on reads and writes together")
	}
	for _, c := range cannot {
		w.line("%s# not here: %s", indent, c)
	}
}

// deviceLimit is one limit on a device.
type deviceLimit struct {
	docker, compose, systemd, kernel, key string
	value                                 int64
}

func deviceLimits(l result.Limits) (all []deviceLimit) {
	for _, d := range []deviceLimit{
		{"--device-read-iops", "device_read_iops", "IOReadIOPSMax", "riops", "read-iops", l.Read.OperationsPerSecond},
		{"--device-write-iops", "device_write_iops", "IOWriteIOPSMax", "wiops", "write-iops", l.Write.OperationsPerSecond},
		{"--device-read-bps", "device_read_bps", "IOReadBandwidthMax", "rbps", "read-bandwidth", l.Read.BytesPerSecond},
		{"--device-write-bps", "device_write_bps", "IOWriteBandwidthMax", "wbps", "write-bandwidth", l.Write.BytesPerSecond},
	} {
		if d.value > 0 {
			all = append(all, d)
		}
	}
	return all
}

func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// quoted returns a string as JSON and YAML have it.
func quoted(text string) string {
	out, err := json.Marshal(strings.ToValidUTF8(text, "?"))
	if err != nil {
		return `""` // strings always are
	}
	return string(out)
}

// docker writes a command line for each container.
func docker(w *writer, all []Advice, d Device) {
	for _, a := range all {
		w.about("", a)
		words := []string{"docker", "run", "--name", a.Name}
		if a.Class != "" {
			words = append(words, "--label", "plimsoll.class="+a.Class)
		}
		if a.Limits.CPUs > 0 {
			words = append(words, "--cpus="+number(a.Limits.CPUs))
		}
		if a.Limits.CPUSet != "" {
			words = append(words, "--cpuset-cpus="+a.Limits.CPUSet)
		}
		if m := strconv.FormatInt(a.Limits.MemoryBytes, 10); a.Limits.MemoryBytes > 0 {
			words = append(words, "--memory="+m, "--memory-swap="+m) // no swap on top
		}
		for _, l := range deviceLimits(a.Limits) {
			words = append(words, fmt.Sprintf("%s=%s:%d", l.docker, d.Path, l.value))
		}
		w.line("%s IMAGE", printable.Command(words...))
	}
}

// compose writes a service for each container.
func compose(w *writer, all []Advice, d Device) {
	w.line("services:")
	for _, a := range all {
		w.line("  %s:", quoted(a.Name))
		w.about("    ", a)
		if a.Class != "" {
			w.line("    labels:\n      plimsoll.class: %s", quoted(a.Class))
		}
		if a.Limits.CPUs > 0 {
			w.line("    cpus: %s", number(a.Limits.CPUs))
		}
		if a.Limits.CPUSet != "" {
			w.line("    cpuset: %s", quoted(a.Limits.CPUSet))
		}
		if a.Limits.MemoryBytes > 0 {
			w.line("    mem_limit: %d\n    memswap_limit: %d", a.Limits.MemoryBytes, a.Limits.MemoryBytes)
		}
		limits := deviceLimits(a.Limits)
		if len(limits) > 0 {
			w.line("    blkio_config:")
		}
		for _, l := range limits {
			w.line("      %s:\n        - path: %s\n          rate: %d", l.compose, quoted(d.Path), l.value)
		}
	}
}

// systemd writes a file of a unit's settings for each container.
func systemd(w *writer, all []Advice, d Device) {
	for _, a := range all {
		w.about("", a)
		w.line("# /etc/systemd/system/UNIT.service.d/limits.conf")
		w.line("[Service]")
		if a.Limits.CPUs > 0 {
			w.line("CPUQuota=%s%%", number(math.Round(10000*a.Limits.CPUs)/100))
		}
		if a.Limits.CPUSet != "" {
			w.line("AllowedCPUs=%s", a.Limits.CPUSet)
		}
		if a.Limits.MemoryBytes > 0 {
			w.line("MemoryMax=%d\nMemorySwapMax=0", a.Limits.MemoryBytes)
		}
		for _, l := range deviceLimits(a.Limits) {
			w.line("%s=%s %d", l.systemd, d.Path, l.value)
		}
		w.line("")
	}
}

// kubernetes writes the annotations and limits of a pod for each container: docs/reference/kubernetes.md.
func kubernetes(w *writer, all []Advice, _ Device) {
	for _, a := range all {
		var cannot []string
		if a.Limits.CPUSet != "" {
			cannot = append(cannot, "processors "+a.Limits.CPUSet+": kubelets choose them (cpuManagerPolicy static)")
		}
		w.line("---")
		w.about("", a, cannot...)
		var limits []string
		for _, l := range deviceLimits(a.Limits) {
			limits = append(limits, fmt.Sprintf("%s: %d", l.key, l.value))
			if strings.HasSuffix(l.key, "bandwidth") {
				limits[len(limits)-1] += "B/s"
			}
		}
		if a.Class != "" || len(limits) > 0 {
			w.line("metadata:\n  annotations:")
		}
		if a.Class != "" {
			w.line("    plimsoll.dev/class: %s", quoted(a.Class))
		}
		if len(limits) > 0 {
			w.line("    plimsoll.dev/limits: %s", quoted(strings.Join(limits, ", ")))
		}
		if a.Limits.CPUs == 0 && a.Limits.MemoryBytes == 0 {
			continue
		}
		w.line("spec:\n  containers:\n    - name: %s\n      resources:\n        limits:", quoted(a.Name))
		if a.Limits.CPUs > 0 {
			w.line("          cpu: %s", quoted(number(a.Limits.CPUs)))
		}
		if a.Limits.MemoryBytes > 0 {
			w.line("          memory: %s", quoted(strconv.FormatInt(a.Limits.MemoryBytes, 10)))
		}
	}
}

// ioCost writes the model of the drive for io.cost of control groups, version 2, and a weight for each container: its
// share of what all of them may do. Weights cost nothing while the others leave the drive idle.
func ioCost(w *writer, all []Advice, d Device) {
	if d.Is == nil {
		w.line("# no model of the drive: io.cost goes by its own guess. Fit a run of devices on it for one.")
	} else {
		r, wr := d.Is.Read, d.Is.Write
		w.line("# %s, as measured; sequential I/O counts as random I/O.", printable.Line(d.Is.Name))
		values := map[string]string{}
		for key, value := range map[string]float64{
			"rbps": float64(r.Bandwidth), "rseqiops": float64(r.IOPS), "rrandiops": float64(r.IOPS),
			"wbps": float64(wr.Bandwidth), "wseqiops": float64(wr.IOPS), "wrandiops": float64(wr.IOPS),
		} {
			values[key] = fmt.Sprint(whole(value))
		}
		w.line("echo '%s %s' > /sys/fs/cgroup/%s", d.MajMin, iocost.Model(values), iocost.ModelFile)
	}
	w.line("echo '%s %s' > /sys/fs/cgroup/%s", d.MajMin, iocost.QoS(nil), iocost.QoSFile)
	most := 0.0
	share := func(l result.Limits) float64 {
		return float64(l.Read.OperationsPerSecond + l.Write.OperationsPerSecond)
	}
	for _, a := range all {
		most = max(most, share(a.Limits))
	}
	const least, greatest = 1, 1000
	for _, a := range all {
		w.about("", a)
		weight := int64(100)
		if s := share(a.Limits); s > 0 {
			weight = max(least, int64(math.Round(greatest*s/most)))
		}
		w.line("echo 'default %d' > /sys/fs/cgroup/GROUP/io.weight", weight)
		var rates []string
		for _, l := range deviceLimits(a.Limits) {
			rates = append(rates, fmt.Sprintf("%s=%d", l.kernel, l.value))
		}
		if len(rates) > 0 {
			w.line(
				"# or a limit that holds while the drive is idle, too:\n# echo '%s %s' > /sys/fs/cgroup/GROUP/io.max",
				d.MajMin,
				strings.Join(rates, " "),
			)
		}
	}
}
