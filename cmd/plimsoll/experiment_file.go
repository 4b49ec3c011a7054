package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"plimsoll/examples"
	"plimsoll/internal/experiment"
	"plimsoll/internal/problem/suggest"
	"plimsoll/internal/stack"
	"plimsoll/internal/state/inputfile"
	"plimsoll/internal/workload/kinds"
)

// loadExperiment reads a built-in experiment by its name, or a file, at one of its scales where scale names one.
func loadExperiment(name, scale string) (*experiment.Experiment, error) {
	if text, ok := examples.Find(name); ok {
		file := name + ".yaml"
		e, err := parseWith(file, text, experiment.Options{Scale: scale, BuiltIn: true,
			Open: func(named string) ([]byte, error) { return openBeside(file, named) }})
		if err == nil {
			e.File = "" // it is no file of the user's
		}
		return e, err
	}
	text, err := inputfile.Read(name, inputfile.MaxText)
	var missing *inputfile.Missing
	if errors.As(err, &missing) {
		return nil, noExperiment(name, missing)
	}
	if err != nil {
		return nil, err
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

// noExperiment adds to the error of a missing file which experiment is meant that is built in.
func noExperiment(name string, missing *inputfile.Missing) error {
	what := missing.What
	if !strings.ContainsAny(name, "./") {
		what = "experiment and no file"
	}
	near := missing.Near
	base := filepath.Base(name)
	builtIn := suggest.Closest(strings.TrimSuffix(base, filepath.Ext(base)), examples.List())
	if builtIn == "" {
		builtIn = longer(base, examples.List())
	}
	if builtIn != "" && near == "" {
		near = fmt.Sprintf("did you mean %q?", builtIn)
	}
	return &inputfile.Missing{What: what, Name: name,
		Near: strings.TrimPrefix(near+" plimsoll list names the experiments that are built in", " ")}
}

// longer returns the first of names that begins with a part of it, of at least three letters; "" for none.
func longer(part string, names []string) string {
	index := slices.IndexFunc(names, func(name string) bool { return len(part) >= 3 && strings.HasPrefix(name, part) })
	if index < 0 {
		return ""
	}
	return names[index]
}

// parseExperiment reads the text of an experiment file. Directories that it
// names relative to the working directory are made absolute, since a run may
// be resumed, and cleaned up after, from elsewhere.
func parseExperiment(file, scale string, text []byte) (*experiment.Experiment, error) {
	return parseWith(file, text, experiment.Options{Scale: scale,
		Open: func(name string) ([]byte, error) { return openBeside(file, name) }})
}

// openBeside reads a file that an experiment file names.
func openBeside(file, name string) ([]byte, error) {
	if !filepath.IsAbs(name) {
		name = filepath.Join(filepath.Dir(file), name)
	}
	return inputfile.Read(name, inputfile.MaxText)
}

// parseWith is parseExperiment with options.
func parseWith(file string, text []byte, o experiment.Options) (*experiment.Experiment, error) {
	o.Catalog, o.Kinds = stack.Catalog(), kinds.All()
	e, err := experiment.Parse(file, text, o)
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
