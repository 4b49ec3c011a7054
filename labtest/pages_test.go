package labtest

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/lab"
	"plimsoll/internal/testkit/hosttest"
)

// wholePages has pages followed with the times that they name, which takes hours where processors are emulated.
const wholePages = "PLIMSOLL_TEST_WHOLE_PAGES"

// TestPagesAreFollowed installs the package on a machine that never saw plimsoll, and follows the README and the
// tutorials there: each command in its order, in one directory. Every command succeeds, and prints what the page
// shows, as far as it does not depend on the host.
func TestPagesAreFollowed(t *testing.T) {
	hosttest.Soak(t)
	// The drive has the serial that the pages name.
	drive := lab.Drive{Serial: "S4EVNF0M123456", Bytes: 16 << 30}
	g := start(t, lab.Machine{Name: lab.Server, Memory: 3 << 30, Drives: []lab.Drive{drive}})[0]
	err := lab.Send(t.Context(), g.dir, []string{debianPackage(t)})
	if err != nil {
		t.Fatal(err)
	}
	// The only user is root, who needs no sudo; and the program that the lab carries in is not what is tested.
	g.do(t, `dpkg -i plimsoll_9.8.7_amd64.deb && rm plimsoll_9.8.7_amd64.deb && pwd >/tmp/here &&
		printf '#!/bin/sh\nexec "$@"\n' >/usr/bin/sudo && chmod +x /usr/bin/sudo`)
	m := &reader{guest: g, before: map[string]ran{}}
	for _, file := range []string{
		"docs/tutorials/1-choose-storage-for-containers.md", "docs/tutorials/2-how-many-databases.md", "README.md",
	} {
		t.Run(filepath.Base(file), func(t *testing.T) { m.follow(t, file) })
	}
}

// reader is a machine on which pages are followed.
type reader struct {
	*guest
	before map[string]ran // runs, by their commands: the README has those of the tutorials, which take long
}

// ran is what became of a command.
type ran struct {
	code int
	said string
}

// follow types what a page shows, and compares what is printed.
func (m *reader) follow(t *testing.T, file string) {
	text, err := os.ReadFile(filepath.Join("..", file))
	if err != nil {
		t.Fatal(err)
	}
	steps, files := transcript(string(text))
	followed := 0
	for _, s := range steps {
		if why := notFollowed(s.command); why != "" {
			t.Logf("$ %s: not followed: %s", s.command, why)
			continue
		}
		followed++
		for name, content := range files {
			if strings.Contains(s.command, name) { // the reader has written it by now
				m.do(t, fmt.Sprintf("cd $(cat /tmp/here) && cat >%s <<'END'\n%sEND\n", name, content))
			}
		}
		r := m.typed(t, s.command)
		if r.code != 0 {
			t.Errorf("%s: status %d:\n%s", s.command, r.code, tail(r.said))
			continue
		}
		for _, line := range s.missing(r.said) {
			t.Errorf("%s: does not print %q", s.command, line)
		}
	}
	if followed < 3 {
		t.Errorf("only %d commands were followed", followed)
	}
}

// typed runs a command where the last one left the shell.
func (m *reader) typed(t *testing.T, command string) ran {
	if os.Getenv(wholePages) == "" {
		command = shortened(command)
	}
	r, again := m.before[command]
	if again {
		return r
	}
	r.code, r.said = m.status(t, fmt.Sprintf(
		"export PATH=/usr/sbin:/usr/bin:/sbin:/bin COLUMNS=120; cd $(cat /tmp/here) || exit 1\n%s\ncode=$?\n"+
			"pwd >/tmp/here; exit $code", command))
	t.Logf("$ %s: status %d\n%s", command, r.code, r.said)
	if strings.HasPrefix(command, "sudo plimsoll run ") && !strings.Contains(command, "--resume") {
		m.before[command] = r
	}
	return r
}

// step is a command of a page, and what the page shows of its output.
type step struct {
	command string
	output  []string
}

var pageFile = regexp.MustCompile("(?s)```yaml\nname: ([a-z-]+)\n.*?```")

// transcript returns the commands that a page shows with a prompt, each with the output up to the next one, and the
// experiment files that it has the reader write, by name.
func transcript(text string) (steps []step, files map[string]string) {
	files = map[string]string{}
	for _, m := range pageFile.FindAllStringSubmatch(text, -1) {
		files[m[1]+".yaml"] = strings.TrimSuffix(strings.TrimPrefix(m[0], "```yaml\n"), "```")
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		rest, indented := strings.CutPrefix(line, "    ")
		command, typed := strings.CutPrefix(strings.TrimLeft(rest, " "), "$ ")
		switch {
		case indented && typed:
			steps = append(steps, step{command: command})
		case len(steps) == 0:
		case indented: // also behind text: a page shows an output in parts
			last := &steps[len(steps)-1]
			last.output = append(last.output, rest)
		default:
			last := &steps[len(steps)-1]
			last.output = append(last.output, "")
		}
	}
	return steps, files
}

// notFollowed returns why a command of a page cannot be followed in a lab, or "".
func notFollowed(command string) string {
	switch {
	case strings.Contains(command, "image build"), strings.Contains(command, "postgresql-scaling"):
		return "an image is built of packages of the distribution, and the lab has no network"
	default:
		return ""
	}
}

