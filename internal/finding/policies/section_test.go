package policies_test

import (
	_ "embed"
	"strings"
	"testing"

	"plimsoll/internal/finding/policies"
	"plimsoll/internal/result"
	"plimsoll/internal/runview"
	"plimsoll/internal/section"
	"plimsoll/internal/testkit/runtest"
)

//go:embed testdata/policies.story
var atOne string

//go:embed testdata/policies-over.story
var overSome string

// What policies cost is a table and ratios to none.
func TestSection(t *testing.T) {
	found := policies.Find(runview.New(runtest.Tell(t, atOne)))
	if len(found) != 1 || found[0].Section == nil {
		t.Fatalf("%+v", found)
	}
	s := found[0].Section
	if s.Title != "4 instances of C under policies" || len(s.Parts) != 0 || len(s.Tables) != 1 || len(s.Figures) != 2 {
		t.Fatalf("%+v", s)
	}
	for _, f := range s.Figures {
		var names []string
		for _, r := range f.Ratios {
			names = append(names, r.Name+" against "+r.Against)
		}
		if got := strings.Join(names, ", "); got != "cpu against none, mem against none, all against none" {
			t.Errorf("%s has rows %s", f.Title, got)
		}
	}
	table := runtest.Rows(s.Tables[0])
	for i, want := range map[int]string{
		0: "none|6,049|-|-|1.17 ms|-|-|1.00|100%|0.001|198 MiB|-|-",
		2: "mem|3,049|0.50x|0.50 to 0.51|12.0 ms|10x|10 to 10|1.00|100%|0.470|98 MiB|memory and reads/s|-",
	} {
		if table[i] != want {
			t.Errorf("row %d says %q, and not %q", i, table[i], want)
		}
	}
	if !s.Has(result.Point{Stack: "disk", Mix: "C-4-mem"}) || !s.Has(result.Point{Stack: "disk", Mix: "C-4"}) {
		t.Errorf("it covers %v", s.Covers)
	}
}

// Policies that were measured at several numbers of instances are shown over these, once: throughput, disk
// bandwidth and p99, a line for each policy. What they cost at each number is part of that.
func TestSectionOverInstances(t *testing.T) {
	var sections []*section.Section
	for _, f := range policies.Find(runview.New(runtest.Tell(t, overSome))) {
		if f.Section != nil {
			sections = append(sections, f.Section)
			if f.ID != "policies/disk/C-4" {
				t.Errorf("%s has it, and the verdict is on 4 instances", f.ID)
			}
		}
	}
	if len(sections) != 1 || sections[0].Title != "C under policies, over the number of instances" ||
		len(sections[0].Tables) != 3 {
		t.Fatalf("%+v", sections)
	}
	var titles []string
	for i, f := range sections[0].Figures {
		titles = append(titles, f.Title)
		if len(f.Series) != 2 || f.Series[1].Name != "mem" || len(f.Series[1].Marks) != 3 ||
			sections[0].Tables[i].Caption != f.Title {
			t.Errorf("%+v", f)
		}
	}
	for _, p := range sections[0].Parts {
		titles = append(titles, p.Title)
	}
	if got := strings.Join(titles, "; "); got != "Throughput, IOPS; Disk bandwidth; p99; 1 instance of C under policies; "+
		"4 instances of C under policies; 8 instances of C under policies" {
		t.Errorf("it has %s", got)
	}
	if got := strings.Join(runtest.Rows(sections[0].Tables[0]),
		"; "); got != "1|1,549|1,049; 4|6,049|3,049; 8|2,043|3,149" {
		t.Errorf("throughput is %s", got)
	}
	if got := runtest.Rows(sections[0].Tables[2])[0]; got != "1|1.17 ms|12.0 ms" {
		t.Errorf("p99 is %s", got)
	}
	if !sections[0].Has(result.Point{Stack: "disk", Mix: "C-8-mem"}) {
		t.Error("it does not have what its parts have")
	}
}
