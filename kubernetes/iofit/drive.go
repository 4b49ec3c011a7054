package iofit

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"
	listersv1 "k8s.io/client-go/listers/core/v1"
	storagev1 "k8s.io/client-go/listers/storage/v1"
	"k8s.io/component-helpers/storage/ephemeral"
	volumehelper "k8s.io/component-helpers/storage/volume"

	"plimsoll/internal/field"
	"plimsoll/internal/model"
	"plimsoll/internal/result"
	"plimsoll/internal/units/plural"
)

// drivesKey is the key of a kind's ConfigMap that has what stands on each drive. Nodes on which it is otherwise say so
// in an annotation, in the same words.
const (
	drivesKey        = "drives.yaml"
	DrivesAnnotation = Prefix + "drives"
)

// Keys of a drive in drives.yaml: by what Kubernetes names what volumes stand on.
const (
	pathsKey   = "paths"           // of nodes, below which local volumes are
	groupsKey  = "volume-groups"   // of LVM
	devicesKey = "device-classes"  // of TopoLVM
	classesKey = "storage-classes" // of claims
)

// basis is what a volume stands on, as Kubernetes names it.
type basis struct{ key, name string }

// bases are names of drives by what stands on them: several where volumes of a StorageClass may stand on any of them,
// and noDrive where volumes stand on storage of the network.
type bases map[basis][]string

// noDrive is in drivesKey where drives are, and has what stands on none of the node's.
const noDrive = "none"

// drives returns the drives of the first that is known; none for none.
func (b bases) drives(on []basis) []string {
	for _, o := range on {
		if drives := b[o]; len(drives) > 0 {
			return drives
		}
		if o.key != pathsKey {
			continue
		}
		for at := path.Clean(o.name); len(at) > 1; {
			at = path.Dir(at)
			if drives := b[basis{pathsKey, at}]; len(drives) > 0 {
				return drives
			}
		}
	}
	return nil
}

// mostDrivesBytes bounds what an annotation of a node says of its drives, and mostReported those that are kept.
const (
	mostDrivesBytes = 16 << 10
	mostReported    = 1000 // of a kind
)

// parseBases reads what stands on the drives of a host. The error is a problem.List of all that is wrong.
func parseBases(text, from string, drives []model.HostDrive) (bases, error) {
	r, b := &field.Reader{}, bases{}
	root := r.Root([]byte(text), field.File{Name: "file of drives", Bytes: mostDrivesBytes,
		Begin: `begin with "nvme: {storage-classes: [local-fast]}"`})
	var names []string
	for _, d := range drives {
		names = append(names, d.Name)
	}
	if root != nil {
		r.Named(root, "drives", func(name string, n *yaml.Node) {
			if name != noDrive && !slices.Contains(names, name) {
				what := fmt.Sprintf("the nodes have no drive %q, and have %s%s", name, plural.And(names), didYouMean(name, names))
				if len(names) == 0 {
					what = fmt.Sprintf("the nodes have no drive %q, nor any other", name)
				}
				r.Problem(n, what, "")
			}
			readers := map[string]func(*yaml.Node){}
			for _, key := range []string{pathsKey, groupsKey, devicesKey, classesKey} {
				readers[key] = func(n *yaml.Node) { b.read(r, n, key, name) }
			}
			r.Mapping(n, "drive "+name, readers)
		})
	}
	return b, r.Problems.Sorted().Within(from).Err()
}

