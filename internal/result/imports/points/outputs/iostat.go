package outputs

import (
	"encoding/json"
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

// beginsIostat reports whether a line is a heading of devices: with their names first, or last with --pretty, which
// prints a table for each kind of request.
func beginsIostat(line string) bool {
	return (strings.HasPrefix(line, "Device") || strings.HasSuffix(line, "Device")) && strings.Contains(line, "r/s")
}

// isHeading reports whether fields head a table of devices.
func isHeading(fields []string) bool {
	last := len(fields) - 1
	return last > 0 && (strings.TrimSuffix(fields[0], ":") == "Device" || fields[last] == "Device") &&
		strings.ContainsAny(strings.Join(fields, " "), "/%")
}

func beginsIostatJSON(line string) bool { return strings.Contains(line, `"sysstat"`) }

// beginsShortIostat reports whether a line is a heading of iostat -s.
func beginsShortIostat(line string) bool {
	return strings.Contains(line, "Device") && strings.Contains(line, " tps") && strings.Contains(line, "areq-sz")
}

// isIostat reports whether an output is one of iostat.
func (o *output) isIostat() bool {
	return o != nil && (o.first(beginsIostat) >= 0 || o.first(beginsIostatJSON) >= 0 || o.first(beginsShortIostat) >= 0)
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
	wholeDiskRE = regexp.MustCompile(`^(cciss/c\d+d\d+|sd[a-z]+|hd[a-z]+|vd[a-z]+|xvd[a-z]+|nvme\d+n\d+|mmcblk\d+|dasd[a-z]+|pmem\d+)$`)
	named       = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.:!/-]{0,63}$`)
)

// report is one of iostat.
type report struct {
	devices map[string]map[string]float64 // columns of each
	busy    float64                       // percent
}

// readIostat reads what iostat printed, in any of its forms. firstReport is for -y.
func readIostat(o *output, firstReport bool) (c counters, ok bool) {
	var reports []report
	switch {
	case o.first(beginsIostatJSON) >= 0:
		c.cpus, reports, ok = readIostatJSON(o)
	case o.first(beginsIostat) < 0:
		o.refuse(o.first(beginsShortIostat), "iostat -s does not distinguish reads from writes", "run iostat -x without -s")
	default:
		c.cpus, reports, ok = readIostatText(o)
	}
	if !ok {
		return c, false
	}
	if !firstReport {
		if len(reports) < 2 {
			o.refuse(max(0, o.first(beginsIostat)), "there is one report, which is of the time since the host started unless "+
				"iostat ran with -y", "run iostat -x 10 during the whole test, or give --iostat-y if it ran so")
			return c, false
		}
		reports = reports[1:]
	}
	return c.mean(o, reports)
}

// readIostatText reads tables. A report begins with its processors, or with a table of reads.
func readIostatText(o *output) (cpus int, all []report, ok bool) {
	busy := math.NaN()
	var head []string
	for i := 0; i < len(o.lines); i++ {
		fields := strings.Fields(o.lines[i])
		switch {
		case len(fields) == 0:
			head = nil
		case strings.HasPrefix(o.lines[i], "Linux "):
			if m := processors.FindStringSubmatch(o.lines[i]); m != nil {
				n, _ := leading(m[1])
				cpus = int(min(n, 1e5))
			}
		case fields[0] == "avg-cpu:":
			head = nil
			if i+1 < len(o.lines) {
				i++
				busy = busyOf(fields[1:], strings.Fields(o.lines[i]))
			}
		case isHeading(fields):
			head = fields
			if !beginsIostat(o.lines[i]) { // a further table of the same report
				continue
			}
			if len(all) == mostResults {
				o.refuse(i, fmt.Sprintf("there are more than %d reports", mostResults), "leave some out")
				return 0, nil, false
			}
			all = append(all, report{map[string]map[string]float64{}, busy})
			busy = math.NaN()
		case head != nil && len(all) > 0:
			if !readDevice(o, i, head, fields, all[len(all)-1]) {
				return 0, nil, false
			}
		}
	}
	return cpus, all, true
}

// readDevice reads a line of a device. It reports whether to go on.
func readDevice(o *output, i int, head, fields []string, target report) bool {
	name := 0
	if head[0] != "Device" && head[0] != "Device:" {
		name = len(fields) - 1
	}
	if len(fields) != len(head) || !named.MatchString(fields[name]) {
		if i == len(o.lines)-1 { // cut short when iostat was stopped
			return true
		}
		message := fmt.Sprintf("a line of a device has %d columns, and the heading %d", len(fields), len(head))
		if len(fields) == len(head) {
			message = "this device has no name that Linux gives to one"
		}
		o.refuse(i, message, "hand in the output of iostat -x as it is")
		return false
	}
	columns := target.devices[fields[name]]
	if columns == nil {
		columns = map[string]float64{}
		target.devices[fields[name]] = columns
	}
	for k, text := range fields {
		if k == name {
			continue
		}
		if end := text[len(text)-1]; end >= 'A' && end <= 'z' && end != '_' {
			o.refuse(i, "iostat --human rounds its numbers", "run iostat -x without --human and -h")
			return false
		}
		columns[head[k]], _ = leading(text)
	}
	return true
}

// readIostatJSON reads what iostat -o JSON prints.
func readIostatJSON(o *output) (cpus int, all []report, ok bool) {
	var document struct {
		Sysstat struct {
			Hosts []struct {
				CPUs       int `json:"number-of-cpus"`
				Statistics []struct {
					CPU  map[string]float64           `json:"avg-cpu"`
					Disk []map[string]json.RawMessage `json:"disk"`
				} `json:"statistics"`
			} `json:"hosts"`
		} `json:"sysstat"`
	}
	if !o.decode(beginsIostatJSON, &document) {
		return 0, nil, false
	}
	for _, host := range document.Sysstat.Hosts[:min(1, len(document.Sysstat.Hosts))] {
		cpus = min(max(host.CPUs, 0), 1e5)
		for _, s := range host.Statistics[:min(len(host.Statistics), mostResults)] {
			r := report{map[string]map[string]float64{}, math.NaN()}
			if s.CPU != nil {
				r.busy = s.CPU["user"] + s.CPU["nice"] + s.CPU["system"]
			}
			for _, disk := range s.Disk {
				var name string
				_ = json.Unmarshal(disk["disk_device"], &name)
				columns := map[string]float64{}
				for key, raw := range disk {
					var x value
					_ = json.Unmarshal(raw, &x)
					columns[key] = float64(x)
				}
				if _, extended := columns["r/s"]; !extended || !named.MatchString(name) {
					o.refuse(o.first(beginsIostatJSON), "it has no reads and writes of a named device", "run iostat -x -o JSON 10")
					return 0, nil, false
				}
				r.devices[name] = columns
			}
			all = append(all, r)
		}
	}
	return cpus, all, true
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
func (c counters) mean(o *output, reports []report) (counters, bool) {
	disks := map[string]bool{}
	for _, r := range reports {
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
		o.refuse(max(0, o.first(beginsIostat)), "there is no disk among these devices, and several may lie on each other: "+
			plural.And(slices.Sorted(maps.Keys(disks))), "name the one below the data: iostat -x sda 10")
		return c, false
	}
	c.reports = len(reports)
	n := float64(len(reports))
	for _, r := range reports {
		c.busy += r.busy / 100 * float64(c.cpus) / n
		for _, name := range c.disks {
			rates := r.devices[name]
			c.reads += rates["r/s"] / n
			c.writes += rates["w/s"] / n
			for _, column := range slices.Sorted(maps.Keys(sizes)) {
				if column[0] == 'r' {
					c.readBytes += rates[column] * sizes[column] / n
				} else {
					c.writeBytes += rates[column] * sizes[column] / n
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
	note := fmt.Sprintf("means of %s of iostat, of %s, as if it had counted during the test of %s and no longer",
		plural.Count(c.reports, "report"), plural.And(c.disks), row.File)
	if c.cpus > 0 {
		set("cpus", fmt.Sprint(c.cpus))
		if !math.IsNaN(c.busy) {
			set("cpu", decimal(c.busy/rate*1e6)+"us")
			note += "; processor time is the whole host's"
		}
	}
	return note
}
