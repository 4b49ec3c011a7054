package nvmetarget

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sys/unix"

	"plimsoll/internal/stack/nvmetarget/metrics"
)

// namespaces collects completed I/Os of the devices behind this host's exported namespaces, and their time. An
// initiator subtracts the time from its own, which leaves that of the fabric.
type namespaces struct{ targets *Targets }

var namespaceLabels = []string{"nqn", "nsid", "uuid", "device"}

func namespaceMetric(name, help string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, namespaceLabels, nil)
}

var (
	namespaceReads = namespaceMetric(metrics.NamespaceReads,
		"Reads that the device of an exported namespace completed.")
	namespaceReadSeconds = namespaceMetric(metrics.NamespaceReadSeconds,
		"Seconds that all of them took there, from request to completion.")
	namespaceWrites = namespaceMetric(metrics.NamespaceWrites,
		"Writes that the device of an exported namespace completed.")
	namespaceWriteTime = namespaceMetric(metrics.NamespaceWriteSeconds,
		"Seconds that all of them took there, from request to completion.")
)

// Describe sends what Collect sends metrics of.
func (namespaces) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{namespaceReads, namespaceReadSeconds, namespaceWrites, namespaceWriteTime} {
		to <- d
	}
}

// Collect reads the counters of the devices. A namespace in a file has none.
func (n namespaces) Collect(to chan<- prometheus.Metric) {
	standing, err := n.targets.List()
	if err != nil {
		to <- prometheus.NewInvalidMetric(namespaceReads, err)
		return
	}
	for _, s := range standing {
		for _, ns := range s.Namespaces {
			stat, err := n.stat(ns.Device)
			if err != nil || !ns.Enabled {
				continue
			}
			labels := readable(s.NQN, ns.ID, ns.UUID, ns.Device)
			count := func(of *prometheus.Desc, value float64) {
				to <- prometheus.MustNewConstMetric(of, prometheus.CounterValue, value, labels...)
			}
			count(namespaceReads, stat[0])
			count(namespaceReadSeconds, stat[3]/1000)
			count(namespaceWrites, stat[4])
			count(namespaceWriteTime, stat[7]/1000)
		}
	}
}

// readable returns names as labels take them: other programs may have exported any bytes.
func readable(names ...string) []string {
	for i := range names {
		names[i] = strings.ToValidUTF8(names[i], "?")
	}
	return names
}

// stat returns the first counters of a block device (Documentation/block/stat.rst): I/Os, merged, sectors and
// milliseconds of reads, then of writes. The kernel adds nanoseconds up, so that the error is one millisecond in
// total, not for each I/O.
func (n namespaces) stat(device string) (fields [8]float64, err error) {
	var st unix.Stat_t
	if err := unix.Stat(device, &st); err != nil {
		return fields, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFBLK {
		return fields, fmt.Errorf("%s is no block device", device)
	}
	id := fmt.Sprintf("%d:%d", unix.Major(st.Rdev), unix.Minor(st.Rdev))
	b, err := os.ReadFile(filepath.Join(n.targets.Host.Roots.Sys, "dev/block", id, "stat"))
	if err != nil {
		return fields, err
	}
	words := strings.Fields(string(b))
	if len(words) < len(fields) {
		return fields, fmt.Errorf("%d counters of %s", len(words), device)
	}
	for i := range fields {
		fields[i], err = strconv.ParseFloat(words[i], 64)
		if err != nil {
			return fields, err
		}
	}
	return fields, nil
}