// read reads what stands on a drive: one name, or a list.
func (b bases) read(r *field.Reader, n *yaml.Node, key, drive string) {
	nodes := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		nodes = n.Content
	}
	for _, n := range nodes {
		subject := fmt.Sprintf("%s of drive %s", key, drive)
		if n.Kind != yaml.ScalarNode || n.Value == "" || field.IsNull(n) {
			r.Problem(n, fmt.Sprintf("%s are names, and not %s", subject, field.Describe(n)), "write "+key+": [NAME, NAME]")
			continue
		}
		is := basis{key, n.Value}
		if key == pathsKey {
			if !path.IsAbs(n.Value) {
				r.Problem(n, fmt.Sprintf("%s: %s does not begin with /", subject, n.Value), "")
				continue
			}
			is.name = path.Clean(n.Value)
		}
		others := b[is]
		if several := key == classesKey && drive != noDrive && !slices.Contains(others, noDrive); len(others) > 0 &&
			(!several || slices.Contains(others, drive)) {
			r.Problem(n, fmt.Sprintf("%s: %s is on drive %s already", subject, n.Value, plural.And(others)),
				"keep one of them")
			continue
		}
		b[is] = append(others, drive)
	}
}

// kubeletPath is where the kubelet keeps what dies with a pod, such as its emptyDir.
const kubeletPath = "/var/lib/kubelet"

// Claims looks up what claims of pods are bound to.
type Claims struct {
	Claims  listersv1.PersistentVolumeClaimLister
	Volumes listersv1.PersistentVolumeLister
	Classes storagev1.StorageClassLister
	// Attributes are not read, and limit nothing, where it is nil.
	Attributes storagev1.VolumeAttributesClassLister
}

// Volume is a volume of a pod, and what it stands on.
type Volume struct {
	volumes []string // names in the pod
	name    string   // of the claim; "" for none
	on      []basis  // the surest first
	scratch bool     // it dies with the pod

	attributes string        // VolumeAttributesClass of the claim; "" for none
	limits     result.Limits // by that
	note       string        // what of it cannot be read
}

// Of returns the volumes of a pod that may stand on drives. settled reports whether what they stand on is known for
// good: each claim is bound.
func (c Claims) Of(pod *corev1.Pod) (all []Volume, settled bool) {
	settled = true
	var scratch []string
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if isScratch(v) {
			scratch = append(scratch, v.Name)
			continue
		}
		if v.HostPath != nil {
			all = append(all, Volume{volumes: []string{v.Name}, on: []basis{{pathsKey, v.HostPath.Path}}})
			continue
		}
		claim := ClaimName(pod, v)
		if claim == "" {
			continue
		}
		has, bound := c.claim(pod.Namespace, claim)
		settled = settled && bound
		has.volumes, has.name = []string{v.Name}, claim
		all = append(all, has)
	}
	if len(scratch) > 0 || len(all) == 0 { // the last: data of a claim says more of a pod than its scratch space does
		all = append(all, Volume{volumes: scratch, on: []basis{{pathsKey, kubeletPath}}, scratch: true})
	}
	return all, settled
}

// ClaimName returns the name of a volume's claim; "" of one without.
func ClaimName(pod *corev1.Pod, v *corev1.Volume) string {
	switch {
	case v.PersistentVolumeClaim != nil:
		return v.PersistentVolumeClaim.ClaimName
	case v.Ephemeral != nil:
		return ephemeral.VolumeClaimName(pod, v)
	}
	return ""
}

// Bound returns the PersistentVolume that a pod's volume is bound to; nil where none is known.
func (c Claims) Bound(pod *corev1.Pod, v *corev1.Volume) *corev1.PersistentVolume {
	claim, err := c.Claims.PersistentVolumeClaims(pod.Namespace).Get(ClaimName(pod, v))
	if err != nil || claim.Spec.VolumeName == "" {
		return nil
	}
	volume, err := c.Volumes.Get(claim.Spec.VolumeName)
	if err != nil {
		return nil
	}
	return volume
}

// Local reports whether a PersistentVolume is on a drive of its node.
func Local(v *corev1.PersistentVolume) bool {
	of := v.Spec
	return of.Local != nil || of.HostPath != nil || of.CSI != nil && lvm[of.CSI.Driver].key != ""
}

