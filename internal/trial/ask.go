package trial

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"plimsoll/internal/experiment"
	"plimsoll/internal/workload"
)

// askLimit is how long a program may take to read a file.
const askLimit = 20 * time.Second

// Declined is what the programs of this host will not take of the user's own
// files.
type Declined struct{ Problems []string } // never empty, "FILE:LINE: what (remedy)"

func (e *Declined) Error() string { return strings.Join(e.Problems, "\n") }

// Ask has the programs of this host read the files that the user wrote for
// them, before anything is touched. The error is *Declined, with all that they
// do not take. A program that is missing is none of it: that ends trials, each
// with its reason.
func Ask(ctx context.Context, e *experiment.Experiment) error {
	var declined Declined
	asked := map[string]bool{}
	for _, w := range e.Workloads {
		asker, ok := w.Workload.(workload.Asker)
		if !ok || asked[asker.File()] {
			continue
		}
		asked[asker.File()] = true
		problems, err := ask(ctx, asker)
		if err != nil {
			return err
		}
		for _, p := range problems {
			declined.Problems = append(declined.Problems, fmt.Sprintf("%s:%d: %s (%s)", asker.File(), p.Line, p.What, p.Remedy))
		}
	}
	if len(declined.Problems) > 0 {
		return &declined
	}
	return nil
}

// ask asks until the program has nothing new to say.
func ask(ctx context.Context, asker workload.Asker) ([]workload.Problem, error) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	var all []workload.Problem
	for {
		q := asker.Ask(all)
		cmd := exec.CommandContext(ctx, q.Argv[0], q.Argv[1:]...)
		cmd.Env = append(os.Environ(), "LC_ALL=C")
		cmd.Stdin = bytes.NewReader(q.Stdin)
		said, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		switch {
		case ctx.Err() != nil:
			return nil, fmt.Errorf("%s does not come to an end of reading %s: %w", strings.Join(q.Argv, " "), asker.File(), ctx.Err())
		case errors.Is(err, exec.ErrNotFound):
			return nil, nil
		case err != nil && !errors.As(err, &exit):
			return nil, fmt.Errorf("%s: %w", strings.Join(q.Argv, " "), err)
		}
		more := asker.Answer(all, cmd.ProcessState.ExitCode(), string(said))
		if len(more) == 0 {
			return all, nil
		}
		all = append(all, more...)
	}
}
