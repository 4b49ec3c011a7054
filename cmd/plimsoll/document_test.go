package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/result"
	"plimsoll/internal/result/store"
	"plimsoll/internal/testkit/runtest"
)

// writeFleet writes a fleet of hosts that are as the one of runtest.Density.
func writeFleet(t *testing.T) {
	t.Helper()
	const fleet = "model: model.json\nhosts: {small: {count: 3, cpus: 1.5, memory: 1000MiB, read-iops: 1200}}\n" +
		"containers: {C: {class: C, count: 2}}\n"
	if err := os.WriteFile("fleet.yaml", []byte(fleet), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Every document of --json is an object with its schema. A command that takes --json is in this table.
func TestDocumentsHaveASchema(t *testing.T) {
	lists := documentedLists(t)
	runsHere(t)
	t.Setenv("PLIMSOLL_STATE_DIR", filepath.Join(t.TempDir(), "state"))
	const density = "plimsoll-runs/density-20260514"
	run := runtest.Density(false)
	run.ID = filepath.Base(density)
	if err := store.Keep(t.Context(), density, *run, func(result.Trial) map[string][]byte { return nil }); err != nil {
		t.Fatal(err)
	}
	writeCapture(t, "sda", 40)
	writeFleet(t)
	for name, text := range map[string]string{
		"decisions.jsonl": `{"kind": "plimsoll decisions", "schema": 1, "plan": "1", "places": {},` +
			` "rules": {"broken_for_ns": 60000000000, "cooldown_ns": 60000000000, "budget": 1}}` + "\n",
		"metrics.json": `{"status": "success", "data": {"resultType": "matrix", "result": [{"metric": {"__name__": ` +
			`"node_disk_reads_completed_total", "device": "sda"}, "values": [[1e9, "5"], [1000000015, "50"]]}]}}`,
		"points.csv": "class,instances,clients,throughput\nC,1,8,100\nC,2,8,150\nC,4,8,160\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	plimsoll(t, exitOK, "fit", density)
	plimsoll(t, exitOK, "import", "--record", "host7", "metrics.json")
	tried := map[string]bool{}
	for _, args := range [][]string{
		{"list"}, {"runs"}, {"papers", "claims"},
		{"papers", "list"}, {"version"}, {"clean"}, {"clean", "--dry-run"}, {"data", "list"}, {"image", "list"},
		{"target", "list"}, {"doctor"}, {"validate", "quick"}, {"show", "two"}, {"compare", "two", "old"},
		{"advise", "settings"},
		{"fit", density}, {"predict", "model.json", "--mix", "C: 2"},
		{"predict", "model.json", "--mix", "C", "--over", "n=1..3"}, {"plan", "fleet.yaml"},
		{"import", "points.csv", "-o", "imported"}, {"trace", "analyze", "sda"},
		{"apply", "replay", "decisions.jsonl"}, {"headroom", "host7"},
		{"run", "directory", "--dry-run", "--size", "16MiB"}, {"watch", "--once", "--no-latency", "--interval", "100ms"},
	} {
		root := newTestRoot()
		c, _, err := root.Find(args)
		if err != nil {
			t.Fatal(err)
		}
		name := commandName(c)
		tried[name] = true
		for _, flag := range args {
			if lists[name+" "+flag] != "" {
				name += " " + flag
				tried[name] = true
			}
		}
		var out, errs bytes.Buffer // how it ends is up to the host and the runs
		execute(t.Context(), append(args, "--json"), &out, &errs)
		var document map[string]any
		if err := json.Unmarshal(out.Bytes(), &document); err != nil {
			t.Errorf("plimsoll %v --json: %v\n%s%s", args, err, out.String(), errs.String())
			continue
		}
		if schema, is := document["schema"].(float64); !is || schema < 1 {
			t.Errorf("plimsoll %v --json has no schema, but %v", args, document["schema"])
		}
		if list := lists[name]; list != "" {
			if _, is := document[list].([]any); !is {
				t.Errorf("plimsoll %v --json has no list %s", args, list)
			}
		}
	}
	// These change the host. They print what "target list", "trace analyze" and "run" print, by the same functions. Apply
	// needs engines, and prints its steps by the function that all lists share.
	changes := []string{"target export", "target unexport", "target metrics", "trace record", "apply", "papers run"}
	for name := range lists {
		if !tried[name] && !slices.Contains(changes, name) {
			t.Errorf("json.md has a list of plimsoll %s, which was not looked at", name)
		}
	}
	for _, c := range commands(newTestRoot()) {
		takes := c.Flags().Lookup("json") != nil || c.InheritedFlags().Lookup("json") != nil
		if name := commandName(c); takes && c.Runnable() && !tried[name] && !slices.Contains(changes, name) {
			t.Errorf("plimsoll %s takes --json, and its document was not looked at", name)
		}
	}
}

// documentedLists returns the list that each command's document has, as docs/reference/formats/json.md says.
func documentedLists(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../../docs/reference/formats/json.md")
	if err != nil {
		t.Fatal(err)
	}
	lists := map[string]string{}
	table, _, _ := bytes.Cut(text, []byte("\n## "))
	for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]+) \\| `(\\w+)`").FindAllStringSubmatch(string(table), -1) {
		for command := range strings.SplitSeq(strings.ReplaceAll(row[1], "`", ""), ", ") {
			lists[command] = row[2]
		}
	}
	return lists
}
