package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/spf13/cobra"

	"plimsoll/internal/database"
	"plimsoll/internal/database/client"
	"plimsoll/internal/stack"
	"plimsoll/internal/state/inputfile"
	"plimsoll/internal/state/sudouser"
	"plimsoll/internal/workload/loadgen"
	"plimsoll/internal/workload/ycsb"
)

// newGenerateCommand returns the command that runs start beside a database, outside of its limits, as load generator.
func newGenerateCommand(*app) *cobra.Command {
	wait, check, fill, secret, network := false, false, false, false, ""
	var from elsewhere
	cmd := &cobra.Command{
		Use: "generate [--wait|--check|--load] PLAN", Hidden: true, Args: exactly(1, "the plan of a load"),
		Short: "Generate load on a database",
		Long: `Generate the load of a plan on a database, and write what was done. Runs start it
as a process of their own, in the directory that holds the plan, the socket of
the database, and the output. SIGINT ends it well, with what it did until then.

EXIT STATUS
  0  the output shows what was done; with --wait, which version answers
  1  the load could not begin, or the output not be written; with --wait, the
     database did not answer in time; with --check, the data is not as it has to be
  2  the command line or the plan is wrong`,
		Example: `  plimsoll generate load.json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			plan, err := readPlan(args[0])
			if err != nil {
				return &exitError{exitUsage, err}
			}
			plan.At.Network = network
			if secret {
				err := readSecret(cmd.InOrStdin(), &plan.At)
				if err != nil {
					return failure(err)
				}
			}
			follow := generate
			switch {
			case from.host != "" && fill, from.host != "" && secret:
				return &exitError{exitUsage, errors.New("--clients takes neither --load nor --secret")}
			case from.host != "":
				from.mode = modeOf(wait, check)
				follow = from.generate
			case wait:
				follow = waitFor
			case fill:
				follow = withoutRoot(loadgen.Fill)
			case check:
				follow = withoutRoot(loadgen.Check)
			}
			return failure(follow(cmd.Context(), plan))
		},
	}
	cmd.Flags().BoolVar(&wait, "wait", false, "generate nothing, and end as soon as the database answers")
	cmd.Flags().BoolVar(&check, "check", false, "generate nothing, and look whether the data is as it has to be")
	cmd.Flags().BoolVar(&fill, "load", false, "generate nothing, and lay out the records")
	cmd.MarkFlagsMutuallyExclusive("wait", "check", "load")
	cmd.Flags().BoolVar(&secret, "secret", false, "read from standard input what the plan's credentials are")
	cmd.Flags().StringVar(&from.host, "clients", "", "`machine` that generates the load, as ssh://USER@HOST")
	cmd.Flags().StringVar(&from.dir, "clients-dir", "", "`directory` of this program there")
	cmd.Flags().StringVar(&from.address, "server-address", "", "`address` of this host at which the machine reaches it")
	cmd.MarkFlagsRequiredTogether("clients", "clients-dir", "server-address")
	cmd.Flags().StringVar(&network, "network", "", "`file` of the network namespace in which the database has a port")
	return cmd
}

// readSecret reads the credentials of a server that somebody else started.
func readSecret(from io.Reader, at *database.Address) error {
	text, err := io.ReadAll(io.LimitReader(from, inputfile.MaxText))
	if err == nil && len(text) == 0 {
		err = errors.New("it is empty")
	}
	if err != nil {
		return fmt.Errorf("read %s from standard input: %w", at.Credentials, err)
	}
	at.Secret = database.Secret(text)
	return nil
}

func readPlan(name string) (*ycsb.Plan, error) {
	text, err := inputfile.Read(name, inputfile.MaxText)
	if err != nil {
		return nil, err
	}
	plan, err := ycsb.ReadPlan(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return plan, nil
}

// dropRights drops root's privileges, unless reaching the server requires entering a namespace.
func dropRights(plan *ycsb.Plan) error {
	if plan.At.Remote == "" {
		return nil
	}
	return sudouser.Drop()
}

// withoutRoot returns follow with root's privileges dropped before.
func withoutRoot(follow func(context.Context, *ycsb.Plan) error) func(context.Context, *ycsb.Plan) error {
	return func(ctx context.Context, plan *ycsb.Plan) error {
		if err := dropRights(plan); err != nil {
			return err
		}
		return follow(ctx, plan)
	}
}

// waitFor waits until the database of a plan answers, and writes what that said of itself.
func waitFor(ctx context.Context, plan *ycsb.Plan) error {
	answered, err := loadgen.Wait(ctx, plan, client.Dial)
	if err != nil {
		return err
	}
	output, err := newOutput(plan)
	if err != nil {
		return err
	}
	_, err = output.Write(answered.Text())
	return errors.Join(err, output.Close())
}

// newOutput opens the output of a plan in the working directory.
func newOutput(plan *ycsb.Plan) (*os.File, error) {
	err := inputfile.Check(plan.Output)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err // something else is there: nothing is written into that
	}
	return os.OpenFile(plan.Output, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|syscall.O_NOFOLLOW, stack.KeptMode)
}

// generate follows a plan in the working directory.
func generate(ctx context.Context, plan *ycsb.Plan) (failed error) {
	output, err := newOutput(plan)
	if err != nil {
		return err
	}
	defer func() { failed = errors.Join(failed, output.Close()) }()
	if err := dropRights(plan); err != nil {
		return err
	}
	o := loadgen.Options{Dial: client.Dial, Output: output}
	if plan.Gate != "" {
		o.Gate = func(ctx context.Context) error { return passGate(ctx, plan.Gate) }
	}
	return loadgen.Run(ctx, plan, o)
}

// passGate reads a file, which may be a FIFO that another process fills when the load
// is to begin.
func passGate(ctx context.Context, name string) error {
	passed := make(chan error, 1)
	go func() {
		gate, err := os.Open(name)
		if err == nil {
			_, err = io.CopyN(io.Discard, gate, 1)
			gate.Close()
		}
		passed <- err
	}()
	select {
	case err := <-passed:
		if err != nil {
			return fmt.Errorf("wait for the start in %s: %w", name, err)
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the start in %s: %w", name, ctx.Err())
	}
}
