package main

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/result"
	"plimsoll/internal/result/store"
)

// keptRuns are the runs that pages quote: results.db of each, compressed, as scripts/pictures.sh keeps it.
const keptRuns = "../../docs/runs"

// kept is a run that pages quote.
type kept struct {
	file string
	text []byte // its results.db
	*result.Run
}

// readKept reads all kept runs.
func readKept(t *testing.T) (runs []kept) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(keptRuns, "*.db.gz"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no kept runs: %v", err)
	}
	for _, file := range files {
		packed, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		unpacked, err := gzip.NewReader(bytes.NewReader(packed))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		run := kept{file: file}
		if run.text, err = io.ReadAll(unpacked); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if run.Run, err = store.Read(run.put(t, t.TempDir())); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		runs = append(runs, run)
	}
	return runs
}

// put makes a run directory of the run, and returns it.
func (k kept) put(t *testing.T, dir string) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "results.db"), k.text, 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// quote is what a page shows of a command.
type quote struct {
	line    int
	command string     // behind "plimsoll"
	parts   [][]string // words of its output, parted where the page leaves something out
}

// quotes returns the outputs of commands in the code blocks of a page, with and without a command of their own.
func (p page) quotes() (found []quote) {
	open := false
	for i, line := range p.lines {
		if !p.code[i] {
			open = open && strings.TrimSpace(line) == "" // a blank line may be of the output
			continue
		}
		if fence.MatchString(line) {
			open = false
			continue
		}
		line = strings.TrimPrefix(line, "    ")
		if strings.HasPrefix(line, "$ ") {
			command, _ := typed(line)
			found, open = append(found, quote{line: i + 1, command: command, parts: [][]string{nil}}), true
			continue
		}
		if !open {
			found, open = append(found, quote{line: i + 1, parts: [][]string{nil}}), true
		}
		last := &found[len(found)-1]
		for _, word := range strings.Fields(line) {
			end := len(last.parts) - 1
			if word == "..." {
				last.parts = append(last.parts, nil)
			} else {
				last.parts[end] = append(last.parts[end], word)
			}
		}
	}
	return found
}

// missing returns the first words of a quote that are not in a text, in their order; "" for none.
func (q quote) missing(text string) string {
	words := strings.Fields(text)
	for _, part := range q.parts {
		start := 0
		for start+len(part) <= len(words) && !slices.Equal(words[start:start+len(part)], part) {
			start++
		}
		if start+len(part) > len(words) {
			return strings.Join(part[:min(12, len(part))], " ")
		}
		words = words[start+len(part):]
	}
	return ""
}

// grouped is a number of a thousand or more, as tables have it, and a ratio.
var grouped = regexp.MustCompile(`\b\d{1,3}(?:,\d{3})+\b|\b\d+\.\d+x`)

// TestOutputsOfPages: what README and tutorials show of runs, these runs print, and so do the commands that read them:
// outputs word by word, and each large number and ratio of the text around them.
func TestOutputsOfPages(t *testing.T) {
	pages, runs := repositoryPages(t), map[string]kept{}
	for _, run := range readKept(t) {
		runs[strings.Join(run.Command[1:], " ")] = run
	}
	printed := func(t *testing.T, args ...string) string {
		t.Helper()
		var out, errs bytes.Buffer
		if code := execute(t.Context(), args, &out, &errs); code != exitOK {
			t.Fatalf("plimsoll %s: exit %d: %s", strings.Join(args, " "), code, errs.String())
		}
		return out.String()
	}
	for _, name := range []string{"README.md", "docs/tutorials/1-choose-storage-for-containers.md",
		"docs/tutorials/2-how-many-databases.md", "docs/how-to/predict-and-plan.md"} {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Chdir(t.TempDir()) // where the page's reader is
			p, everything, tried := pages[name], "", 0
			for _, q := range p.quotes() {
				text := everything
				run, quoted := runs[q.command]
				switch first, _, _ := strings.Cut(q.command, " "); {
				case quoted:
					run.put(t, filepath.Join(store.RunsDir, run.ID))
					tried++
					text = printed(t, "show", run.ID) + printed(t, "show", "--full", run.ID)
				case slices.Contains([]string{"show", "fit", "predict"}, first) && len(slices.Concat(q.parts...)) > 0:
					if tried == 0 { // of a page that begins with a run of tutorial 2
						density := runs["run density --budget 6m"]
						density.put(t, filepath.Join(store.RunsDir, density.ID))
						tried++
					}
					text = printed(t, shellWords(q.command)...)
				case q.command != "" || !grouped.MatchString(strings.Join(slices.Concat(q.parts...), " ")):
					continue // what is no output, or the reader's host prints
				}
				everything += text
				if missing := q.missing(text); missing != "" {
					t.Errorf("line %d: plimsoll %s does not print %q here", q.line, q.command, missing)
				}
			}
			if tried == 0 {
				t.Error("no output of a kept run")
			}
			for i, line := range p.lines {
				for _, number := range grouped.FindAllString(line, -1) {
					if !p.code[i] && !strings.Contains(everything, number) {
						t.Errorf("line %d: nothing on the page prints %s", i+1, number)
					}
				}
			}
		})
	}
}

// A quote that leaves something out, or is wrapped elsewhere, is found; one with another number, or in another order,
// is not.
func TestQuotes(t *testing.T) {
	const output = "quick on vm\n132 of 132 trials done\n\nVerdict\n  Likely: use a data volume\n  on XFS.\nrandread\n" +
		"  raw  73,602\n  xfs  74,849\n"
	for _, c := range []struct {
		page  string
		holds bool
	}{
		{"    $ sudo plimsoll run quick\n    ...\n    Verdict\n      Likely: use a data\n      volume on XFS.\n    ...\n" +
			"      xfs   74,849", true},
		{"    $ sudo plimsoll run quick\n    Verdict\n\n      Likely: use a data volume on XFS.", true},
		{"    $ sudo plimsoll run quick\n    Verdict\n      Sure: use a data volume on XFS.", false},
		{"    $ sudo plimsoll run quick\n    ...\n      xfs   74,850", false},
		{"    $ sudo plimsoll run quick\n      xfs   74,849\n    ...\n      raw  73,602", false},
		{"    $ sudo plimsoll run quick\n      raw  73,602\n      ext4 1\n      xfs  74,849", false},
	} {
		quotes := readPage("page.md", c.page).quotes()
		if len(quotes) != 1 || quotes[0].command != "run quick" {
			t.Fatalf("%q has %+v", c.page, quotes)
		}
		if missing := quotes[0].missing(output); (missing == "") != c.holds {
			t.Errorf("%q: missing %q", c.page, missing)
		}
	}
}

// The command and the file of a kept run are those of a reader, and it stays small.
func TestKeptRunsAreClean(t *testing.T) {
	for _, run := range readKept(t) {
		if run.Command[0] != "plimsoll" || run.Status != result.RunComplete || strings.Contains(run.Experiment.File, "/") {
			t.Errorf("%s: %q of %q, %s", run.file, run.Command, run.Experiment.File, run.Status)
		}
		if info, err := os.Stat(run.file); err != nil || info.Size() > 300<<10 {
			t.Errorf("%s has %d bytes, %v", run.file, info.Size(), err)
		}
	}
}
