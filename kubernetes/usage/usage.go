// Package usage reads what a pod of this node uses, from its cgroup: its I/O on each disk, processor time and
// memory, of all its containers together.
package usage

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"plimsoll/internal/host/cgroup"
	"plimsoll/internal/host/hostfs"
)

// Sample is the use of a pod since it started, as its cgroup counts it.
type Sample struct {
	Time    time.Time     `json:"time"`
	CPU     time.Duration `json:"cpu_nanoseconds"`
	Memory  int64         `json:"memory_bytes"`    // now, page cache included
	Private int64         `json:"private_bytes"`   // of which in no file
	AtLimit uint64        `json:"memory_at_limit"` // how often it met its limit of memory
	// Disks is by the name of the disk. Counted is whether the kernel counts I/O: with version 1 of cgroups it does so
	// from the first limit on the disk.
	Disks   map[string]cgroup.IO `json:"disks"`
	Counted bool                 `json:"counted"`
}

// deepest is how many directories below the root of a hierarchy a pod's group may be.
const deepest = 8

// uidPattern is of ids of pods: a UUID, or the hash of a static pod.
var uidPattern = regexp.MustCompile(`^[0-9a-f-]{8,64}$`)

// Read returns the use of the pod with an id.
func Read(roots hostfs.Roots, uid string) (s Sample, err error) {
	if !uidPattern.MatchString(uid) {
		return s, fmt.Errorf("%.80q is no id of a pod", uid)
	}
	trees, err := cgroup.Trees(roots)
	if err != nil {
		return s, err
	}
	path := ""
	for _, tree := range trees {
		if path, err = find(tree, uid); err != nil || path != "" {
			break
		}
	}
	if err == nil && path == "" {
		err = fmt.Errorf("pod %s has no cgroup on this node: it is on another, or has ended", uid)
	}
	if err != nil {
		return s, err
	}
	g, err := cgroup.At(roots, path)
	if err != nil {
		return s, err
	}
	u, err := g.Usage()
	if err != nil {
		return s, err
	}
	s = Sample{Time: time.Now(), CPU: u.CPU, Disks: map[string]cgroup.IO{}}
	if u.Memory != nil {
		s.Memory, s.Private, s.AtLimit = u.Memory.Bytes, u.Memory.AnonymousBytes, u.Memory.AtLimit
	}
	_, err = os.Stat(roots.InSys("fs/cgroup/cgroup.controllers"))
	s.Counted = err == nil || len(u.Devices) > 0
	for device, io := range u.Devices {
		// Layers, such as a logical volume, count what the disks below them count again.
		if below, _ := os.ReadDir(roots.InSys("dev/block", device, "slaves")); len(below) > 0 {
			continue
		}
		name := device
		if at, err := os.Readlink(roots.InSys("dev/block", device)); err == nil {
			name = filepath.Base(at)
		}
		s.Disks[name] = io
	}
	return s, nil
}

// find returns the path of a pod's group below the root of a hierarchy; "" where it is not. The kubelet calls it
// podUID, or with systemd PARENT-podUID.slice with underscores.
func find(tree, uid string) (path string, err error) {
	names := []string{"pod" + uid, "pod" + strings.ReplaceAll(uid, "-", "_") + ".slice"}
	err = filepath.WalkDir(tree, func(dir string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist): // it ended meanwhile
			return fs.SkipDir
		case err != nil:
			return err
		case !d.IsDir():
			return nil
		}
		rest := strings.TrimPrefix(dir, tree)
		if d.Name() == names[0] || d.Name() == names[1] || strings.HasSuffix(d.Name(), "-"+names[1]) {
			path = rest
			return fs.SkipAll
		}
		if strings.Count(rest, "/") >= deepest {
			return fs.SkipDir
		}
		return nil
	})
	return path, err
}

// Rates are those between two samples, a second.
type Rates struct {
	Reads, Writes, ReadBytes, WriteBytes float64
	CPUs                                 float64
}

// Between returns the rates from one sample to the next, of all disks together. It is an error if counters went back,
// as those of another pod's group do.
func Between(before, after Sample) (r Rates, err error) {
	seconds := after.Time.Sub(before.Time).Seconds()
	if seconds <= 0 || after.CPU < before.CPU {
		return r, errors.New("its counters went back: it was replaced meanwhile")
	}
	r.CPUs = (after.CPU - before.CPU).Seconds() / seconds
	for disk, now := range after.Disks {
		was := before.Disks[disk]
		for _, n := range []struct {
			to       *float64
			was, now uint64
		}{{&r.Reads, was.Reads, now.Reads}, {&r.Writes, was.Writes, now.Writes},
			{&r.ReadBytes, was.ReadBytes, now.ReadBytes}, {&r.WriteBytes, was.WrittenBytes, now.WrittenBytes}} {
			if n.now < n.was {
				return r, fmt.Errorf("its counters of %s went back: it was replaced meanwhile", disk)
			}
			*n.to += float64(n.now-n.was) / seconds
		}
	}
	return r, nil
}

// Highest returns the highest of each rate, NaN for none.
func Highest(rates []Rates) (h Rates) {
	h = Rates{math.NaN(), math.NaN(), math.NaN(), math.NaN(), math.NaN()}
	for _, r := range rates {
		for _, n := range []struct {
			to *float64
			v  float64
		}{{&h.Reads, r.Reads}, {&h.Writes, r.Writes}, {&h.ReadBytes, r.ReadBytes}, {&h.WriteBytes, r.WriteBytes},
			{&h.CPUs, r.CPUs}} {
			if !(*n.to >= n.v) {
				*n.to = n.v
			}
		}
	}
	return h
}
