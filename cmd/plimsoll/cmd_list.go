package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/internal/units/plural"
)

// listedExperiment is a built-in experiment as `plimsoll list --json` prints it.
type listedExperiment struct {
	Name      string   `json:"name"`
	Group     string   `json:"group"` // of experiments that answer such questions
	Question  string   `json:"question"`
	Stacks    int      `json:"stacks"`
	Workloads int      `json:"workloads"`
	Mixes     int      `json:"mixes,omitempty"`  // of workloads, where they do not each run alone
	Scales    []string `json:"scales,omitempty"` // that it can be run at, but for the file as it is
	Trials    int      `json:"trials"`
	Seconds   float64  `json:"estimated_seconds"`
}

// questions groups the built-in experiments by question: those to start with first.
var questions = []struct {
	title       string
	experiments []string
}{
	{"Start here", []string{"quick", "directory", "host-filesystems", "density"}},
	{"Which storage setup for containers?", []string{"data-volumes", "storage-drivers", "nvme", "loop-illusion",
		"write-scaling", "striping", "small-files", "image-layers", "fsync", "latency-target"}},
	{"Which options of a file system or device?", []string{"btrfs-blocksize", "btrfs-cow", "ext4-dioread",
		"io-schedulers", "doublewrite", "postgresql-io"}},
	{"What does a drive do, and where does latency go?", []string{"devices", "latency", "software-stack"}},
	{"How many servers does a host carry?", []string{"node", "elasticity", "valley", "fio-scaling",
		"postgresql-scaling", "mysql-scaling", "mysql-users", "cassandra-scaling", "cassandra-dbsize",
		"mongodb-scaling", "homogeneous"}},
	{"What do limits cost?", []string{"policies", "policies-scaling", "cassandra-policies", "overload"}},
	{"Who disturbs whom?", []string{"neighbours", "density-mix", "isolation", "database-neighbours", "heterogeneous"}},
	{"What does a faster or a remote drive buy?", []string{"local-vs-remote", "remote-paths", "nvme-tcp-queues",
		"cassandra-assignment",
		"cassandra-media", "cassandra-remote", "mongodb-media", "mysql-media"}},
}

func newListCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the built-in experiments",
		Long: `List the built-in experiments by the questions that they answer, those to start
with first: how many stacks and workloads each tries, and about how long that takes.
"plimsoll run NAME" runs one; "plimsoll run FILE" runs one of your own.

EXIT STATUS
  0  printed
  1  it could not be printed
  2  the command line is wrong`,
		Example: `  plimsoll list
  plimsoll list --json | jq -r '.experiments[].name'`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := a.list(); err != nil {
				return &exitError{code: exitFailure, err: err}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&a.jsonOutput, "json", false, "print JSON")
	return cmd
}

func (a *app) list() error {
	experiments, err := readListed()
	if err != nil {
		return err
	}
	if a.jsonOutput {
		return a.document("experiments", experiments)
	}
	var out strings.Builder
	for i, l := range experiments {
		if i == 0 || l.Group != experiments[i-1].Group {
			fmt.Fprintf(&out, "%s%s\n", strings.Repeat("\n", min(i, 1)), l.Group)
		}
		about := time.Duration(l.Seconds * float64(time.Second)).Round(10 * time.Second)
		running := plural.Count(l.Workloads, "workload")
		if l.Mixes > 0 {
			running = plural.Count(l.Mixes, "mix")
		}
		scales := ""
		if len(l.Scales) > 0 {
			scales = "; --scale " + plural.Or(l.Scales)
		}
		fmt.Fprintf(&out, "  %s: %s, %s, %s, about %s%s\n      %s\n", l.Name,
			plural.Count(l.Stacks, "stack"), running, plural.Count(l.Trials, "trial"), about, scales, l.Question)
	}
	_, err = io.WriteString(a.stdout, out.String())
	return err
}

// listedFile has what `plimsoll list` says of each built-in experiment. TestDocsListed writes it: to read and plan all
// experiments takes as much processor time as the rest of the command.
//
//go:embed experiments.json
var listedFile []byte

// readListed returns the built-in experiments, in the order of the questions that they answer.
func readListed() (experiments []listedExperiment, err error) {
	var stored []listedExperiment
	err = json.Unmarshal(listedFile, &stored)
	if err != nil {
		return nil, err
	}
	for _, q := range questions {
		for _, name := range q.experiments {
			i := slices.IndexFunc(stored, func(l listedExperiment) bool { return l.Name == name })
			if i < 0 {
				return nil, fmt.Errorf("experiments.json lacks %s", name)
			}
			experiments = append(experiments, stored[i])
		}
	}
	return experiments, nil
}
