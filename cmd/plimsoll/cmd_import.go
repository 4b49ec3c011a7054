package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/internal/finding"
	"plimsoll/internal/fioimport"
	"plimsoll/internal/inputfile"
	"plimsoll/internal/plural"
	"plimsoll/internal/points"
	"plimsoll/internal/result"
	"plimsoll/internal/result/store"
	"plimsoll/internal/stack"
	"plimsoll/internal/stack/line"
	"plimsoll/internal/trial"
)

type importOptions struct {
	stack    string
	workload string
	out      string
}

func newImportCommand(a *app) *cobra.Command {
	var o importOptions
	cmd := &cobra.Command{
		Use:   "import FILE...",
		Short: "Make a run of results that fio gave elsewhere, or of a table",
		Long: `Make a run of files that fio wrote elsewhere, so that old results can be shown,
exported, reported and compared:

  JSON   of fio 3.0 and newer (--output-format=json or json+), also of
         fio --client, with whatever fio printed around it, and with the
         earlier states of --status-interval
  logs   by their names: PREFIX_bw.1.log, _iops, _lat, _clat, _slat, _clat_hist

A table of points that were measured by anything else, or that a paper prints, is
one CSV file, from which "plimsoll fit" makes a model: a line of column names, and
one for each point; an empty field is what nobody knows. docs/import.md tells of
its columns, of which it needs class, instances, clients and throughput.

Results whose jobs had the same options are repeats of one workload. A log goes
to the result whose jobs name it; logs without a JSON are a result of their own
when they tell I/Os and bytes.

Nothing is invented: what the files do not tell stays empty, and is named in
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
  plimsoll import fio.json job_clat_hist.1.log --stack nvme='/dev/nvme0n1 > xfs' --workload RR
  plimsoll import points.csv && plimsoll fit last
  plimsoll import before/*.json -o before && plimsoll import after/*.json -o after`,
		Args: atLeastOne("files that fio wrote"),
		RunE: func(_ *cobra.Command, args []string) error { return a.importFiles(args, o) },
	}
	f := cmd.Flags()
	f.StringVar(&o.stack, "stack", "", "what all results are of: NAME, or NAME='LINE' in the notation of stacks "+
		"(default: the files and devices that the jobs name)")
	f.StringVar(&o.workload, "workload", "", "name of the one workload that all results are of (default: the jobs' names)")
	f.StringVarP(&o.out, "out", "o", "", "run directory (default: "+store.RunsDir+"/RUN-ID)")
	f.BoolVar(&a.jsonOutput, "json", false, "print results and findings as JSON, as run --json does")
	return cmd
}

// importFiles makes a run of files.
func (a *app) importFiles(names []string, o importOptions) error {
	var problems []string
	s, err := importedStack(o.stack)
	if err != nil {
		problems = append(problems, err.Error())
	}
	var files []fioimport.File
	for _, name := range names {
		text, err := readWhole(name)
		if err != nil {
			problems = append(problems, err.Error())
			continue
		}
		files = append(files, fioimport.File{Name: name, Text: text})
	}
	if len(files) == 1 && len(problems) == 0 && points.Recognized(files[0].Text) {
		return a.importPoints(files[0], o)
	}
	imported, wrong := fioimport.Read(files, fioimport.Options{Stack: s, Workload: o.workload})
	for _, p := range wrong {
		problems = append(problems, p.String())
	}
	if len(problems) > 0 {
		return &exitError{exitUsage, fmt.Errorf("nothing was imported:\n  %s", strings.Join(problems, "\n  "))}
	}
	return a.keepImported(imported.Run, o.out, func(t result.Trial) map[string][]byte {
		kept := map[string][]byte{}
		for _, f := range imported.Artifacts[t.Seq] {
			kept[f.Name] = f.Text
		}
		return kept
	})
}

// importPoints makes a run of a table of points.
func (a *app) importPoints(file fioimport.File, o importOptions) error {
	if o.stack != "" || o.workload != "" {
		return &exitError{exitUsage, errors.New("--stack and --workload are about what fio wrote: a table of points " +
			"names its classes")}
	}
	run, wrong := points.Read(file.Name, file.Text)
	if len(wrong) > 0 {
		return &exitError{exitUsage, fmt.Errorf("nothing was imported:\n  %s", wrong.Join("\n  "))}
	}
	return a.keepImported(run, o.out, func(result.Trial) map[string][]byte { return nil })
}

// keepImported stores a run that was measured elsewhere, and shows it.
func (a *app) keepImported(run result.Run, out string, artifacts func(result.Trial) map[string][]byte) error {
	now := time.Now().UTC()
	run.ID, run.Version, run.Command, run.Started = trial.NewID(run.Experiment.Name, now), version, os.Args, now
	if out == "" {
		out = filepath.Join(store.RunsDir, run.ID)
	}
	if err := store.Keep(out, run, artifacts); err != nil {
		return &exitError{exitFailure, err}
	}
	return a.showImported(out)
}

// showImported shows what was stored, as it was stored.
func (a *app) showImported(dir string) error {
	run, err := store.Read(dir)
	if err != nil {
		return &exitError{exitFailure, err}
	}
	findings := finding.All(run)
	err = writeReport(filepath.Join(dir, store.ReportFile), run, findings)
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

// mostImported is how large an imported file may be: a day's log of every I/O of
// a fast device, and less than takes the memory of a small host.
const mostImported = 256 << 20

// readWhole reads a file, or says in words of its own why not.
func readWhole(name string) ([]byte, error) {
	text, err := inputfile.Read(name, mostImported)
	var other *inputfile.NotRegular
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("%s: there is no such file", name)
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
