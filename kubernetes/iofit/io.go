package iofit

import (
	"errors"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"plimsoll/internal/model"
)

// IOResource is the extended resource by which quotas and autoscalers see I/O, which IOFit does not need: thousandths
// of a drive. It is coarse: no pod is placed by it that IOFit would refuse.
const IOResource corev1.ResourceName = Prefix + "io"

// ioOfDrive is how much a node has of IOResource for each of its drives.
const ioOfDrive = 1000

// IO returns how much of IOResource a node of the kind has.
func (k *Kind) IO() int64 { return ioOfDrive * int64(len(k.Host.Drives)) }

// IOOf returns how much of IOResource a pod with a demand takes, as if it were alone: of each drive, the share that it
// uses of what it uses most there. The error says what nobody knows of that.
func (k *Kind) IOOf(d *Demand) (int64, error) {
	if _, err := k.placed(d); err != nil {
		return 0, err
	}
	_, _, uses, err := k.Uses(Stand([]*Demand{d}))
	if err != nil {
		return 0, err
	}
	sum, known := 0.0, false
	for _, h := range k.Host.Drives {
		share := 0.0
		for _, u := range uses {
			if u.Name == h.Name && slices.Contains(ofDrives, u.Resource) {
				share, known = max(share, float64(u.Share)), true
			}
		}
		sum += share
	}
	if !known || math.IsNaN(sum) {
		return 0, errors.New("it is not known what it uses of a drive")
	}
	return int64(max(1, math.Ceil(ioOfDrive*sum))), nil
}

// ofDrives are the resources of a drive.
var ofDrives = []model.Resource{model.Reads, model.Writings, model.ReadBytes, model.WriteBytes}