// claim returns the volume of a claim, and whether it is known for good what it stands on and is limited to: the claim
// is bound, and has no class of attributes, which may be another later. What is not there is not bound.
func (c Claims) claim(namespace, name string) (v Volume, settled bool) {
	claim, err := c.Claims.PersistentVolumeClaims(namespace).Get(name)
	if err != nil {
		return v, false
	}
	v.limits, v.attributes, v.note = c.limits(claim)
	var bound bool
	v.on, bound = c.standsOn(claim)
	return v, bound && v.attributes == ""
}

// standsOn returns what a claim stands on, and whether it is bound.
func (c Claims) standsOn(claim *corev1.PersistentVolumeClaim) (on []basis, bound bool) {
	class := volumehelper.GetPersistentVolumeClaimClass(claim)
	if claim.Spec.VolumeName == "" {
		return c.class(class), false
	}
	volume, err := c.Volumes.Get(claim.Spec.VolumeName)
	if err != nil {
		return c.class(class), false
	}
	switch spec := volume.Spec; {
	case spec.Local != nil:
		on = append(on, basis{pathsKey, spec.Local.Path})
	case spec.HostPath != nil:
		on = append(on, basis{pathsKey, spec.HostPath.Path})
	case spec.CSI != nil:
		on = append(on, driven(spec.CSI.Driver, spec.CSI.VolumeAttributes)...)
	}
	// The class that provisioned it may be gone, or be another now. What the volume says of itself comes first.
	return append(on, c.class(volumehelper.GetPersistentVolumeClass(volume))...), true
}

// class returns what volumes of a StorageClass stand on.
func (c Claims) class(name string) (on []basis) {
	if name == "" {
		return nil
	}
	if class, err := c.Classes.Get(name); err == nil {
		on = driven(class.Provisioner, class.Parameters)
	}
	return append(on, basis{classesKey, name})
}

// driven returns what a CSI driver of LVM says: of a volume in its attributes, and of volumes to be in parameters of
// their StorageClass.
func driven(driver string, says map[string]string) (on []basis) {
	attributes := lvm[driver]
	for _, key := range attributes.says {
		if name := says[key]; name != "" {
			return []basis{{attributes.key, name}}
		}
	}
	return nil
}

// lvm are CSI drivers of LVM on the node itself, and the keys of what they say.
var lvm = map[string]struct {
	key  string
	says []string
}{
	"local.csi.openebs.io": {groupsKey, []string{"openebs.io/volgroup", "volgroup"}},
	"topolvm.io":           {devicesKey, []string{"topolvm.io/device-class"}},
	"topolvm.cybozu.com":   {devicesKey, []string{"topolvm.cybozu.com/device-class"}},
}

// Sign returns a text that is the same for volumes that stand on the same alone.
func Sign(volumes []Volume) string { return fmt.Sprintf("%#v", volumes) }

// reported is what stands on the drives of a node by its own annotation.
type reported struct {
	bases
	err error
}

// basesOf returns what stands on drives of a node: what is said of its kind, but for what the node says itself.
func (k *Kind) basesOf(node *corev1.Node) (bases, error) {
	text := node.Annotations[DrivesAnnotation]
	if text == "" {
		return k.stand, nil
	}
	if len(text) > mostDrivesBytes {
		text = text[:mostDrivesBytes+1] // which is refused, and not kept whole
	}
	r := k.reported.get(text, func() reported {
		ownBases, err := parseBases(text, "", k.Host.Drives)
		if err != nil {
			return reported{k.stand, unreadDrives(err)}
		}
		merged := bases{}
		maps.Copy(merged, k.stand)
		maps.Copy(merged, ownBases)
		return reported{merged, nil}
	})
	return r.bases, r.err
}

// unreadDrives is the error of an annotation of drives that cannot be read. It goes into events, which are short.
func unreadDrives(err error) error {
	const enough = 200
	text := []rune(strings.ReplaceAll(err.Error(), "\n", "; "))
	if len(text) > enough {
		text = append(text[:enough], '.', '.', '.')
	}
	return fmt.Errorf("annotation %s of the node does not count: %s", DrivesAnnotation, string(text))
}

