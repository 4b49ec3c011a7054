package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"plimsoll/internal/result"
)

// Limit sets all limits of the group, and removes those that are 0, for devices by MAJ:MIN. It returns the limits as
// the kernel reports them. The error names a limit that cannot be set, or that the kernel changed, with a remedy.
func (g *Group) Limit(l result.Limits, devices []string) (readBack result.Limits, err error) {
	if len(devices) == 0 && l != l.WithoutDevices() {
		return readBack, errors.New("limits on devices: no device is named")
	}
	if l.CPUs < 0 || math.IsNaN(l.CPUs) || l.MemoryBytes < 0 || min(l.Read.BytesPerSecond, l.Read.OperationsPerSecond,
		l.Write.BytesPerSecond, l.Write.OperationsPerSecond, l.IOWeight, int64(l.IOLatency)) < 0 {
		return readBack, fmt.Errorf("limits below zero: %+v (0 is for none)", l)
	}
	var errs []error
	// Each call reads back its limit, even if setting it failed.
	readBack.CPUSet, err = g.limitCPUSet(l.CPUSet)
	errs = append(errs, err)
	readBack.CPUs, err = g.limitCPUs(l.CPUs)
	errs = append(errs, err)
	readBack.MemoryBytes, err = g.limitMemory(l.MemoryBytes)
	errs = append(errs, err)
	readBack.Read, readBack.Write, err = g.limitDevices(l.Read, l.Write, devices)
	errs = append(errs, err)
	readBack.IOWeight, readBack.IOLatency, err = g.shareDevices(l.IOWeight, l.IOLatency, devices)
	errs = append(errs, err)
	return readBack, errors.Join(errs...)
}

// LimitDevices is Limit of devices alone: whatever else limits the group stays.
func (g *Group) LimitDevices(l result.Limits, devices []string) (readBack result.Limits, err error) {
	if len(devices) == 0 {
		return readBack, errors.New("limits on devices: no device is named")
	}
	readBack.Read, readBack.Write, err = g.limitDevices(l.Read, l.Write, devices)
	return readBack, err
}

// Limits returns the limits that the kernel holds for the group, on devices for those
// that are named.
func (g *Group) Limits(devices []string) (l result.Limits, err error) {
	var errs []error
	if p, ok := g.placeOf(cpuset); ok {
		l.CPUSet, err = p.cpus()
		errs = append(errs, withoutMissing(err))
	}
	if p, ok := g.placeOf(cpu); ok {
		l.CPUs, err = p.quota()
		errs = append(errs, withoutMissing(err))
	}
	if p, ok := g.placeOf(memory); ok {
		l.MemoryBytes, err = p.readInt(p.fileName("memory.limit_in_bytes", "memory.max"))
		errs = append(errs, withoutMissing(err))
	}
	if p, ok := g.placeOf(blkio); ok && !p.shared {
		l.Read, l.Write, err = p.rates(devices)
		errs = append(errs, withoutMissing(err))
		for _, d := range devices {
			l.IOWeight, l.IOLatency, err = p.shareOf(d)
			errs = append(errs, withoutMissing(err))
		}
	}
	return l, errors.Join(errs...)
}

// withoutMissing returns no error for a file that is not there: it limits nothing. err is of one file: a join with a
// missing one would hide what failed in others.
func withoutMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// fileName returns the name of a file in the place's version.
func (p place) fileName(v1, v2 string) string {
	if p.unified {
		return v2
	}
	return v1
}

// placeToLimit returns the place for a controller, and whether there is anything to set: without a limit, a missing
// place is no error.
func (g *Group) placeToLimit(controller string, wanted bool) (p place, todo bool, err error) {
	p, ok := g.placeOf(controller)
	problem := g.missing[controller]
	switch {
	case problem == nil && ok:
		return p, true, nil
	case !wanted:
		return p, false, nil
	case problem == nil:
		problem = errors.New("the group was not made to carry limits")
	}
	return p, false, fmt.Errorf("limit by the controller %s: %w", controller, problem)
}

// remove writes value, which means no limit. Where the file does not exist, there is no limit.
func (p place) remove(name, value string) error {
	return withoutMissing(write(filepath.Join(p.dir, name), value))
}

func (p place) set(name, value string) error { return write(filepath.Join(p.dir, name), value) }

// checkHeld returns an error when the kernel's value differs from the one that was set.
func (p place) checkHeld(name string, equal bool, set, holds any) error {
	if equal {
		return nil
	}
	return fmt.Errorf("%s: %v was set, and the kernel holds %v (a limit of a group above may be less)",
		filepath.Join(p.dir, name), set, holds)
}

