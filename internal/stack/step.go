package stack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"plimsoll/internal/workload"
)

// Run runs a step in the scratch directory, below Env.Scratch, which keeps
// its files and outputs, and gives the outputs that the process left there.
//
// live, which may be nil, gets what the process appends to the step's Live
// output, in the caller's turn never twice at a time, and asks the process to
// end by returning true. The Live output is then not among those that Run returns.
func (p *Place) Run(
	ctx context.Context,
	step *workload.Step,
	scratch string,
	live func(appended []byte) (enough bool),
) (map[string][]byte, workload.Exit, error) {
	return p.RunBehind(ctx, nil, step, scratch, live)
}

// RunBehind is Run of a step that begins when all others behind a gate do; nil is for
// none.
func (p *Place) RunBehind(
	ctx context.Context, gate *Gate, step *workload.Step, scratch string, live func(appended []byte) (enough bool),
) (map[string][]byte, workload.Exit, error) {
	return runStep(
		ctx,
		p.base.env,
		p.execute,
		stepConfig{gate: gate, step: step, scratch: scratch, live: live, signal: unix.SIGINT},
	)
}

// stepConfig is a step, and what goes on around it.
type stepConfig struct {
	step    *workload.Step
	scratch string
	gate    *Gate                      // nil for none
	live    func(appended []byte) bool // nil for a step that is not followed
	enough  <-chan struct{}            // closed to ask the process to end; nil where live decides
	signal  unix.Signal                // sent to ask it to end
}

// runStep runs a step where the executor runs processes.
func runStep(
	ctx context.Context, env *Env, in executor, c stepConfig,
) (_ map[string][]byte, _ workload.Exit, failed error) {
	step, scratch := c.step, c.scratch
	arrive := c.gate.ticket()
	defer arrive()
	files, end, err := prepareScratch(ctx, c.gate, arrive, step, scratch)
	if err != nil {
		return nil, workload.Exit{}, err
	}
	defer func() { failed = errors.Join(failed, end(), files.Close()) }()
	run := process{argv: env.argv(step, in.pathInside(scratch)), dir: step.Dir, lent: scratch, enough: c.enough,
		signal: c.signal, stdin: env.Secrets[step.Credentials]}
	if run.dir == "" {
		run.dir = in.pathInside(scratch)
	}
	commandLine := []byte(strings.Join(run.argv, " ") + "\n")
	if err := files.WriteFile(keptName(step, "command"), commandLine, KeptMode); err != nil {
		return nil, workload.Exit{}, err
	}
	var follow *follower
	if c.live != nil && step.Live != "" {
		follow = startFollower(files, step.Live, c.live)
		run.enough = follow.enough
	}
	exit, err := in.exec(ctx, run)
	if follow != nil {
		exit.Asked = follow.end()
		err = errors.Join(err, follow.err)
	}
	if err != nil {
		return nil, exit, err
	}
	outputs, err := readOutputs(step, files, follow != nil)
	if err != nil {
		return nil, exit, err
	}
	if exit.Stderr != "" {
		if err := files.WriteFile(keptName(step, "stderr"), []byte(exit.Stderr), KeptMode); err != nil {
			return nil, exit, err
		}
	}
	return outputs, exit, nil
}

// argv is the command line of a step whose process sees its scratch directory there.
func (e *Env) argv(step *workload.Step, scratch string) []string {
	argv := make([]string, len(step.Argv))
	for i, word := range step.Argv {
		argv[i] = strings.ReplaceAll(word, workload.ScratchDir, scratch)
	}
	if argv[0] == workload.Self && e.Self != "" {
		argv[0] = e.Self
	}
	return argv
}

// KeptMode is the mode of files kept from steps: the output of programs may be confidential.
const KeptMode = 0o640

// WriteKept replaces a file in the scratch directory of a step that has ended.
func WriteKept(path string, text []byte) error {
	files, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(files.WriteFile(filepath.Base(path), text, KeptMode), files.Close())
}

// keptName returns the base name of a file kept from a step beside its outputs.
func keptName(step *workload.Step, what string) string {
	if step.Name == "" {
		return what
	}
	return step.Name + "." + what
}

// prepareScratch opens the scratch directory and writes a step's files. A process may make links there, which lead to
// files of that directory alone. end is called when the process has ended.
func prepareScratch(
	ctx context.Context,
	gate *Gate,
	arrive func(),
	step *workload.Step,
	scratch string,
) (files *os.Root, end func() error, err error) {
	if err := os.MkdirAll(scratch, 0o755); err != nil {
		return nil, nil, err
	}
	if files, err = os.OpenRoot(scratch); err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, files.Close())
		}
	}()
	if step.Gate == "" {
		arrive() // it cannot be held back
	}
	for name, content := range step.Files {
		if gate != nil && name == step.Gate {
			continue
		}
		if err := files.WriteFile(name, content, 0o644); err != nil {
			return nil, nil, fmt.Errorf("write %s for %s: %w", name, step.Argv[0], err)
		}
	}
	if gate != nil && step.Gate != "" {
		end, err = gate.hold(ctx, arrive, files, step.Gate, step.Files[step.Gate])
		return files, end, err
	}
	return files, func() error { return nil }, nil
}

// readOutputs reads the outputs in the scratch directory, without the one that was followed.
func readOutputs(step *workload.Step, files *os.Root, followed bool) (map[string][]byte, error) {
	outputs := map[string][]byte{}
	for _, name := range step.Outputs {
		if followed && name == step.Live {
			continue
		}
		b, err := readOutput(files, name)
		if errors.Is(err, os.ErrNotExist) {
			continue // the workload tells what is missing
		}
		if err != nil {
			return nil, err
		}
		outputs[name] = b
	}
	return outputs, nil
}

// readOutput reads a file that a process was to leave. What is no regular file is refused: a pipe would not end.
func readOutput(files *os.Root, name string) ([]byte, error) {
	f, err := openOutput(files, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// openOutput opens a regular file that a process makes.
func openOutput(files *os.Root, name string) (*os.File, error) {
	f, err := files.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("the output %s is no regular file, and is not read", name)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
