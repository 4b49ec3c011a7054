package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"plimsoll/internal/apply"
	"plimsoll/internal/field"
	"plimsoll/internal/model"
	"plimsoll/internal/placement"
	"plimsoll/internal/printable"
	"plimsoll/internal/problem"
	"plimsoll/internal/result"
	"plimsoll/internal/state/inputfile"
	"plimsoll/internal/units/plural"
	"plimsoll/internal/watch"
)

// keepFlags are the flags of apply --watch.
type keepFlags struct {
	watch    bool
	interval time.Duration
	log      string
	rules    apply.Rules
}

func newKeepFlags() keepFlags {
	return keepFlags{
		interval: 10 * time.Second,
		rules:    apply.Rules{BrokenFor: 5 * time.Minute, Cooldown: time.Hour, Budget: 2},
	}
}

func (f *keepFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.watch, "watch", false, "keep it so until interrupted, and move containers whose p99 limit breaks")
	flags.StringVar(&f.log, "log", "", "`file` of the decisions of --watch; one that is there is gone on with")
	flags.Var(field.Flag(field.Duration(time.Second, time.Hour), &f.interval), "interval",
		"`time` of a look of --watch")
	flags.Var(field.Flag(field.Duration(time.Second, 24*time.Hour), &f.rules.BrokenFor), "broken-for",
		"`time` that a limit is broken before its container is moved")
	flags.Var(field.Flag(field.Duration(0, 30*24*time.Hour), &f.rules.Cooldown), "cooldown",
		"`time` between two moves of a container")
	flags.Var(field.Flag(field.Count(0, 1000), &f.rules.Budget), "budget",
		"`number` of containers that --watch moves in an hour, at most")
}

// run keeps a target, of the plan that the text is of.
func (f *keepFlags) run(ctx context.Context, a *app, t *apply.Target, text []byte) error {
	if f.log == "" {
		return &exitError{exitUsage, errors.New("--watch needs --log: a file for its decisions")}
	}
	k := apply.Keeping{Rules: f.rules, Interval: f.interval, Log: f.log, Made: a.showStep}
	err := addModel(&k, text)
	if err != nil {
		return err
	}
	w, err := watch.New(watch.Options{Sockets: []string{}}) // IDs of containers are enough
	if err != nil {
		return &exitError{exitFailure, err}
	}
	defer w.Close()
	k.P99s = func(ctx context.Context, engines []apply.Engine, interval time.Duration) (map[string]float64, error) {
		return lookAtHosts(ctx, w, engines, interval)
	}
	said := map[string]string{} // decision by container
	k.Decided = func(all []apply.Decision) {
		for _, d := range all {
			if d.Do == said[d.Container] && d.Do != apply.Move {
				continue
			}
			said[d.Container] = d.Do
			to := ""
			if d.To != "" {
				to = " to " + d.To
			}
			fmt.Fprintln(
				a.stdout,
				printable.Line(fmt.Sprintf("%-9s  %s on engine %s%s: %s", d.Do, d.Container, d.From, to, d.Why)),
			)
		}
	}
	if err := apply.Keep(ctx, t, a.state, k); err != nil {
		return &exitError{codeOf(err), err}
	}
	return nil
}

// addModel adds the limits and the rooms of a plan's fleet, by the model that it was made with.
func addModel(k *apply.Keeping, text []byte) error {
	var plan struct{ Fleet, Model result.InputFile }
	err := json.Unmarshal(text, &plan)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	open := func(name string) (*model.Model, error) {
		text, err := inputfile.Read(name, mostModel)
		if err != nil {
			return nil, &exitError{exitUsage, fmt.Errorf("the model of the plan: %w", err)}
		}
		if result.NewInputFile(name, text).SHA256 != plan.Model.SHA256 {
			return nil, &exitError{
				exitUsage,
				problem.New(problem.Invalid, "model "+name, "it is another one than when the plan "+
					"was made", "plan again"),
			}
		}
		return model.Read(text)
	}
	fleet, m, err := placement.Parse(plan.Fleet.Name, []byte(plan.Fleet.Text), open)
	if err != nil {
		return &exitError{max(codeOf(err), exitUsage), err}
	}
	rooms, err := placement.NewRooms(m, fleet)
	if err != nil {
		return &exitError{exitFailure, err}
	}
	k.Room, k.Limits = rooms.P99, map[string]float64{}
	for _, c := range fleet.Containers {
		if c.MostP99 > 0 && !math.IsInf(c.MostP99, 0) {
			k.Limits[c.Name] = c.MostP99
		}
	}
	return nil
}

// lookAtHosts watches this host, where an engine is on it, and those that ssh reaches, at the same time.
func lookAtHosts(ctx context.Context, here *watch.Watcher, engines []apply.Engine, interval time.Duration,
) (map[string]float64, error) {
	hosts := map[string]bool{}
	for _, e := range engines {
		host := e.Host
		if strings.HasPrefix(host, "unix://") {
			host = "" // this one, once
		}
		hosts[host] = true
	}
	all := map[string]float64{}
	var mutex sync.Mutex
	looks, ctx := errgroup.WithContext(ctx)
	for _, host := range slices.Sorted(maps.Keys(hosts)) {
		looks.Go(func() error {
			var d *watch.Document
			var err error
			if host == "" {
				d, err = here.Look(ctx, interval)
			} else {
				d, err = watch.Remote(ctx, host, interval)
			}
			if err != nil {
				return err
			}
			p99s, err := d.P99s()
			if err != nil {
				return fmt.Errorf("host of engine at %s: %w", host, err)
			}
			mutex.Lock()
			defer mutex.Unlock()
			maps.Copy(all, p99s)
			return nil
		})
	}
	return all, looks.Wait()
}

func newReplayCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "replay decisions.jsonl",
		Short: "Decide again from a log of apply --watch",
		Long: `Decide again from what a log of "plimsoll apply --watch" saw, and compare with what
was decided. Nothing is moved, and no engine is asked.

docs/reference/formats/decisions.md describes the log.

EXIT STATUS
  0  the decisions are the same
  1  a decision differs, or the file is no log of decisions
  2  the command line is wrong, or there is no such file`,
		Example: `  plimsoll apply replay decisions.jsonl`,
		Args:    exactly(1, "a log of decisions"),
		RunE: func(_ *cobra.Command, args []string) error {
			f, err := inputfile.Open(args[0])
			if err != nil {
				return &exitError{exitUsage, err}
			}
			defer f.Close()
			r, err := apply.Replay(f)
			if err != nil {
				return &exitError{exitFailure, fmt.Errorf("%s: %w", args[0], err)}
			}
			if a.jsonOutput {
				return a.document("", r)
			}
			fmt.Fprintf(a.stdout, "%s and %s, decided again to the same\n", plural.Count(r.Looks, "look"),
				plural.Count(r.Moves, "move"))
			return nil
		},
		ValidArgsFunction: completeFiles,
	}
	cmd.Flags().BoolVar(&a.jsonOutput, "json", false, "print JSON")
	return cmd
}
