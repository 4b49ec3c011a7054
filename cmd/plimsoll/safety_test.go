package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"plimsoll/internal/result/store"
	"plimsoll/internal/testkit/hosttest"
)

// stackFile writes an experiment of one stack, with a workload that takes a moment.
func (p *program) stackFile(line string) string {
	p.t.Helper()
	return p.experiment("name: attack\nquestion: Does it lead elsewhere?\nrepeat: 1\nruntime: 1s\nramp: " +
		"0s\nstacks:\n  it: '" + line + "'\nworkloads:\n  rr: {fio: {rw: randread, size: 4MiB}}\n")
}

// Once each of these wrote to a device or a file that no stack named.
func TestOptionsThatLeadElsewhereAreRefusedByName(t *testing.T) {
	p := newProgram(t)
	for line, says := range map[string][]string{
		`loop(size=200MiB) > btrfs(mkfs="/dev/loop30")`: {`"/dev/loop30" is no option`},
		`loop > xfs(mkfs="-l logdev=/dev/loop30,size=100m", mount="helper=x")`: {"logdev of -l is refused",
			"helper of a mount of xfs is refused"},
		`loop > ext4(mkfs="-z FILE -d /etc/apt", mount="loop,journal_path=/dev/sda")`: {
			"-z of mkfs.ext4", "-d of mkfs.ext4", "loop of a mount of ext4", "journal_path of a mount of ext4",
		},
		`loop > xfs > volume(driver="../../etc")`: {`"../../etc" is none of its values`},
	} {
		for _, dry := range [][]string{nil, {"--dry-run"}} {
			code, _, errs := p.run(append([]string{"run", p.stackFile(line)}, dry...)...)
			if code != exitUsage {
				t.Errorf("%s: ends with %d: %s", line, code, errs)
			}
			contains(t, errs, append(says, "experiment.yaml:", "column")...)
		}
	}
	if p.exists("state") || p.exists("FILE") || p.exists("plimsoll-runs") {
		t.Error("files were made")
	}
}

func TestADeviceThatSomebodyHasAloneIsRefusedBeforeAnythingStarts(t *testing.T) {
	hosttest.Exclusive(t)
	p := newProgram(t)
	file := filepath.Join(t.TempDir(), "disk.img")
	if err := os.WriteFile(file, make([]byte, 64<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	device := hosttest.Loop(t, file)
	alone, err := os.OpenFile(device, os.O_RDONLY|unix.O_EXCL, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer alone.Close()
	for _, dry := range [][]string{nil, {"--dry-run"}} {
		code, _, errs := p.run(append([]string{"run", p.stackFile(device + " > ext4"), "--destroy", device}, dry...)...)
		if code != exitRefused {
			t.Errorf("ends with %d: %s", code, errs)
		}
		contains(t, errs, device, "for itself alone", "fuser -v "+device)
	}
	if p.exists("state") || p.exists("plimsoll-runs") {
		t.Error("files were made")
	}
}

func TestTheDryRunNamesEveryPlaceThatIsWritten(t *testing.T) {
	hosttest.Exclusive(t)
	p := newProgram(t)
	code, out, errs := p.run("run", p.stackFile("loop(size=64MiB, dir="+p.dir+") > ext4 > volume"), "--dry-run")
	if code != 0 {
		t.Fatalf("ends with %d: %s", code, errs)
	}
	contains(t, out, "writes "+p.dir+"/plimsoll-RUN-regions/regions.img", "writes /dev/loopN",
		"writes "+p.state+"/work-RUN/it",
		"writes "+p.state+"/work-RUN/engine-N-overlay2", "writes /run/plimsoll/RUN-",
		"writes "+p.state+"/journal/RUN.jsonl", "writes cgroups plimsoll-RUN-")
}

// TestCleanDoesNotObeyAnotherUsersJournal has a user leave a journal in a state
// directory that root cleans.
func TestCleanDoesNotObeyAnotherUsersJournal(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make files of other users")
	}
	p := newProgram(t)
	precious := filepath.Join(p.dir, "precious")
	p.file("precious", "mine")
	journal := filepath.Join(p.state, "journal")
	if err := os.MkdirAll(journal, 0o755); err != nil {
		t.Fatal(err)
	}
	text := `{"seq":1,"state":"made","kind":"file","change":{"Path":"` + precious + `"}}` + "\n" +
		`{"seq":2,"state":"made","kind":"cgroup","change":{"Path":"../../../` + precious + `"}}` + "\n"
	if err := os.WriteFile(filepath.Join(journal, "x.jsonl"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		uid  int
		says string
	}{
		{12345, "belongs to user 12345"},
		{0, "a change that no run makes"}, // root's own, and no better
	} {
		for _, path := range []string{filepath.Join(journal, "x.jsonl"), journal} {
			if err := os.Chown(path, test.uid, test.uid); err != nil {
				t.Fatal(err)
			}
		}
		code, out, errs := p.run("clean")
		if code != exitFailure || !strings.Contains(out+errs, test.says) {
			t.Errorf("ends with %d: %s %s", code, out, errs)
		}
		if got, err := os.ReadFile(precious); err != nil || string(got) != "mine" {
			t.Errorf("it was obeyed: %q, %v", got, err)
		}
	}
}

// TestAReportIsReplacedAndNotWrittenThroughALink has another user put a link in
// the place of a run's report.
func TestAReportIsReplacedAndNotWrittenThroughALink(t *testing.T) {
	hosttest.Exclusive(t)
	p := newProgram(t)
	if code, _, errs := p.run("run", p.stackFile("dir:"+p.dir), "--output", "here"); code != 0 {
		t.Fatalf("ends with %d: %s", code, errs)
	}
	p.file("precious", "mine")
	report := filepath.Join(p.dir, "here", store.ReportFile)
	for _, args := range [][]string{{"show", "here", "--report"}, {"run", "--resume", "here"}} {
		_ = os.Remove(report)
		if err := os.Symlink(filepath.Join(p.dir, "precious"), report); err != nil {
			t.Fatal(err)
		}
		_, _, _ = p.run(args...) // a run that is complete may have nothing to go on with
		if got, err := os.ReadFile(filepath.Join(p.dir, "precious")); err != nil || string(got) != "mine" {
			t.Errorf("%v: it wrote through the link: %.40q, %v", args, got, err)
		}
		if info, err := os.Lstat(report); args[0] == "show" && (err != nil || !info.Mode().IsRegular()) {
			t.Errorf("%v: the report was not replaced: %v", args, err)
		}
	}
}
