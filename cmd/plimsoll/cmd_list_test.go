package main

import (
	"encoding/json"
	"strings"
	"testing"

	"plimsoll/examples"
)

func TestListTellsWhatEachExperimentTakes(t *testing.T) {
	asJSON, _ := plimsoll(t, exitOK, "list", "--json")
	var all struct{ Experiments []listedExperiment }
	if err := json.Unmarshal([]byte(asJSON), &all); err != nil {
		t.Fatal(err)
	}
	table, _ := plimsoll(t, exitOK, "list")
	byName := map[string]listedExperiment{}
	for _, l := range all.Experiments {
		byName[l.Name] = l
		if l.Question == "" || l.Seconds <= 0 {
			t.Errorf("%s lacks its question or its time: %+v", l.Name, l)
		}
		if !strings.Contains(table, l.Name) || !strings.Contains(table, l.Question) {
			t.Errorf("the table lacks %s or its question:\n%s", l.Name, table)
		}
	}
	for _, name := range examples.List() {
		if _, ok := byName[name]; !ok {
			t.Errorf("%s is not listed", name)
		}
	}
	first := all.Experiments[:4]
	if first[0].Name != "quick" || first[3].Name != "density" || first[3].Group != "Start here" ||
		!strings.HasPrefix(table, "Start here\n  quick: ") || strings.Count(table, "\n\n") != len(questions)-1 {
		t.Errorf("those to start with are not first, or groups have no titles:\n%s", table)
	}
	quick := byName["quick"]
	if quick.Stacks != 8 || quick.Workloads != 2 || quick.Trials != (quick.Stacks+2)*quick.Workloads*(5+1) {
		t.Errorf("quick is listed as %+v", quick)
	}
	if quick.Seconds > 300 {
		t.Errorf("quick is estimated to take %.0f s, and must not take more than 300", quick.Seconds)
	}
}

func TestSchemaIsPrinted(t *testing.T) {
	var schema struct {
		Schema     string `json:"$schema"`
		Properties map[string]any
	}
	text, _ := plimsoll(t, exitOK, "schema")
	if err := json.Unmarshal([]byte(text), &schema); err != nil {
		t.Fatal(err)
	}
	if schema.Schema == "" || schema.Properties["stacks"] == nil {
		t.Errorf("this is no schema of experiments: %+v", schema)
	}
}
