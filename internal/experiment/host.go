package experiment

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"
	"go.yaml.in/yaml/v3"

	"plimsoll/internal/field"
	"plimsoll/internal/result"
	"plimsoll/internal/units/plural"
)

// What a command line says of the scaled-down host and of how many instances there are is what mixes are made of:
// shares of the host that policies give, names of mixes. The file is therefore read anew with it, see remake.

// noLimit is the command line's value for removing a limit.
const noLimit = "none"

// hostLimits is --host, which changes limits of the file's scaled-down host, and --no-limits, which removes all of the
// file's.
type hostLimits struct{}

func (hostLimits) schema(*jsonschema.Reflector) *jsonschema.Schema { return nil }
func (hostLimits) read(*parser, *yaml.Node, string)                {}

func (hostLimits) set(e *Experiment, text string) error {
	if text == off {
		e.HostAsked.None = true
		return nil
	}
	asked, err := ParseHost(text)
	e.HostAsked.Limits, e.HostAsked.Lifted = asked.Limits, asked.Lifted
	return err
}

func (hostLimits) store(e *Experiment, to *result.Experiment) { to.HostAsked = e.HostAsked }

func (hostLimits) restore(e *Experiment, from *result.Experiment) error {
	e.HostAsked = from.HostAsked
	return nil
}

// ParseHost reads limits of a scaled-down host from a command line, such as cpus=1.5,cpuset=0-3,8,memory=none: none
// removes a limit of the file. The error has all problems; it is a *field.Error for a text of another form.
func ParseHost(text string) (asked result.HostOverrides, err error) {
	given := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: 1}
	for word := range strings.SplitSeq(text, ",") {
		key, value, isLimit := strings.Cut(word, "=")
		last := len(given.Content) - 1
		switch {
		case isLimit:
			given.Content = append(given.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: strings.TrimSpace(key), Line: 1},
				&yaml.Node{Kind: yaml.ScalarNode, Value: strings.TrimSpace(value), Line: 1})
		case last > 0 && given.Content[last-1].Value == cpusetKey:
			given.Content[last].Value += "," + word // processors are a list
		case text == noLimit:
			return asked, &field.Error{Takes: hostTakes, Remedy: "write --no-limits for the whole host"}
		default:
			return asked, &field.Error{Takes: hostTakes, Remedy: "write cpus=1.5,memory=1GiB"}
		}
	}
	p := &parser{}
	readers := limitTable.Readers(&p.Reader, "the host", &asked.Limits)
	for _, k := range limitKeys {
		read := readers[k.Key]
		readers[k.Key] = func(n *yaml.Node) {
			if n.Value == noLimit {
				asked.Lifted = append(asked.Lifted, k.Key)
				return
			}
			read(n)
		}
	}
	p.Mapping(given, "limits of the host", readers)
	return asked, p.Problems.Unplaced().Err()
}

// hostTakes describes the value of --host.
const hostTakes = "limits, each as KEY=VALUE"

// hostSetting is what a command line sets of the scaled-down host.
func hostSetting() Setting {
	return Setting{
		Flag: "host",
		Help: "`limits` of the file's scaled-down host to change, such as cpus=1.5,memory=1GiB; none removes one. " +
			"Limits: " + plural.And(limitNames()),
		Without: "no-limits", Off: "measure the whole host, without the limits of the file's scaled-down host",
		value: hostLimits{},
	}
}

// HostWith returns the scaled-down host that a command line makes of the file's; nil for none.
func HostWith(l *result.Limits, asked result.HostOverrides) *result.Limits {
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
	overrides := hostOverrides{e.HostAsked, e.Instances}
	if overrides.empty() || e.parsed == nil {
		return nil
	}
	o := *e.parsed
	o.asked = overrides
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
	largest := p.asked.instances
	if largest == 0 {
		return
	}
	scaled := p.counts()
	if len(scaled) == 0 {
		p.Problem(&yaml.Node{Line: 1}, fmt.Sprintf("--instances %d has no effect: no mixes differ in the number "+
			"of their instances", largest), "leave it out")
	}
	for _, f := range scaled {
		numbers := make([]int, len(f.levels))
		for i, l := range f.levels {
			n, err := strconv.Atoi(l.value.Value)
			if err != nil {
				return // its reader reports the problem
			}
			numbers[i] = n
		}
		f.levels = countLevels(scaleTo(numbers, largest), f.levels[0].value.Line)
	}
}

// scaleTo returns numbers in the same proportions whose largest is limit: each once, and none below 1.
func scaleTo(numbers []int, limit int) (scaled []int) {
	largest := slices.Max(numbers)
	for _, n := range numbers {
		number := n
		if largest > 0 && n > 0 {
			number = max(1, (n*limit+largest/2)/largest)
		}
		if n == 1 {
			number = 1 // what one does alone, others are held against
		}
		if !slices.Contains(scaled, number) {
			scaled = append(scaled, number)
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
