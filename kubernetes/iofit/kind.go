package iofit

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"plimsoll/internal/model"
	"plimsoll/internal/problem/suggest"
	"plimsoll/internal/result"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
)

// Namespace is where ConfigMaps of kinds are looked for, and nowhere else.
const Namespace = "plimsoll"

// What a ConfigMap of a kind has: the label that names the kind, which its nodes have as
// well, and keys.
const (
	KindLabel = Prefix + "kind"
	modelKey  = "model.json"    // that plimsoll fit wrote
	packedKey = "model.json.gz" // the same, where it is more than a ConfigMap holds
	// What one node has, as plimsoll predict --host-file has it; without, what the model was measured on.
	hostKey = "host.yaml"
)

// MeasuredAnnotation is of a ConfigMap: when the last run of its model was measured, as RFC 3339 has it.
const MeasuredAnnotation = Prefix + "measured"

// mostModel bounds a model's file, which may come packed: far above those of real ones.
const mostModel = 64 << 20

// KindOf returns the kind of a node: what the label says, or the type that its cloud gave
// it; "" for neither.
func KindOf(node *corev1.Node) string {
	return cmp.Or(node.Labels[KindLabel], node.Labels[corev1.LabelInstanceTypeStable])
}

// shares is how much of what a kind has its pods with a class may have on a node, in parts: few, so that nodes are
// alike.
type shares struct {
	cpus, memory int
	drives       freeDrives
}

// whole is all that a kind has.
var whole = shares{cpus: parts, memory: parts}

const parts = 16

// stands is who stands on a node, by their key, and what they may have; asked is who is to come besides.
type (
	stands struct {
		key string
		shares
	}
	asked struct {
		standing stands
		pod      string
	}
)

// Kind is nodes that have the same for containers, and what is known of them.
type Kind struct {
	Name  string
	Model *model.Model
	Host  model.HostKind

	Measured time.Time // the last run of the model; zero where nobody knows

	stand    bases // of drivesKey
	reported cache[string, reported]

	judged cache[asked, Verdict]
	looked cache[stands, *outlook]
	thinks cache[string, float64] // by the key of demands
}

// Bounds of what is kept of all that was asked: whoever may create pods may have anything asked. An outlook has some 80
// bytes for each different pod of a node.
const (
	mostDemands  = 20_000
	mostVerdicts = 20_000 // of a kind
	mostOutlooks = 6_000  // of a kind
)

// ParseKind reads a ConfigMap of a kind.
func ParseKind(c *corev1.ConfigMap) (*Kind, error) {
	k := &Kind{Name: c.Labels[KindLabel]}
	k.judged.limit, k.looked.limit = mostVerdicts, mostOutlooks
	k.thinks.limit, k.reported.limit = mostDemands, mostReported
	within := func(err error) error {
		return fmt.Errorf("ConfigMap %s/%s, of nodes %s: %w", c.Namespace, c.Name, k.Name, err)
	}
	if k.Name == "" {
		return nil, within(errors.New("label " + KindLabel + " does not name its nodes"))
	}
	text := []byte(c.Data[modelKey])
	if len(text) == 0 {
		packed, ok := c.BinaryData[packedKey]
		if !ok {
			return nil, within(fmt.Errorf("it has neither %s nor %s: plimsoll-kubernetes fleet fit writes it", modelKey,
				packedKey))
		}
		var err error
		if text, err = unpack(packed); err != nil {
			return nil, within(fmt.Errorf("%s: %w", packedKey, err))
		}
	}
	var err error
	k.Measured, _ = time.Parse(time.RFC3339, c.Annotations[MeasuredAnnotation]) // anything else is not known
	if k.Model, err = model.Read(text); err != nil {
		return nil, within(fmt.Errorf("%s: %w", modelKey, err))
	}
	if len(k.Model.Classes) == 0 {
		return nil, within(fmt.Errorf("%s: the model has no class", modelKey))
	}
	k.Host = k.Model.HostOf(&k.Model.Classes[0])
	k.Host.Drives = withDrives(k.Host.Drives, k.Model.Drives)
	if host := c.Data[hostKey]; host != "" {
		// It says what a node has. Limits on devices were those of the runs' host, and who asks is elsewhere.
		k.Host.Host.Read, k.Host.Host.Write, k.Host.Host.IO = result.Rate{}, result.Rate{}, result.Rate{}
		k.Host.Host.Machine = 0
		if k.Host, err = k.Model.ParseHost(k.Host, hostKey, []byte(host)); err != nil {
			return nil, within(err)
		}
	}
	if drives := c.Data[drivesKey]; drives != "" {
		if k.stand, err = parseBases(drives, drivesKey, k.Host.Drives); err != nil {
			return nil, within(err)
		}
	}
	return k, nil
}

