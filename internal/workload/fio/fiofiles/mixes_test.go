package fiofiles

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/finding"
	"plimsoll/internal/result"
)

// ran is a result of fio that was printed at a second, after it had measured for so many at a rate.
func ran(name, job string, printed, seconds float64, iops int, options string) File {
	ms, ios := int(seconds*1000), int(seconds*float64(iops))
	return File{Name: name, Text: fmt.Appendf(nil, `{
  "fio version" : "fio-3.36",
  "timestamp_ms" : %d,
  "jobs" : [{"jobname" : %q, "groupid" : 0, "error" : 0, "elapsed" : %d,
    "job options" : {"rw" : "randread", "filename" : "/data/%s"%s},
    "read" : {"io_bytes" : %d, "total_ios" : %d, "runtime" : %d, "iops" : %d,
      "lat_ns" : {"min" : 1, "max" : 9, "mean" : 5, "N" : %d, "bins" : {"5" : %d}}}}]
}
`, int64(1e12)+int64(printed*1000), job, int(seconds)+1, job, options, ios*4096, ios, ms, iops, ios, ios)}
}

// mixes describes the trials of a run.
func mixes(imp *Import) string {
	var trials []string
	for _, t := range imp.Run.Trials {
		text := fmt.Sprintf("%s#%d %q", t.Mix, t.Repeat, t.Stack)
		for _, m := range imp.Run.Mixes {
			for _, tenant := range m.Tenants {
				if m.Name == t.Mix {
					text += fmt.Sprintf(" %dx%s%v", tenant.Count, tenant.Name, tenant.On)
				}
			}
		}
		if m := t.Measured(); m != nil {
			text += fmt.Sprintf(" %.0f", m.IOPS())
		}
		trials = append(trials, text)
	}
	return strings.Join(trials, "; ")
}

// Results that were measured at the same time are one mix of so many instances, and those that were not are repeats.
func TestAtTheSameTime(t *testing.T) {
	four := func(printed float64) []File {
		var all []File
		for i := range 4 { // they end within milliseconds of each other
			all = append(all, ran(fmt.Sprintf("%g/%d.json", printed, i), "oltp", printed+float64(i)/1000, 150, 1000, ""))
		}
		return all
	}
	log := func(printed float64) File {
		return ran(fmt.Sprintf("%g/log.json", printed), "log", printed+2, 152, 30, `, "bs" : "16k"`)
	}
	other := ran("other.json", "oltp", 200, 60, 7, `, "bs" : "64k"`)
	for _, c := range []struct {
		name  string
		files []File
		want  string
	}{
		{"4 + 1", append(four(200), log(200)), `log+oltp-4#1 "" 1xlog[/data/log] 4xoltp[/data/oltp /data/oltp /data/oltp /data/oltp] 4030`},
		{"4 + 1, twice", slices.Concat(four(1000), four(200), []File{log(200), log(1000)}),
			`log+oltp-4#1 "" 1xlog[/data/log] 4xoltp[/data/oltp /data/oltp /data/oltp /data/oltp] 4030; ` +
				`log+oltp-4#2 "" 1xlog[/data/log] 4xoltp[/data/oltp /data/oltp /data/oltp /data/oltp] 4030`},
		{"on one stack, and alone", append(four(200), ran("alone.json", "oltp", 900, 60, 1500, "")),
			`oltp-4#1 "/data/oltp" 4xoltp[] 4000; oltp#1 "/data/oltp" 1xoltp[] 1500`},
		{"one after another", []File{ran("a.json", "j", 100, 60, 10, ""), ran("b.json", "j", 160.02, 60, 20, "")},
			`j#1 "/data/j" 10; j#2 "/data/j" 20`},
		{"for a second", []File{ran("a.json", "j", 100, 1, 10, ""), ran("b.json", "j", 100.3, 1, 20, "")}, `j-2#1 "/data/j" 2xj[] 30`},
		{"others of the same name", append(four(200), other),
			`oltp bs=4096-4+oltp bs=65536#1 "/data/oltp" 4xoltp bs=4096[] 1xoltp bs=65536[] 4007`},
	} {
		t.Run(c.name, func(t *testing.T) {
			imp := read(t, c.files, Options{})
			if got := mixes(imp); got != c.want {
				t.Errorf("%s\nwant %s", got, c.want)
			}
			for _, trial := range imp.Run.Trials {
				if len(trial.Instances) > 1 != (trial.Window != nil) {
					t.Errorf("%d instances, window %+v", len(trial.Instances), trial.Window)
				}
			}
			finding.All(&imp.Run)
		})
	}
	imp := read(t, append(four(200), log(200)), Options{})
	if w := imp.Run.Trials[0].Window; w.Seconds < 149.9 || w.Seconds > 150 || w.Outside < 0.01 || w.Outside > 0.02 ||
		w.Start.Unix() != 1e9+50 {
		t.Errorf("%+v", w)
	}
	if said := notesOf(imp); !strings.Contains(said, "and 2 more were measured at the same time for 150 s") {
		t.Error(said)
	}
	if len(imp.Artifacts[1]) != 5 {
		t.Errorf("%d artifacts", len(imp.Artifacts[1]))
	}
	for _, f := range finding.All(&imp.Run) {
		if strings.Contains(f.Title, " of :") {
			t.Errorf("its stacks have no names: %s", f.Title)
		}
		if f.Recommendation != nil && f.Recommendation.Command != "" {
			t.Errorf("a run that was measured elsewhere cannot go on: %s", f.Recommendation.Command)
		}
	}
}

