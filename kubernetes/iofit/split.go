package iofit

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"plimsoll/internal/field"
	"plimsoll/internal/model"
	"plimsoll/internal/problem"
	"plimsoll/internal/result"
	"plimsoll/internal/units/plural"
)

// Part is a share of a pod's reads and of its writes, from 0 to 1: on one of its volumes, or on one drive of a node.
type Part struct {
	Name          string // of the volume, or of the drive
	Reads, Writes float64
	Limits        result.Limits // of the volume, whatever the pod's are
}

// String returns the part as one text, the same for equal ones alone.
func (p Part) String() string {
	text := fmt.Sprintf("%s %g %g", p.Name, p.Reads, p.Writes)
	if !p.Limits.None() {
		text += fmt.Sprintf(" %v %v %v", p.Limits.Read, p.Limits.Write, p.Limits.IO)
	}
	return "{" + text + "}"
}

// Bounds of what a split says and may become: volumes that have a share, and ways in which claims that are not bound
// may stand on drives.
const (
	mostParts = 16
	mostWays  = 100
)

// shareKind is a share of a pod's I/O.
var shareKind = field.Share("30%", "from 0% to 100%", func(x float64) bool { return x >= 0 && x <= 1 })

// ParseSplit reads which share of a pod's I/O is on which volume: "wal: 30%, data: 70%", or reads and writes apart,
// "wal: {writes: 60%}, data: {reads: 100%, writes: 40%}". The error is a problem.List of all that is wrong.
func ParseSplit(text string) ([]Part, error) {
	if len(text) > longestLimits {
		return nil, fmt.Errorf("it has %d characters, and at most %d are read", len(text), longestLimits)
	}
	if text = strings.TrimSpace(text); !strings.HasPrefix(text, "{") {
		text = "{" + text + "}"
	}
	r := &field.Reader{}
	root := r.Root([]byte(text), field.File{Name: "split", Bytes: longestLimits + 2, Values: 10 * mostParts,
		Begin: "write wal: 30%, data: 70%"})
	if root == nil {
		return nil, r.Problems.Unplaced().Err()
	}
	var parts []Part
	r.Named(root, "volumes", func(name string, n *yaml.Node) {
		if len(validation.IsDNS1123Label(name)) > 0 {
			r.Problem(n, clip(name)+" is no name of a volume", "write wal: 30%, data: 70%")
			return
		}
		p := Part{Name: name}
		subject := "the share of volume " + clip(name)
		if n.Kind == yaml.MappingNode {
			share := func(to *float64, what string) func(*yaml.Node) {
				return func(n *yaml.Node) { *to, _ = field.Value(r, n, what+" of volume "+clip(name), shareKind) }
			}
			r.Mapping(n, subject, map[string]func(*yaml.Node){
				"reads": share(&p.Reads, "reads"), "writes": share(&p.Writes, "writes")})
		} else {
			p.Reads, _ = field.Value(r, n, subject, shareKind)
			p.Writes = p.Reads
		}
		parts = append(parts, p)
	})
	if len(parts) > mostParts {
		r.Problem(root, fmt.Sprintf("it has %d volumes, and at most %d are read", len(parts), mostParts),
			"leave out volumes that do little")
	}
	if len(r.Problems) == 0 {
		reads, writes := 0.0, 0.0
		for _, p := range parts {
			reads, writes = reads+p.Reads, writes+p.Writes
		}
		for what, sum := range map[string]float64{"reads": reads, "writes": writes} {
			if math.Abs(sum-1) > rounding {
				r.Problem(root, fmt.Sprintf("the shares of %s are %s together, and not 100%%", what, percent(sum)), "")
			}
		}
	}
	slices.SortFunc(parts, func(a, b Part) int { return cmp.Compare(a.Name, b.Name) })
	return parts, r.Problems.Sorted().Unplaced().Err()
}

// clip returns the first characters of a name that anybody may have written, for an error.
func clip(name string) string { return fmt.Sprintf("%.*q", longest, name) }

// percent returns a share in digits that a reader compares with 100%.
func percent(share float64) string { return fmt.Sprintf("%.4g%%", 100*share) }

// checkSplit returns what is wrong with the volumes of a split that a pod has: each is one that may stand on a drive.
func checkSplit(pod *corev1.Pod, split []Part) error {
	var problems problem.List
	var known []string
	for i := range pod.Spec.Volumes {
		if v := &pod.Spec.Volumes[i]; onDisk(pod, v) {
			known = append(known, v.Name)
		}
	}
	for _, p := range split {
		if slices.Contains(known, p.Name) {
			continue
		}
		why := fmt.Sprintf("the pod has no volume %s that may be on a drive", clip(p.Name))
		if len(known) > 0 {
			why += ", and has " + plural.And(known) + didYouMean(p.Name, known)
		}
		problems = append(problems, problem.Problem{Kind: problem.Invalid, What: "annotation " + SplitAnnotation, Why: why,
			Remedy: "name volumes as spec.volumes of the pod does"})
	}
	return problems.Err()
}

// onDisk reports whether a volume may be on a drive.
func onDisk(pod *corev1.Pod, v *corev1.Volume) bool {
	return isScratch(v) || v.HostPath != nil || ClaimName(pod, v) != ""
}

