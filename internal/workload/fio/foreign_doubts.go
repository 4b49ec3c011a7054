package fio

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/result"
	"plimsoll/internal/units"
)

// paceOptions have jobs do less than they can.
var paceOptions = words(`rate rate_iops rate_process thinktime`)

// blockingEngines do one I/O at a time, whatever the iodepth.
var blockingEngines = words(`psync sync pvsync pvsync2 mmap`)

// flushOptions make writes durable before or at the end of the measurement.
var flushOptions = words(`fsync fdatasync end_fsync fsync_on_close sync sync_file_range syncfs`)

// isSet reports whether options set one of keys to anything but zero.
func isSet(options map[string]string, keys []string) (key string, set bool) {
	for _, key := range keys {
		if v := options[key]; v != "" && v != "0" && v != "none" && strings.Trim(v, "0,") != "" {
			return key, true
		}
	}
	return "", false
}

// doubts returns the reasons to doubt a measurement that its file gives.
func (r *Foreign) doubts(d document, jobs []job) (all []string) {
	inFlight := 0
	for _, j := range jobs {
		options := canonical(d.options(j))
		depth, err := strconv.Atoi(options["iodepth"])
		clones, _ := strconv.Atoi(options["numjobs"])
		if len(d.options(j)) == 0 || err != nil {
			return nil // nothing is known of the job
		}
		if slices.Contains(blockingEngines, options["ioengine"]) {
			depth = 1
		}
		if options["group_reporting"] != "1" {
			clones = 1
		}
		inFlight += depth * max(clones, 1)
		if key, paced := isSet(options, paceOptions); paced {
			all = append(all, fmt.Sprintf("it was done at a pace: %s=%s", key, options[key]))
		}
		if _, flushed := isSet(options, flushOptions); !flushed && options["direct"] != "1" && j.Write.IOs > 0 &&
			j.Sync.Total.N == 0 {
			all = append(all, "writes were buffered and never flushed: their latency and rate are those of memory")
		}
		if s := j.Steady; s != nil && s.Attained == 0 {
			all = append(all, "fio did not find it steady: "+s.Criterion+" was not attained")
		}
	}
	if waiting, rate := r.waiting(), r.Measurement.IOPS(); rate > 0 {
		if doubt, possible := result.CheckClosedLoop(float64(inFlight), rate, waiting/rate); !possible {
			all = append(all, fmt.Sprintf("%s, and its jobs have %d I/Os under way", doubt, inFlight))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// waiting returns the nanoseconds that jobs waited for operations of all kinds, in each second.
func (r *Foreign) waiting() (ns float64) {
	for _, o := range r.Measurement.Operations {
		l := o.Latency[result.Total]
		if l.MeanNS == 0 {
			l = o.Latency[result.Completion]
		}
		ns += o.Rate * l.MeanNS
	}
	return ns
}

// DiskUse is what fio noted of devices while it ran its jobs, ramp included. Their other users are in it, too.
type DiskUse struct {
	Names    []string
	Requests uint64 // those merged into others included
}

// diskUtil is an element of fio's list of devices.
type diskUtil struct {
	Name        string  `json:"name"`
	Reads       uint64  `json:"read_ios"`
	Writes      uint64  `json:"write_ios"`
	ReadMerges  uint64  `json:"read_merges"`
	WriteMerges uint64  `json:"write_merges"`
	Members     *uint64 `json:"aggr_read_ios"` // of a device that is made of others
}

// diskUse returns the use of the devices of a document; nil where it has none. Of a device that is made of others, it
// is its own: they are listed beside it.
func (d document) diskUse() *DiskUse {
	var devices []diskUtil
	if json.Unmarshal(d.DiskUtil, &devices) != nil || len(devices) == 0 {
		return nil
	}
	made := slices.ContainsFunc(devices, func(v diskUtil) bool { return v.Members != nil })
	use := &DiskUse{}
	for _, v := range devices {
		if made && v.Members == nil {
			continue
		}
		use.Names = append(use.Names, v.Name)
		use.Requests += v.Reads + v.Writes + v.ReadMerges + v.WriteMerges
	}
	return use
}

// fewestServed is the share of random I/Os that devices served below which a cache answered them.
const fewestServed = 0.5

// Check compares a result with what fio noted of devices. It is conclusive only where a cache answered: devices have
// other users, and sequential I/Os are joined before they get there.
func (r *Foreign) Check() result.Honesty {
	h := result.Honesty{Source: result.SourceUnknown, Reason: "imported: no device counters"}
	if r.Devices == nil || r.Measurement == nil || r.Measurement.IOs() == 0 {
		return h
	}
	ratio := float64(r.Devices.Requests) * r.measured() / float64(r.Measurement.IOs())
	h.Reason = fmt.Sprintf("imported: no device counters; fio noted %s requests of %s for each I/O, "+
		"with those of other programs that used it",
		units.Digits(ratio), strings.Join(r.Devices.Names, ", "))
	if strings.HasPrefix(r.Info.Pattern, "rand") && ratio < fewestServed {
		h.Source, h.Ratio = result.SourceMemory, &ratio
		h.Reason += ": a cache answered"
	}
	return h
}

// measured returns which share of its time a result covers, without ramp.
func (r *Foreign) measured() float64 {
	ramp := 0.0
	for _, options := range r.Options {
		d, _ := fioDuration(options["ramp_time"])
		ramp = max(ramp, d.Seconds())
	}
	return r.Measurement.Seconds / (r.Measurement.Seconds + ramp)
}
