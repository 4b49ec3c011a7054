package ycsb_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"plimsoll/internal/workload"
	"plimsoll/internal/workload/ycsb"
)

// tpccOf reads parameters of TPC-C; problems are one line each.
func tpccOf(t *testing.T, text string) (workload.Workload, string) {
	t.Helper()
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	w, problems := ycsb.TPCC.Decode(doc.Content[0], nil)
	var said []string
	for _, p := range problems {
		said = append(said, p.What)
	}
	return w, strings.Join(said, "; ")
}

func TestTPCCIsDeclared(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"{warehouses: 2, threads: 4, database: {postgresql: {}}}",
			"TPC-C on PostgreSQL, 2 warehouses, 4 virtual users"},
		{"{warehouses: 1, think: 60ms, database: mysql}",
			"TPC-C on MySQL, 1 warehouse, 1 virtual user, 60ms between transactions"},
		{"{warehouses: 1, rate: 50, database: {mariadb: {}}}",
			"TPC-C on MariaDB, 1 warehouse, 50/s poisson on 64 connections"},
		{"{warehouses: 0, database: mysql}", "! warehouses takes a whole number from 1 to 100000, not the number 0"},
		{"{threads: 2}", "! tpcc lacks warehouses; tpcc lacks a database"},
		{"{warehouses: 1, database: pebble}", "! database needs one database with its parameters"},
		{"{warehouses: 1, database: {pebble: {}}}", "! unknown database \"pebble\""},
		{"{warehouses: 1, workload: A, check: maybe, database: mysql}",
			"! unknown key \"workload\" of tpcc; check takes true or false, not \"maybe\""},
		{"{warehouses: 1, rate: 5, think: 1s, database: {mariadb: {}}}",
			"! think does not go with rate: operations begin when their time has come"},
		{"{warehouses: 1, threads: 301, database: mysql}",
			"! 301 threads are more clients than its server takes, which are 300"},
		{"{warehouses: 1, check: true, database: {mysql: {dsn: 'env:DSN', load: true}}}",
			"! check looks at a server that no other client writes to, and this one is external"},
		{"{warehouses: 1, database: {mysql: {dsn: 'env:DSN'}}}",
			"! it writes to records that are not its own: what is there already is only read"},
		{"[]", "! tpcc needs parameters"},
	} {
		w, problems := tpccOf(t, c.text)
		summary := "! " + problems
		if w != nil {
			summary = w.Info().Summary
		}
		if summary != c.want {
			t.Errorf("%s is %q, and not %q", c.text, summary, c.want)
		}
	}
}

// What TPC-C's steps are told is in their plan, and it can be scaled to other sizes.
func TestTPCCIsPlanned(t *testing.T) {
	w, problems := tpccOf(t, "{warehouses: 3, threads: 4, check: true, database: {postgresql: {}}}")
	if problems != "" {
		t.Fatal(problems)
	}
	step, err := w.Drive(workload.Target{Path: "/data", Container: true}, workload.Timing{Runtime: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := ycsb.ReadPlan(step.Files["load.json"])
	if err != nil {
		t.Fatal(err)
	}
	if plan.Dataset.Warehouses != 3 || plan.Mix[ycsb.NewOrder] != 0.45 || plan.Threads != 4 {
		t.Errorf("the plan is %+v", plan)
	}
	look, err := w.Abilities().Serving.Check(workload.Target{Path: "/data", Container: true})
	if err != nil || !slices.Contains(look.Argv, "--check") {
		t.Errorf("its data is looked at with %+v, %v", look, err)
	}
	plan, err = ycsb.ReadPlan(look.Files["check.json"])
	if err != nil || plan.Dataset.Warehouses != 3 || plan.At.Socket == "" {
		t.Errorf("looked at is %+v, %v", plan, err)
	}
	unchecked, _ := tpccOf(t, "{warehouses: 1, database: {postgresql: {}}}")
	if unchecked.Abilities().Serving.Check != nil {
		t.Error("data is looked at that nobody wants looked at")
	}
	if w.Abilities().Serving.ReadOnly {
		t.Error("it is taken for one that only reads")
	}
	if layout := w.Layout(); !strings.HasPrefix(layout, "plimsoll-postgresql-tpcc-3-") {
		t.Errorf("it lies in %s", layout)
	}
	if need := w.NeedBytes(); need < 2*3*80<<20 || need > 2<<30 {
		t.Errorf("it needs %d bytes", need)
	}
	scaled, err := w.Abilities().Scaling.To(9, 700<<20)
	if err != nil {
		t.Fatal(err)
	}
	if said := scaled.Info().Summary; said != "TPC-C on PostgreSQL, 9 warehouses, 9 virtual users" {
		t.Errorf("scaled it is %s", said)
	}
}
