package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// Files of version 2 by which groups share a device. All have lines that begin with a MAJ:MIN.
const (
	weightFile    = "io.weight"     // io.cost's, where the kernel has that
	bfqWeightFile = "io.bfq.weight" // the scheduler bfq's, once its module is loaded
	latencyFile   = "io.latency"
)

// shareDevices sets the group's weight and its target of latency on devices, and removes those that are 0. It returns
// them as the kernel reports them.
func (g *Group) shareDevices(
	weight int64,
	latency time.Duration,
	devices []string,
) (w int64, l time.Duration, err error) {
	wanted := weight > 0 || latency > 0
	p, todo, err := g.placeToLimit(blkio, wanted)
	switch {
	case !todo:
		return 0, 0, err
	case !p.unified && wanted:
		return 0, 0, fmt.Errorf("weights and targets of latency: %w", chargedByVersion1(p.mount))
	case !p.unified:
		return 0, 0, nil
	}
	for _, d := range devices {
		if err := errors.Join(p.weigh(d, weight), p.target(d, latency)); err != nil {
			return 0, 0, err
		}
		w, l, err = p.shareOf(d)
		if err == nil {
			err = p.checkHeld("io.weight and io.latency for "+d, w == weight && l == latency, []any{weight, latency},
				[]any{w, l})
		}
		if err != nil {
			return w, l, err
		}
	}
	return w, l, nil
}

// weigh sets the group's weight on a device, by what shares that: io.cost, or the scheduler bfq, or both.
func (p place) weigh(device string, weight int64) error {
	if weight == 0 {
		return errors.Join(p.unweigh(weightFile, device), p.unweigh(bfqWeightFile, device))
	}
	held := false
	for _, name := range []string{weightFile, bfqWeightFile} {
		// Both refuse a device that they do not share.
		err := writeOnce(filepath.Join(p.dir, name), fmt.Sprintf("%s %d", device, weight))
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.EOPNOTSUPP):
			continue
		case err != nil:
			return fmt.Errorf("write weight %d of %s to %s: %w", weight, device, filepath.Join(p.dir, name), err)
		}
		held = held || name == bfqWeightFile || p.costs(device)
	}
	if held {
		return nil
	}
	return errors.Join(fmt.Errorf("weight %d on %s: this device is not shared by weights: set its scheduler to bfq "+
		"(modprobe bfq), or switch io.cost on for it in %s", weight, device, filepath.Join(p.mount, "io.cost.qos")),
		p.unweigh(weightFile, device))
}

// costs reports whether io.cost is on for a device: a file with weights that nothing goes by stays once it was.
func (p place) costs(device string) bool {
	qos, err := place{dir: p.mount}.readKeyed("io.cost.qos")
	return err == nil && qos[device]["enable"] == 1
}

func (p place) unweigh(name, device string) error {
	weights, err := p.readTable(name)
	if _, has := weights[device]; err != nil || !has {
		return withoutMissing(err)
	}
	err = p.set(name, device+" default")
	if errors.Is(err, syscall.EOPNOTSUPP) || errors.Is(err, syscall.ENODEV) {
		return nil // the device has another scheduler by now, or is gone
	}
	return err
}

// target sets the latency at which the group's I/O on a device is protected.
func (p place) target(device string, latency time.Duration) error {
	if latency == 0 {
		rules, err := p.readKeyed(latencyFile)
		if _, has := rules[device]; err != nil || !has {
			return withoutMissing(err)
		}
	}
	err := writeOnce(filepath.Join(p.dir, latencyFile), device+" target="+strconv.FormatInt(latency.Microseconds(), 10))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("a target of latency on %s: this kernel has no %s: take one that is built with "+
			"CONFIG_BLK_CGROUP_IOLATENCY, which Debian's are not, or weights", device, latencyFile)
	case err != nil:
		return fmt.Errorf("write a target of %v for %s to %s: %w", latency, device,
			filepath.Join(p.dir, latencyFile), err)
	}
	return nil
}

// shareOf returns the group's weight and target of latency on a device; 0 where it has none of its own.
func (p place) shareOf(device string) (weight int64, latency time.Duration, err error) {
	if !p.unified {
		return 0, 0, nil
	}
	var errs []error
	for _, name := range []string{weightFile, bfqWeightFile} {
		weights, err := p.readTable(name)
		errs = append(errs, withoutMissing(err))
		if w, ok := weights[device]; ok {
			weight = int64(w)
		}
	}
	targets, err := p.readKeyed(latencyFile)
	errs = append(errs, withoutMissing(err))
	return weight, time.Duration(targets[device]["target"]) * time.Microsecond, errors.Join(errs...)
}
