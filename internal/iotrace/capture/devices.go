package capture

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxDevices is DEVICES of bpf/shared.h.
const maxDevices = 16

// device is a block device that is traced.
type device struct {
	name         string // kernel name of the whole disk
	major, minor uint32
	bios         bool   // has no requests of its own: device mapper, md, a multipath head
	stacked      bool   // bios may come from another device, or from a partition: it has holders or partitions
	note         string // a limit of the recording that the user may not expect
}

func (d device) majMin() string { return fmt.Sprintf("%d:%d", d.major, d.minor) }

func (d device) nvme() bool { return strings.HasPrefix(d.name, "nvme") }

const sysDevBlock = "/sys/dev/block"

// findDevices looks up devices by number. A partition is replaced by its disk, whose requests it shares. A multipath
// NVMe device becomes its head, which has no requests, and its paths, which have. All errors are returned at once.
func findDevices(numbers []string) ([]device, error) {
	var found []device
	var wrong []error
	add := func(d device) {
		if !slices.ContainsFunc(found, func(o device) bool { return o.majMin() == d.majMin() }) {
			found = append(found, d)
		}
	}
	for _, number := range numbers {
		d, err := look(number)
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		add(d)
		for _, path := range paths(d) {
			add(path)
		}
	}
	switch {
	case len(numbers) == 0:
		wrong = append(wrong, errors.New("no device is named that should be traced"))
	case len(found) > maxDevices:
		wrong = append(wrong, fmt.Errorf("%d devices (an NVMe device counts with its paths) are more than the %d "+
			"that are traced at once: name fewer", len(found), maxDevices))
	}
	return found, errors.Join(wrong...)
}

func look(number string) (device, error) {
	var d device
	number = numberOfHead(number)
	if n, err := fmt.Sscanf(number, "%d:%d", &d.major, &d.minor); err != nil || n != 2 {
		return d, fmt.Errorf("%q is not MAJOR:MINOR of a block device", number)
	}
	dir, err := filepath.EvalSymlinks(filepath.Join(sysDevBlock, d.majMin()))
	if err != nil {
		return d, fmt.Errorf("no block device has the number %s (see lsblk)", number)
	}
	if exists(dir, "partition") {
		d.note = fmt.Sprintf("%s is a partition: its disk %s is shown", filepath.Base(dir),
			filepath.Base(filepath.Dir(dir)))
		dir = filepath.Dir(dir)
		whole, err := os.ReadFile(filepath.Join(dir, "dev"))
		if err != nil {
			return d, fmt.Errorf("the disk of partition %s: %w", number, err)
		}
		if _, err := fmt.Sscanf(string(whole), "%d:%d", &d.major, &d.minor); err != nil {
			return d, fmt.Errorf("the disk of partition %s: %w", number, err)
		}
	}
	d.name = filepath.Base(dir)
	d.bios = !exists(dir, "mq")
	holders, _ := os.ReadDir(filepath.Join(dir, "holders"))
	parts, _ := filepath.Glob(filepath.Join(dir, d.name+"*", "partition"))
	d.stacked = len(holders) > 0 || len(parts) > 0
	return d, nil
}

// numberOfHead returns the number of the head of an NVMe path, which has none of its own: that of nvme0n1 for
// nvme0c1n1. It returns the number of any other device unchanged.
func numberOfHead(path string) string {
	var s, c, n uint32
	if got, err := fmt.Sscanf(path, "nvme%dc%dn%d", &s, &c, &n); err != nil || got != 3 {
		return path
	}
	head, err := os.ReadFile(fmt.Sprintf("/sys/block/nvme%dn%d/dev", s, n))
	if err != nil {
		return path
	}
	return strings.TrimSpace(string(head))
}

// paths returns the paths of a multipath head: nvme0c1n1 is one of nvme0n1's. Only /proc/diskstats lists them.
func paths(head device) []device {
	var subsystem, namespace uint32
	if n, err := fmt.Sscanf(head.name, "nvme%dn%d", &subsystem, &namespace); err != nil || n != 2 || !head.bios {
		return nil
	}
	f, err := os.Open("/proc/diskstats")
	if err != nil {
		return nil
	}
	defer f.Close()
	var found []device
	for in := bufio.NewScanner(f); in.Scan(); {
		d := device{stacked: true}
		var s, c, n uint32
		if _, err := fmt.Sscan(in.Text(), &d.major, &d.minor, &d.name); err != nil {
			continue
		}
		if got, err := fmt.Sscanf(d.name, "nvme%dc%dn%d", &s, &c, &n); err == nil && got == 3 && s == subsystem &&
			n == namespace {
			found = append(found, d)
		}
	}
	return found
}

func exists(parts ...string) bool {
	_, err := os.Lstat(filepath.Join(parts...))
	return err == nil
}
