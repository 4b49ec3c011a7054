package fio

import (
	"errors"
	"fmt"
	"strconv"

	"go.yaml.in/yaml/v3"

	"plimsoll/internal/workload"
)

// NumJobs implements workload.Scalable.
func (w *builtin) NumJobs() int { return w.Jobs }

// Scale implements workload.Scalable. The file's size is rounded up to whole
// blocks.
func (w *builtin) Scale(jobs int, bytes int64) (workload.Workload, error) {
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
	var all []error
	for _, p := range problems {
		all = append(all, fmt.Errorf("%s (%s)", p.What, p.Remedy))
	}
	return scaled, errors.Join(all...)
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