// cpuPeriod is the period of a processor-time quota in microseconds: the kernel's default.
const cpuPeriod = 100_000

func (g *Group) limitCPUs(cpus float64) (holds float64, err error) {
	p, todo, err := g.placeToLimit(cpu, cpus > 0)
	if !todo {
		return 0, err
	}
	quota := strconv.FormatFloat(math.Round(cpus*cpuPeriod), 'f', 0, 64)
	switch {
	case cpus == 0 && p.unified:
		err = p.remove("cpu.max", fmt.Sprintf("max %d", cpuPeriod))
	case cpus == 0:
		err = p.remove("cpu.cfs_quota_us", "-1")
	case p.unified:
		err = p.set("cpu.max", fmt.Sprintf("%s %d", quota, cpuPeriod))
	default:
		// Together they would have to make sense at each step.
		err = p.set("cpu.cfs_quota_us", "-1")
		if err == nil {
			err = p.set("cpu.cfs_period_us", strconv.Itoa(cpuPeriod))
		}
		if err == nil {
			err = p.set("cpu.cfs_quota_us", quota)
		}
	}
	if err != nil {
		return 0, err
	}
	holds, err = p.quota()
	if err != nil {
		return 0, withoutMissing(err)
	}
	return holds, p.checkHeld(
		p.fileName("cpu.cfs_quota_us", "cpu.max"),
		math.Abs(holds-cpus) <= 1.0/cpuPeriod,
		cpus,
		holds,
	)
}

// quota returns the processors' worth of time that the group may use; 0 for any.
func (p place) quota() (float64, error) {
	var quota, period string
	var err error
	if p.unified {
		quota, err = p.read("cpu.max")
		quota, period, _ = strings.Cut(quota, " ")
	} else {
		quota, err = p.read("cpu.cfs_quota_us")
		if err == nil {
			period, err = p.read("cpu.cfs_period_us")
		}
	}
	if err != nil || quota == "max" || quota == "-1" {
		return 0, err
	}
	q, errQuota := strconv.ParseFloat(quota, 64)
	of, errPeriod := strconv.ParseFloat(period, 64)
	if err := errors.Join(errQuota, errPeriod); err != nil || of <= 0 {
		return 0, fmt.Errorf("quota of processor time in %s: %q of %q makes no sense", p.dir, quota, period)
	}
	return q / of, nil
}

func (g *Group) limitCPUSet(cpus string) (holds string, err error) {
	p, todo, err := g.placeToLimit(cpuset, cpus != "")
	if !todo {
		return "", err
	}
	wanted, err := parseCPUs(cpus)
	switch {
	case err != nil:
		return "", fmt.Errorf("processors %q: %w", cpus, err)
	case cpus != "":
		err = p.set("cpuset.cpus", cpus)
	case p.unified:
		err = p.remove("cpuset.cpus", "\n")
	default:
		err = withoutMissing(p.inherit("cpuset.cpus"))
	}
	if err != nil || cpus == "" {
		return "", err
	}
	// Version 2 keeps what it was told, and goes by what the groups above leave of it.
	name := p.fileName("cpuset.cpus", "cpuset.cpus.effective")
	holds, err = p.read(name)
	if err != nil {
		return "", err
	}
	got, err := parseCPUs(holds)
	if err != nil {
		return holds, err
	}
	if slices.Equal(got, wanted) {
		return cpus, nil
	}
	return holds, p.checkHeld(name, false, cpus, holds)
}

// cpus returns the processors that the group is limited to; "" for those of its parent.
func (p place) cpus() (string, error) {
	cpuSet, err := p.read("cpuset.cpus")
	if err != nil || p.unified {
		return cpuSet, err
	}
	parentSet, err := os.ReadFile(filepath.Join(filepath.Dir(p.dir), "cpuset.cpus"))
	if err == nil && strings.TrimSpace(string(parentSet)) == cpuSet {
		cpuSet = ""
	}
	return cpuSet, err
}

// parseCPUs returns the numbers of a list as the kernel writes it, "0-3,8", in order.
func parseCPUs(text string) (cpus []int, err error) {
	if text == "" {
		return nil, nil
	}
	for _, part := range strings.Split(text, ",") {
		first, last, ranged := strings.Cut(strings.TrimSpace(part), "-")
		if !ranged {
			last = first
		}
		from, errFrom := strconv.ParseUint(first, 10, 16)
		to, errTo := strconv.ParseUint(last, 10, 16)
		if errors.Join(errFrom, errTo) != nil || from > to {
			return nil, fmt.Errorf("%q is no range of processors, such as 0-3", part)
		}
		for n := from; n <= to; n++ {
			cpus = append(cpus, int(n))
		}
	}
	slices.Sort(cpus)
	return slices.Compact(cpus), nil
}

