package fio

import (
	"strconv"

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
	values := map[string]string{}
	if jobs > 0 {
		values["jobs"] = strconv.Itoa(jobs)
	}
	if bytes > 0 {
		values["size"] = strconv.FormatInt(roundUp(bytes, w.BS), 10)
	}
	declared, err := workload.Redeclare(w.declared, values)
	if err != nil {
		return nil, err
	}
	scaled, problems := decode(declared, nil)
	return scaled, problems.Unplaced().Err()
}
