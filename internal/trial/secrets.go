package trial

import (
	"fmt"
	"os"
	"strings"

	"plimsoll/internal/experiment"
	"plimsoll/internal/state/inputfile"
)

// TakeSecrets returns what the workloads of an experiment say by where it is: "env:NAME" or "file:PATH". Programs that
// are started later do not find it in their environment.
func TakeSecrets(e *experiment.Experiment) (map[string]string, error) {
	all := map[string]string{}
	for _, w := range e.Workloads {
		there := w.Abilities().Elsewhere
		if there == nil || there.Credentials == "" {
			continue
		}
		text, err := inputfile.Secret(there.Credentials)
		if err != nil {
			return nil, fmt.Errorf("workload %s: where its server is, or who asks it, is not known: %w", w.Name, err)
		}
		all[there.Credentials] = text
	}
	for where := range all {
		if name, ok := strings.CutPrefix(where, "env:"); ok {
			if err := os.Unsetenv(name); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}