func (g *Group) limitMemory(bytes int64) (holds int64, err error) {
	p, todo, err := g.placeToLimit(memory, bytes > 0)
	if !todo {
		return 0, err
	}
	if p.unified {
		err = p.limitMemory2(bytes)
	} else {
		err = p.limitMemory1(bytes)
	}
	if err != nil {
		return 0, err
	}
	name := p.fileName("memory.limit_in_bytes", "memory.max")
	holds, err = p.readInt(name)
	if err != nil {
		return 0, withoutMissing(err)
	}
	page := int64(os.Getpagesize())
	return holds, p.checkHeld(name, holds <= bytes && holds > bytes-page, bytes, holds)
}

// limitMemory1 limits memory, and memory with swap to the same where the kernel counts
// that. With swap, it can never be less than without.
func (p place) limitMemory1(bytes int64) error {
	const alone, withSwap = "memory.limit_in_bytes", "memory.memsw.limit_in_bytes"
	if err := p.remove(withSwap, "-1"); err != nil {
		return err
	}
	if bytes == 0 {
		return p.remove(alone, "-1")
	}
	value := strconv.FormatInt(bytes, 10)
	err := p.set(alone, value)
	if errors.Is(err, syscall.EBUSY) { // what can be taken from it is, but the kernel does not try for long
		err = errors.Join(p.set("memory.force_empty", "0"), p.set(alone, value))
	}
	if err != nil {
		return err
	}
	return p.remove(withSwap, value) // a kernel that does not count swap has no such file
}

func (p place) limitMemory2(bytes int64) error {
	if bytes == 0 {
		return errors.Join(p.remove("memory.swap.max", "max"), p.remove("memory.max", "max"))
	}
	// A kernel without swap has no such file.
	return errors.Join(p.remove("memory.swap.max", "0"), p.set("memory.max", strconv.FormatInt(bytes, 10)))
}

func (g *Group) limitDevices(read, write result.Rate, devices []string) (r, w result.Rate, err error) {
	wanted := read != result.Rate{} || write != result.Rate{}
	p, todo, err := g.placeToLimit(blkio, wanted)
	switch {
	case !todo:
		return r, w, err
	case p.shared && wanted:
		return r, w, fmt.Errorf("limit on devices: block I/O is charged to %s, which others share: limit that", p.dir)
	case p.shared:
		return r, w, nil
	}
	if p.unified {
		err = p.limitDevices2(read, write, devices)
	} else {
		err = p.limitDevices1(read, write, devices)
	}
	if err != nil {
		return r, w, err
	}
	for _, d := range devices {
		r, w, err = p.rates([]string{d})
		if err != nil {
			return r, w, withoutMissing(err)
		}
		name := p.fileName("blkio.throttle.*_device", "io.max")
		same := r == read && w == write
		if err := p.checkHeld(name+" for "+d, same, []result.Rate{read, write}, []result.Rate{r, w}); err != nil {
			return r, w, err
		}
	}
	return r, w, nil
}

// throttle are the files of version 1 with limits on devices.
var throttle = []struct {
	name string
	rate func(read, write *result.Rate) *int64
}{
	{"blkio.throttle.read_bps_device", func(r, _ *result.Rate) *int64 { return &r.BytesPerSecond }},
	{"blkio.throttle.read_iops_device", func(r, _ *result.Rate) *int64 { return &r.OperationsPerSecond }},
	{"blkio.throttle.write_bps_device", func(_, w *result.Rate) *int64 { return &w.BytesPerSecond }},
	{"blkio.throttle.write_iops_device", func(_, w *result.Rate) *int64 { return &w.OperationsPerSecond }},
}

