package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/internal/field"
	"plimsoll/internal/finding"
	"plimsoll/internal/problem"
	"plimsoll/internal/result"
	"plimsoll/internal/result/imports/points"
	"plimsoll/internal/result/imports/points/outputs"
	"plimsoll/internal/result/store"
	"plimsoll/internal/stack"
	"plimsoll/internal/stack/line"
	"plimsoll/internal/state/inputfile"
	"plimsoll/internal/trial"
	"plimsoll/internal/units/plural"
	"plimsoll/internal/workload/fio/fiofiles"
)

type importOptions struct {
	stack    string
	workload string
	columns  string
	out      string
	record   string

	mostFailed float64 // share of operations
	iostatY    bool    // iostat's first report is of the test
}

func newImportCommand(a *app) *cobra.Command {
	var o importOptions
	cmd := &cobra.Command{
		Use:   "import FILE...",
		Short: "Make a run from results of fio or of another benchmark",
		Long: `Make a run of files that fio wrote before or on another host. Then old results can
be shown, exported, reported and compared:

  JSON   of fio 3.0 and newer (--output-format=json or json+), also of
         fio --client, with whatever fio printed around it, and with the
         earlier states of --status-interval
  logs   by their names: PREFIX_bw.1.log, _iops, _lat, _clat, _slat, _clat_hist

A table of points that were measured by anything else, or that a paper prints, is
one CSV file, from which "plimsoll fit" makes a model. It has a line of column
names, and one for each point; leave a field empty if it is unknown. It needs class,
instances, clients and throughput; docs/how-to/import-results.md explains all
columns.

What sysbench, pgbench, HammerDB (TPROC-C), YCSB, go-ycsb, BenchBase, memtier,
elbencho and vdbench write is such a point each, or several: threads, throughput
and latencies. The output of iostat -x from the same time adds reads, writes and
processor time, a log of pgbench -l percentiles. With several outputs it belongs
to the one of the same name: run8.txt and run8-iostat.txt. Give what no output has
with --columns. What failed, cannot be, or was done at a rate is refused.

Results whose jobs had the same options are repeats of one workload; those that
ran at the same time are one mix, and no repeats. A log goes to the result whose
jobs name it; logs without a JSON are a result of their own when they have I/Os
and bytes.

--record DIR makes a recording of a running host for "plimsoll headroom", in the
place of a run. It takes range queries of Prometheus with metrics of node_exporter
and cAdvisor, sadf -j, iostat -x -t -o JSON, and CloudWatch.
docs/how-to/headroom.md has the queries.

Nothing is invented: what the files do not have stays empty, and is named in
the notes of the run. No host and no device counters are known, so the source
of every number is unknown, and each is marked as imported. Files are copied
into the run; either all of them are imported, or none.

EXIT STATUS
  0  the files were imported
  1  the run cannot be stored
  2  the command line or a file is wrong; every problem is listed with its line,
     and nothing was stored
  5  imported, but some results have no number: fio failed, or they are of a
     sort that is not measured; the reasons are in the run`,
		Example: `  plimsoll import old/*.json
  plimsoll import fio.json job_clat_hist.1.log --stack nvme='/dev/nvme0n1 > xfs' --workload randread
  plimsoll import points.csv && plimsoll fit last
  plimsoll import sysbench.txt iostat.txt --workload oltp --columns memory=64GiB
  plimsoll import sysbench-1.txt sysbench-8.txt sysbench-64.txt && plimsoll fit last
  plimsoll import --record host7 metrics.json && plimsoll headroom host7
  plimsoll import before/*.json -o before && plimsoll import after/*.json -o after`,
		Args: atLeastOne("files that fio or another benchmark wrote"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.record != "" {
				return soon(cmd.Context(), func() error { return a.importRecording(args, o.record) })
			}
			return a.importFiles(cmd.Context(), args, o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.stack, "stack", "", "`stack` of all results: NAME, or NAME='LINE' in the notation of stacks "+
		"(default: the files and devices that the jobs name)")
	f.StringVar(
		&o.workload,
		"workload",
		"",
		"`name` of the workload of all results (default: the jobs' names)",
	)
	f.StringVar(&o.columns, "columns", "", "`columns` of points that no output has: memory=64GiB,own-cpus=2")
	o.mostFailed = outputs.MostFailed
	aShare := field.Share("5%", "from 0% to 100%", func(x float64) bool { return x >= 0 && x <= 1 })
	f.Var(field.Flag(aShare, &o.mostFailed), "most-failed",
		"`share` of operations that may have failed; a result with more is refused")
	f.BoolVar(&o.iostatY, "iostat-y", false,
		"iostat ran with -y: its first report is not of the time since the host started")
	f.StringVarP(&o.out, "output", "o", "", "run `directory` (default: "+store.RunsDir+"/RUN-ID)")
	f.StringVar(&o.record, "record", "", "`directory` to write a recording of a host to, in the place of a run")
	f.BoolVar(&a.jsonOutput, "json", false, "print results and findings as JSON, as run --json does")
	for _, excluded := range []string{"stack", "workload", "columns", "output", "iostat-y", "json"} {
		mutuallyExclusive(cmd, "record", excluded)
	}
	return cmd
}

// imported is a run of files of others, and the files that are kept with each of its trials.
type imported struct {
	run       result.Run
	artifacts map[int][]fiofiles.File // by the trial's Seq
}

// importFiles makes a run of files. An interrupt ends it: before the run is stored, or with the run stored as a whole.
func (a *app) importFiles(ctx context.Context, names []string, o importOptions) error {
	var made imported
	err := soon(ctx, func() (err error) {
		made, err = readImported(names, o)
		return err
	})
	if err != nil {
		return err
	}
	dir, err := a.keepImported(ctx, made, o.out)
	if err != nil {
		return err
	}
	return soon(ctx, func() error { return a.showImported(dir) })
}

// readImported makes a run of files, which is not stored yet.
func readImported(names []string, o importOptions) (made imported, err error) {
	var problems []string
	s, err := importedStack(o.stack)
	if err != nil {
		problems = append(problems, err.Error())
	}
	var files []fiofiles.File
	for _, name := range names {
		text, err := readWhole(name)
		if err != nil {
			problems = append(problems, err.Error())
			continue
		}
		files = append(files, fiofiles.File{Name: name, Text: text})
	}
	if len(files) == 1 && len(problems) == 0 && points.Recognized(files[0].Text) {
		return importPoints(files[0], o)
	}
	printed := func(f fiofiles.File) bool { return outputs.Recognized(f.Text) }
	if len(problems) == 0 && slices.ContainsFunc(files, printed) {
		return importOutputs(files, o)
	}
	if o.columns != "" {
		problems = append(problems, "--columns is about outputs of "+plural.Or(outputs.Programs())+", and there is none")
	}
	for _, f := range files {
		if !fiofiles.Recognized(f) {
			what, remedy := outputs.Unread(f.Text)
			problems = append(problems, fmt.Sprintf("%s: %s; %s", f.Name, what, remedy))
		}
	}
	files = slices.DeleteFunc(files, func(f fiofiles.File) bool { return !fiofiles.Recognized(f) })
	got, wrong := fiofiles.Read(files, fiofiles.Options{Stack: s, Workload: o.workload})
	for _, p := range wrong {
		problems = append(problems, p.String())
	}
	if len(problems) > 0 {
		return made, &exitError{exitUsage, fmt.Errorf("no result was imported:\n  %s", strings.Join(problems, "\n  "))}
	}
	return imported{got.Run, got.Artifacts}, checkSize(&got.Run)
}

// importPoints makes a run of a table of points.
func importPoints(file fiofiles.File, o importOptions) (made imported, err error) {
	if o.stack != "" || o.workload != "" || o.columns != "" {
		return made, &exitError{exitUsage, errors.New("--stack, --workload and --columns are about what benchmarks wrote: " +
			"a table of points names its classes")}
	}
	run, wrong := points.Read(file.Name, file.Text)
	if len(wrong) > 0 {
		return made, &exitError{exitUsage, fmt.Errorf("no result was imported:\n  %s", wrong.Join("\n  "))}
	}
	return imported{run: run}, checkSize(&run)
}

// importOutputs imports outputs of benchmarks other than fio as a run.
func importOutputs(files []fiofiles.File, o importOptions) (made imported, err error) {
	if o.stack != "" {
		return made, &exitError{exitUsage, errors.New("--stack is about what fio wrote: other benchmarks do not say what " +
			"they stood on")}
	}
	given := map[string]string{}
	if o.columns != "" {
		if given, err = points.ParseColumns(o.columns); err != nil {
			return made, &exitError{exitUsage, fmt.Errorf("--columns: %w", err)}
		}
	}
	if o.workload != "" {
		given["class"] = o.workload
	}
	all := make([]outputs.File, len(files))
	for i, f := range files {
		all[i] = outputs.File(f)
	}
	run, wrong := outputs.Read(all, outputs.Options{Columns: given, MostFailed: o.mostFailed, FirstReport: o.iostatY})
	if len(wrong) > 0 {
		return made, &exitError{exitUsage, fmt.Errorf("no result was imported:\n  %s", wrong.Join("\n  "))}
	}
	return imported{run: run}, checkSize(&run)
}

// keepImported stores a run that was measured elsewhere, and returns its directory.
func (a *app) keepImported(ctx context.Context, made imported, out string) (dir string, err error) {
	run := made.run
	now := time.Now().UTC()
	run.ID, run.Version, run.Command, run.Started = trial.NewID(run.Experiment.Name, now), version, os.Args, now
	if out == "" {
		out = filepath.Join(a.runs, run.ID)
	}
	err = store.Keep(ctx, out, run, func(t result.Trial) map[string][]byte {
		kept := map[string][]byte{}
		for _, f := range made.artifacts[t.Seq] {
			kept[f.Name] = f.Text
		}
		return kept
	})
	switch {
	case errors.Is(err, context.Canceled):
		return "", &exitError{exitInterrupted, errors.New("interrupted: no result was imported")}
	case errors.Is(err, store.ErrExists):
		return "", &exitError{exitUsage, err}
	case err != nil:
		return "", &exitError{exitFailure, err}
	}
	return out, nil
}

// What a run of files of others may have. Findings compare each stack with each other under a workload, and each mix
// with those that differ in one level.
const (
	mostImportedStacks    = 100
	mostImportedWorkloads = 200
	mostImportedMixes     = 500
)

// checkSize returns an error for a run with more than findings can compare in seconds.
func checkSize(run *result.Run) error {
	var wrong problem.List
	for _, bound := range []struct {
		what        string
		count, most int
	}{{"stack", len(run.Stacks), mostImportedStacks}, {"workload", len(run.Workloads), mostImportedWorkloads},
		{"mix", len(run.Mixes), mostImportedMixes}} {
		if bound.count > bound.most {
			wrong = append(wrong, problem.Problem{Kind: problem.Invalid, What: "the files have " +
				plural.Count(bound.count, bound.what), Why: fmt.Sprintf("no more than %d are compared with each other",
				bound.most), Remedy: "import a part of them at a time, or give equal things equal names"})
		}
	}
	if len(wrong) > 0 {
		return &exitError{exitUsage, fmt.Errorf("no result was imported:\n  %s", wrong.Join("\n  "))}
	}
	return nil
}

// showImported shows the run as it was stored.
func (a *app) showImported(dir string) error {
	run, err := store.Read(dir)
	if err != nil {
		return &exitError{exitFailure, err}
	}
	findings := finding.All(run)
	err = writeReport(filepath.Join(dir, store.ReportFile), run, findings)
	a.full = true // what was taken for granted is in the full form alone
	if err := errors.Join(err, a.printRun(run, findings, dir)); err != nil {
		return &exitError{exitFailure, err}
	}
	without := 0
	for _, t := range run.Trials {
		if t.Status != result.TrialDone {
			without++
		}
	}
	if without > 0 {
		return &exitError{exitPartial,
			fmt.Errorf("%d of %s %s no number; the reasons are above", without, plural.Count(len(run.Trials), "result"),
				plural.Choose(without, "has", "have"))}
	}
	return nil
}

// maxImported bounds the size of an imported file: a day's log of every I/O of a fast device, and less than the
// memory of a small host.
const maxImported = 256 << 20

// readWhole reads a file, or says in words of its own why not.
func readWhole(name string) ([]byte, error) {
	text, err := inputfile.Read(name, maxImported)
	var other *inputfile.NotRegular
	switch {
	case errors.As(err, &other) && other.Mode.IsDir():
		return nil, fmt.Errorf("%s: this is a directory; name the files in it: %s/*.json", name, filepath.Clean(name))
	}
	return text, err
}

// importedStack reads NAME or NAME='LINE'; "" names none.
func importedStack(text string) (*result.Stack, error) {
	if text == "" {
		return nil, nil
	}
	name, notation, _ := strings.Cut(text, "=")
	name, notation = strings.TrimSpace(name), strings.TrimSpace(notation)
	if name == "" || strings.ContainsAny(name, ">()/") {
		return nil, fmt.Errorf("--stack %q: write NAME='LINE', for example nvme='/dev/nvme0n1 > xfs'", text)
	}
	s := &result.Stack{Name: name}
	if notation == "" {
		return s, nil
	}
	l, err := line.Parse(notation)
	if err != nil {
		return nil, fmt.Errorf("--stack %s: %w", name, err)
	}
	if problems := stack.Catalog().Check(l); len(problems) > 0 {
		return nil, fmt.Errorf("--stack %s: %s", name, problems.Join("; "))
	}
	s.Line, s.Marks = l.String(), stack.Marks(l)
	return s, nil
}
