package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"plimsoll/internal/iotrace"
	"plimsoll/internal/iotrace/follow"
	"plimsoll/internal/iotrace/show"
	"plimsoll/internal/report"
	"plimsoll/internal/state/sudouser"
	"plimsoll/internal/units/plural"
)

// Formats of trace analyze, besides --json.
const (
	formatText = "text"
	formatCSV  = "csv"
)

// traceAnalyze is a call of trace analyze.
type traceAnalyze struct {
	*app
	names      []string // as they were given
	csv, perIO bool
	format     string // formatText or formatCSV
	html, by   string
	strict     bool
	threads    int
	files      []string // that the names stand for
	dimensions []show.Dimension
}

func newTraceAnalyzeCommand(a *app) *cobra.Command {
	t := &traceAnalyze{app: a}
	cmd := &cobra.Command{
		Use:   "analyze CAPTURE...",
		Short: "Show where the requests of a blktrace capture spent their time",
		Long: `Read a capture of blktrace, follow each request through it, and print the
time between its events: count, minimum, mean, maximum, deviation and
percentiles, by device, operation, size and process. It also prints what each
part takes of the whole, queue depth, merges, splits and what else devices did.

CAPTURE is the base name of a capture (sda for sda.blktrace.0, sda.blktrace.1 and so
on), or one file of it. It may also be a merged stream (blkparse -d), the text that
blkparse prints by default, or - for standard input. Several are merged by time.
Files may be compressed with gzip. Nothing needs root, or the host that was traced.

What the capture lacks (the file of a CPU, lost events, events of one kind) is
named, and what can be known without it is given. Of a damaged capture the sound
part is printed; the error says where the rest is. --strict refuses it instead.

docs/reference/trace.md explains the intervals and describes every field and column.

EXIT STATUS
  0    the capture was analysed
  1    a result cannot be written
  2    the command line is wrong; there is no such capture, or it holds no
       request; with --strict, it is damaged: nothing was printed
  5    the capture is damaged; its sound part was printed
  130  interrupted; nothing was printed, but rows of --per-io
Ctrl-C ends reading from standard input, and what was read is analysed.
A named pipe is read, too; a device is refused: it has no end.`,
		Example: `  plimsoll trace analyze sda
  plimsoll trace analyze sda --by process --html sda.html
  plimsoll trace analyze sda --json | jq '.total.intervals.D2C.p99_ns'
  blktrace -d /dev/sda -o - | plimsoll trace analyze -
  plimsoll trace analyze blkparse.txt
  plimsoll trace analyze sda --per-io | grep ,fio,`,
		Args: atLeastOne("a capture: its base name (sda for sda.blktrace.0), its files, or - for standard input"),
		RunE: func(cmd *cobra.Command, args []string) error {
			t.names = args
			if err := t.check(); err != nil {
				return &exitError{exitUsage, err}
			}
			if slices.Contains(t.files, standardInput) { // Ctrl-C ends what comes, and the rest takes its time
				return t.run(cmd.Context())
			}
			return soon(cmd.Context(), func() error { return t.run(cmd.Context()) })
		},
	}
	f := cmd.Flags()
	f.BoolVar(&a.jsonOutput, "json", false, "print all of it as JSON")
	f.StringVar(
		&t.format,
		"format",
		formatText,
		"`format` to print: text, or csv with a row for each interval of each device, "+
			"operation, size and process",
	)
	f.BoolVar(&t.csv, "csv", false, "--format csv")
	_ = f.MarkHidden("csv") // its name before
	f.BoolVar(&t.perIO, "per-io", false, "print a row of CSV for each request, with the times of its events")
	f.StringVar(&t.html, "html", "", "write a page with figures to this `file`, too")
	f.StringVar(
		&t.by,
		"by",
		"",
		"`dimension` of tables of all intervals: device, op, size or process (default device); with "+
			"--json and --format csv, it alone (default all)",
	)
	f.BoolVar(&t.strict, "strict", false, "refuse a damaged capture")
	f.IntVar(&t.threads, "threads", min(2, runtime.GOMAXPROCS(0)),
		"`number` of threads to use; the output is the same (default 2, or 1 on one CPU)")
	f.Lookup("threads").DefValue = "0" // none to pflag: the text has it
	mutuallyExclusive(cmd, "json", "format", "per-io")
	mutuallyExclusive(cmd, "json", "csv", "per-io")
	completeFlag(cmd, "format", completeWords(formatText, formatCSV))
	completeFlag(cmd, "by", completeWords(traceDimensions()...))
	return cmd
}

// traceDimensions returns the names of the dimensions of tables.
func traceDimensions() []string {
	var known []string
	for _, d := range show.Dimensions {
		known = append(known, string(d))
	}
	return known
}

