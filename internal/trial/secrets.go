package trial

import (
	"fmt"
	"os"
	"strings"

	"plimsoll/internal/experiment"
	"plimsoll/internal/state/inputfile"
)

// TakeSecrets returns the secrets of an experiment's workloads by source: "env:NAME" or "file:PATH". It removes them
// from the environment of programs that are started later.
func TakeSecrets(e *experiment.Experiment) (map[string]string, error) {
	secrets := map[string]string{}
	for _, w := range e.Workloads {
		external := w.Abilities().Elsewhere
		if external == nil || external.Credentials == "" {
			continue
		}
		text, err := inputfile.Secret(external.Credentials)
		if err != nil {
			return nil, fmt.Errorf("workload %s: where its server is, or who asks it, is not known: %w", w.Name, err)
		}
		secrets[external.Credentials] = text
	}
	for source := range secrets {
		if name, ok := strings.CutPrefix(source, "env:"); ok {
			if err := os.Unsetenv(name); err != nil {
				return nil, err
			}
		}
	}
	return secrets, nil
}
