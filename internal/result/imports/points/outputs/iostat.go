package outputs

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/result/imports/points"
	"plimsoll/internal/units/plural"
)

// What `iostat -x` prints: a heading with the number of processors, and reports with a table of processors' time and one
// of devices. The first report is of the time since the host started, and says nothing of a test.

func beginsIostat(line string) bool {
	return strings.HasPrefix(line, "Device") && strings.Contains(line, "%util") && strings.Contains(line, "r/s")
}

// counters are means over reports, of all disks together, a second.
type counters struct {
	file                  string
	reports, cpus         int
	disks                 []string
	reads, writes         float64
	readBytes, writeBytes float64
	busy                  float64 // processors at work; NaN where iostat did not print it
}

// sizes are the units of columns, in bytes: old and new names, and those of -m.
var sizes = map[string]float64{"rkB/s": 1 << 10, "rMB/s": 1 << 20, "rsec/s": 512, "wkB/s": 1 << 10, "wMB/s": 1 << 20,
	"wsec/s": 512}

var (
	processors  = regexp.MustCompile(`\((\d+) CPU\)`)
	wholeDiskRE = regexp.MustCompile(`^(sd[a-z]+|hd[a-z]+|vd[a-z]+|xvd[a-z]+|nvme\d+n\d+|mmcblk\d+|dasd[a-z]+|pmem\d+)$`)
	named       = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.:!-]{0,63}$`)
)

// report is one of iostat.
type report struct {
	devices map[string]map[string]float64 // columns of each
	busy    float64                       // percent
}

func readIostat(o *output) (c counters, ok bool) {
	var all []report
	busy, c := math.NaN(), counters{}
	var head []string
	for i := 0; i < len(o.lines); i++ {
		line := o.lines[i]
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0:
			head = nil
		case strings.HasPrefix(line, "Linux "):
			if m := processors.FindStringSubmatch(line); m != nil {
				n, _ := leading(m[1])
				c.cpus = int(min(n, 1e5))
			}
		case fields[0] == "avg-cpu:":
			head = nil
			if i+1 < len(o.lines) {
				i++
				busy = busyOf(fields[1:], strings.Fields(o.lines[i]))
			}
		case beginsIostat(line):
			if len(all) == mostResults {
				o.refuse(i, fmt.Sprintf("there are more than %d reports", mostResults), "leave some out")
				return c, false
			}
			head = fields[1:]
			all = append(all, report{map[string]map[string]float64{}, busy})
			busy = math.NaN()
		case head != nil:
			if len(fields) != len(head)+1 || !named.MatchString(fields[0]) {
				if i < len(o.lines)-1 { // else it was cut short when iostat was stopped
					o.refuse(i, fmt.Sprintf("a line of a device has %d columns, and the heading %d", len(fields), len(head)+1),
						"hand in the output of iostat -x as it is")
					return c, false
				}
				continue
			}
			of := map[string]float64{}
			for k, name := range head {
				of[name], _ = leading(fields[k+1])
			}
			all[len(all)-1].devices[fields[0]] = of
		}
	}
	if len(all) < 2 {
		o.refuse(o.first(beginsIostat), "there is one report, which is of the time since the host started",
			"run iostat -x 10 beside the test, until it ends")
		return c, false
	}
	return c.mean(o, all[1:])
}

// busyOf returns which percentage of their time processors were at work.
func busyOf(names, values []string) float64 {
	if len(names) != len(values) {
		return math.NaN()
	}
	sum := 0.0
	for i, name := range names {
		if name == "%user" || name == "%nice" || name == "%system" {
			x, ok := leading(values[i])
			if !ok {
				return math.NaN()
			}
			sum += x
		}
	}
	return sum
}

// mean averages the counters over reports.
func (c counters) mean(o *output, all []report) (counters, bool) {
	disks := map[string]bool{}
	for _, r := range all {
		for name := range r.devices {
			disks[name] = true
		}
	}
	part := func(name string) bool { return !wholeDiskRE.MatchString(name) }
	c.disks = slices.DeleteFunc(slices.Sorted(maps.Keys(disks)), part)
	if len(c.disks) == 0 && len(disks) == 1 { // what the user asked iostat about
		c.disks = slices.Collect(maps.Keys(disks))
	}
	if len(c.disks) == 0 {
		o.refuse(o.first(beginsIostat), "there is no disk among these devices, and several may lie on each other: "+
			plural.And(slices.Sorted(maps.Keys(disks))), "name the one below the data: iostat -x sda 10")
		return c, false
	}
	c.reports = len(all)
	n := float64(len(all))
	for _, r := range all {
		c.busy += r.busy / 100 * float64(c.cpus) / n
		for _, name := range c.disks {
			of := r.devices[name]
			c.reads += of["r/s"] / n
			c.writes += of["w/s"] / n
			for column, size := range sizes {
				if column[0] == 'r' {
					c.readBytes += of[column] * size / n
				} else {
					c.writeBytes += of[column] * size / n
				}
			}
		}
	}
	return c, true
}

// fill writes the counters to the columns of row, per operation, and returns a description of them.
func (c counters) fill(row *points.Row, given map[string]string) string {
	rate, _ := strconv.ParseFloat(row.Columns["throughput"], 64) // which points.Make reads again
	set := func(column, text string) {
		if given[column] == "" {
			row.Columns[column] = text
		}
	}
	set("reads", decimal(c.reads/rate))
	set("writes", decimal(c.writes/rate))
	set("read-bytes", decimal(math.Round(c.readBytes/rate)))
	set("write-bytes", decimal(math.Round(c.writeBytes/rate)))
	said := fmt.Sprintf("means of %s of iostat, of %s, as if it had counted during the test of %s and no longer",
		plural.Count(c.reports, "report"), plural.And(c.disks), row.File)
	if c.cpus > 0 {
		set("cpus", fmt.Sprint(c.cpus))
		if !math.IsNaN(c.busy) {
			set("cpu", decimal(c.busy/rate*1e6)+"us")
			said += "; processor time is the whole host's"
		}
	}
	return said
}
