package report

import (
	"bufio"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"time"

	"plimsoll/internal/printable"
	"plimsoll/internal/result"
	"plimsoll/internal/result/export"
	"plimsoll/internal/result/store"
	"plimsoll/internal/units/plural"
)

// Runs prints a list of runs for people, a line each; root is where they are.
func Runs(w io.Writer, root string, runs []store.Summary, opt TerminalOptions) error {
	out := bufio.NewWriter(w)
	t := newTerminal(out, opt)
	var rows []tableRow
	var broken []store.Summary
	for _, r := range runs {
		if r.Problem != nil {
			broken = append(broken, r)
			continue
		}
		state, paint := stateOf(r), t.style.plain
		if state != stateComplete {
			paint = t.style.warn
		}
		rows = append(rows, tableRow{paint: paint, cells: []string{
			printable.Line(filepath.Base(r.Dir)), r.Started.UTC().Format("2006-01-02 15:04"), printable.Line(r.Experiment),
			strconv.Itoa(r.Stacks), strconv.Itoa(r.Workloads), fmt.Sprintf("%d of %d", r.Done, r.Trials), stateText(r, state),
			printable.Line(r.Dir),
		}})
	}
	if len(rows) > 0 {
		t.table([]column{
			{head: "run", left: true},
			{head: "started (UTC)", left: true, drop: 5},
			{head: "experiment", left: true, drop: 2},
			{head: "stacks", drop: 3},
			{head: "workloads", drop: 4},
			{head: "trials done"},
			{head: "status", left: true},
			{head: "directory", left: true, drop: 1},
		}, rows)
	}
	for i, r := range broken {
		if i == 0 {
			t.section(fmt.Sprintf("%s cannot be read", plural.Count(len(broken), "run")))
		}
		t.text("  - ", "    ", r.Problem.Error(), t.style.warn)
	}
	if len(runs) == 0 {
		t.text(
			"",
			"",
			fmt.Sprintf("There is no run in %s. sudo plimsoll run quick makes one; runs that --output put in another place are "+
				"listed by plimsoll runs DIRECTORY.", root),
			t.style.plain,
		)
	}
	return out.Flush()
}

// States of a run in a list.
const (
	stateComplete    = "complete"
	stateInterrupted = "interrupted"
	stateUnderWay    = "under way"
	stateCrashed     = "crashed" // by a bug, kill -9 or power loss
	stateUnreadable  = "unreadable"
)

func stateOf(r store.Summary) string {
	switch {
	case r.Problem != nil:
		return stateUnreadable
	case r.Written:
		return stateUnderWay
	case r.Status == result.RunComplete:
		return stateComplete
	case r.Status == result.RunRunning:
		return stateCrashed
	}
	return stateInterrupted
}

func stateText(r store.Summary, state string) string {
	if r.Imported {
		state = "imported"
	}
	if r.Failed > 0 {
		state += fmt.Sprintf(", %d failed", r.Failed)
	}
	if r.Skipped > 0 {
		state += fmt.Sprintf(", %d skipped", r.Skipped)
	}
	return state
}

// listedRun is a run as RunsJSON writes it.
type listedRun struct {
	Dir        string    `json:"dir"`
	Status     string    `json:"status"`
	Problem    string    `json:"problem,omitempty"`
	ID         string    `json:"id,omitempty"`
	Experiment string    `json:"experiment,omitempty"`
	Question   string    `json:"question,omitempty"`
	Host       string    `json:"host,omitempty"`
	Started    time.Time `json:"started,omitzero"`
	Finished   time.Time `json:"finished,omitzero"`
	Imported   bool      `json:"imported,omitempty"`
	Stacks     int       `json:"stacks"`
	Workloads  int       `json:"workloads"`
	Trials     int       `json:"trials"`
	Done       int       `json:"done"`
	Failed     int       `json:"failed"`
	Skipped    int       `json:"skipped"`
}

// RunsJSON writes a list of runs as one document.
func RunsJSON(w io.Writer, runs []store.Summary) error {
	listed := []listedRun{}
	for _, r := range runs {
		l := listedRun{
			Dir: r.Dir, Status: stateOf(r), ID: r.ID, Experiment: r.Experiment, Question: r.Question, Host: r.Host,
			Started: r.Started, Finished: r.Finished, Imported: r.Imported, Stacks: r.Stacks, Workloads: r.Workloads,
			Trials: r.Trials, Done: r.Done, Failed: r.Failed, Skipped: r.Skipped,
		}
		if r.Problem != nil {
			l.Problem = r.Problem.Error()
		}
		listed = append(listed, l)
	}
	return export.Indented(w, listed)
}
