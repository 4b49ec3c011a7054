package experiment

import (
	"fmt"
	"strings"
	"time"

	"github.com/invopop/jsonschema"
	"go.yaml.in/yaml/v3"

	"plimsoll/internal/result"
)

// Keys of an objective.
const (
	keyP99        = "p99"
	keyStandalone = "standalone"
)

const anObjective = "p99=TIME, standalone=SHARE or both, such as p99=10ms,standalone=50%"

// ObjectiveKeys are the keys of an objective, for editors.
type ObjectiveKeys struct {
	P99        Duration `yaml:"p99" jsonschema_description:"Latency that 99% of the operations of all take at most: 10ms."`
	Standalone Share    `yaml:"standalone" jsonschema_description:"Share of what one instance alone does that each does at least: 50%."`
}

// ParseObjective reads what a command line says of an objective: "p99=10ms,standalone=50%". wrong is nil where it
// is one.
func ParseObjective(text string) (o *result.Objective, wrong *FlagError) {
	o = new(result.Objective)
	for part := range strings.SplitSeq(text, ",") {
		key, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		switch {
		case key == keyP99 && o.P99Seconds == 0:
			limit, err := time.ParseDuration(value)
			if err != nil || limit <= 0 {
				return nil, &FlagError{anObjective}
			}
			o.P99Seconds = limit.Seconds()
		case key == keyStandalone && o.Standalone == 0:
			share, err := parseShare(value)
			if err != nil {
				return nil, &FlagError{anObjective}
			}
			o.Standalone = share
		default:
			return nil, &FlagError{anObjective}
		}
	}
	return o, nil
}

// AsksHowMany reports whether mixes differ in the number of their instances alone, so that an objective decides
// between them.
func (e *Experiment) AsksHowMany() bool { return len(e.Families()) > 0 }

// checkObjective refuses an objective that decides nothing.
func (p *parser) checkObjective() {
	n := p.values["objective"]
	if n != nil && len(p.Problems) == 0 && !p.e.AsksHowMany() {
		p.Problem(n, "the objective decides nothing: no workload runs in different numbers of instances",
			"add mixes of one workload that differ in their count, or remove it")
	}
}

// objective is a result.Objective.
type objective struct{}

func (objective) schema(r *jsonschema.Reflector) *jsonschema.Schema {
	s := r.Reflect(ObjectiveKeys{})
	s.Version = "" // said once, at the root
	return s
}

func (objective) read(p *parser, n *yaml.Node, key string) {
	var o result.Objective
	seen := p.Mapping(n, "an "+key, map[string]func(*yaml.Node){
		keyP99: func(n *yaml.Node) { o.P99Seconds = p.duration(n, keyP99, 1).Seconds() },
		keyStandalone: func(n *yaml.Node) {
			share, err := parseShare(n.Value)
			if n.Kind != yaml.ScalarNode || err != nil {
				p.Problem(n, fmt.Sprintf("%s is a share above 0%% and below 100%%, not %s", keyStandalone, describe(n)),
					"write 50%")
			}
			o.Standalone = share
		},
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
