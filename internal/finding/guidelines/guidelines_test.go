package guidelines

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/result"
	"plimsoll/internal/testkit/runtest"
)

func readStory(t *testing.T, file string, change ...string) *result.Run {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	run := runtest.Tell(t, strings.NewReplacer(change...).Replace(string(text)))
	run.ID, run.Experiment.Name = file, "told"
	return run
}

// texts are the guidelines on a topic, with what papers say of each.
func texts(g Given, topic Topic) (texts []string) {
	for _, guideline := range g.Guidelines {
		if guideline.Topic != topic {
			continue
		}
		text := guideline.Text
		for _, r := range guideline.Papers {
			text += map[bool]string{true: " +", false: " -"}[r.Agrees] + r.ID + strings.TrimSuffix(" "+r.By, " ")
		}
		texts = append(texts, text)
	}
	return texts
}

// What a run measured is advice, with what papers say of it; inverted data gives the opposite.
func TestGuidelines(t *testing.T) {
	const mixed = "stack disk: loop > xfs > volume\n" +
		"workload W ycsb {mix: {update: 1}, records: 1000, database: cassandra}\n" +
		"workload RW randwrite {bs: 4KiB}\nworkload RR randread {bs: 4KiB}\nworkload SW write {bs: 128KiB}\n"
	const mixes = "instances W disk x1 1000 1001 1002 1003 1004 1005\ninstances RW disk x1 1000 1001 1002 1003 1004 " +
		"1005\n" +
		"instances RR disk x1 1000 1001 1002 1003 1004 1005\ninstances SW disk x1 1000 1001 1002 1003 1004 1005\n" +
		"beside disk Wx1 RWx1 990/{500|990} 991/{501|991} 992/{502|992} 993/{503|993} 994/{504|994} 995/{505|995}\n" +
		"beside disk Wx1 RRx1 900/{900|400} 901/{901|401} 902/{902|402} 903/{903|403} 904/{904|404} 905/{905|405}\n" +
		"beside disk Wx1 SWx1 900/{900|400} 901/{901|401} 902/{902|402} 903/{903|403} 904/{904|404} 905/{905|405}\n"
	tell := func(head, data string, second bool) *result.Run {
		return runtest.Tell(t, head+runtest.Pick(data, second))
	}
	for _, c := range []struct {
		name  string
		run   *result.Run
		topic Topic
		want  []string
	}{
		{"neighbours", tell(mixed, mixes, false), Neighbours, []string{
			"Do not put RW beside W here: it keeps 50% of its rate. +not-sequential-beside-random RW beside W",
			"W may share a host with RR, where it keeps 90%, SW, where it keeps 90% and RW, where it keeps 99.00%. +readers-beside-writers W beside RR " +
				"+alike-is-fair W beside SW",
			"RR may share a host with W, where it keeps 90%. +readers-beside-writers RR beside W",
			"SW may share a host with W, where it keeps 90%. +alike-is-fair SW beside W",
		}},
		{"other neighbors", tell(mixed, mixes, true), Neighbours, []string{
			"RW may share a host with W, where it keeps 99.00%. -not-sequential-beside-random RW beside W",
			"Do not put RR beside W here: it keeps 40% of its rate. -readers-beside-writers RR beside W",
			"Do not put SW beside W here: it keeps 40% of its rate. -alike-is-fair SW beside W",
		}},
		{"a valley", runtest.Density(false), Number, []string{
			"Run at most 5 instances of C here: 8 do 0.28 times as much as 5, since their data outgrow the memory. +balance " +
				"+before-the-valley",
		}},
		{"limits of a scaled-down host", runtest.Density(true), More, []string{
			"For 5 of C, add memory first: more of it makes all do more. +memory-first",
		}},
		{"policies", readStory(t, "../policies/testdata/policies.story"), Limits, []string{
			"Of limits on 4 of C, all costs 83% and mem costs 50% of throughput; cpu cost at most 1%. +processors-alone",
		}},
		{"a faster drive", readStory(t, "../levels/testdata/levels.story"), Drives, []string{
			"Run C-1 with media nvme: it does 6.9 times what it does with sata. +reads-gain",
			"D-1 changes by at most 1% with another media than sata. -reads-gain",
		}},
		{"users", readStory(t, "../levels/testdata/users.story"), Drives, []string{
			"Run T-1 with users 10: it does 3.0 times what it does with 1.",
		}},
		{"two hosts", tell("stack one: loop > xfs > volume\nstack two: loop > xfs > volume\n"+
			"workload A ycsb {workload: A, records: 1000, database: cassandra}\n",
			"instances A - x4 1000 1001 1002 1003 1004 1005 on=one\ninstances A - x6 1320 1321 1322 1323 1324 1325 on=one,two\n",
			false), Stacks, []string{
			"4 instances of A on each of two hosts with a drive do 1.52 times what 6 do on a host with two. +spread",
		}},
	} {
		got := texts(Find([]*result.Run{c.run}), c.topic)
		for _, want := range c.want {
			if !slices.Contains(got, want) {
				t.Errorf("%s: no %q among\n%s", c.name, want, strings.Join(got, "\n"))
			}
		}
	}
}