var (
	budget  = regexp.MustCompile(` --budget \d+m`)
	more    = regexp.MustCompile(`--budget \+\d+m`)
	records = regexp.MustCompile(` --records \d+`)
)

// shortened returns a command that measures each point once, and little, for emulated processors. It shows the same.
func shortened(command string) string {
	const once = " --repeat 1 --trials 1 --runtime 200ms"
	words := strings.Fields(command)
	switch {
	case strings.Contains(command, "--resume"):
		return more.ReplaceAllString(command, "--budget +90s")
	case strings.Contains(command, "--dry-run"), !slices.Contains(words, "run"):
		return command
	case slices.Contains(words, "density"):
		command = records.ReplaceAllString(budget.ReplaceAllString(command, ""), "")
		return command + once + " --records 5000 --instances 4"
	default:
		return budget.ReplaceAllString(command, "") + once + " --size 16MiB"
	}
}

var (
	number = regexp.MustCompile(`[~-]?\d.*$`)
	spaces = regexp.MustCompile(`\s+`)
	// What doctor finds depends on the host; that it looks, and how it says so, does not.
	found   = regexp.MustCompile(`^(?:ok|limited|no|unknown) {2,}(\S+(?: \S+)*)(?: {2,}.*)?$`)
	labeled = regexp.MustCompile(`^(why:|remedy:|(?:name|system|CPU|memory) {2,}).*$`)
	// A verdict's words depend on what was measured. It says how sure it is, and what to do next.
	verdicts = regexp.MustCompile(`^(Sure: |Likely: |Too early to say)`)
)

// missing returns which lines of the page an output has no counterpart to.
func (s step) missing(output string) []string {
	var said []string
	for line := range strings.Lines(output) {
		said = append(said, form(line))
	}
	var out []string
	depends := false // on what was measured, and how often
	deep := -1
	for _, line := range s.output {
		want := form(line)
		indent := len(line) - len(strings.TrimLeft(line, " "))
		if depends && (strings.TrimSpace(line) == "" || deep >= 0 && indent <= deep) {
			depends, deep = false, -1
		}
		switch {
		case want == "" || depends:
		case verdicts.MatchString(want):
			depends = true
			if !slices.ContainsFunc(said, verdicts.MatchString) {
				out = append(out, line)
			}
		case strings.HasPrefix(want, "noise floor: "): // which takes several setups
			depends, deep = true, indent
		case !slices.ContainsFunc(said, func(l string) bool { return strings.HasPrefix(l, want) }):
			out = append(out, line)
		}
	}
	return out
}

// form returns what a line has of fixed words: those before its first number, without the mark of a winner.
func form(line string) string {
	line = strings.TrimPrefix(strings.TrimSpace(line), "★")
	line = strings.TrimSuffix(strings.TrimSpace(line), "...")
	line = labeled.ReplaceAllString(found.ReplaceAllString(line, "found $1"), "$1")
	line = strings.Replace(line, "  interval  ", "  ", 1) // a column of four setups or more
	return strings.TrimSpace(spaces.ReplaceAllString(number.ReplaceAllString(line, ""), " "))
}

// A page's transcript is read as its reader reads it, and an output of another form is found.
func TestTranscriptsAreCompared(t *testing.T) {
	const page = "# Page\n\nType:\n\n" +
		"    $ one --budget 6m\n    Verdict\n      Sure: use xfs for 3\n      - Avoid: btrfs\n\n" +
		"    stack IOPS\n    ★ raw  42,311 ~\n    ...\n\nAnd also:\n\n" +
		"      no   fio   3.33\n      why:  none\n    $ two\n\n```yaml\nname: mine\nrepeat: 1\n```\n"
	steps, files := transcript(page)
	if len(steps) != 2 || steps[1].command != "two" || files["mine.yaml"] != "name: mine\nrepeat: 1\n" {
		t.Fatalf("%+v, %q", steps, files)
	}
	for output, missing := range map[string]int{
		"Verdict\n  Likely: ext4\n\nstack   IOPS\nraw 7\nok       fio\nwhy: too old\n": 0,
		"Verdict\n  Likely: ext4\n\nstack   IOPS\nok       fio\n":                      2,
		"Verdict\n  It is ext4\n\nstack   MB/s\nraw 7\nno  fio  4\nwhy: \n":            2,
		"Verdict\n  Too early to say.\nstack IOPS\n★ raw 8\nok  xfs  3\nwhy: \n":       1,
	} {
		if got := steps[0].missing(output); len(got) != missing {
			t.Errorf("%q: missing are %q", output, got)
		}
	}
	for command, want := range map[string]string{
		"run quick":                      "run quick --repeat 1 --trials 1 --runtime 200ms --size 16MiB",
		"run --resume mine --budget +8m": "run --resume mine --budget +90s",
		"run density --records 20 --budget 3m": "run density --repeat 1 --trials 1 --runtime 200ms --records 5000 " +
			"--instances 4",
		"predict model.json --memory 2100MiB": "predict model.json --memory 2100MiB",
	} {
		if got := shortened(command); got != want {
			t.Errorf("%s becomes %s", command, got)
		}
	}
}
