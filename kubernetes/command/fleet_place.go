package command

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"

	"plimsoll/internal/field"
	"plimsoll/internal/report"
	"plimsoll/internal/result/store"
	"plimsoll/internal/state/inputfile"
	"plimsoll/internal/state/sudouser"
	"plimsoll/kubernetes/fleet"
)

// placeFlags are those of fleet place.
type placeFlags struct {
	Cluster
	namespace, out string
	schedulers     []string
	rounds         int
	longest        time.Duration
}

func fleetPlaceCommand() *cobra.Command {
	f := &placeFlags{longest: 15 * time.Minute}
	c := &cobra.Command{
		Use:   "place FILE",
		Short: "Measure what the same pods do where each scheduler places them",
		Long: `Have schedulers place the same pods in turn, and compare what the pods do: throughput with
its interval, p99, and which limits they miss. This measures; "plan" predicts.

FILE has Jobs, as "kubectl apply" takes them. The parallelism of a Job is how many pods it
has. The first container of each runs fio, with --output-format=json+ --lat_percentiles=1,
--time_based, and a --ramp_time in which all pods can start. Annotations of the pods
(plimsoll.dev/class, least-throughput, p99-limit) say to the scheduler what they
need, and are what is missed.

In each round, every scheduler has one turn; the order is reversed from round to round.
A turn creates the Jobs, waits until their pods end, and removes them. Pods are created in
the namespace of fleets, and need their images and files on all nodes. Nothing else should
run on the drives meanwhile.`,
		Example: `  plimsoll-kubernetes fleet place pods.yaml
  plimsoll-kubernetes fleet place pods.yaml --scheduler default-scheduler --scheduler other --rounds 7`,
		Args: cobra.ExactArgs(1),
		RunE: f.run,
	}
	flags := c.Flags()
	flags.StringArrayVar(&f.schedulers, "scheduler", []string{"default-scheduler", "plimsoll-scheduler"},
		"`name` of a scheduler; repeatable. Others are compared with the first")
	f.rounds = 5
	flags.Var(field.Flag(field.Count(1, math.MaxInt16), &f.rounds), "rounds", "so `many` turns of each scheduler")
	flags.Var(field.Flag(field.Duration(time.Second, 24*time.Hour), &f.longest), "longest", "`time` that a turn may take")
	flags.StringVar(&f.namespace, "namespace", fleet.Namespace, "`namespace` of the Jobs")
	flags.StringVarP(&f.out, "output", "o", "", "`directory` of the results (default: plimsoll-fleets/ID)")
	f.Flags(c)
	return c
}

func (f *placeFlags) run(c *cobra.Command, args []string) error {
	text, err := inputfile.Read(args[0], fleet.MostExperiment)
	if err != nil {
		return fmt.Errorf("read the Jobs: %w", err)
	}
	jobs, err := fleet.ReadJobs(text)
	if err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	names := slices.Compact(slices.Sorted(slices.Values(f.schedulers)))
	if len(names) < 2 || len(names) < len(f.schedulers) {
		return errors.New("--scheduler names two schedulers or more, each once")
	}
	for _, name := range names {
		if wrong := validation.IsDNS1123Subdomain(name); len(wrong) > 0 { // results are kept by it
			return fmt.Errorf("--scheduler %q: %s", name, wrong[0])
		}
	}
	client, err := f.Client()
	if err != nil {
		return err
	}
	p := &fleet.Placing{ID: fleet.NewID(args[0], time.Now()), Namespace: f.namespace, Jobs: jobs, Schedulers: f.schedulers,
		Rounds: f.rounds, Dir: f.out, Longest: f.longest, Client: client,
		Tell: func(format string, args ...any) { Say(c.ErrOrStderr(), format, args...) }}
	if p.Dir == "" {
		p.Dir = filepath.Join("plimsoll-fleets", p.ID)
	}
	if _, err := os.Stat(p.Dir); err == nil {
		return fmt.Errorf("%s is there already", p.Dir)
	}
	if _, err := sudouser.MkdirAll(p.Dir, 0o755); err != nil {
		return err
	}
	turns, failed := p.Run(c.Context())
	a := fleet.PlacedAnswer(p, turns) // of the rounds that ended, too
	page := filepath.Join(p.Dir, store.ReportFile)
	write := func(w io.Writer) error { return report.AnswerHTML(w, a, c.Root().Version) }
	if err := sudouser.Replace(page, write); err != nil {
		return errors.Join(failed, fmt.Errorf("write the page: %w", err))
	}
	if err := report.AnswerText(c.OutOrStdout(), a, false, terminal(c)); err != nil {
		return errors.Join(failed, err)
	}
	fmt.Fprintf(c.OutOrStdout(), "Page: %s\n", page)
	return failed
}