// withDrives adds to the drives that a host had what is known of its others, each device once. Drives of other hosts
// are these again, on another node of the kind.
func withDrives(had []model.HostDrive, known []model.Drive) []model.HostDrive {
	for _, d := range known {
		equal := func(h model.HostDrive) bool { return h.Is.On == d.On }
		if len(had) > 0 && (d.Host == "" || d.Host != had[0].Is.Host || slices.ContainsFunc(had, equal)) {
			continue
		}
		d.Points = nil // of the model, and of no use to predictions
		had = append(had, model.HostDrive{Name: d.Name, Is: d})
	}
	return had
}

func unpack(packed []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(r, mostModel+1))
	if err == nil && len(text) > mostModel {
		err = fmt.Errorf("it is more than the %s that models have", units.FormatSize(mostModel))
	}
	return text, err
}

// ConfigMap returns what ParseKind reads: a model's file, packed, a file of what a host
// has, "" for what the model was measured on, and one of what stands on its drives, "" for nothing that is known.
func ConfigMap(kind string, modelFile []byte, host, drives string) (*corev1.ConfigMap, error) {
	if wrong := validation.IsValidLabelValue(kind); len(wrong) > 0 {
		return nil, fmt.Errorf("%q is no kind of nodes, which a label names: %s", kind, strings.Join(wrong, "; "))
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err := w.Write(modelFile)
	if err := errors.Join(err, w.Close()); err != nil {
		return nil, err
	}
	c := &corev1.ConfigMap{BinaryData: map[string][]byte{packedKey: packed.Bytes()}}
	c.Name = "model-" + kind
	if len(validation.IsDNS1123Subdomain(c.Name)) > 0 { // labels have capitals, and names have none
		c.Name = fmt.Sprintf("model-%x", sha256.Sum256([]byte(kind)))[:20]
	}
	c.Labels = map[string]string{KindLabel: kind}
	c.Data = map[string]string{hostKey: host, drivesKey: drives}
	maps.DeleteFunc(c.Data, func(_, text string) bool { return text == "" })
	_, err = ParseKind(c)
	return c, err
}

// Classes returns the names of the classes that the model knows.
func (k *Kind) Classes() (names []string) {
	for i := range k.Model.Classes {
		names = append(names, k.Model.Classes[i].Name)
	}
	return names
}

// placed returns one pod with a demand, as the model has it. The error says what the model, or the host, knows
// nothing of: of a class, it is below 0; of a drive, it is the first.
func (k *Kind) placed(d *Demand) (model.Placed, error) {
	names, first := k.Classes(), min(0, len(k.Host.Drives)-1)
	p := model.Placed{Class: slices.Index(names, d.Class), Drive: first, Count: 1, Own: d.Limits}
	if p.Class < 0 {
		return p, fmt.Errorf("the model of %s nodes knows no class %q, and knows %s%s", k.Name, d.Class, plural.And(names),
			didYouMean(d.Class, names))
	}
	if d.Drive != "" {
		p.Drive = k.driveNumber(d.Drive)
		if p.Drive < 0 {
			p.Drive = first
			return p, fmt.Errorf("%s nodes have no drive %q", k.Name, d.Drive)
		}
	}
	for _, part := range d.Parts {
		p.Shares = append(p.Shares, model.Share{Drive: k.driveNumber(part.Name), Reads: part.Reads, Writes: part.Writes,
			Own: part.Limits})
	}
	if d.Load > 0 {
		p.Think = k.thinks.get(d.key, func() float64 {
			think, err := k.Model.ThinkFor(k.Host, p, d.Load)
			if err != nil {
				return 0 // what nobody knows of it is said where it is solved
			}
			return think
		})
	}
	return p, nil
}

// Unheard returns that no kind knows a pod's class, which is a slip of the pen; "" where one does, where there is none,
// or where the pod goes anywhere.
func Unheard(d *Demand, kinds map[string]*Kind) string {
	if d.Unknown == Allow || len(kinds) == 0 {
		return ""
	}
	var known []string
	for _, k := range kinds {
		known = append(known, k.Classes()...)
	}
	if slices.Contains(known, d.Class) {
		return ""
	}
	slices.Sort(known)
	known = slices.Compact(known)
	return fmt.Sprintf("no model knows a class %q: they know %s%s", d.Class, plural.And(known), didYouMean(d.Class, known))
}

// didYouMean returns what may be meant by a name, in parentheses; "" for nothing.
func didYouMean(name string, known []string) string {
	if hint := suggest.DidYouMean(name, known); hint != "" {
		return " (" + hint + ")"
	}
	return ""
}

// outlook is what pods would do together on a node.
type outlook struct {
	rate   float64         // operations a second, of all
	byKey  map[string]each // by the key of demands: equal ones do the same
	failed error           // that no model answers
	full   *model.Overfull
}

// each is what one of the pods with the same demand would do.
type each struct {
	rate, mean, p99, least float64

	device model.Asked
}

// look returns what pods would do together with shares of what the kind has; those of classes that nobody knows do not
// count.
func (k *Kind) look(s Standing, of shares) *outlook {
	return k.looked.get(stands{s.key, of}, func() *outlook { return k.solve(s.demands, of) })
}

// alone is a pod with a demand on an empty node.
func (k *Kind) alone(d *Demand) *outlook { return k.look(Stand([]*Demand{d}), whole) }

// sharesOf returns what pods with a class may have on a node.
func (k *Kind) sharesOf(s Standing) shares {
	portion := func(left, has float64) int {
		if left == 0 || has == 0 {
			return parts
		}
		return int(min(max(1, parts*left/has), parts))
	}
	return shares{portion(s.cpus, k.Host.Host.CPUs), portion(float64(s.memory), float64(k.Host.Host.MemoryBytes)), s.free}
}

// host returns what a node has of which pods with a class have shares.
func (k *Kind) host(share shares) model.HostKind {
	host := k.Host
	host.Host.CPUs *= float64(share.cpus) / parts
	host.Host.MemoryBytes = host.Host.MemoryBytes / parts * int64(share.memory)
	if share.memory == parts {
		host.Host.MemoryBytes = k.Host.Host.MemoryBytes
	}
	host.Drives = share.drives.take(host.Drives)
	return host
}

// HostBeside returns what a node has of which pods with a class may stand there beside those without one, in few
// steps, and a text that is the same for nodes that have the same.
func (k *Kind) HostBeside(standing Standing) (model.HostKind, string) {
	const step = parts / 4
	coarse := func(n int) int { return max(1, n/step*step) }
	rounded := k.sharesOf(standing)
	rounded = shares{coarse(rounded.cpus), coarse(rounded.memory), rounded.drives.rounded(coarse)}
	return k.host(rounded), fmt.Sprintf("%d %d %x", rounded.cpus, rounded.memory, rounded.drives)
}

// tenants returns demands as the model has them, equal ones together, without those of classes that it does not know.
func (k *Kind) tenants(demands []*Demand) (placed []model.Placed, distinct []*Demand) {
	for _, d := range demands {
		if len(distinct) > 0 && distinct[len(distinct)-1].key == d.key {
			placed[len(placed)-1].Count++
			continue
		}
		p, _ := k.placed(d)
		if p.Class < 0 {
			continue
		}
		// Nobody knows what some classes do with little memory. One that is given so little leaves the node known, and
		// counts as if it had no such limit.
		if len(demands) > 1 && d.Limits.MemoryBytes > 0 && k.alone(d).failed != nil {
			p.Own.MemoryBytes = 0
		}
		placed, distinct = append(placed, p), append(distinct, d)
	}
	return placed, distinct
}

// Uses returns which shares of what a node has those who stand there use, and how many operations a second they do
// together, by the model. pods are those that count.
func (k *Kind) Uses(s Standing) (pods int, rate float64, uses []model.Use, err error) {
	placed, _ := k.tenants(s.demands)
	for _, p := range placed {
		pods += p.Count
	}
	host := k.host(k.sharesOf(s))
	solved, err := k.Model.Solve(host, placed)
	if err != nil {
		return pods, 0, nil, err
	}
	uses, err = k.Model.Uses(host, placed)
	return pods, solved.Rate, uses, err
}

func (k *Kind) solve(demands []*Demand, share shares) *outlook {
	out := &outlook{byKey: map[string]each{}}
	placed, distinct := k.tenants(demands)
	s, err := k.Model.Solve(k.host(share), placed)
	if errors.As(err, &out.full) {
		return out
	}
	if out.failed = err; err != nil {
		return out
	}
	out.rate = s.Rate
	for i, t := range s.Tenants {
		n, device := float64(placed[i].Count), t.Device
		out.byKey[distinct[i].key] = each{t.Rate / n, t.Mean, t.P99, t.Least / n,
			model.Asked{Reads: device.Reads / n, Writes: device.Writes / n, ReadBytes: device.ReadBytes / n,
				WriteBytes: device.WriteBytes / n}}
	}
	return out
}

// Verdict is the judgement of a pod on a node.
type Verdict struct {
	Unknown string // why nobody can tell; "" where it is told
	Broken  string // the limit that it would break: a reason that is the same on nodes alike; "" for none
	Limit   string // which: "least-throughput", "p99-limit" or "memory"
	Own     bool   // it is the pod's own limit, and no neighbour's
	Always  bool   // whoever else stands there: on an empty node, too, it is unknown or its own limit broken

	Gain float64 // operations a second that all on the node would do more with it, or less
	Rate float64 // operations a second of the pod itself
	P99  float64 // seconds; NaN where no p99 was measured

	Least  float64     // lower end of Rate's interval of 90%; NaN where nobody knows it
	Device model.Asked // what it asks of its drives

	Drive string // on which the pod counts, or several: "nvme and sata"; "" where the kind has but one, or none
	Note  string // what is not known of that, or does not count; "" for nothing
}

// By which share a limit may be missed: what rounding does, and, of one that was missed
// already, what nobody would notice.
const (
	rounding   = 1e-6
	noticeable = 0.01
)

// Judge returns what a pod would do beside those that stand on a node of the kind, and do
// to them. A limit that is broken without it, and hardly more with it, is not held against it.
// Nor is one that the pod which has it would miss on an empty node: it keeps nobody away.
func (k *Kind) Judge(there Standing, d *Demand) Verdict {
	of := k.sharesOf(there)
	return k.judged.get(asked{stands{there.key, of}, d.key}, func() Verdict { return k.judge(there, of, d) })
}

func (k *Kind) judge(standing Standing, share shares, d *Demand) Verdict {
	before := k.look(standing, share)
	if _, err := k.placed(d); err != nil {
		return k.unknown(standing, before, Verdict{Unknown: err.Error(), Always: true})
	}
	alone := k.alone(d)
	if alone.failed != nil {
		return k.unknown(standing, before, Verdict{Unknown: alone.failed.Error(), Always: true})
	}
	together := k.look(Stand(append(slices.Clone(standing.demands), d)), share)
	verdict := Verdict{}
	switch {
	case together.full != nil:
		verdict.Broken, verdict.Limit, verdict.Own = "memory: "+together.full.Error(), "memory", true
		verdict.Always = alone.full != nil
		return verdict
	case together.failed != nil:
		return k.unknown(standing, before, Verdict{Unknown: together.failed.Error()})
	}
	result := together.byKey[d.key]
	verdict.Gain, verdict.Rate, verdict.P99 = together.rate-before.rate, result.rate, result.p99
	verdict.Least, verdict.Device = result.least, result.device
	verdict.Limit, verdict.Broken = result.breaks(d)
	if verdict.Own = verdict.Broken != ""; verdict.Own {
		verdict.Broken = "the pod " + verdict.Broken
		verdict.Always = k.hopeless(d)
		return verdict
	}
	for _, other := range standing.demands {
		now, known := together.byKey[other.key]
		limit, broken := now.breaks(other)
		if !known || broken == "" || k.hopeless(other) {
			continue
		}
		was, before := before.byKey[other.key]
		if _, already := was.breaks(other); before && already != "" && !now.worseThan(was) {
			continue
		}
		verdict.Limit, verdict.Broken = limit, fmt.Sprintf("a pod of class %s there %s", other.Class, broken)
		return verdict
	}
	return verdict
}

// unknown is the verdict of a pod of which nobody knows what it would do. It is kept from a node where another has a
// limit that holds: that would be known no more. Where nobody knows what those do that stand there, each limit counts
// that would hold on an empty node.
func (k *Kind) unknown(standing Standing, before *outlook, verdict Verdict) Verdict {
	unsolved := before.failed != nil || before.full != nil
	for _, other := range standing.demands {
		if !other.Limited() {
			continue
		}
		e, known := before.byKey[other.key]
		_, broken := e.breaks(other)
		if known && broken == "" || unsolved && !k.hopeless(other) {
			verdict.Broken = fmt.Sprintf(
				"a pod of class %s there has a limit, and it is not known whether it would hold: %s",
				other.Class,
				verdict.Unknown,
			)
			verdict.Limit, verdict.Always = "unknown", false
			break
		}
	}
	return verdict
}

// hopeless reports whether a pod misses its limit on an empty node of the kind, or cannot stand there.
func (k *Kind) hopeless(d *Demand) bool {
	o := k.alone(d)
	_, broken := o.byKey[d.key].breaks(d)
	return broken != "" || o.full != nil || o.failed != nil
}

// breaks says which limit of a demand is broken, in two digits, so that it reads the same on nodes alike.
func (e each) breaks(d *Demand) (limit, how string) {
	switch {
	case d.LeastRate > 0 && e.rate < d.LeastRate*(1-rounding):
		return "least-throughput", fmt.Sprintf("would do %s of the %s operations a second that it is to do", two(e.rate),
			units.Significant(d.LeastRate))
	case d.MostP99 > 0 && math.IsNaN(e.p99):
		return "p99-limit", "has a limit of p99, and no p99 was measured of its class"
	case d.MostP99 > 0 && e.p99 > d.MostP99*(1+rounding):
		return "p99-limit", fmt.Sprintf("would have a p99 of %s, and may have %s", units.Latency(1e9*round2(e.p99)),
			units.Latency(1e9*d.MostP99))
	}
	return "", ""
}

func (e each) worseThan(was each) bool {
	return e.rate < was.rate*(1-noticeable) || e.p99 > was.p99*(1+noticeable)
}

func round2(x float64) float64 {
	if x <= 0 {
		return x
	}
	unit := math.Pow(10, math.Floor(math.Log10(x))-1)
	return math.Round(x/unit) * unit
}

func two(x float64) string { return units.Significant(round2(x)) }

// Total returns what pods on a node do together, operations a second, and the worst p99 of
// them in seconds, as far as it is known. broken are how many have a limit that is broken.
func (k *Kind) Total(demands []*Demand) (rate, p99 float64, broken int) {
	o := k.look(Stand(demands), whole)
	if o.full != nil {
		return 0, 0, len(demands)
	}
	for _, d := range demands {
		e, known := o.byKey[d.key]
		if _, how := e.breaks(d); known && how != "" {
			broken++
		}
		if known && e.p99 > p99 {
			p99 = e.p99
		}
	}
	return o.rate, p99, broken
}

// String says what a pod that fits is to do, in words.
func (v Verdict) String() string {
	text := units.Significant(v.Rate) + " operations a second"
	if v.Drive != "" {
		text += " on drive " + v.Drive
		if strings.Contains(v.Drive, " and ") {
			text = strings.Replace(text, " on drive ", " on drives ", 1)
		}
	}
	if !math.IsNaN(v.P99) {
		text += ", 99 of 100 within " + units.Latency(1e9*v.P99)
	}
	if lost := v.Rate - v.Gain; lost > noticeable*v.Rate {
		text += fmt.Sprintf("; its neighbors do %s fewer", units.Significant(lost))
	}
	if v.Note != "" {
		text += "; " + v.Note
	}
	return text
}
