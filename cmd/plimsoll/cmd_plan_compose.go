package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"plimsoll/internal/apply"
	"plimsoll/internal/placement"
	"plimsoll/internal/printable"
	"plimsoll/internal/problem"
	"plimsoll/internal/result"
	"plimsoll/internal/state/inputfile"
	"plimsoll/internal/state/sudouser"
	"plimsoll/internal/units/plural"
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
	f.StringVar(&c.file, "compose", "", "Compose `file` with the services to place; with --contexts and --model")
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

// environment returns the values of variables. One that is named alone has that of the environment, where it is set.
func (c *composeFlags) environment() (map[string]string, error) {
	env := map[string]string{}
	var unset []string
	for _, e := range c.env {
		name, value, given := strings.Cut(e, "=")
		if !given {
			value, given = os.LookupEnv(name)
		}
		if !given {
			unset = append(unset, strconv.Quote(name))
		}
		env[name] = value
	}
	if len(unset) > 0 {
		return nil, fmt.Errorf("--env names %s, which the environment does not have: export %s, or write --env NAME=VALUE",
			plural.And(unset), plural.Choose(len(unset), "it", "them"))
	}
	return env, nil
}

// planCompose plans a Compose file's services on Docker engines.
func (f *planFlags) planCompose(ctx context.Context, a *app) error {
	c := f.compose
	usage := func(err error) error { return &exitError{exitUsage, err} }
	text, err := inputfile.Read(c.file, mostCompose)
	if err != nil {
		return usage(err)
	}
	env, err := c.environment()
	if err != nil {
		return usage(err)
	}
	directory, err := os.OpenRoot(filepath.Dir(c.file))
	if err != nil {
		return usage(err)
	}
	defer directory.Close()
	project, err := apply.ReadCompose(ctx, c.file, text, env, beside{directory})
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
		return &exitError{max(codeOf(err), exitFailure), fmt.Errorf("the fleet of %s: %w", c.file, err)}
	}
	a.showTalk(project)
	err = f.plan(a, "the fleet of "+c.file, fleet, &apply.Deployment{Project: project.Name,
		Compose: result.NewInputFile(c.file, text), Engines: engines, Services: project.Services,
		Groups: project.Groups, Notes: project.Notes})
	if wrong := (problem.List)(nil); errors.As(err, &wrong) {
		err = wrong.Unplaced().Within("labels in " + c.file).Err() // the lines are of a fleet that nobody wrote
	}
	return err
}

// beside is the directory of a Compose file. A stranger's file is not to send what else is there to its containers: no
// link is followed, and nothing is read below a hidden directory.
type beside struct{ root *os.Root }

// Read implements apply.Beside.
func (b beside) Read(name string) ([]byte, error) {
	name, info, err := b.look(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is a link, or no file")
	}
	f, err := b.root.OpenFile(name, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, mostCompose))
}

// mostListed is more files than a directory has that is copied into containers.
const mostListed = 1000

// List implements apply.Beside.
func (b beside) List(directory string) (names []string, err error) {
	directory, info, err := b.look(directory)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, errors.New("it is no directory")
	}
	walk := func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() && path == directory {
			return err
		}
		if _, info, err := b.look(path); err != nil || !info.IsDir() && !info.Mode().IsRegular() {
			return cmp.Or(err, fmt.Errorf("%s in it is a link, or no file", path))
		}
		if entry.IsDir() {
			return nil
		}
		below, err := filepath.Rel(directory, path)
		if names = append(names, below); len(names) > mostListed {
			err = fmt.Errorf("it has more than %d files", mostListed)
		}
		return err
	}
	if err := fs.WalkDir(b.root.FS(), directory, walk); err != nil {
		return nil, err
	}
	return names, nil
}

// look returns the clean name of what a path leads to below the directory, and what it is.
func (b beside) look(name string) (string, fs.FileInfo, error) {
	name = filepath.Clean(name)
	parts := strings.Split(name, string(filepath.Separator))
	var info fs.FileInfo
	for i, part := range parts {
		environment := i == len(parts)-1 && strings.HasPrefix(part, ".env")
		hidden := strings.HasPrefix(part, ".") && !environment
		if part == "" || hidden {
			return name, nil, errors.New("it is not below the directory of the Compose file, or is hidden")
		}
		var err error
		info, err = b.root.Lstat(filepath.Join(parts[:i+1]...))
		if err != nil {
			return name, nil, err
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			return name, nil, errors.New("it is a link, or no file")
		}
	}
	return name, info, nil
}

// mostReasons is how many reasons for a group are printed.
const mostReasons = 3

// showTalk prints which services stand on one engine and why, and what a reader of the plan should know.
func (a *app) showTalk(p *apply.Project) {
	for _, g := range p.Groups {
		why := g.Why
		if len(why) > mostReasons {
			why = append(slices.Clone(why[:mostReasons]), fmt.Sprintf("%d more", len(why)-mostReasons))
		}
		fmt.Fprintln(a.stderr, printable.Line(plural.And(g.Services)+" stand on one engine: "+strings.Join(why, ", ")))
	}
	for _, note := range p.Notes {
		fmt.Fprintln(a.stderr, printable.Line(note))
	}
}

// writePrivate is writeTo for a file that only its owner reads: environments of services have passwords.
func writePrivate(_ io.Writer, name string, fill func(io.Writer) error) error {
	if name == standardOutput {
		return problem.New(problem.Invalid, "--output -", "the plan has the environments of services, with their passwords",
			"name a file, which only its owner can read")
	}
	return sudouser.ReplacePrivate(name, fill)
}
