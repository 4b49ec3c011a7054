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
	"plimsoll/internal/problem"
	"plimsoll/internal/workload"
)

// askLimit is how long a program may take to read a file.
const askLimit = 20 * time.Second

// Ask has the programs of this host read the files that the user wrote for
// them, before anything is touched. The error is a problem.List of
// all that they do not take. A program that is missing is none of it: that ends
// trials, each with its reason.
func Ask(ctx context.Context, e *experiment.Experiment) error {
	var declined problem.List
	asked := map[string]bool{}
	for _, w := range e.Workloads {
		question := w.Abilities().Asking
		if question == nil || asked[question.File] {
			continue
		}
		asked[question.File] = true
		problems, err := ask(ctx, question)
		if err != nil {
			return err
		}
		declined = append(declined, problems.Within(question.File)...)
	}
	return declined.Err()
}

// ask asks until the program has nothing new to say.
func ask(ctx context.Context, question *workload.Question) (problem.List, error) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	var all problem.List
	for {
		q := question.Ask(all)
		cmd := exec.CommandContext(ctx, q.Argv[0], q.Argv[1:]...)
		cmd.Env = append(os.Environ(), "LC_ALL=C")
		cmd.Stdin = bytes.NewReader(q.Stdin)
		said, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		switch {
		case ctx.Err() != nil:
			return nil, fmt.Errorf("%s does not come to an end of reading %s: %w", strings.Join(q.Argv, " "), question.File, ctx.Err())
		case errors.Is(err, exec.ErrNotFound):
			return nil, nil
		case err != nil && !errors.As(err, &exit):
			return nil, fmt.Errorf("%s: %w", strings.Join(q.Argv, " "), err)
		}
		more := question.Answer(all, cmd.ProcessState.ExitCode(), string(said))
		if len(more) == 0 {
			return all, nil
		}
		all = append(all, more...)
	}
}
