package iofit

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"plimsoll/internal/model"
	"plimsoll/internal/plural"
	"plimsoll/internal/suggest"
	"plimsoll/internal/units"
)

// What a ConfigMap of a kind has: the label that names the kind, which its nodes have as
// well, and keys.
const (
	KindLabel = Prefix + "kind"
	modelKey  = "model.json"    // that plimsoll fit wrote
	packedKey = "model.json.gz" // the same, where it is more than a ConfigMap holds
	// What one node has, as plimsoll predict --host has it; without, what the model was measured on.
	hostKey = "host.yaml"
)

// mostModel bounds a model's file, which may come packed: far above those of real ones.
const mostModel = 64 << 20

// KindOf returns the kind of a node: what the label says, or the type that its cloud gave
// it; "" for neither.
func KindOf(node *corev1.Node) string {
	return cmp.Or(node.Labels[KindLabel], node.Labels[corev1.LabelInstanceTypeStable])
}

// asked is who stands on a node, and who is to come, by their keys.
type asked struct{ there, pod string }

// Kind is nodes that have the same for containers, and what is known of them.
type Kind struct {
	Name  string
	Model *model.Model
	Host  model.HostKind

	mu     sync.RWMutex
	judged map[asked]Verdict
	looked map[string]*outlook // by the key of who stands there
}

