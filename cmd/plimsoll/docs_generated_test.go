package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/examples"
	"plimsoll/internal/cli/glossary"
	"plimsoll/internal/experiment"
	"plimsoll/internal/testkit/hosttest"
)

var update = flag.Bool("update", false,
	"rewrite experiments.json, and the lists in docs/reference/{commands,experiments,glossary}.md")

const reference, rewrite = "../../docs/reference/", "go test ./cmd/plimsoll -run Docs -update"

// docs/reference/glossary.md has the words of plimsoll help words.
func TestDocsGlossary(t *testing.T) {
	var out strings.Builder
	for _, e := range glossary.All() {
		fmt.Fprintf(&out, "**%s**: %s\n\n", e.Word, e.Means)
	}
	hosttest.Listed(t, reference+"glossary.md", "words", rewrite, out.String(), *update)
}

// docs/reference/commands.md has the help of every command.
func TestDocsCommands(t *testing.T) {
	var out strings.Builder
	all := commands(newTestRoot())
	for _, c := range all[1:] {
		fmt.Fprintf(&out, "- [`%s`](#%s): %s\n", c.CommandPath(), strings.ReplaceAll(c.CommandPath(), " ", "-"), c.Short)
	}
	out.WriteString("\n")
	for _, c := range all {
		fmt.Fprintf(&out, "## %s\n\n```text\n%s```\n\n", c.CommandPath(), helpText(c, 100, false))
	}
	hosttest.Listed(t, reference+"commands.md", "commands", rewrite, out.String(), *update)
}

// docs/reference/experiments.md lists every experiment that is built in, once.
func TestDocsExperiments(t *testing.T) {
	var out strings.Builder
	var listed []string
	for _, q := range questions {
		fmt.Fprintf(&out, "## %s\n\n| experiment | question | time |\n|---|---|---|\n", q.title)
		for _, name := range q.experiments {
			e, err := loadExperiment(name, "")
			if err != nil {
				t.Fatal(err)
			}
			experiment.AddControl(e)
			fmt.Fprintf(&out, "| [`%s`](../../examples/%s.yaml) | %s | %s |\n", name, name, e.Question,
				experiment.Estimate(e).Round(10*time.Second))
		}
		out.WriteString("\n")
		listed = append(listed, q.experiments...)
	}
	slices.Sort(listed)
	if all := examples.List(); !slices.Equal(listed, slices.Sorted(slices.Values(all))) {
		t.Fatalf("the questions list\n%q, and there are\n%q", listed, all)
	}
	hosttest.Listed(t, reference+"experiments.md", "experiments", rewrite, out.String(), *update)
}

// experiments.json has what the built-in experiments are.
func TestDocsListed(t *testing.T) {
	var all []listedExperiment
	for _, name := range examples.List() {
		e, err := loadExperiment(name, "")
		if err != nil {
			t.Fatal(err)
		}
		l := listedExperiment{Name: name, Question: e.Question, Stacks: len(e.Stacks), Workloads: len(e.Workloads),
			Scales: e.Scales}
		for _, q := range questions {
			if slices.Contains(q.experiments, name) {
				l.Group = q.title
			}
		}
		if e.Mixed() {
			l.Mixes = len(e.Mixes)
		}
		experiment.AddControl(e) // which a run measures as well
		trials := experiment.Trials(e, 0)
		l.Trials, l.Seconds = len(trials), experiment.EstimateOf(e, trials).Seconds()
		all = append(all, l)
	}
	text, err := json.MarshalIndent(all, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	if text = append(text, '\n'); bytes.Equal(text, listedFile) {
		return
	}
	if !*update {
		t.Fatalf("experiments.json is not up to date: %s", rewrite)
	}
	if err := os.WriteFile("experiments.json", text, 0o644); err != nil { //nolint:gosec // it is no secret
		t.Fatal(err)
	}
}

// The index of the documentation names every page for users.
func TestDocsIndex(t *testing.T) {
	index, err := os.ReadFile("../../docs/index.md")
	if err != nil {
		t.Fatal(err)
	}
	for file := range repositoryPages(t) {
		name, ours := strings.CutPrefix(file, "docs/")
		group, _, inGroup := strings.Cut(name, "/")
		if !ours || !inGroup || !slices.Contains([]string{"tutorials", "how-to", "reference", "explanation"}, group) {
			continue
		}
		if !strings.Contains(string(index), "]("+name+")") {
			t.Errorf("docs/index.md does not name %s", name)
		}
	}
}
