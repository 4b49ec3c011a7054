package labtest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/lab"

	"plimsoll/internal/testkit/soak"
)

// goTests are tests of another package which run in a guest.
type goTests struct {
	Package string        // "internal/stack"
	Run     string        // which of them, as -test.run takes it
	Env     []string      // beside the guest's own
	Skips   []string      // tests that may be skipped there; a skip is a failure otherwise, but for hosttest.Soak
	For     time.Duration // that they take by themselves
}

// runs runs tests in the guest, each as a subtest with its own name and words.
func (g *guest) runs(t *testing.T, tests goTests) {
	t.Helper()
	binary := compiled(t, tests.Package, true)
	if !g.has[binary] {
		if err := lab.Send(t.Context(), g.dir, []string{binary}); err != nil {
			t.Fatal(err)
		}
		g.has[binary] = true
	}
	limit := tests.For + 2*hang
	ctx, cancel := context.WithTimeoutCause(t.Context(), limit+30*time.Second,
		fmt.Errorf("the tests of %s hang", tests.Package))
	defer cancel()
	r, w := io.Pipe()
	type ending struct {
		code int
		err  error
	}
	over := make(chan ending, 1)
	go func() {
		// Temporary files are not kept in memory: loop devices there would have no
		// disk under them.
		code, err := lab.Run(ctx, g.dir, lab.Command{
			Args: []string{"sh", "-c", `mkdir -p /work/tmp && TMPDIR=/work/tmp exec "$@" 2>&1`, "sh",
				"/work/" + binary[strings.LastIndex(binary, "/")+1:], "-test.v=test2json", "-test.run", tests.Run,
				"-test.timeout", limit.String()},
			Env: append(slices.Clone(tests.Env), soak.Variable+"="+os.Getenv(soak.Variable)),
		}, lab.Streams{Stdout: w, Stderr: w})
		_ = w.Close() // a pipe has nothing to lose
		over <- ending{code, err}
	}()
	found := read(r, func(name string) { t.Logf("%s: %s %s", g.name, tests.Package, name) })
	end := <-over
	if end.err != nil {
		t.Errorf("%s: %v", tests.Package, end.err)
	}
	if len(found.children) == 0 {
		t.Errorf("%s: no test is called %s", tests.Package, tests.Run)
	}
	ok := true
	for _, name := range slices.SortedFunc(maps.Keys(found.children), found.order) {
		ok = found.children[name].tell(t, name, tests.Skips) && ok
	}
	if text := strings.TrimSpace(found.text.String()); end.code != 0 && ok {
		t.Errorf("%s: its tests ended with status %d, and none of them failed:\n%s", tests.Package, end.code, text)
	}
}

// told is what a run of Go tests told of a test.
type told struct {
	began    int    // tests are told in the order in which they began
	result   string // PASS, FAIL or SKIP; "" when it did not end
	took     string
	text     strings.Builder
	children map[string]*told
}

func (n *told) order(a, b string) int { return n.children[a].began - n.children[b].began }

// marker is how a Go test binary marks lines that are its own, with
// -test.v=test2json.
const marker = "\x16"

var (
	beginning = regexp.MustCompile(`^=== (RUN|NAME|CONT|PAUSE) +(\S*)$`)
	ended     = regexp.MustCompile(`^ *--- (PASS|FAIL|SKIP): (\S+) \((.*)\)$`)
)

// read reads what a Go test binary tells, and calls hear for each test that
// begins.
func read(r io.Reader, hear func(name string)) *told {
	root := &told{children: map[string]*told{}}
	all := map[string]*told{"": root}
	current := root
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadString('\n')
		before, own, marked := strings.Cut(strings.TrimSuffix(line, "\n"), marker)
		if before != "" {
			fmt.Fprintln(&current.text, before)
		}
		if marked {
			if m := beginning.FindStringSubmatch(own); m != nil {
				name := m[2]
				if all[name] == nil {
					parent := parentOf(all, name)
					all[name] = &told{began: len(all), children: map[string]*told{}}
					all[parent].children[strings.TrimPrefix(name[len(parent):], "/")] = all[name]
					hear(name)
				}
				current = all[name]
			} else if m := ended.FindStringSubmatch(own); m != nil && all[m[2]] != nil {
				all[m[2]].result, all[m[2]].took = m[1], m[3]
			} else {
				fmt.Fprintln(&current.text, own)
			}
		}
		if err != nil {
			return root
		}
	}
}

// parentOf gives the name of the test of which this one is a part. Names of
// parts may have slashes of their own.
func parentOf(all map[string]*told, name string) string {
	for at := len(name); ; {
		if at = strings.LastIndexByte(name[:at], '/'); at < 0 {
			return ""
		}
		if all[name[:at]] != nil {
			return name[:at]
		}
	}
}

// tell makes a subtest of what was told, and tells whether it was good.
func (n *told) tell(t *testing.T, name string, skips []string) bool {
	return t.Run(name, func(t *testing.T) {
		if text := strings.TrimSpace(n.text.String()); text != "" {
			t.Log("\n" + text)
		}
		for _, child := range slices.SortedFunc(maps.Keys(n.children), n.order) {
			n.children[child].tell(t, child, skips)
		}
		switch n.result {
		case "PASS":
			t.Log("passed in the guest, in " + n.took)
		case "FAIL":
			t.Error("failed in the guest, after " + n.took)
		case "SKIP":
			if !slices.Contains(skips, name) && !strings.Contains(n.text.String(), soak.Reason) {
				t.Error("skipped in the guest, which has what it needs")
			}
			t.Skip("SKIPPED in the guest, with the reason above")
		default:
			t.Error("it did not come to its end in the guest")
		}
	})
}

// What a test binary tells comes out as subtests, whatever is in between.
func TestRead(t *testing.T) {
	const text = marker + "=== RUN   TestA\nno newline" + marker + "=== RUN   TestA//dev/x_>_ext4\nhello\n" +
		marker + "=== NAME  TestA\nagain\n" +
		marker + "--- FAIL: TestA (1.50s)\n" + marker + "    --- PASS: TestA//dev/x_>_ext4 (1.00s)\n" +
		marker + "=== RUN   TestB\nlost " + marker + "--- SKIP: TestB (0.00s)\n" + marker + "=== RUN   TestC\npanic: no\n"
	var heard []string
	root := read(strings.NewReader(text), func(name string) { heard = append(heard, name) })
	var b strings.Builder
	root.story(&b, "")
	const want = `TestA FAIL 1.50s "no newline\nagain\n"
  /dev/x_>_ext4 PASS 1.00s "hello\n"
TestB SKIP 0.00s "lost \n"
TestC   "panic: no\n"
`
	if b.String() != want || len(heard) != 4 {
		t.Errorf("it is heard of %q, and shown:\n%s", heard, &b)
	}
}

func (n *told) story(w io.Writer, indent string) {
	for _, name := range slices.SortedFunc(maps.Keys(n.children), n.order) {
		c := n.children[name]
		fmt.Fprintf(w, "%s%s %s %s %q\n", indent, name, c.result, c.took, c.text.String())
		c.story(w, indent+"  ")
	}
}
