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

	"plimsoll/internal/database/client"
	"plimsoll/internal/inputfile"
	"plimsoll/internal/load"
	"plimsoll/internal/workload/ycsb"
)

// newGenerateCommand is what runs start beside a database, outside of its limits.
func newGenerateCommand(*app) *cobra.Command {
	wait, check, fill, network := false, false, false, ""
	cmd := &cobra.Command{
		Use: "generate [--wait|--check|--load] PLAN", Hidden: true, Args: exactly(1, "the plan of a load"),
		Short: "Generate load on a database",
		Long: `Generate the load of a plan on a database, and write what was done. Runs start it
as a process of their own, in the directory that holds the plan, the socket of
the database, and the output. SIGINT ends it well, with what it did until then.

EXIT STATUS
  0  the output tells what was done; with --wait, which version answers
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
			follow := generate
			switch {
			case wait:
				follow = waitFor
			case fill:
				follow = load.Fill
			case check:
				follow = load.Check
			}
			return failure(follow(cmd.Context(), plan))
		},
	}
	cmd.Flags().BoolVar(&wait, "wait", false, "generate nothing, and end as soon as the database answers")
	cmd.Flags().BoolVar(&check, "check", false, "generate nothing, and look whether the data is as it has to be")
	cmd.Flags().BoolVar(&fill, "load", false, "generate nothing, and lay out the records")
	cmd.MarkFlagsMutuallyExclusive("wait", "check", "load")
	cmd.Flags().StringVar(&network, "network", "", "`file` of the network namespace in which the database has a port")
	return cmd
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

// waitFor waits until the database of a plan answers, and writes what that said of itself.
func waitFor(ctx context.Context, plan *ycsb.Plan) error {
	answered, err := load.Wait(ctx, plan, client.Dial)
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
	return os.OpenFile(plan.Output, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|syscall.O_NOFOLLOW, 0o644)
}

// generate follows a plan in the working directory.
func generate(ctx context.Context, plan *ycsb.Plan) (failed error) {
	output, err := newOutput(plan)
	if err != nil {
		return err
	}
	defer func() { failed = errors.Join(failed, output.Close()) }()
	o := load.Options{Dial: client.Dial, Output: output}
	if plan.Gate != "" {
		o.Gate = func(ctx context.Context) error { return passGate(ctx, plan.Gate) }
	}
	return load.Run(ctx, plan, o)
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
