package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"plimsoll/examples"
	"plimsoll/internal/experiment"
	"plimsoll/internal/lab"
	"plimsoll/internal/stack/line"
)

// labRemotes supplies devices of a lab to a command that measures other hosts' devices: a drive of the target,
// exported over each transport of the experiment, and a drive of the server in place of loop devices.
type labRemotes struct {
	hostNQN string
	exports []labExport
	local   bool // the experiment has loop devices, which a drive is to replace
	sized   bool // the user set the size of files, or the number of records
}

// labExport is a drive of the target, and how it is reached.
type labExport struct {
	serial, transport, port string
	uuid                    string
}

// metricsPort is the port of the metrics of a lab's target.
const metricsPort = "9100"

// labNeeds reads a command: nil unless it is a run of an experiment whose
// stacks wait for targets. in are the files that the lab is given.
func labNeeds(command, in []string) *labRemotes {
	if filepath.Base(command[0]) != "plimsoll" {
		return nil
	}
	// The command tells by itself, in the lab, what is wrong with it.
	cmd, rest, err := newRootCommand(&app{stdout: io.Discard, stderr: io.Discard}).Find(command[1:])
	if err != nil || cmd.Name() != "run" || cmd.ParseFlags(rest) != nil || cmd.Flags().NArg() != 1 ||
		cmd.Flags().Changed("remote") {
		return nil
	}
	e := labExperiment(cmd.Flags().Arg(0), in)
	if e == nil {
		return nil
	}
	r := &labRemotes{hostNQN: nqnOf(uuid.NewString()), local: labHasLoops(cmd, e),
		sized: cmd.Flags().Changed("size") || cmd.Flags().Changed("records")}
	for _, s := range e.Stacks {
		for _, source := range s.Line.Sources() {
			transport, _ := source.Option("transport")
			known := slices.ContainsFunc(r.exports, func(x labExport) bool { return x.transport == transport })
			if experiment.Unreached(source) && !known {
				n := len(r.exports)
				r.exports = append(r.exports, labExport{
					serial: lab.Serials(lab.Target, n+1)[n], transport: transport, port: strconv.Itoa(4420 + n),
					uuid: uuid.NewString(),
				})
			}
		}
	}
	if len(r.exports) == 0 {
		return nil
	}
	return r
}

func nqnOf(id string) string { return "nqn.2014-08.org.nvmexpress:uuid:" + id }

// labExperiment finds the experiment that a machine will be asked for.
func labExperiment(name string, in []string) *experiment.Experiment {
	if _, builtIn := examples.Find(name); !builtIn {
		at := slices.IndexFunc(in, func(file string) bool { return filepath.Base(file) == filepath.Clean(name) })
		if at < 0 {
			return nil
		}
		name = in[at]
	}
	e, err := loadExperiment(name, "")
	if err != nil {
		return nil
	}
	return e
}

// labHasLoops reports whether a drive replaces loop devices that the user did not name explicitly.
func labHasLoops(cmd *cobra.Command, e *experiment.Experiment) bool {
	return !cmd.Flags().Changed("on") && slices.ContainsFunc(e.Stacks, func(s experiment.Stack) bool {
		return slices.ContainsFunc(s.Line.Sources(), func(n line.Node) bool { return n.Name == "loop" })
	})
}

// emulatedSize is the size of files where processors, and so the network, are emulated: laying out larger ones would
// use up a budget.
const emulatedSize = "64MiB"

// command returns the user's command line with the lab's devices added.
func (r *labRemotes) command(given []string, emulated bool) []string {
	out := slices.Clone(given)
	if emulated && !r.sized {
		out = append(out, "--size", emulatedSize)
	}
	if r.local {
		serial := lab.Serials(lab.Server, 1)[0]
		out = append(out, "--on", "serial:"+serial, "--destroy", serial)
	}
	for _, x := range r.exports {
		out = append(out, "--remote", fmt.Sprintf("nvmeof(transport=%s, addr=%s, port=%s, nqn=%s, uuid=%s, "+
			"hostnqn=%s, metrics=%s)",
			x.transport, lab.Address(lab.Target), x.port, nqnOf(x.uuid), x.uuid, r.hostNQN, metricsPort), "--destroy",
			"uuid:"+x.uuid)
	}
	return out
}

// prepare exports the drives, and starts the target's metrics until stop is called.
func (r *labRemotes) prepare(ctx context.Context, machine string, note func(string)) (stop func(), err error) {
	for _, x := range r.exports {
		note(fmt.Sprintf("the target exports %s over %s", x.serial, x.transport))
		args := []string{
			"plimsoll", "target", "export", "serial:" + x.serial, "--destroy", x.serial, "--transport", x.transport,
			"--addr", lab.Address(lab.Target),
			"--port", x.port, "--allow-host", r.hostNQN, "--nqn", nqnOf(x.uuid), "--uuid", x.uuid,
		}
		var said bytes.Buffer
		code, err := lab.Run(ctx, machine, lab.Command{Args: args}, lab.Streams{Stdout: io.Discard, Stderr: &said})
		if err == nil && code != 0 {
			err = errors.New(strings.TrimSpace(said.String()))
		}
		if err != nil {
			return nil, fmt.Errorf("export %s on the target: %w", x.serial, err)
		}
	}
	serving, cancel := context.WithCancel(ctx)
	listens := &firstWrite{done: make(chan struct{})}
	var said bytes.Buffer
	var failed error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		args := []string{"plimsoll", "target", "metrics", "--addr", lab.Address(lab.Target), "--port", metricsPort}
		_, failed = lab.Run(serving, machine, lab.Command{Args: args}, lab.Streams{Stdout: listens, Stderr: &said})
	}()
	select {
	case <-listens.done:
		return func() {
			cancel()
			<-ended
		}, nil
	case <-ended:
		cancel()
		return nil, fmt.Errorf("the target does not show its processor time: %w",
			errors.Join(failed, errors.New(strings.TrimSpace(said.String()))))
	}
}

// firstWrite is a writer that signals the first write.
type firstWrite struct {
	once sync.Once
	done chan struct{}
}

func (w *firstWrite) Write(text []byte) (int, error) {
	w.once.Do(func() { close(w.done) })
	return len(text), nil
}