// isScratch reports whether a volume is an emptyDir on disk.
func isScratch(v *corev1.Volume) bool {
	return v.EmptyDir != nil && v.EmptyDir.Medium == corev1.StorageMediumDefault
}

// split returns the demand with its I/O on drives of a node.
func (d *Demand) split(parts []Part) *Demand {
	if len(parts) == 1 && parts[0].Reads > 1-rounding && parts[0].Writes > 1-rounding {
		return d.within(parts[0].Limits).on(parts[0].Name)
	}
	return variants.get(variant{d, d.Limits, fmt.Sprint(parts)}, func() *Demand {
		o := *d
		o.Drive, o.Parts = "", parts
		return o.keyed()
	})
}

// splitOn returns what the demand of a pod that says how its I/O is split may be on a node of the kind, as demandsOn
// does: one demand for each way in which claims that are not bound may stand on its drives.
func (k *Kind) splitOn(known bases, here *Demand, volumes []Volume) (at reading) {
	ways := [][]Part{nil}
	for _, p := range here.Split {
		i := slices.IndexFunc(volumes, func(v Volume) bool { return slices.Contains(v.volumes, p.Name) })
		if i < 0 {
			continue // DemandOf refuses it
		}
		drives := known.drives(volumes[i].on)
		p.Limits = volumes[i].limits
		switch {
		case slices.Contains(drives, noDrive):
			at.note = "the share of volume " + p.Name + " is on storage of the network, and counts on no drive"
			continue
		case len(drives) == 0:
			at.note = cmp.Or(volumes[i].unknown(k.Name), "it is not known on which drive volume "+p.Name+" is")
			drives = []string{cmp.Or(k.driveNamed(here.Drive), k.Host.Drives[0].Name)}
			at.note += "; its share counts on " + drives[0]
		case slices.Contains(drives, here.Drive):
			drives = []string{here.Drive}
		}
		if ways = k.waysOn(ways, p, drives); len(ways) > mostWays {
			at.unknown = fmt.Sprintf("its claims are not bound, and may be on the drives of %s nodes in more than %d ways: "+
				"bind them first, or name a drive in annotation %s", k.Name, mostWays, DriveAnnotation)
			ways = ways[:mostWays]
		}
	}
	for _, parts := range ways {
		if len(parts) > 0 {
			at.placed = append(at.placed, here.split(parts))
		}
	}
	return at
}

// waysOn returns each way with one part more on each of these drives, alike ones once.
func (k *Kind) waysOn(ways [][]Part, p Part, drives []string) (all [][]Part) {
	seen := map[string]bool{}
	for _, way := range ways {
		for _, drive := range drives {
			parts := slices.Clone(way)
			if i := slices.IndexFunc(parts, func(o Part) bool {
				return o.Name == drive && o.Limits.None() && p.Limits.None()
			}); i >= 0 {
				parts[i].Reads, parts[i].Writes = min(1, parts[i].Reads+p.Reads), min(1, parts[i].Writes+p.Writes)
			} else {
				parts = append(parts, Part{drive, p.Reads, p.Writes, p.Limits})
			}
			k.inOrder(parts)
			if key := fmt.Sprint(parts); !seen[key] {
				seen[key], all = true, append(all, parts)
			}
		}
	}
	return all
}

// inOrder sorts parts as the kind's hosts have their drives.
func (k *Kind) inOrder(parts []Part) {
	slices.SortFunc(parts, func(a, b Part) int {
		return cmp.Or(cmp.Compare(k.driveNumber(a.Name), k.driveNumber(b.Name)), cmp.Compare(a.String(), b.String()))
	})
}

// driveNumber returns the number of a drive of the kind's hosts; -1 for none of that name.
func (k *Kind) driveNumber(name string) int {
	return slices.IndexFunc(k.Host.Drives, func(h model.HostDrive) bool { return h.Name == name })
}

// driveNamed returns a name that a drive of the kind's hosts has; "" for others.
func (k *Kind) driveNamed(name string) string {
	if k.driveNumber(name) < 0 {
		return ""
	}
	return name
}

// unsplit is what is known of a pod on several drives that says neither how its I/O is split over them, nor on which
// one it counts. A prediction would be a guess; where it stands, it counts on each of them with all of its I/O.
func (k *Kind) unsplit(here *Demand, drives []string) reading {
	var parts []Part
	for _, drive := range drives {
		parts = append(parts, Part{Name: drive, Reads: 1, Writes: 1})
	}
	k.inOrder(parts)
	return reading{placed: []*Demand{here.split(parts)}, unknown: fmt.Sprintf("its volumes are on %s, and how its I/O is "+
		"split over them is not known. Set annotation %s to the share of each volume (wal: 30%%, data: 70%%), or %s to the "+
		"drive that all of it counts on", plural.And(drives), SplitAnnotation, DriveAnnotation)}
}

// drives returns the names of the drives that a demand counts on; none for the first.
func (d *Demand) drives() (names []string) {
	for _, p := range d.Parts {
		if !slices.Contains(names, p.Name) {
			names = append(names, p.Name)
		}
	}
	if len(names) == 0 && d.Drive != "" {
		names = []string{d.Drive}
	}
	return names
}
