package experiment

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/invopop/jsonschema"
	"go.yaml.in/yaml/v3"

	"plimsoll/internal/field"
	"plimsoll/internal/result"
)

// What a command line says of the scaled-down host and of how many instances there are is what mixes are made of:
// shares of the host that policies give, names of mixes. The file is therefore read anew with it, see remake.

// noLimit is the command line's value for removing a limit, and for a host without any.
const noLimit = "none"

// wholeHost is --no-limits, which takes the limits of the file away.
type wholeHost struct{}

func (wholeHost) schema(*jsonschema.Reflector) *jsonschema.Schema { return nil }
func (wholeHost) read(*parser, *yaml.Node, string)                {}

func (wholeHost) set(e *Experiment, text string) error {
	if text != noLimit && text != off {
		return &field.Error{
			Takes:  "none, for the host itself",
			Remedy: "its limits have flags of their own, such as --host-memory",
		}
	}
	e.HostAsked.None = true
	return nil
}

func (wholeHost) store(e *Experiment, to *result.Experiment) { to.HostAsked = e.HostAsked }

func (wholeHost) restore(e *Experiment, from *result.Experiment) error {
	e.HostAsked = from.HostAsked
	return nil
}

// hostLimit is one limit of the scaled-down host on a command line. What all of them say is stored by wholeHost.
type hostLimit struct{ key string }

func (hostLimit) schema(*jsonschema.Reflector) *jsonschema.Schema      { return nil }
func (hostLimit) read(*parser, *yaml.Node, string)                     {}
func (hostLimit) store(*Experiment, *result.Experiment)                {}
func (hostLimit) restore(*Experiment, *result.Experiment) (none error) { return nil }

func (v hostLimit) set(e *Experiment, text string) error {
	if text == noLimit {
		e.HostAsked.Lifted = append(e.HostAsked.Lifted, v.key)
		return nil
	}
	limit, err := ParseLimits("the host", v.key+": "+text)
	if err != nil {
		return err
	}
	e.HostAsked.Limits = e.HostAsked.Limits.With(limit)
	return nil
}

// hostSettings are the entries of the limits of the scaled-down host: one of each key of limits.
func hostSettings() (all []Setting) {
	all = append(all, Setting{
		Flag: "host", Help: "`none` for the whole host", // as it was called
		Without: "no-limits", Off: "the whole host, without the limits of the file's scaled-down host",
		value: wholeHost{},
	})
	for _, k := range limitKeys {
		all = append(all, Setting{
			Flag: "host-" + k.Key, Help: k.flag + ", or none", value: hostLimit{k.Key},
		})
	}
	return all
}

// hostAsked returns the scaled-down host that a command line makes of one of the file; nil for none.
func (p *parser) hostAsked(l *result.Limits) *result.Limits {
	asked := p.asked.host
	var host result.Limits
	if l != nil && !asked.None {
		host = *l
	}
	host = host.With(asked.Limits)
	for _, k := range limitKeys {
		if slices.Contains(asked.Lifted, k.Key) {
			k.lift(&host)
		}
	}
	if host.None() {
		return nil
	}
	return &host
}

// hostOverrides are the changes of a command line that affect mixes.
type hostOverrides struct {
	host      result.HostOverrides
	instances int // of the mix with most
}

func (a hostOverrides) empty() bool { return a.host.Empty() && a.instances == 0 }

// applyHostOverrides parses the file again with the command line's limits and number of instances, and takes the
// mixes from it. The error names the part of the file that does not agree with them.
func (e *Experiment) applyHostOverrides() error {
	with := hostOverrides{e.HostAsked, e.Instances}
	if with.empty() || e.parsed == nil {
		return nil
	}
	o := *e.parsed
	o.asked = with
	again, err := Parse(o.file, []byte(e.Source), o)
	if err != nil {
		return err
	}
	e.Factors, e.Workloads, e.Mixes = again.Factors, again.Workloads, again.Mixes
	e.Host, e.Elasticity = again.Host, again.Elasticity
	return nil
}

// counts returns the factors that are numbers of instances, of those with several levels: their levels are scaled
// where a command line says how many instances there are at most.
func (p *parser) counts() (all []*factor) {
	if p.mixNode == nil {
		return nil
	}
	texts := map[string]bool{}
	for pair := range slices.Chunk(p.mixNode.Content, 2) {
		countsOf(pair[len(pair)-1], texts)
	}
	for _, f := range p.factors {
		if len(f.levels) > 1 && (texts["$"+f.name] || texts["${"+f.name+"}"]) {
			all = append(all, f)
		}
	}
	return all
}

// countsOf collects the numbers of instances in the tenants of a mix.
func countsOf(mix *yaml.Node, texts map[string]bool) {
	for _, tenant := range mix.Content {
		if tenant.Kind == yaml.ScalarNode {
			texts[tenant.Value] = true // randread: $n
		}
		if tenant.Kind != yaml.MappingNode {
			continue
		}
		for pair := range slices.Chunk(tenant.Content, 2) {
			if pair[0].Value == "count" {
				texts[pair[1].Value] = true
			}
		}
	}
}

// scaleCounts scales the numbers of instances so that the largest is the command line's.
func (p *parser) scaleCounts() {
	most := p.asked.instances
	if most == 0 {
		return
	}
	scaled := p.counts()
	if len(scaled) == 0 {
		p.Problem(&yaml.Node{Line: 1}, fmt.Sprintf("--instances %d would change nothing: no mixes differ in the number "+
			"of their instances", most), "leave it out")
	}
	for _, f := range scaled {
		numbers := make([]int, len(f.levels))
		for i, l := range f.levels {
			n, err := strconv.Atoi(l.value.Value)
			if err != nil {
				return // which is said where it is read
			}
			numbers[i] = n
		}
		f.levels = countLevels(scaleTo(numbers, most), f.levels[0].value.Line)
	}
}

// scaleTo returns numbers in the same proportions, of which the largest is most: each once, and none below 1.
func scaleTo(numbers []int, most int) (scaled []int) {
	largest := slices.Max(numbers)
	for _, n := range numbers {
		to := n
		if largest > 0 && n > 0 {
			to = max(1, (n*most+largest/2)/largest)
		}
		if n == 1 {
			to = 1 // what one does alone, others are held against
		}
		if !slices.Contains(scaled, to) {
			scaled = append(scaled, to)
		}
	}
	return scaled
}

func countLevels(numbers []int, line int) (levels []level) {
	for _, n := range numbers {
		text := strconv.Itoa(n)
		levels = append(levels, level{text, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: text, Line: line}})
	}
	return levels
}
