package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"plimsoll/internal/apply"
	"plimsoll/internal/placement"
	"plimsoll/internal/problem"
	"plimsoll/internal/result"
	"plimsoll/internal/state/inputfile"
	"plimsoll/internal/state/sudouser"
)

// mostCompose is more than any Compose file has.
const mostCompose = 1 << 20

// composeFlags are the flags of a plan of a Compose file.
type composeFlags struct {
	file, model, objective string
	contexts, env          []string
}

func (c *composeFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&c.file, "compose", "", "Compose `file` whose services are placed; with --contexts and --model")
	f.StringSliceVar(
		&c.contexts,
		"contexts",
		nil,
		"`names` of Docker contexts, of the engines that services are placed on",
	)
	f.StringVar(&c.model, "model", "", "`file` of the model, for --compose")
	f.StringVar(&c.objective, "objective", string(placement.Throughput), "`objective` of the plan, for --compose")
	f.StringArrayVar(&c.env, "env", nil, "`NAME=VALUE` of a variable of the Compose file, or a NAME of the environment; "+
		"repeatable")
}

func (c *composeFlags) check() error {
	if len(c.contexts) == 0 || c.model == "" {
		return errors.New("--compose needs --contexts and --model: plimsoll plan --compose compose.yaml --contexts a,b " +
			"--model model.json")
	}
	return nil
}

// planCompose plans a Compose file's services on Docker engines.
func (f *planFlags) planCompose(ctx context.Context, a *app) error {
	c := f.compose
	usage := func(err error) error { return &exitError{exitUsage, err} }
	text, err := inputfile.Read(c.file, mostCompose)
	if err != nil {
		return usage(err)
	}
	env := map[string]string{}
	for _, e := range c.env {
		name, value, given := strings.Cut(e, "=")
		if !given {
			value = os.Getenv(name)
		}
		env[name] = value
	}
	project, err := apply.ReadCompose(ctx, c.file, text, env)
	if err != nil {
		return usage(err)
	}
	engines, err := apply.Contexts(c.contexts)
	if err != nil {
		return usage(err)
	}
	hosts, err := apply.Describe(ctx, engines)
	if err != nil {
		return &exitError{exitFailure, err}
	}
	for i, h := range hosts {
		engines[i] = h.Engine
	}
	model, err := filepath.Abs(c.model)
	if err != nil {
		return usage(err)
	}
	fleet, err := project.Fleet(model, c.objective, hosts)
	if err != nil {
		return &exitError{exitFailure, fmt.Errorf("the fleet of %s: %w", c.file, err)}
	}
	err = f.plan(a, "the fleet of "+c.file, fleet, &apply.Deployment{Project: project.Name,
		Compose: result.NewInputFile(c.file, text), Engines: engines, Services: project.Services})
	if wrong := (problem.List)(nil); errors.As(err, &wrong) {
		err = wrong.Unplaced().Within("labels in " + c.file).Err() // the lines are of a fleet that nobody wrote
	}
	return err
}

// writePrivate is writeTo for a file that only its owner reads: environments of services have passwords.
func writePrivate(_ io.Writer, name string, fill func(io.Writer) error) error {
	if name == standardOutput {
		return problem.New(problem.Invalid, "--output -", "the plan has the environments of services, with their passwords",
			"name a file, which only its owner can read")
	}
	return sudouser.ReplacePrivate(name, fill)
}