// reading is what the demand of a pod with volumes may be on a node: one demand, or one for each way in which claims
// that are not bound may stand on its drives. It is none if the volumes are on none of the node's drives.
type reading struct {
	placed  []*Demand
	note    string // what is not known of the drives, or does not count; "" for nothing
	unknown string // why nobody can tell what the pod does there; "" where that can be told
}

// demandsOn returns what the demand of a pod with volumes may be on a node: limits on devices count if they are held,
// and the drives are those of its volumes.
func (k *Kind) demandsOn(node *corev1.Node, d *Demand, volumes []Volume, held bool) reading {
	here := d.On(held)
	notes := attributeNotes(volumes)
	if len(d.Split) == 0 || len(k.Host.Drives) == 0 {
		here = here.within(limited(volumes))
	}
	if len(volumes) == 0 || len(k.Host.Drives) == 0 {
		return reading{placed: []*Demand{here}, note: notes}
	}
	known, err := k.basesOf(node)
	placing := reading{}
	if len(d.Split) > 0 {
		placing = k.splitOn(known, here, volumes)
	} else {
		placing = k.wholeOn(known, here, volumes)
	}
	if err != nil && len(placing.placed) > 0 {
		placing.note = err.Error()
	}
	if notes != "" && placing.note != "" {
		notes = "; " + notes
	}
	placing.note += notes
	return placing
}

// wholeOn is demandsOn for a pod that does not say how its I/O is split.
func (k *Kind) wholeOn(known bases, here *Demand, volumes []Volume) (at reading) {
	var drives, choices []string
	network, unbound := false, 0
	for _, v := range volumes {
		switch on := known.drives(v.on); {
		case len(on) == 0:
			at.note = cmp.Or(at.note, v.unknown(k.Name))
		case slices.Contains(on, noDrive):
			network = true
		case v.scratch && (network || len(drives) > 0 || unbound > 0): // data of a claim says more of a pod
		case len(on) == 1 && !slices.Contains(drives, on[0]):
			drives = append(drives, on[0])
		case len(on) > 1:
			unbound++
			for _, drive := range on {
				if !slices.Contains(choices, drive) {
					choices = append(choices, drive)
				}
			}
		}
	}
	several := slices.Concat(drives, slices.DeleteFunc(slices.Clone(choices), func(name string) bool {
		return slices.Contains(drives, name)
	}))
	note := at.note
	on := func(drive, note string) reading { return reading{placed: []*Demand{here.on(drive)}, note: note} }
	switch {
	case len(several) == 0 && network && note == "":
		return reading{}
	case slices.Contains(several, here.Drive):
		return on(here.Drive, note)
	case len(drives) == 0 && unbound == 1:
		for _, drive := range choices {
			at.placed = append(at.placed, here.on(drive))
		}
		return at
	case len(several) == 0 && note == "": // such as /etc/localtime of the node
		return reading{placed: []*Demand{here}}
	case len(several) == 0 && here.Drive != "":
		return reading{placed: []*Demand{here},
			note: fmt.Sprintf("%s; the pod counts on %s, as its annotation says", note, here.Drive)}
	case len(several) == 0:
		return reading{placed: []*Demand{here},
			note: fmt.Sprintf("%s; the pod counts on the first, %s", note, k.Host.Drives[0].Name)}
	case len(several) > 1:
		return k.unsplit(here, several)
	case here.Drive != "":
		note = fmt.Sprintf("its volumes are on %s, and its annotation says %s", several[0], here.Drive)
	}
	return on(several[0], note)
}

// roomiest returns the demand of those that may be one pod's of which a node of the kind has most room: one that keeps
// limits before one that breaks them, and then where most is gained. verdict is of that demand.
func (k *Kind) roomiest(standing Standing, demands []*Demand) (best *Demand, verdict Verdict) {
	for _, d := range demands {
		v := k.Judge(standing, d)
		better := v.Gain > verdict.Gain
		if kept := v.Broken == ""; kept != (verdict.Broken == "") {
			better = kept
		} else if known := v.Unknown == ""; known != (verdict.Unknown == "") {
			better = known
		}
		if best == nil || better {
			best, verdict = d, v
		}
	}
	return best, verdict
}

