package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"plimsoll/internal/host/hostinfo"
	"plimsoll/internal/printable"
	"plimsoll/internal/result"
	"plimsoll/internal/stack"
	"plimsoll/internal/units"
)

func newDoctorCommand(a *app) *cobra.Command {
	host := hostinfo.New()
	command := &cobra.Command{
		Use:   "doctor",
		Short: "Check what this host supports, and how to fix what is missing",
		Long: `Check this host: what works, what is missing, and how to fix it. Doctor looks at
fio and its engines, Docker and the storage drivers that would start, file
systems, loop devices, device mapper, md, NVMe over Fabrics, cgroups and tracing.
Of each block device it says whether it may be used, and if not, why. It changes
nothing.

EXIT STATUS
  0  "plimsoll run quick" can run here
  1  the report could not be printed
  2  the command line is wrong
  3  something that "plimsoll run quick" needs is missing`,
		Example: `  plimsoll doctor
  plimsoll doctor --json | jq '.devices[] | select(.problems == null) | .path'`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			host.State = a.state
			report := host.Doctor(cmd.Context(), stack.FileSystems())
			if a.jsonOutput {
				if err := a.document("", report); err != nil {
					return &exitError{code: exitFailure, err: err}
				}
			} else {
				var text strings.Builder
				printDoctor(&text, report, min(columns(a.stdout, 100), 120), wantsColor(a.stdout))
				if _, err := io.WriteString(a.styled(), text.String()); err != nil {
					return &exitError{code: exitFailure, err: err}
				}
			}
			if !report.Quick.CanRun {
				return &exitError{code: exitHost}
			}
			return nil
		},
	}
	f := command.Flags()
	f.BoolVar(&a.jsonOutput, "json", false, "print JSON")
	f.StringVar(&host.Roots.Proc, "path.procfs", host.Roots.Proc, "`directory` where proc is mounted")
	f.StringVar(&host.Roots.Sys, "path.sysfs", host.Roots.Sys, "`directory` where sysfs is mounted")
	f.StringVar(&host.Dev, "path.dev", host.Dev, "`directory` where the nodes of devices are")
	return command
}

// doctorPrinter writes the report for people.
type doctorPrinter struct {
	out   io.Writer
	width int // of the terminal
	color bool
	name  int // width of the column of names
}

func printDoctor(out io.Writer, r hostinfo.Report, width int, color bool) {
	p := doctorPrinter{out: out, width: width, color: color}
	for _, s := range r.Sections {
		for _, i := range s.Brief() {
			p.name = max(p.name, len(i.Name))
		}
	}
	p.name = min(p.name, 34, width/3)
	p.environment(r.Environment)
	for _, s := range r.Sections {
		p.heading(s.Name)
		items := s.Brief()
		for n, i := range items {
			p.line(i.OK, i.Name, i.Value)
			remedy := i.Remedy
			if n+1 < len(items) && items[n+1].Remedy == remedy {
				remedy = "" // it is said once, beneath the last
			}
			p.reason(i.Why, remedy)
		}
	}
	if r.Devices != nil { // otherwise a section says why
		p.heading("block devices")
	}
	for _, d := range r.Devices {
		p.device(d)
	}
	p.quick(r.Quick)
}

func (p doctorPrinter) environment(e result.Environment) {
	p.heading("host")
	for _, row := range [][2]string{
		{"name", e.Hostname},
		{"system", joinNonEmpty(e.OS, "Linux "+e.Kernel)},
		{"CPU", joinNonEmpty(fmt.Sprintf("%d x %s", e.CPUs, e.CPUModel), prefixed("governor ", e.Governor))},
		{"memory", units.Bytes(e.MemoryBytes)},
		{"virtualization", e.Virtualization},
	} {
		if row[1] != "" {
			p.detail(row[0], row[1])
		}
	}
}

// detail prints a line without an answer.
func (p doctorPrinter) detail(name, value string) {
	p.wrap(fmt.Sprintf("  %-8s %-*s  ", "", p.name, name), value)
}

