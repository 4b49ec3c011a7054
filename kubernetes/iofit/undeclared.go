package iofit

import (
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"plimsoll/internal/model"
	"plimsoll/internal/units/plural"
)

// UndeclaredAnnotation is of the pod of limits of a node: the I/O that the node's pods without a class do, as measured
// there. It does not count of any other pod.
const UndeclaredAnnotation = Prefix + "undeclared"

// Rates are the I/O of a pod in a second: reads, writes, bytes read and bytes written.
type Rates [4]float64

// Bounds of what UndeclaredAnnotation has: a node has some 110 pods, and no drive does as much as mostRate.
const (
	mostUndeclaredBytes = 32 << 10
	MostUndeclared      = 300 // pods
	mostRate            = 1e12
)

// FormatUndeclared returns the value of UndeclaredAnnotation for the rates of pods, by their UID.
func FormatUndeclared(rates map[types.UID]Rates) string {
	text, err := json.Marshal(rates) // sorted by UID
	if err != nil {
		return "" // not of finite numbers
	}
	return string(text)
}

// ParseUndeclared reads a value of UndeclaredAnnotation; none of "".
func ParseUndeclared(text string) (map[types.UID]Rates, error) {
	if text == "" {
		return nil, nil
	}
	if len(text) > mostUndeclaredBytes {
		return nil, fmt.Errorf("annotation %s has %d bytes, and at most %d are read", UndeclaredAnnotation, len(text),
			mostUndeclaredBytes)
	}
	var listed map[types.UID][]float64
	if err := json.Unmarshal([]byte(text), &listed); err != nil {
		return nil, fmt.Errorf("annotation %s: %w", UndeclaredAnnotation, err)
	}
	rates := map[types.UID]Rates{}
	for uid, numbers := range listed {
		valid := func(x float64) bool { return x >= 0 && x <= mostRate }
		if len(numbers) != len(Rates{}) || slices.ContainsFunc(numbers, func(x float64) bool { return !valid(x) }) {
			return nil, fmt.Errorf("annotation %s: pod %.40q has no four numbers from 0 to %g: reads, writes, bytes read "+
				"and bytes written a second", UndeclaredAnnotation, uid, float64(mostRate))
		}
		rates[uid] = Rates(numbers)
	}
	return rates, nil
}

// undeclaredValues are all that were read, by their text.
var undeclaredValues = cache[string, map[types.UID]Rates]{limit: 2_000}

// undeclaredOn returns the I/O that pods without a class do on a node, by their UID, as the pod of limits there has
// measured. That pod does not count if it is older than the node: it ran on another of the same name.
func undeclaredOn(node *corev1.Node, pods iter.Seq[*corev1.Pod]) map[types.UID]Rates {
	for p := range pods {
		text := p.Annotations[UndeclaredAnnotation]
		if text == "" || !IsHolder(p) || p.Spec.NodeName != node.Name || p.DeletionTimestamp != nil ||
			p.CreationTimestamp.Before(&node.CreationTimestamp) {
			continue
		}
		if len(text) > mostUndeclaredBytes {
			text = text[:mostUndeclaredBytes+1] // which is refused, and not kept whole
		}
		return undeclaredValues.get(text, func() map[types.UID]Rates {
			rates, err := ParseUndeclared(text)
			if err != nil {
				return nil
			}
			return rates
		})
	}
	return nil
}

// driveRates are the I/O of pods without a class on each drive of a kind's hosts.
type driveRates []Rates

// add counts a pod's I/O on each drive that its volumes stand on: how it is split is not known. The pod's own
// annotation of a drive does not count: nothing keeps its I/O there. Where nothing is known of what stands on the
// drives of a node, it counts on the first.
func (k *Kind) add(to driveRates, node *corev1.Node, rates Rates, volumes []Volume) {
	known, _ := k.basesOf(node)
	on := map[int]bool{}
	for _, v := range volumes {
		for i, h := range k.Host.Drives {
			if slices.Contains(known.drives(v.on), h.Name) || i == 0 && len(known) == 0 {
				on[i] = true
			}
		}
	}
	for at := range on {
		for i := range rates {
			to[at][i] += rates[i]
		}
	}
}

// busy returns the share of a drive that I/O takes. As in the model, writes take what Competes says of what reads could
// have, of operations and of bytes, and are bounded by themselves.
func busy(d *model.Drive, r Rates) float64 {
	portion := func(rate float64, limit model.Number) float64 {
		if limit > 0 {
			return rate / float64(limit)
		}
		return 0 // it is not known, and bounds nothing
	}
	writes, writeBytes := portion(r[1], d.Write.IOPS), portion(r[3], d.Write.Bandwidth)
	competes := float64(d.Competes)
	return max(portion(r[0], d.Read.IOPS)+competes*writes, portion(r[2], d.Read.Bandwidth)+competes*writeBytes,
		writes, writeBytes)
}

// freeDrives is which share of each drive pods without a class leave, a byte for each drive, in parts from 1 to parts:
// what compares may be a key. It is "" where they leave all.
type freeDrives string

// freeOf returns what I/O leaves of the drives of the kind's hosts.
func (k *Kind) freeOf(undeclared driveRates) freeDrives {
	free, all := make([]byte, len(undeclared)), true
	for i, rates := range undeclared {
		left := parts * (1 - busy(&k.Host.Drives[i].Is, rates))
		if !(left > 1) {
			left = 1
		}
		free[i] = byte(math.Round(math.Min(left, parts)))
		all = all && free[i] == parts
	}
	if all {
		return ""
	}
	return freeDrives(free)
}

// of returns the share of a drive that is left, in parts.
func (f freeDrives) of(drive int) int {
	if drive < 0 || drive >= len(f) {
		return parts
	}
	return int(f[drive])
}

// rounded returns what is left in steps, at least one part.
func (f freeDrives) rounded(coarse func(int) int) freeDrives {
	free := []byte(f)
	for i := range free {
		free[i] = byte(coarse(int(free[i])))
	}
	return freeDrives(free)
}

// take scales what the drives of a host do to what is left of each.
func (f freeDrives) take(drives []model.HostDrive) []model.HostDrive {
	if f == "" {
		return drives
	}
	drives = slices.Clone(drives)
	for i := range drives {
		left := model.Number(float64(f.of(i)) / parts)
		for _, side := range []*model.Side{&drives[i].Is.Read, &drives[i].Is.Write} {
			side.IOPS *= left
			side.Bandwidth *= left
		}
	}
	return drives
}

// busyWords says what pods without a class take of the drives that a demand counts on; "" for nothing.
func (k *Kind) busyWords(f freeDrives, d *Demand) string {
	var taken []string
	for i, h := range k.Host.Drives {
		counts := slices.Contains(d.drives(), h.Name) || len(d.drives()) == 0 && i == 0
		if part := f.of(i); counts && part < parts {
			taken = append(taken, fmt.Sprintf("%d%% of drive %s", 100*(parts-part)/parts, h.Name))
		}
	}
	if len(taken) == 0 {
		return ""
	}
	return "pods without a class take " + plural.And(taken)
}
