package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"plimsoll/examples"
	"plimsoll/internal/experiment"
	"plimsoll/internal/inputfile"
	"plimsoll/internal/stack"
	"plimsoll/internal/suggest"
	"plimsoll/internal/workload/kinds"
)

// loadExperiment reads a built-in experiment by its name, or a file, at one of its scales where scale names one.
func loadExperiment(name, scale string) (*experiment.Experiment, error) {
	if text, ok := examples.Find(name); ok {
		e, err := parseExperiment(name+".yaml", scale, text)
		if err == nil {
			e.File = "" // it is no file of the user's
		}
		return e, err
	}
	text, err := inputfile.Read(name, inputfile.MaxText)
	if errors.Is(err, os.ErrNotExist) && !strings.ContainsAny(name, "./") {
		meant := ""
		if near := suggest.Closest(name, examples.List()); near != "" {
			meant = fmt.Sprintf("did you mean %q? ", near)
		}
		return nil, fmt.Errorf("no experiment is called %q, and there is no such file: %splimsoll list tells which "+
			"are built in", name, meant)
	}
	if err != nil {
		return nil, fmt.Errorf("read the experiment: %w", err)
	}
	path, err := filepath.Abs(name)
	if err != nil {
		return nil, err
	}
	e, err := parseExperiment(name, scale, text)
	if err != nil {
		return nil, err
	}
	e.File = path // a run may be resumed from elsewhere
	return e, nil
}

// parseExperiment reads the text of an experiment file. Directories that it
// names relative to the working directory are made absolute, since a run may
// be resumed, and cleaned up after, from elsewhere.
func parseExperiment(file, scale string, text []byte) (*experiment.Experiment, error) {
	return parseWith(file, scale, text, func(name string) ([]byte, error) { return openBeside(file, name) })
}

// openBeside reads a file that an experiment file names.
func openBeside(file, name string) ([]byte, error) {
	if !filepath.IsAbs(name) {
		name = filepath.Join(filepath.Dir(file), name)
	}
	return inputfile.Read(name, inputfile.MaxText)
}

// parseWith is parseExperiment, with what reads the files that the experiment names.
func parseWith(
	file, scale string, text []byte, open func(name string) ([]byte, error),
) (*experiment.Experiment, error) {
	e, err := experiment.Parse(file, text,
		experiment.Options{Catalog: stack.Catalog(), Kinds: kinds.All(), Open: open, Scale: scale})
	if err != nil {
		return nil, err
	}
	for _, s := range e.Stacks {
		if source := &s.Line.Nodes[0]; strings.HasPrefix(source.Arg, ".") {
			if source.Arg, err = filepath.Abs(source.Arg); err != nil {
				return nil, err
			}
		}
	}
	return e, nil
}