// limitDevices1 sets the given limits in version 1, and removes all others.
func (p place) limitDevices1(read, write result.Rate, devices []string) error {
	for _, t := range throttle {
		rules, err := p.readTable(t.name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		rate := *t.rate(&read, &write)
		for device := range rules {
			if rate == 0 || !slices.Contains(devices, device) {
				// What is left of a device that is gone limits nothing.
				err := p.set(t.name, device+" 0")
				if err != nil && !errors.Is(err, syscall.ENODEV) {
					return err
				}
			}
		}
		for _, device := range devices {
			if rate == 0 {
				break
			}
			if err := p.set(t.name, fmt.Sprintf("%s %d", device, rate)); err != nil {
				return err
			}
		}
	}
	return nil
}

// limitDevices2 does the same with version 2.
func (p place) limitDevices2(read, write result.Rate, devices []string) error {
	rules, err := p.readKeyed("io.max")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for device := range rules {
		if slices.Contains(devices, device) {
			continue
		}
		err := p.set("io.max", device+" rbps=max wbps=max riops=max wiops=max")
		if err != nil && !errors.Is(err, syscall.ENODEV) {
			return err
		}
	}
	for _, device := range devices {
		change := p.set
		if read == (result.Rate{}) && write == (result.Rate{}) {
			change = p.remove
		}
		err := change("io.max", IOMax(device, read, write))
		if err != nil {
			return err
		}
	}
	return nil
}

// IOMax returns the line of io.max, a file of version 2, that limits a group on a device by MAJ:MIN.
func IOMax(device string, read, write result.Rate) string {
	return fmt.Sprintf("%s rbps=%s wbps=%s riops=%s wiops=%s", device, orMax(read.BytesPerSecond),
		orMax(write.BytesPerSecond), orMax(read.OperationsPerSecond), orMax(write.OperationsPerSecond))
}

// LimitsAt returns what the kernel holds of devices, by MAJ:MIN, for the group of version 2 of a directory.
func LimitsAt(dir string) (map[string]result.Limits, error) {
	return place{hierarchy: hierarchy{unified: true}, dir: dir}.ratesByDevice()
}

// IOAt returns what the group of version 2 of a directory did to devices, by MAJ:MIN, and for how many microseconds
// some of its tasks, and all of them, waited for I/O; nil where the kernel does not count that.
func IOAt(dir string) (devices map[string]IO, waited map[string]int64, err error) {
	p := place{hierarchy: hierarchy{unified: true}, dir: dir}
	if devices, err = p.devices2(); err != nil {
		return nil, nil, err
	}
	pressure, err := p.readKeyed("io.pressure")
	if err != nil { // it is off, or was before Linux 4.20
		return devices, nil, nil //nolint:nilerr // the rest is known
	}
	waited = map[string]int64{}
	for tasks, n := range pressure {
		waited[tasks] = n["total"]
	}
	return devices, waited, nil
}

func orMax(n int64) string {
	if n == 0 {
		return "max"
	}
	return strconv.FormatInt(n, 10)
}

// readKeyed reads a file of version 2 with a line for each device, "8:0 rbps=1 wbps=max".
func (p place) readKeyed(name string) (map[string]map[string]int64, error) {
	text, err := p.read(name)
	if err != nil {
		return nil, err
	}
	values := map[string]map[string]int64{}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		values[f[0]] = map[string]int64{}
		for _, pair := range f[1:] {
			key, value, _ := strings.Cut(pair, "=")
			n, err := parseInt(value)
			if err == nil { // newer kernels may print other values than numbers
				values[f[0]][key] = n
			}
		}
	}
	return values, nil
}

// rates returns the limits on devices. If the devices have different limits, those of the last limited device count.
func (p place) rates(devices []string) (read, write result.Rate, err error) {
	limits, err := p.ratesByDevice()
	for _, d := range devices {
		rule, ok := limits[d]
		if ok {
			read, write = rule.Read, rule.Write
		}
	}
	return read, write, err
}

// ratesByDevice returns the limits on every device that has any, by MAJ:MIN.
func (p place) ratesByDevice() (map[string]result.Limits, error) {
	limits := map[string]result.Limits{}
	if p.unified {
		rules, err := p.readKeyed("io.max")
		for d, rule := range rules {
			limits[d] = result.Limits{
				Read:  result.Rate{BytesPerSecond: rule["rbps"], OperationsPerSecond: rule["riops"]},
				Write: result.Rate{BytesPerSecond: rule["wbps"], OperationsPerSecond: rule["wiops"]},
			}
		}
		return limits, err
	}
	for _, t := range throttle {
		rules, err := p.readTable(t.name)
		if err != nil {
			return limits, err
		}
		for d, rate := range rules {
			if rate < noLimit {
				l := limits[d]
				*t.rate(&l.Read, &l.Write) = int64(rate)
				limits[d] = l
			}
		}
	}
	return limits, nil
}

// DeviceLimits returns the limits that the kernel holds for the group on devices, by MAJ:MIN. A file that is not there
// limits nothing.
func (g *Group) DeviceLimits() (map[string]result.Limits, error) {
	p, ok := g.placeOf(blkio)
	if !ok {
		return nil, nil
	}
	all, err := p.ratesByDevice()
	return all, withoutMissing(err)
}

// HoldsBufferedWrites reports whether limits on devices apply to writes through the page cache. With version 1 they
// do not: the process that writes the pages back is charged.
func (g *Group) HoldsBufferedWrites() bool { return g.ioPlace().unified }
