package labtest

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/lab"
	"plimsoll/internal/result"
	"plimsoll/internal/testkit/hosttest"
)

// TestAPackageIsInstalled installs the package of a release on Debian as a user does, measures with what is installed
// and nothing else, and removes it again.
func TestAPackageIsInstalled(t *testing.T) {
	hosttest.Soak(t)
	g := start(t, lab.Machine{Name: lab.Server, Memory: 2 << 30})[0]
	err := lab.Send(t.Context(), g.dir, []string{debianPackage(t)})
	if err != nil {
		t.Fatal(err)
	}
	// The image itself leaves out what people read.
	const install = "dpkg --path-include='/usr/share/*' -i plimsoll_9.8.7_amd64.deb"
	const files = `find /usr /etc -xdev ! -name mtab.fuselock | sort` // which fusermount makes
	before := g.do(t, files)
	g.do(t, install)
	// The program that the lab carries in is not what is tested.
	g.do(
		t,
		`test "$(dpkg -L plimsoll | grep -c ^/usr/bin/)" = 1 && dpkg --verify plimsoll && export PATH=/usr/sbin:/usr/bin:/sbin:/bin &&
		test "$(command -v plimsoll)" = /usr/bin/plimsoll`,
	)
	for _, file := range []string{
		"man/man1/plimsoll.1.gz", "man/man1/plimsoll-run.1.gz", "bash-completion/completions/plimsoll",
		"zsh/vendor-completions/_plimsoll", "fish/vendor_completions.d/plimsoll.fish", "doc/plimsoll/copyright",
		"doc/plimsoll/CHANGELOG.md", "doc/plimsoll/docs/reference/stacks.md", "doc/plimsoll/examples/quick.yaml",
	} {
		g.do(t, "test -s /usr/share/"+file)
	}
	g.do(t, "bash -n /usr/share/bash-completion/completions/plimsoll")
	g.ends(t, 0, "zcat /usr/share/man/man1/plimsoll-run.1.gz", `"plimsoll 9.8.7"`)
	g.ends(t, 0, "/usr/bin/plimsoll version", "plimsoll 9.8.7 (commit 0123456789ab, 2026-11-28, go")
	g.ends(t, 0, "/usr/bin/plimsoll doctor", "private engines")
	said := g.do(t, "/usr/bin/plimsoll run quick --quiet --no-control --repeat 1 --trials 1 --runtime 200ms "+
		"--size 32MiB -o ran")
	var ran result.Run
	err = json.Unmarshal([]byte(g.do(t, "cat ran/run.json")), &ran)
	if err != nil {
		t.Fatal(err)
	}
	measured := map[string]bool{}
	for _, trial := range ran.Trials {
		if trial.Measured() != nil {
			measured[trial.Stack] = true
		}
	}
	if ran.Version != "9.8.7" || len(measured) != 9 {
		t.Errorf("plimsoll %s measured %v:\n%s", ran.Version, measured, tail(said))
	}
	g.do(t, "test -s ran/report.html && /usr/bin/plimsoll clean && dpkg --purge plimsoll && test ! -e /usr/bin/plimsoll")
	if diff := differs(before, g.do(t, files)); diff != "" {
		t.Errorf("what is installed is not what was:\n%s", diff)
	}
}

// debianPackage makes the package of plimsoll as scripts/release does, of these files.
func debianPackage(t *testing.T) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "release")
	cmd := exec.Command(
		"scripts/with-go",
		"go",
		"run",
		"./scripts/release",
		"--only",
		"plimsoll/amd64",
		"--version",
		"9.8.7",
		"--commit",
		"0123456789abcdef",
		"--date",
		"1795824000",
		"--maintainer",
		"Tests <tests@localhost>",
		"--output",
		out,
	)
	cmd.Dir = ".."
	said, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", strings.Join(cmd.Args, " "), err, said)
	}
	return filepath.Join(out, "plimsoll_9.8.7_amd64.deb")
}