// Percentiles of a mix are known where all of it has histograms.
func TestMixWithoutAHistogram(t *testing.T) {
	a, b := ran("a.json", "j", 100, 60, 10, ""), ran("b.json", "j", 100, 60, 20, "")
	bare := changed(b, "b.json", `, "bins" : {"5" : 1200}`, "")
	for _, c := range []struct {
		file  File
		known bool
	}{{b, true}, {bare, false}} {
		m := read(t, []File{a, c.file}, Options{}).Run.Trials[0].Measured()
		l := m.Operation(result.Read).Latency[result.Total]
		if l.Count != 1800 || l.Bins.IsEmpty() == c.known {
			t.Errorf("%d of 1800 latencies, histogram %v, want %v", l.Count, !l.Bins.IsEmpty(), c.known)
		}
	}
}

// Where only the second is known, what it rounds is no overlap.
func TestRoundedTimes(t *testing.T) {
	rounded := func(f File, ms string) File { return changed(f, f.Name, `_ms" : `+ms, `" : `+ms[:10]) }
	// a ended at 100.9 and b began then: by the seconds alone b began at 100.0, and a ended there
	a := rounded(ran("a.json", "j", 100.9, 60, 10, ""), "1000000100900")
	b := rounded(ran("b.json", "j", 160.95, 60, 20, ""), "1000000160950")
	if got := mixes(read(t, []File{a, b}, Options{})); got != `j#1 "/data/j" 10; j#2 "/data/j" 20` {
		t.Error(got)
	}
	c := rounded(ran("c.json", "j", 100.1, 60, 20, ""), "1000000100100")
	d := rounded(ran("d.json", "j", 159.95, 60, 10, ""), "1000000159950") // began at 99.95, as 99.0 is by the seconds
	if got := mixes(read(t, []File{c, d}, Options{})); got != `j#1 "/data/j" 20; j#2 "/data/j" 10` {
		t.Error("an overlap within a second is known from seconds: " + got)
	}
}

// What was measured beside two that ran one after another is neither's.
func TestBesideSeveral(t *testing.T) {
	_, problems := Read([]File{ran("long.json", "log", 200, 150, 30, ""), ran("a.json", "j", 100, 40, 10, ""),
		ran("b.json", "j", 160, 50, 10, "")}, Options{})
	if len(problems) != 1 || problems[0].At.In != "long.json" ||
		!strings.Contains(problems[0].What, "a.json had ended when b.json began") || problems[0].Remedy == "" {
		t.Errorf("%v", problems)
	}
}

// Groups of one document ran one after another, or at the same time where only new_group tells them apart.
func TestGroupsAtTheSameTime(t *testing.T) {
	apart := recorded(t, foreign, "stonewall.json", "apart.json")
	if imp := read(t, []File{apart}, Options{}); len(imp.Run.Mixes) != 0 || len(imp.Run.Trials) < 2 {
		t.Errorf("%d trials, %+v", len(imp.Run.Trials), imp.Run.Mixes)
	}
	single := string(ran("", "a", 100, 60, 10, "").Text)
	both := strings.Replace(single, "}}}}]", `}}}}, `+strings.NewReplacer(`"groupid" : 0`, `"groupid" : 1`, `"jobname" : "a"`,
		`"jobname" : "b"`, `"rw" : "randread"`, `"rw" : "randread", "new_group" : ""`).Replace(
		single[strings.Index(single, `{"jobname"`):strings.LastIndex(single, "]")])+"]", 1)
	imp := read(t, []File{{Name: "both.json", Text: []byte(both)}}, Options{})
	if got := mixes(imp); !strings.HasPrefix(got, `a-2#1 `) && !strings.HasPrefix(got, `a+b#1 `) {
		t.Error(got)
	}
}

// An instance that failed fails its trial, and what the others did is kept.
func TestFailedInstance(t *testing.T) {
	bad := changed(ran("bad.json", "j", 100, 60, 10, ""), "bad.json", `"error" : 0`, `"error" : 28`)
	imp := read(t, []File{bad, ran("good.json", "j", 100.1, 60, 20, "")}, Options{})
	trial := imp.Run.Trials[0]
	if len(imp.Run.Trials) != 1 || trial.Status != result.TrialFailed || trial.Problem == nil ||
		len(trial.Instances) != 2 || trial.Instances[0].Status != result.TrialFailed ||
		trial.Instances[1].Status != result.TrialDone {
		t.Errorf("%+v", trial)
	}
	if names := []string{path.Base(imp.Artifacts[1][0].Name), path.Base(imp.Artifacts[1][1].Name)}; !slices.Equal(names,
		[]string{"bad.json", "good.json"}) {
		t.Errorf("%q", names)
	}
}
