package trial

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"plimsoll/internal/plural"
	"plimsoll/internal/result"
	"plimsoll/internal/result/store"
)

// same refuses to go on with a run whose files were edited since it began: half of
// its trials would be of other jobs than the rest, under the same names.
func (r *runner) same(was result.Experiment) error {
	if was.Source != r.Experiment.Source {
		return fmt.Errorf("run %s was started with another experiment file; resume it with that one, or start a new run", r.Dir)
	}
	var edited []string
	for _, f := range r.Experiment.Files {
		if was.Files != nil && !slices.Contains(was.Files, f) { // nil: nobody noted them
			edited = append(edited, f.Name)
		}
	}
	if len(edited) > 0 {
		return &EditedError{Run: r.Dir, Files: edited}
	}
	return nil
}

// EditedError is why a run is not gone on with.
type EditedError struct {
	Run   string
	Files []string // that are not what they were when it began, as the experiment names them
}

func (e *EditedError) Error() string {
	return fmt.Sprintf("%s changed since run %s began: put back what %s (%s has the text, under workloads), or start a new run",
		strings.Join(e.Files, " and "), e.Run, plural.Choose(len(e.Files), "it was", "they were"), filepath.Join(e.Run, store.RunFile))
}