// ParseKind reads a ConfigMap of a kind.
func ParseKind(c *corev1.ConfigMap) (*Kind, error) {
	k := &Kind{Name: c.Labels[KindLabel]}
	within := func(err error) error {
		return fmt.Errorf("ConfigMap %s/%s, of nodes %s: %w", c.Namespace, c.Name, k.Name, err)
	}
	if k.Name == "" {
		return nil, within(errors.New("label " + KindLabel + " does not say of which nodes it is"))
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
	if k.Model, err = model.Read(text); err != nil {
		return nil, within(fmt.Errorf("%s: %w", modelKey, err))
	}
	if len(k.Model.Classes) == 0 {
		return nil, within(fmt.Errorf("%s: the model has no class", modelKey))
	}
	k.Host = k.Model.HostOf(&k.Model.Classes[0])
	if host := c.Data[hostKey]; host != "" {
		if k.Host, err = k.Model.ParseHost(k.Host, hostKey, []byte(host)); err != nil {
			return nil, within(err)
		}
	}
	return k, nil
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

// ConfigMap returns what ParseKind reads: a model's file, packed, and a file of what a host
// has, "" for what the model was measured on.
func ConfigMap(kind string, modelFile []byte, host string) (*corev1.ConfigMap, error) {
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
	if host != "" {
		c.Data = map[string]string{hostKey: host}
	}
	_, err = ParseKind(c)
	return c, err
}

// placed returns one pod with a demand, as the model has it. The error says what the model, or the host, knows
// nothing of.
func (k *Kind) placed(d *Demand) (model.Placed, error) {
	var names []string
	for i := range k.Model.Classes {
		names = append(names, k.Model.Classes[i].Name)
	}
	p := model.Placed{Class: slices.Index(names, d.Class), Drive: min(0, len(k.Host.Drives)-1), Count: 1, Own: d.Limits}
	if p.Class < 0 {
		return p, fmt.Errorf("the model of %s nodes knows no class %q, and knows %s%s", k.Name, d.Class, plural.And(names),
			didYouMean(d.Class, names))
	}
	if d.Drive != "" {
		p.Drive = slices.IndexFunc(k.Host.Drives, func(h model.HostDrive) bool { return h.Name == d.Drive })
		if p.Drive < 0 {
			return p, fmt.Errorf("%s nodes have no drive %q", k.Name, d.Drive)
		}
	}
	return p, nil
}

func didYouMean(name string, known []string) string {
	if hint := suggest.DidYouMean(name, known); hint != "" {
		return " (" + hint + ")"
	}
	return ""
}

// outlook is what pods would do together on a node.
type outlook struct {
	rate   float64         // operations a second, of all
	of     map[string]each // by the key of demands: equal ones do the same
	failed error           // that no model answers
	full   *model.Overfull
}

// each is what one of the pods with the same demand would do.
type each struct{ rate, mean, p99 float64 }

// mostKept bounds what is kept of all that was asked: whoever may create pods may have anything asked.
const mostKept = 50_000

// look returns what pods would do together; those of classes that nobody knows do not count.
func (k *Kind) look(s Standing) *outlook {
	return kept(&k.mu, &k.looked, s.key, func() *outlook { return k.solve(s.all) })
}

// kept returns what a map has for a key, or what is made for it, which the map then has.
func kept[K comparable, V any](mu *sync.RWMutex, in *map[K]V, key K, made func() V) V {
	mu.RLock()
	v, ok := (*in)[key]
	mu.RUnlock()
	if ok {
		return v
	}
	v = made()
	mu.Lock()
	defer mu.Unlock()
	if *in == nil || len(*in) >= mostKept {
		*in = map[K]V{}
	}
	(*in)[key] = v
	return v
}

func (k *Kind) solve(all []*Demand) *outlook {
	o := &outlook{of: map[string]each{}}
	var placed []model.Placed
	var who []*Demand
	for _, d := range all {
		if len(who) > 0 && who[len(who)-1].key == d.key {
			placed[len(placed)-1].Count++
			continue
		}
		p, err := k.placed(d)
		if err == nil {
			placed, who = append(placed, p), append(who, d)
		}
	}
	s, err := k.Model.Solve(k.Host, placed)
	if errors.As(err, &o.full) {
		return o
	}
	if o.failed = err; err != nil {
		return o
	}
	o.rate = s.Rate
	for i, t := range s.Tenants {
		o.of[who[i].key] = each{t.Rate / float64(placed[i].Count), t.Mean, t.P99}
	}
	return o
}

// Verdict is what is said of a pod on a node.
type Verdict struct {
	Unknown string // why nobody can tell; "" where it is told
	Broken  string // the limit that it would break: a reason that is the same on nodes alike; "" for none
	Limit   string // which: "least-throughput", "p99-limit" or "memory"
	Own     bool   // it is the pod's own limit, and no neighbour's

	Gain float64 // operations a second that all on the node would do more with it, or less
	Rate float64 // operations a second of the pod itself
	P99  float64 // seconds; NaN where no p99 was measured
}

// By which share a limit may be missed: what rounding does, and, of one that was missed
// already, what nobody would notice.
const (
	rounding   = 1e-6
	noticeable = 0.01
)

// Judge returns what a pod would do beside those that stand on a node of the kind, and do
// to them. A limit that is broken without it, and hardly more with it, is not held against it.
func (k *Kind) Judge(there Standing, d *Demand) Verdict {
	return kept(&k.mu, &k.judged, asked{there.key, d.key}, func() Verdict { return k.judge(there, d) })
}

func (k *Kind) judge(there Standing, d *Demand) Verdict {
	if _, err := k.placed(d); err != nil {
		return Verdict{Unknown: err.Error()}
	}
	with := k.look(Stand(append(slices.Clone(there.all), d)))
	before := k.look(there)
	v := Verdict{}
	switch {
	case with.full != nil:
		v.Broken, v.Limit, v.Own = "memory: "+with.full.Error(), "memory", true
		return v
	case with.failed != nil:
		v.Unknown = with.failed.Error()
		return v
	}
	own := with.of[d.key]
	v.Gain, v.Rate, v.P99 = with.rate-before.rate, own.rate, own.p99
	v.Limit, v.Broken = own.breaks(d)
	if v.Own = v.Broken != ""; v.Own {
		v.Broken = "the pod " + v.Broken
		return v
	}
	for _, other := range there.all {
		now, known := with.of[other.key]
		limit, broken := now.breaks(other)
		if !known || broken == "" {
			continue
		}
		was, before := before.of[other.key]
		if _, already := was.breaks(other); before && already != "" && !now.worseThan(was) {
			continue
		}
		v.Limit, v.Broken = limit, fmt.Sprintf("a pod of class %s there %s", other.Class, broken)
		return v
	}
	return v
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
func (k *Kind) Total(all []*Demand) (rate, p99 float64, broken int) {
	o := k.look(Stand(all))
	if o.full != nil {
		return 0, 0, len(all)
	}
	for _, d := range all {
		e, known := o.of[d.key]
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
	if !math.IsNaN(v.P99) {
		text += ", 99 of 100 within " + units.Latency(1e9*v.P99)
	}
	if lost := v.Rate - v.Gain; lost > noticeable*v.Rate {
		text += fmt.Sprintf("; its neighbours do %s fewer", units.Significant(lost))
	}
	return text
}