func (p doctorPrinter) device(d hostinfo.Device) {
	answer := hostinfo.Yes
	if !d.Usable() {
		answer = hostinfo.No
	}
	p.line(answer, d.Path, joinNonEmpty(units.Bytes(d.SizeBytes), d.Model, prefixed("serial ", d.Serial)))
	if !d.Partition {
		rotational := ""
		if d.Rotational {
			rotational = "rotational"
		}
		p.detail("", joinNonEmpty(prefixed("firmware ", d.Firmware), prefixed("scheduler ", d.Scheduler),
			prefixed("cache ", d.WriteCache), rotational, prefixed("atomic writes ", atomicSizes(d.AtomicWrites))))
	}
	if n := d.Namespace; n != nil {
		blocks := fmt.Sprintf("LBA format %d+%d bytes", n.BlockBytes, n.MetaBytes)
		p.detail(
			"",
			joinNonEmpty(prefixed("namespace ", n.NSID), prefixed("uuid:", d.UUID), prefixed("nguid:", d.NGUID), blocks),
		)
		p.detail("", "subsystem "+n.NQN)
		way := "by "
		if n.Multipath {
			way = "multipath by "
		}
		for _, path := range n.Paths {
			p.detail("", way+path)
		}
	}
	for _, r := range d.Problems {
		p.reason(string(r.Cause)+": "+r.Why, r.Remedy)
	}
}

// atomicSizes returns the sizes of a drive's atomic writes for people; "" where the kernel does not say.
func atomicSizes(u *result.AtomicUnits) string {
	switch {
	case u == nil:
		return ""
	case u.Max == 0:
		return u.String()
	}
	return units.Bytes(uint64(u.Min)) + " to " + units.Bytes(uint64(u.Max))
}

func (p doctorPrinter) quick(q hostinfo.Quick) {
	p.heading("plimsoll run quick")
	if q.CanRun {
		p.line(hostinfo.Yes, "can run", "")
	} else {
		p.line(hostinfo.No, "cannot run", "")
	}
	for _, m := range q.Missing {
		p.line(hostinfo.No, m.What, "")
		p.reason(m.Why, m.Remedy)
	}
	for _, w := range q.Warnings {
		p.line(hostinfo.Limited, w.What, "")
		p.reason(w.Why, w.Remedy)
	}
}

func (p doctorPrinter) heading(text string) {
	if p.color {
		text = printable.Bold.Paint(text)
	}
	fmt.Fprintln(p.out, text)
}

// line prints one answer, padded without its colour.
func (p doctorPrinter) line(answer hostinfo.Answer, name, value string) {
	word, style := string(answer), printable.Yellow
	switch answer {
	case hostinfo.Yes:
		word, style = "ok", printable.Green
	case hostinfo.No:
		style = printable.Red
	}
	text := p.wrapText(fmt.Sprintf("  %-8s %-*s  ", word, p.name, name), value)
	if p.color { // the first is where the answer stands
		text = strings.Replace(text, word, style.Paint(word), 1)
	}
	fmt.Fprintln(p.out, text)
}

// reason prints why, and what would change it, beneath an answer.
func (p doctorPrinter) reason(why, remedy string) {
	for _, row := range [][2]string{{"why", why}, {"remedy", remedy}} {
		if row[1] != "" {
			p.wrap(fmt.Sprintf("%11s%-8s", "", row[0]+":"), row[1])
		}
	}
}

// wrap prints text behind a label.
func (p doctorPrinter) wrap(label, text string) { fmt.Fprintln(p.out, p.wrapText(label, text)) }

// wrapText returns text behind a label, in lines that fit the terminal.
func (p doctorPrinter) wrapText(label, text string) string {
	label, text = printable.Line(label), printable.Line(text)
	if len(label)+len(text) <= p.width {
		return strings.TrimRight(label+text, " ")
	}
	var lines []string
	line := label
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
		case len(line)+1+len(word) > p.width:
			lines = append(lines, line)
			line = strings.Repeat(" ", len(label))
		default:
			line += " "
		}
		line += word
	}
	return strings.Join(append(lines, line), "\n")
}

// wantsColor reports whether out is a terminal whose user has not asked for plain text (https://no-color.org).
func wantsColor(out io.Writer) bool {
	return isTerminal(out) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// joinNonEmpty joins the strings that are not empty by commas.
func joinNonEmpty(parts ...string) string {
	var all []string
	for _, part := range parts {
		if part != "" {
			all = append(all, part)
		}
	}
	return strings.Join(all, ", ")
}

// prefixed returns name and value, or "" for an empty value.
func prefixed(name, value string) string {
	if value == "" {
		return ""
	}
	return name + value
}