// check reads flags and names; all that is wrong with them is said at once.
func (t *traceAnalyze) check() error {
	var problems []string
	known := traceDimensions()
	switch {
	case t.by == "":
	case slices.Contains(known, t.by):
		t.dimensions = []show.Dimension{show.Dimension(t.by)}
	default:
		problems = append(problems, fmt.Sprintf("--by %s: it takes %s", t.by, plural.Or(known)))
	}
	if t.by != "" && t.perIO {
		problems = append(problems, "--by has no meaning with --per-io: a row is one request")
	}
	if formats := []string{formatText, formatCSV}; !slices.Contains(formats, t.format) {
		problems = append(problems, fmt.Sprintf("--format %s: it takes %s", t.format, plural.Or(formats)))
	}
	t.csv = t.csv || t.format == formatCSV
	if t.threads < 1 {
		problems = append(problems, fmt.Sprintf("--threads %d: at least one is needed", t.threads))
	}
	for _, name := range t.names {
		files, err := captureFiles(name)
		if err != nil {
			problems = append(problems, err.Error())
		}
		for _, f := range files {
			if slices.Contains(t.files, f) {
				problems = append(problems, f+": it is named twice, and its events would count twice")
				continue
			}
			t.files = append(t.files, f)
		}
	}
	if t.perIO && t.strict && slices.Contains(t.files, standardInput) {
		problems = append(problems, "--strict with --per-io reads a capture twice, before it prints anything: "+
			"standard input cannot be; put it into a file")
	}
	if len(problems) > 0 {
		return errors.New(strings.Join(problems, "\n  "))
	}
	return nil
}

// title names the analysed capture.
func (t *traceAnalyze) title() string {
	name := t.files[0]
	if name == standardInput {
		name = "standard input"
	}
	if more := len(t.files) - 1; more > 0 {
		name += " and " + plural.Count(more, "more file")
	}
	return name
}

func (t *traceAnalyze) run(ctx context.Context) error {
	if t.perIO {
		return t.runPerIO(ctx)
	}
	account, err := t.analyze(ctx, nil)
	if account != nil {
		if failed := t.print(account); failed != nil {
			return &exitError{exitFailure, failed}
		}
	}
	return t.exitStatus(account, err)
}

// runPerIO prints rows while it reads; a damaged capture that is refused
// prints none, for which it is read once before.
func (t *traceAnalyze) runPerIO(ctx context.Context) error {
	if t.strict {
		if account, err := t.analyze(ctx, nil); err != nil {
			return t.exitStatus(account, err)
		}
	}
	rows := show.NewRequests(t.data())
	account, err := t.analyze(ctx, func(io *iotrace.IO) error {
		if err := rows.Write(io); err != nil {
			return &exitError{exitFailure, err}
		}
		return nil
	})
	if failed := rows.Flush(); failed != nil {
		return &exitError{exitFailure, failed}
	}
	if account != nil && t.html != "" {
		if failed := t.writePage(account); failed != nil {
			return &exitError{exitFailure, failed}
		}
	}
	return t.exitStatus(account, err)
}

// exitStatus returns the error with the exit code for the outcome of an analysis. Without an account, the capture was
// refused.
func (t *traceAnalyze) exitStatus(account *iotrace.Account, err error) error {
	var known *exitError
	switch {
	case err == nil || errors.As(err, &known):
		return err
	case errors.Is(err, context.Canceled):
		return &exitError{exitInterrupted, errors.New("interrupted: a capture is known only at its end")}
	case account == nil:
		return &exitError{exitUsage, fmt.Errorf("%s: %w", t.title(), err)}
	}
	return &exitError{exitPartial, fmt.Errorf("%w\nall that is sound was analysed; --strict refuses such a capture", err)}
}

// analyze reads the files once. An account that it returns with an error is of the sound part of a damaged capture.
func (t *traceAnalyze) analyze(ctx context.Context, perIO func(*iotrace.IO) error) (*iotrace.Account, error) {
	c, err := openCapture(ctx, t.files)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, &exitError{exitUsage, err}
	}
	defer c.close()
	progress := newReading(t.stderr, t.perIO && isTerminal(t.stdout))
	account, err := follow.Analyze(
		c.reading,
		c.sources,
		follow.Options{
			Strict:     t.strict,
			Threads:    t.threads,
			PerIO:      perIO,
			Progress:   progress.update,
			DeviceName: c.deviceName,
		},
	)
	progress.close()
	if c.reading.Err() != nil { // whatever the reader made of it
		return nil, c.reading.Err()
	}
	return account, err
}

func (t *traceAnalyze) print(account *iotrace.Account) error {
	var err error
	switch {
	case t.jsonOutput:
		err = show.JSON(t.data(), account, t.dimensions...)
	case t.csv:
		err = show.CSV(t.data(), account, t.dimensions...)
	default:
		err = t.printTrace("trace of "+t.title(), account, show.Dimension(t.by))
	}
	if err == nil && t.html != "" {
		err = t.writePage(account)
	}
	return err
}

func (t *traceAnalyze) writePage(account *iotrace.Account) error {
	f, err := sudouser.Create(t.html)
	if err != nil {
		return err
	}
	page := traceAnswer("trace of "+t.title(), account, show.Dimensions...)
	return errors.Join(report.AnswerHTML(f, page, version), f.Close())
}

// printTrace prints the tables of a trace, with all intervals by a dimension; "" for devices.
func (a *app) printTrace(kind string, account *iotrace.Account, by show.Dimension) error {
	return report.AnswerText(a.styled(), traceAnswer(kind, account, cmp.Or(by, show.ByDevice)), false, a.terminalOptions())
}

// traceAnswer returns the sections of a trace, for a terminal or a page.
func traceAnswer(kind string, account *iotrace.Account, by ...show.Dimension) report.Answer {
	return report.Answer{Kind: kind, Title: show.Title, Meta: show.Meta(account), Sections: show.Sections(account, by...)}
}
