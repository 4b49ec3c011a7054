package experiment

import (
	"strings"

	"github.com/invopop/jsonschema"
	"go.yaml.in/yaml/v3"

	"plimsoll/internal/field"
	"plimsoll/internal/result"
	"plimsoll/internal/workload"
)

// Keys of an objective.
const (
	keyP99        = "p99"
	keyStandalone = "standalone"
)

var (
	aP99        = field.Seconds(aTime.Like("10ms"))
	aStandalone = field.Portion("50%")
)

// ParseMargin parses a margin of the command line: "3%".
func ParseMargin(text string) (share float64, err error) { return margin.Parse(text) }

// ParseObjective parses an objective of the command line: "p99=10ms,standalone=50%". wrong is nil if it is valid.
func ParseObjective(text string) (o *result.Objective, wrong *field.Error) {
	o = new(result.Objective)
	no := &field.Error{Takes: "p99=TIME, standalone=SHARE or both", Remedy: "write p99=10ms,standalone=50%"}
	for part := range strings.SplitSeq(text, ",") {
		key, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		switch {
		case key == keyP99 && o.P99Seconds == 0:
			limit, err := aP99.Parse(value)
			if err != nil {
				return nil, no
			}
			o.P99Seconds = limit
		case key == keyStandalone && o.Standalone == 0:
			share, err := aStandalone.Parse(value)
			if err != nil {
				return nil, no
			}
			o.Standalone = share
		default:
			return nil, no
		}
	}
	return o, nil
}

// AsksHowMany reports whether mixes differ in the number of their instances alone, so that an objective decides
// between them.
func (e *Experiment) AsksHowMany() bool { return len(e.Families()) > 0 }

// asksRates reports whether workloads differ in the rate that is offered, so that the p99 of an objective decides
// which of them is kept.
func (e *Experiment) asksRates() bool {
	seen := map[string]string{} // a declaration, by what it is without its rate
	for _, w := range e.Workloads {
		declared := w.Info().Declared
		family, ok := workload.DeclaredWithout(declared, "rate")
		if ok && strings.Contains(declared, "rate:") {
			other, known := seen[family]
			if known && other != declared {
				return true
			}
			seen[family] = declared
		}
	}
	return false
}

// ObjectiveDecides reports whether the objective decides anything: which number of instances, or which rate, is kept.
func (e *Experiment) ObjectiveDecides() bool {
	return e.AsksHowMany() || e.asksRates() && e.Objective.Standalone == 0
}

// checkObjective refuses an objective that decides nothing.
func (p *parser) checkObjective() {
	n := p.values["objective"]
	if n != nil && len(p.Problems) == 0 && !p.e.ObjectiveDecides() {
		p.Problem(n,
			"the objective has no effect: no workload runs in different numbers of instances, or at different rates",
			"add mixes of one workload that differ in their count, or workloads that differ in their rate, or remove it")
	}
}

// objective is a result.Objective.
type objective struct{}

func (objective) schema(*jsonschema.Reflector) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "object", Properties: jsonschema.NewProperties(),
		AdditionalProperties: jsonschema.FalseSchema}
	p99, standalone := aP99.Schema(), aStandalone.Schema()
	p99.Description = "Latency that 99% of the operations of all take at most: 10ms."
	standalone.Description = "Share of what one instance alone does that each does at least: 50%."
	s.Properties.Set(keyP99, p99)
	s.Properties.Set(keyStandalone, standalone)
	return s
}

func (objective) read(p *parser, n *yaml.Node, key string) {
	var o result.Objective
	seen := p.Mapping(n, "an "+key, map[string]func(*yaml.Node){
		keyP99:        func(n *yaml.Node) { o.P99Seconds, _ = field.Value(&p.Reader, n, keyP99, aP99) },
		keyStandalone: func(n *yaml.Node) { o.Standalone, _ = field.Value(&p.Reader, n, keyStandalone, aStandalone) },
	})
	if seen != nil && len(seen) == 0 {
		p.Problem(n, "the objective asks for nothing", "write objective: {p99: 10ms}")
	}
	p.e.Objective = &o
}

func (objective) set(e *Experiment, text string) error {
	asked, wrong := ParseObjective(text)
	if wrong != nil {
		return wrong
	}
	e.Objective = asked
	return nil
}

func (objective) store(e *Experiment, to *result.Experiment) { to.Objective = e.Objective }

func (objective) restore(e *Experiment, from *result.Experiment) error {
	e.Objective = from.Objective
	return nil
}
