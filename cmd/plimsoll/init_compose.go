package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"plimsoll/internal/apply"
	"plimsoll/internal/cli/starter"
	"plimsoll/internal/host/hostinfo"
	"plimsoll/internal/printable"
	"plimsoll/internal/stack"
	"plimsoll/internal/state/inputfile"
	"plimsoll/internal/state/sudouser"
	"plimsoll/internal/units/plural"
)

// classesExperiment is the file that init of a Compose file writes.
const classesExperiment = "classes.yaml"

// isComposeFile reports whether a file is a Compose file: by its name, or since it is there and has services.
func isComposeFile(name string) bool {
	if extension := filepath.Ext(name); extension != ".yaml" && extension != ".yml" {
		return false
	}
	base := filepath.Base(name)
	if strings.HasPrefix(base, "compose.") || strings.HasPrefix(base, "docker-compose") {
		return true
	}
	text, err := inputfile.Read(name, mostCompose)
	return err == nil && (bytes.HasPrefix(text, []byte("services:")) || bytes.Contains(text, []byte("\nservices:")))
}

// initCompose writes a copy of a Compose file in which each service has a class, and an experiment that measures these.
func (a *app) initCompose(ctx context.Context, compose, experiment string) error {
	usage := func(err error) error { return &exitError{exitUsage, err} }
	if experiment == standardInput {
		return usage(errors.New("init of a Compose file writes two files, none to standard output: name one"))
	}
	if printable.Line(compose) != compose {
		return usage(fmt.Errorf("%q cannot be printed, so that no command can name it: rename it", compose))
	}
	text, err := inputfile.Read(compose, mostCompose)
	if err != nil {
		return usage(err)
	}
	directory, err := os.OpenRoot(filepath.Dir(compose))
	if err != nil {
		return usage(err)
	}
	defer directory.Close()
	proposal, err := apply.Propose(ctx, compose, text, beside{directory})
	if err != nil {
		return usage(err)
	}
	var services []starter.ComposeService
	for _, s := range proposal.Project.Services {
		if slices.Contains(proposal.Unclassed, s.Name) {
			services = append(services, starter.ComposeService{Name: s.Name, Image: s.Image})
		}
	}
	classes := starter.ComposeClasses(services)
	if len(classes) == 0 {
		fmt.Fprintln(a.stdout, "Every service has its class already. With a model of these:")
		a.showComposePlan(compose, proposal)
		return nil
	}
	byService := map[string]string{}
	for _, c := range classes {
		for _, s := range c.Services {
			byService[s] = c.Name
		}
	}
	labelled, err := proposal.Label(ctx, byService)
	if err != nil {
		return usage(err)
	}
	copyName := strings.TrimSuffix(compose, filepath.Ext(compose)) + ".plimsoll" + filepath.Ext(compose)
	for _, file := range []string{copyName, experiment} {
		if _, err := os.Lstat(file); err == nil {
			return usage(thereAlready(file))
		}
	}
	host := hostinfo.New()
	host.State = a.state
	about := starter.Host{Report: host.Doctor(ctx, stack.FileSystems()), File: experiment}
	about.Mounts, _ = host.Mounts() // without them, none is proposed
	var measured bytes.Buffer
	if err := starter.WriteCompose(&measured, about, compose, classes); err != nil {
		return &exitError{exitFailure, err}
	}
	if err := newFile(copyName, labelled); err != nil {
		return err
	}
	if err := newFile(experiment, measured.Bytes()); err != nil {
		return errors.Join(err, sudouser.Remove(copyName))
	}
	line := func(text string) { fmt.Fprintln(a.stdout, printable.Line(text)) }
	line(fmt.Sprintf("Wrote %s, which is %s with a class for each service:", copyName, compose))
	for _, c := range classes {
		line("  " + c.Sentence())
	}
	for _, note := range proposal.Project.Notes {
		line(note)
	}
	line(fmt.Sprintf("Wrote %s, which measures these classes. Change both until they fit, and then:", experiment))
	line("  " + printable.Plimsoll("validate", experiment))
	for _, c := range classes {
		if len(c.Image) > 0 {
			line("  " + printable.AsRoot(append([]string{"image"}, c.Image...)...))
		}
	}
	line("  " + printable.AsRoot("run", experiment, "--budget", "30m"))
	line("  " + printable.Plimsoll("fit", "last", "-o", modelFile))
	a.showComposePlan(copyName, proposal)
	return nil
}

// showComposePlan prints the command that plans a Compose file.
func (a *app) showComposePlan(compose string, p *apply.Proposal) {
	args := []string{"plan", "--compose", compose, "--contexts", "default", "--model", modelFile}
	for _, name := range p.Variables {
		args = append(args, "--env", name)
	}
	fmt.Fprintln(a.stdout, "  "+printable.Plimsoll(append(args, "-o", "plan.json")...))
	if len(p.Variables) > 0 {
		fmt.Fprintln(a.stdout, printable.Line("It takes "+plural.And(p.Variables)+" from the environment: export "+
			plural.Choose(len(p.Variables), "it", "them")+" first."))
	}
	fmt.Fprintln(a.stdout, "--contexts names the Docker contexts of all engines, as docker context ls has them.")
}