// Where readers and writers of a scaled-down host never compete, no paper is agreed or disagreed with, and that is
// said.
func TestAMiniatureThatLimitsReadsAndWritesApart(t *testing.T) {
	for limits, apart := range map[string]bool{"reads=1000 writes=1000": true, "reads=1000": false, "memory=400": false} {
		run := readStory(t, "../tenants/testdata/neighbours.story", "cpus=2 memory=400 reads=1500", limits)
		for _, g := range Find([]*result.Run{run}).Guidelines {
			said := slices.ContainsFunc(g.Mind, func(m string) bool { return strings.Contains(m, "never compete") })
			if g.Topic == Neighbours && (said != apart || apart && len(g.Papers) > 0) {
				t.Errorf("with %s: %q, mind %q, papers %v", limits, g.Text, g.Mind, g.Papers)
			}
		}
	}
}

// Of several runs of the same that are no repeats, the newest that can show it counts, in whatever order they are given.
func TestTheNewestRunThatTellsCounts(t *testing.T) {
	dated := func(day int, run *result.Run, id string) *result.Run {
		run.Started, run.ID, run.Environment.Kernel = time.Date(2026, 11, day, 0, 0, 0, 0, time.UTC), id, id
		return run
	}
	users := func() *result.Run { return readStory(t, "../levels/testdata/users.story") }
	tooFew := func() *result.Run {
		run := users()
		run.Trials = slices.DeleteFunc(run.Trials, func(t result.Trial) bool { return t.Block > 1 })
		return run
	}
	for _, c := range []struct {
		runs   []*result.Run
		newest string
		old    int
	}{
		{[]*result.Run{dated(1, users(), "first"), dated(2, users(), "second")}, "second", 1},
		{[]*result.Run{dated(2, users(), "second"), dated(1, users(), "first")}, "second", 1},
		{[]*result.Run{dated(1, users(), "first"), dated(2, tooFew(), "few")}, "first", 1},
		{[]*result.Run{dated(1, tooFew(), "few")}, "few", 0},
	} {
		g := Find(c.runs)
		i := slices.IndexFunc(g.Guidelines, func(g Guideline) bool { return g.Topic == Drives })
		if i < 0 || g.Guidelines[i].Evidence.Run != c.newest || len(g.Guidelines[i].Evidence.Older) != c.old {
			t.Errorf("%+v, want that of %s", g.Guidelines, c.newest)
		}
	}
	empty := Find([]*result.Run{{}, nil}[:1])
	if len(empty.Guidelines) != 0 || empty.Silent != 1 || !strings.HasPrefix(empty.Summary(), "No run here says what to do") {
		t.Errorf("of a run without trials: %+v: %s", empty, empty.Summary())
	}
}

// Each guideline has its evidence, a section shows it, and the papers' are told apart by their ids.
func TestEvidenceIsShown(t *testing.T) {
	g := Find([]*result.Run{runtest.Density(false), readStory(t, "../policies/testdata/policies.story")})
	shown := ""
	for _, s := range g.Sections() {
		for _, r := range s.Remarks {
			shown += r.Text + "\n"
		}
		for _, row := range s.Tables[0].Rows {
			shown += row.Words + "\n"
			for _, c := range row.Cells {
				shown += c.String() + "\n"
			}
		}
	}
	for _, guideline := range g.Guidelines {
		if guideline.Open && len(guideline.Papers) > 0 {
			t.Errorf("it shows nothing yet, and what papers advise of it: %+v", guideline)
		}
		if len(guideline.Evidence.Words) == 0 || guideline.Evidence.Run == "" || !strings.Contains(shown, guideline.Text) ||
			!strings.Contains(shown, guideline.Evidence.Words[0]) || !strings.Contains(shown, guideline.Evidence.Run) {
			t.Errorf("not shown: %+v", guideline)
		}
	}
	if !strings.Contains(shown, "MSST'17 (6.3) advises: too many instances") || !strings.Contains(shown, "that holds here") {
		t.Errorf("it does not say what papers advise:\n%s", shown)
	}
	ids := map[string]bool{}
	for _, p := range All() {
		if ids[p.ID] || p.Paper == "" || p.Where == "" || p.Text == "" {
			t.Errorf("%+v", p)
		}
		ids[p.ID] = true
	}
}
