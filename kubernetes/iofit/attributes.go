package iofit

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"plimsoll/internal/result"
)

// attribute is a parameter of VolumeAttributesClasses that limits a volume.
type attribute struct {
	unit int64 // operations or bytes a second; other texts are quantities of them
	of   func(*result.Limits) *int64
}

func ioOperations(l *result.Limits) *int64    { return &l.IO.OperationsPerSecond }
func ioBytes(l *result.Limits) *int64         { return &l.IO.BytesPerSecond }
func readOperations(l *result.Limits) *int64  { return &l.Read.OperationsPerSecond }
func readBytes(l *result.Limits) *int64       { return &l.Read.BytesPerSecond }
func writeOperations(l *result.Limits) *int64 { return &l.Write.OperationsPerSecond }
func writeBytes(l *result.Limits) *int64      { return &l.Write.BytesPerSecond }

// attributes are the parameters that are read, by CSI driver, in lower case.
var attributes = map[string]map[string]attribute{
	"ebs.csi.aws.com":       {"iops": {1, ioOperations}, "throughput": {1 << 20, ioBytes}}, // MiB/s
	"pd.csi.storage.gke.io": {"iops": {1, ioOperations}, "throughput": {1, ioBytes}},       // 290Mi
	"disk.csi.azure.com":    {"diskiopsreadwrite": {1, ioOperations}, "diskmbpsreadwrite": {1e6, ioBytes}},
	"local.csi.openebs.io": {"qosiopslimit": {1, ioOperations}, "qosiopsreadlimit": {1, readOperations},
		"qosiopswritelimit": {1, writeOperations}, "qosbandwithpersec": {1, ioBytes},
		"qosbandwithreadpersec": {1, readBytes}, "qosbandwithwritepersec": {1, writeBytes}},
}

// unlimited is what OpenEBS LVM has for no limit.
const unlimited = "max"

// limitsOf returns what a VolumeAttributesClass limits a volume to. The error names parameters that cannot be read,
// which limit nothing.
func limitsOf(class *storagev1.VolumeAttributesClass) (l result.Limits, err error) {
	known := attributes[class.DriverName]
	var unread []string
	for _, key := range slices.Sorted(maps.Keys(class.Parameters)) {
		a, is := known[strings.ToLower(key)]
		text := class.Parameters[key]
		if !is || text == unlimited {
			continue
		}
		q, err := resource.ParseQuantity(text)
		if n := q.Value(); err != nil || n <= 0 || n > math.MaxInt64/a.unit {
			unread = append(unread, fmt.Sprintf("%s: %.20q", key, text))
			continue
		}
		to := a.of(&l)
		*to = less(*to, q.Value()*a.unit)
	}
	if len(unread) > 0 {
		err = fmt.Errorf("parameters of VolumeAttributesClass %s limit nothing: %s", class.Name, strings.Join(unread, ", "))
	}
	return l, err
}

// limits returns what a claim's volume is limited to by its VolumeAttributesClass, the name of that, and what of it
// cannot be read; no name for a claim without.
func (c Claims) limits(claim *corev1.PersistentVolumeClaim) (l result.Limits, name, note string) {
	if name = AttributesClass(claim); name == "" || c.Attributes == nil {
		return l, name, ""
	}
	class, err := c.Attributes.Get(name)
	if err != nil {
		return l, name, fmt.Sprintf("VolumeAttributesClass %s is not known", name)
	}
	if l, err = limitsOf(class); err != nil {
		return l, name, err.Error()
	}
	return l, name, ""
}

// AttributesClass returns the name of the VolumeAttributesClass that a claim's volume has now, or is to have where it
// has none yet; "" for none.
func AttributesClass(claim *corev1.PersistentVolumeClaim) string {
	name := cmp.Or(claim.Status.CurrentVolumeAttributesClassName, claim.Spec.VolumeAttributesClassName)
	if name == nil {
		return ""
	}
	return *name
}

// limited returns what the volumes of a pod are limited to together: nothing where one with data has no limit.
func limited(volumes []Volume) (sum result.Limits) {
	first := true
	for _, v := range volumes {
		if v.name == "" {
			continue
		}
		if first {
			sum, first = v.limits, false
			continue
		}
		sum = eachLimit(sum, v.limits, func(a, b int64) int64 {
			if a == 0 || b == 0 || a > math.MaxInt64-b {
				return 0
			}
			return a + b
		})
	}
	return sum
}

// within returns the demand of a pod that is also held to limits of its volumes.
func (d *Demand) within(l result.Limits) *Demand {
	if l.None() {
		return d
	}
	l = eachLimit(d.Limits, l, less)
	return d.variant(l, d.Drive)
}

// eachLimit returns limits of which those on devices are made of two; the others are a's.
func eachLimit(a, b result.Limits, of func(a, b int64) int64) result.Limits {
	for _, r := range [][2]*result.Rate{{&a.Read, &b.Read}, {&a.Write, &b.Write}, {&a.IO, &b.IO}} {
		r[0].OperationsPerSecond = of(r[0].OperationsPerSecond, r[1].OperationsPerSecond)
		r[0].BytesPerSecond = of(r[0].BytesPerSecond, r[1].BytesPerSecond)
	}
	return a
}

// attributeNotes says which classes limit volumes, and what of them cannot be read; "" for nothing.
func attributeNotes(volumes []Volume) string {
	var notes []string
	for _, v := range volumes {
		switch {
		case v.note != "":
			notes = append(notes, v.note)
		case !v.limits.None():
			notes = append(notes, fmt.Sprintf("claim %s is limited by VolumeAttributesClass %s", v.name, v.attributes))
		}
	}
	return strings.Join(slices.Compact(notes), "; ")
}
