package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"plimsoll/internal/cli/preview"
	"plimsoll/internal/problem"
	"plimsoll/internal/trial"
	"plimsoll/internal/units/plural"
)

// validation is the result of checking an experiment file.
type validation struct {
	File     string          `json:"file"`
	Problems []problemOfFile `json:"problems,omitempty"`
	*preview.Preview
}

// problemOfFile is something wrong with a file.
type problemOfFile struct {
	Line   int    `json:"line,omitempty"` // 0 when it is about the whole file
	What   string `json:"what"`
	Remedy string `json:"remedy,omitempty"`
}

func newValidateCommand(a *app) *cobra.Command {
	scale := ""
	cmd := &cobra.Command{
		Use:   "validate FILE...",
		Short: "Check experiment files, and show what they would do",
		Long: `Check experiment files without running them. Everything that is wrong with them
is listed, each problem with its line and what would be right. Of a file that is
right, one line says what it would do: how many stacks, workloads and trials,
how long that takes, and which devices it would overwrite. Below it stands what
may surprise: in the file, and on this host, where the file may be for another.

FILE may also be the name of an experiment that is built in. Nothing is changed;
plimsoll run FILE --dry-run lists every change that a run would make.

EXIT STATUS
  0  every file is an experiment; warnings do not count
  1  this host could not be looked at, or the answer could not be printed
  2  the command line or a file is wrong`,
		Example: `  plimsoll validate nightly.yaml
  plimsoll validate experiments/*.yaml
  plimsoll validate nightly.yaml --json | jq '.files[].warnings'`,
		Args: atLeastOne("experiment files"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var all []validation
			wrong := false
			for _, file := range args {
				v, err := a.validate(cmd.Context(), file, scale)
				if err != nil {
					return runError(err, "")
				}
				wrong = wrong || len(v.Problems) > 0
				all = append(all, v)
			}
			if err := a.printValidated(all); err != nil {
				return &exitError{exitFailure, err}
			}
			if wrong {
				return &exitError{code: exitUsage}
			}
			return nil
		},
		ValidArgsFunction: completeFiles,
	}
	cmd.Flags().BoolVar(&a.jsonOutput, "json", false, "print JSON")
	cmd.Flags().StringVar(&scale, "scale", "", "`name` of the files' scale to look at (default: the files as they are)")
	return cmd
}

// validate reads a file as a run does. Problems of the file are in the result; the error is about the host.
func (a *app) validate(ctx context.Context, file, scale string) (validation, error) {
	v := validation{File: file}
	e, err := loadExperiment(file, scale)
	if err == nil {
		err = checkPreconditioning(e)
	}
	if err == nil {
		err = trial.Ask(ctx, e)
	}
	if err != nil {
		if ctx.Err() != nil {
			return v, ctx.Err()
		}
		v.Problems = problemsOf(file, err)
		return v, nil
	}
	p, err := preview.Of(ctx, e, a.state)
	v.Preview = &p
	return v, err
}

// problemsOf splits an error into the problems of a file, and of other files that it names.
func problemsOf(file string, err error) []problemOfFile {
	var all problem.List
	if !errors.As(err, &all) {
		return []problemOfFile{{What: err.Error()}}
	}
	var out []problemOfFile
	for _, p := range all {
		if p.At.In == file {
			out = append(out, problemOfFile{p.At.Line, p.What, p.Remedy})
		} else {
			out = append(out, problemOfFile{What: p.String()})
		}
	}
	return out
}

func (a *app) printValidated(all []validation) error {
	if a.jsonOutput {
		return a.document("files", all)
	}
	var out strings.Builder
	problems, files := 0, 0
	for _, v := range all {
		if len(v.Problems) > 0 {
			files++
			problems += len(v.Problems)
		}
		for _, p := range v.Problems {
			at := problem.Position{In: v.File, Line: p.Line}
			fmt.Fprintln(&out, problem.Problem{At: at, What: p.What, Remedy: p.Remedy})
		}
		if v.Preview != nil {
			fmt.Fprintf(&out, "%s: fine: %s\n", v.File, v.Preview)
			for _, w := range v.Warnings {
				fmt.Fprintf(&out, "  - %s\n", w)
			}
		}
	}
	if problems > 0 {
		fmt.Fprintf(&out, "%s in %d of %s\n", plural.Count(problems, "problem"), files, plural.Count(len(all), "file"))
	}
	_, err := io.WriteString(a.stdout, out.String())
	return err
}
