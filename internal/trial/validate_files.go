package trial

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/experiment"
	"plimsoll/internal/host/hostinfo"
	"plimsoll/internal/problem"
	"plimsoll/internal/workload"
)

// askLimit is how long a program may take to read a file.
const askLimit = 20 * time.Second

// Ask has the programs of this host check the files that the user wrote for them, before anything is touched. The
// error is a problem.List of all that the programs refuse. A missing program is no problem here: it ends trials, each
// with its reason.
func Ask(ctx context.Context, e *experiment.Experiment) error {
	var declined problem.List
	host := hostinfo.New()
	online := workload.Numbers{CPUs: host.Online(), Nodes: host.OnlineNodes()}
	asked := map[string]bool{}
	for _, w := range e.Workloads {
		question := w.Abilities().Asking
		if question == nil {
			continue
		}
		// Phases of one file are workloads with lines of their own.
		key := question.File + "\n" + string(question.Ask(nil).Stdin)
		if asked[key] {
			continue
		}
		asked[key] = true
		problems, err := ask(ctx, question, online)
		if err != nil {
			return err
		}
		for _, p := range problems.Within(question.File) {
			if !slices.ContainsFunc(declined, func(other problem.Problem) bool { return other.String() == p.String() }) {
				declined = append(declined, p)
			}
		}
	}
	return declined.Err()
}

// ask makes the inquiries of a question, and asks until the program has nothing new to say.
func ask(ctx context.Context, question *workload.Question, online workload.Numbers) (all problem.List, err error) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	if question.Lacks != nil {
		all = question.Lacks(online)
	}
	for _, i := range question.Inquiries {
		code, printed, found, err := output(ctx, question.File, i.Command)
		if err != nil || !found {
			return all, err
		}
		all = append(all, i.Answer(code, printed)...)
	}
	for {
		code, printed, found, err := output(ctx, question.File, question.Ask(all))
		if err != nil || !found {
			return all, err
		}
		more := question.Answer(all, code, printed)
		if len(more) == 0 {
			return all, nil
		}
		all = append(all, more...)
	}
}

// output runs a command that reads a file. found is false where there is no such program.
func output(ctx context.Context, file string, c workload.Command) (code int, text string, found bool, err error) {
	cmd := exec.CommandContext(ctx, c.Argv[0], c.Argv[1:]...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	cmd.Stdin = bytes.NewReader(c.Stdin)
	printed, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return 0, "", false, fmt.Errorf("%s did not finish reading %s: %w", strings.Join(c.Argv, " "), file,
			ctx.Err())
	case errors.Is(err, exec.ErrNotFound):
		return 0, "", false, nil
	case err != nil && !errors.As(err, &exit):
		return 0, "", false, fmt.Errorf("%s: %w", strings.Join(c.Argv, " "), err)
	}
	return cmd.ProcessState.ExitCode(), string(printed), true, nil
}
