package fio

import (
	"fmt"
	"strconv"

	"go.yaml.in/yaml/v3"

	"plimsoll/internal/problem"
	"plimsoll/internal/workload"
)

// Abilities implements workload.Workload.
func (w *builtin) Abilities() workload.Abilities {
	return workload.Abilities{
		Watch:   w.watch,
		Warm:    w.warm,
		Scaling: &workload.Scaling{Jobs: w.Jobs, To: w.scale},
		Filling: &workload.Filling{Fill: w.fill, Filled: w.filled},
	}
}

// scale returns the workload with so many jobs and a file of so many bytes,
// rounded up to whole blocks.
func (w *builtin) scale(jobs int, bytes int64) (workload.Workload, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(w.declared), &doc); err != nil || len(doc.Content) != 1 {
		return nil, fmt.Errorf("its declaration cannot be read back: %w", err)
	}
	if jobs > 0 {
		set(doc.Content[0], "jobs", strconv.Itoa(jobs))
	}
	if bytes > 0 {
		set(doc.Content[0], "size", strconv.FormatInt(roundUp(bytes, int64(w.BS)), 10))
	}
	scaled, problems := decode(doc.Content[0], nil)
	for i := range problems {
		problems[i].At = problem.Position{} // of the declaration as it was printed here, which nobody wrote
	}
	return scaled, problems.Err()
}

// set gives a key of a mapping a value.
func set(mapping *yaml.Node, key, value string) {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			mapping.Content[i+1] = &yaml.Node{Kind: yaml.ScalarNode, Value: value}
			return
		}
	}
	mapping.Content = append(mapping.Content,
		&yaml.Node{Kind: yaml.ScalarNode, Value: key}, &yaml.Node{Kind: yaml.ScalarNode, Value: value})
}
