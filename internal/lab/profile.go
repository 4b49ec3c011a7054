package lab

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/field"
	"plimsoll/internal/problem/suggest"
)

// Profile is a limit on a drive's I/O. QEMU delays I/Os beyond it; it does not make a drive faster than its host, nor
// add the latency of flash.
type Profile struct {
	Name   string
	Source string // where the numbers are from, and of which model they are

	ReadIOPS, WriteIOPS   int64 // of 4 KiB at random; 0 for no limit
	ReadBytes, WriteBytes int64 // per second, in sequence; 0 for no limit
}

// Unlimited is the profile of a drive as fast as its host.
const Unlimited = "none"

// Profiles lists the presets.
func Profiles() []Profile {
	return []Profile{
		{Name: Unlimited, Source: "no limit: as fast as the host emulates it"},
		{
			Name: "sata-ssd", Source: "Kingston DC600M 960 GB, specification of the maker as given by its sellers: " +
				"560 and 530 MB/s, 94,000 and 65,000 IOPS",
			ReadIOPS: 94_000, WriteIOPS: 65_000, ReadBytes: 560e6, WriteBytes: 530e6,
		},
		{
			Name: "nvme", Source: "Samsung PM1725a, U.2, the successor of the study's PM1725; specification as " +
				"reported by AnandTech (2020): 3.3 and 3.0 GB/s, 800,000 and 160,000 IOPS",
			ReadIOPS: 800_000, WriteIOPS: 160_000, ReadBytes: 3.3e9, WriteBytes: 3.0e9,
		},
		{
			Name: "nvme-laptop", Source: "Samsung 960 EVO 500 GB, specification of the maker as reported by " +
				"HotHardware (2016): 3.2 and 1.8 GB/s, 330,000 and 330,000 IOPS",
			ReadIOPS: 330_000, WriteIOPS: 330_000, ReadBytes: 3.2e9, WriteBytes: 1.8e9,
		},
	}
}

// ParseProfile parses the name of a preset, or limits, each optional:
// "iops-read=5000,iops-write=2000,bytes-read=200MB,bytes-write=100MB".
func ParseProfile(text string) (Profile, error) {
	var names []string
	for _, p := range Profiles() {
		if p.Name == text {
			return p, nil
		}
		names = append(names, p.Name)
	}
	if !strings.Contains(text, "=") {
		return Profile{}, fmt.Errorf("no profile of drives is called %q: %s; limits of your own are written "+
			"iops-read=5000,bytes-write=100MB", text, suggest.DidYouMean(text, names))
	}
	p := Profile{Name: text, Source: "as given"}
	limits := map[string]*int64{"iops-read": &p.ReadIOPS, "iops-write": &p.WriteIOPS, "bytes-read": &p.ReadBytes,
		"bytes-write": &p.WriteBytes}
	var problems []error
	for part := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(part, "=")
		limit, known := limits[name]
		if !known {
			problems = append(problems, fmt.Errorf("%q is no limit of a drive: there are iops-read, iops-write, "+
				"bytes-read and bytes-write", part))
			continue
		}
		n, err := limitValue(name, value)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		if *limit != 0 {
			problems = append(problems, fmt.Errorf("%s is given twice", name))
		}
		*limit = n
	}
	return p, errors.Join(problems...)
}

// limitValue reads a positive number, of bytes with their unit.
func limitValue(name, value string) (int64, error) {
	k := field.Bandwidth(1, 1<<50)
	if strings.HasPrefix(name, "iops") {
		k = field.As[int64](field.Rate(1, 1e12).Like("5000"))
	}
	n, err := k.Parse(value)
	if err != nil {
		return 0, fmt.Errorf("%s=%s: %w", name, value, err)
	}
	return n, nil
}

// throttling returns the profile as options of QEMU's -drive.
func (p Profile) throttling() []string {
	var out []string
	for _, limit := range []struct {
		name string
		n    int64
	}{
		{"iops-read", p.ReadIOPS}, {"iops-write", p.WriteIOPS}, {"bps-read", p.ReadBytes}, {"bps-write", p.WriteBytes},
	} {
		if limit.n > 0 {
			out = append(out, fmt.Sprintf("throttling.%s=%d", limit.name, limit.n))
		}
	}
	return slices.Clip(out)
}
