package loader

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"plimsoll/internal/problem"
	"plimsoll/internal/testkit/hosttest"
)

// precious is the text of what an image is not to reach.
const precious = "PRECIOUS OF ROOT"

// victim is a directory of the host, a file in it, and a loop device.
type victim struct{ dir, file, device string }

func newVictim(t *testing.T) victim {
	t.Helper()
	v := victim{dir: filepath.Join(t.TempDir(), "victim")}
	v.file = filepath.Join(v.dir, "precious")
	backing := filepath.Join(t.TempDir(), "disk")
	err := errors.Join(os.Mkdir(v.dir, 0o700), os.WriteFile(v.file, []byte(precious), 0o600),
		os.WriteFile(backing, bytes.Repeat([]byte(precious), 1<<16), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	v.device = hosttest.Loop(t, backing)
	return v
}

// check fails the test where anything about the victim is not as it was.
func (v victim) check(t *testing.T) {
	t.Helper()
	entries, err := os.ReadDir(v.dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("the host's directory holds %v, %v", entries, err)
	}
	for _, path := range []string{v.file, v.device} {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		text := make([]byte, len(precious))
		if _, err := f.Read(text); err != nil || string(text) != precious {
			t.Errorf("%s begins with %q, %v", path, text, err)
		}
		f.Close()
	}
}

// imageFile makes a link, a FIFO, another name of a file or a directory below an image's root: "link->to", "pipe|",
// "hard=>to", "dir/".
func imageFile(t *testing.T, root, entry string) {
	t.Helper()
	name, to, isLink := strings.Cut(entry, "->")
	name, original, isHard := strings.Cut(name, "=>")
	name, isFIFO := strings.CutSuffix(name, "|")
	target := filepath.Join(root, name)
	err := os.MkdirAll(filepath.Dir(target), 0o755)
	switch {
	case err != nil:
	case isLink:
		err = os.Symlink(to, target)
	case isHard:
		err = os.Link(original, target)
	case isFIFO:
		err = unix.Mkfifo(target, 0o666)
	default:
		err = os.MkdirAll(target, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// planFiles are those that a plan has for its server, which root writes.
var planFiles = map[string]string{"hosts": "127.0.0.1 localhost\n", "cassandra.yaml": "cluster_name: plimsoll\n"}

// TestAttackImageHasLinks: root writes nothing of the host by a link, a FIFO or a second name that an image has in its
// root. An image that has Plimsoll's names is refused; all others run, and see what is theirs.
func TestAttackImageHasLinks(t *testing.T) {
	hosttest.Exclusive(t)
	v := newVictim(t)
	refused := map[string][]string{
		"a link for the scratch directory": {"plimsoll->" + v.dir},
		"links for its files": {"plimsoll/server/", "plimsoll/hosts->" + v.file,
			"plimsoll/cassandra.yaml->" + v.dir + "/new"},
		"a link to a device":                        {"plimsoll/server/", "plimsoll/hosts->" + v.device},
		"a link for the server's directory":         {"plimsoll/server->" + v.dir},
		"a link over a link":                        {"etc/way->" + v.dir, "plimsoll->etc/way"},
		"a link by way of another process's root":   {"plimsoll->/proc/1/root" + v.dir},
		"a link by way of this process's root":      {"plimsoll->/proc/self/root" + v.dir},
		"another name of a file":                    {"plimsoll/hosts=>" + v.file},
		"a FIFO":                                    {"plimsoll/hosts|"},
		"a FIFO for the scratch directory":          {"plimsoll|"},
		"a link for the data":                       {"data->" + v.dir},
		"a link for this program in containers":     {"plimsoll.program->" + v.file},
		"a link that leaves the image step by step": {"plimsoll->" + strings.Repeat("../", 40) + v.dir},
	}
	for name, entries := range refused {
		t.Run("refused: "+name, func(t *testing.T) {
			output := &bytes.Buffer{}
			c := hostile(t, output, "true")
			c.Plan.Files = planFiles
			for _, entry := range entries {
				imageFile(t, c.Root, entry)
			}
			err := Run(t.Context(), c)
			if p := problem.Of(err, problem.Unsupported); p == nil || p.Why == "" || p.Remedy == "" || output.Len() > 0 {
				t.Errorf("it ends with %v, and its program prints %q", err, output)
			}
			v.check(t)
			taken := slices.ContainsFunc(entries, func(entry string) bool {
				return strings.HasPrefix(entry, "plimsoll->") || strings.HasPrefix(entry, "plimsoll/")
			})
			if err := enterAlone(c); taken != errors.Is(err, os.ErrExist) {
				t.Errorf("a root that is made without that check ends with %v", err)
			}
			v.check(t)
		})
	}
	harmless := map[string][]string{
		"links for what every root has": {"dev->" + v.dir, "proc->" + v.dir, "run->" + v.dir, "sys->" + v.dir,
			"tmp->" + v.dir},
		"links to what is Plimsoll's": {"etc->plimsoll", "var->/plimsoll/server", "srv->/plimsoll/data"},
		"links below a directory":     {"data/plimsoll->" + v.dir, "data/db/hosts->" + v.file, "opt/plimsoll->" + v.dir},
		"a FIFO, and another name":    {"pipe|", "etc/hosts=>" + v.file},
	}
	for name, entries := range harmless {
		t.Run("harmless: "+name, func(t *testing.T) {
			output := &bytes.Buffer{}
			c := hostile(t, output, v.file)
			c.Plan.Files = planFiles
			for _, entry := range entries {
				imageFile(t, c.Root, entry)
			}
			if err := Run(t.Context(), c); err == nil || !strings.Contains(err.Error(), "exit status 7") {
				t.Errorf("it ends with %v", err)
			}
			if !strings.Contains(output.String(), fmt.Sprintf(`"UID":%d`, hostUser)) || strings.Contains(output.String(), precious) {
				t.Errorf("its program prints %q", output)
			}
			v.check(t)
		})
	}
}

// enterAlone makes the root of a configuration as Run does, without looking at the image's names before.
func enterAlone(c Config) error {
	sockets := filepath.Join(c.Scratch, "server")
	in := filepath.Join(c.Scratch, "root")
	if err := errors.Join(os.Mkdir(c.Dir, 0o700), os.Mkdir(sockets, 0o700), os.Mkdir(in, 0o700)); err != nil {
		return err
	}
	ended := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends, and its namespaces
		texts := map[string]string{}
		for name, text := range planFiles {
			texts[path(name)] = text
		}
		ended <- enter(in, c.Root, map[string]string{"/plimsoll/data": c.Dir, "/plimsoll/server": sockets}, texts)
	}()
	return <-ended
}