// OffDrives reports whether a pod's volumes are on none of a node's drives.
func (k *Kind) OffDrives(node *corev1.Node, d *Demand, volumes []Volume) bool {
	return len(k.demandsOn(node, d, volumes, true).placed) == 0
}

// unknown says why nobody knows on which drive of a kind's nodes a volume is; "" for a path of the node, which need
// not be data.
func (v Volume) unknown(kind string) string {
	if v.name == "" {
		return ""
	}
	var on []string
	for _, o := range v.on {
		on = append(on, o.String())
	}
	if len(on) == 0 {
		return fmt.Sprintf("the drive of claim %s is not known", v.name)
	}
	return fmt.Sprintf("it is not known on which drive of %s nodes claim %s is (%s)", kind, v.name, plural.And(on))
}

func (b basis) String() string {
	return map[string]string{pathsKey: "path ", groupsKey: "volume group ", devicesKey: "device class ",
		classesKey: "StorageClass "}[b.key] + b.name
}

// DriveOn returns the number of the drive of the kind's hosts that a pod with volumes is on, on a node, and whether its
// volumes or its annotation say so. It is the first otherwise; below 0 where there are none. Of several drives, it is
// the one with the largest share of the pod's I/O.
func (k *Kind) DriveOn(node *corev1.Node, d *Demand, volumes []Volume) (drive int, known bool) {
	i := -1
	if at := k.demandsOn(node, d, volumes, true).placed; len(at) == 1 {
		name := at[0].Drive
		if parts := at[0].Parts; len(parts) > 0 {
			name = slices.MaxFunc(parts, func(a, b Part) int { return cmp.Compare(a.Reads+a.Writes, b.Reads+b.Writes) }).Name
		}
		i = k.driveNumber(name)
	}
	return max(i, min(0, len(k.Host.Drives)-1)), i >= 0
}

// DriveOfPath returns the drive of a node that what is at a path of it stands on; "" where nobody knows, or for none.
func (k *Kind) DriveOfPath(node *corev1.Node, path string) string {
	known, _ := k.basesOf(node)
	if on := known.drives([]basis{{pathsKey, path}}); len(on) > 0 && on[0] != noDrive {
		return on[0]
	}
	return ""
}

// on returns the demand with its data on a drive.
func (d *Demand) on(drive string) *Demand {
	if d.Drive == drive {
		return d
	}
	return d.variant(d.Limits, drive)
}

// JudgeOn returns what a pod with volumes would do on a node of the kind, as Judge does of what it needs there.
func (k *Kind) JudgeOn(node *corev1.Node, standing Standing, d *Demand, volumes []Volume) Verdict {
	at := k.demandsOn(node, d, volumes, standing.held)
	if len(at.placed) == 0 {
		return Verdict{Unknown: "its volumes are on none of the node's drives", Always: true}
	}
	if at.unknown != "" {
		before := k.look(standing, k.sharesOf(standing))
		return k.unknown(standing, before, Verdict{Unknown: at.unknown, Always: true})
	}
	placed, v := k.roomiest(standing, at.placed)
	note := at.note
	if words := k.busyWords(standing.free, placed); words != "" && note != "" {
		note = words + "; " + note
	} else if words != "" {
		note = words
	}
	if len(k.Host.Drives) > 1 {
		v.Drive = cmp.Or(plural.And(placed.drives()), k.Host.Drives[0].Name)
	}
	switch {
	case note == "":
	case v.Broken != "":
		v.Broken += "; " + note
	case v.Unknown != "":
		v.Unknown += "; " + note
	default:
		v.Note = note
	}
	return v
}
