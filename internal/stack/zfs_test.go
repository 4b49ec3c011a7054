package stack

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/problem"
	"plimsoll/internal/stack/line"
	"plimsoll/internal/testkit/hosttest"
)

func TestPropertiesOfPools(t *testing.T) {
	for text, program := range map[string]string{
		"/dev/sdb > zfs": "zpool create -f -R /state/work-run/s -o cachefile=none -m legacy plimsoll-run-… /dev/sdb",
		"/dev/sdb > zfs(recordsize=16KiB, compression=zstd-3, primarycache=metadata, direct=always)": "zpool create -f " +
			"-R /state/work-run/s -o cachefile=none -m legacy -O recordsize=16384 -O compression=zstd-3 " +
			"-O primarycache=metadata -O direct=always plimsoll-run-… /dev/sdb",
		"/dev/sdb > zfs(compression=gzip-6)": "zpool create -f -R /state/work-run/s -o cachefile=none -m legacy " +
			"-O compression=gzip plimsoll-run-… /dev/sdb",
	} {
		w, err := testPlaces.Writes("s", parse(t, text))
		if err != nil || len(w.Programs) != 2 || strings.Join(w.Programs[0], " ") != program ||
			strings.Join(w.Programs[1], " ") != "mount -n -t zfs plimsoll-run-… /state/work-run/s" {
			t.Errorf("%s: %v, %q", text, err, w.Programs)
		}
	}
}

// What leads out of a stack, or is no value, is refused: no text of a line reaches zpool that is not on a list.
func TestPropertiesThatAreRefused(t *testing.T) {
	for _, option := range []string{
		"recordsize=3KiB", "recordsize=256", "recordsize=32MiB", "recordsize=0", "recordsize=-1", "recordsize=9223372036854775808",
		"recordsize=NaN", "recordsize=1e999", "compression=zstd-20", "compression=gzip-0", `compression="on -O mountpoint=/"`,
		"compression=", `compression="lz4\n"`, "primarycache=ALL", "direct=on", "mountpoint=/", "sharenfs=on",
		"keylocation=file:///etc/shadow", `recordsize="16KiB -f"`, "mkfs=-f", "mount=noatime", "direct",
	} {
		l, err := line.Parse("loop(size=1GiB) > zfs(" + option + ")")
		if err == nil && len(Catalog().Check(l)) == 0 {
			t.Errorf("zfs(%s) is taken", option)
		}
	}
}

func TestZFSIsRefusedWithAWayOut(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root gets to the reason")
	}
	if kernelHas("zfs") {
		t.Skip("this kernel has ZFS")
	}
	err := newEnv(t).Check(t.Context(), parse(t, "loop(size=1GiB) > zfs"), 0)
	if !isProblem(err, problem.Unsupported, "ZFS is not part of Linux", "dir:PATH on a dataset of yours") {
		t.Errorf("got %v", err)
	}
}

// fakePool makes programs of ZFS that note their arguments. The pool is imported, and stands on a device; blkid finds
// its label on a member until labelclear.
func fakePool(t *testing.T, name, device, member string) (calls func() []string) {
	t.Helper()
	dir := t.TempDir()
	kstat := filepath.Join(dir, "kstat")
	defer func(was string) { t.Cleanup(func() { kstatDir = was }) }(kstatDir)
	kstatDir = kstat
	if err := os.MkdirAll(filepath.Join(kstat, name), 0o755); err != nil {
		t.Fatal(err)
	}
	notes := filepath.Join(dir, "calls")
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	for program, does := range map[string]string{
		"zpool": `case $1 in
list) printf '` + name + `\t1G\n\t` + device + `\t1G\n' ;;
destroy) rmdir ` + filepath.Join(kstat, name) + ` ;;
labelclear) touch ` + dir + `/cleared ;;
esac`,
		"blkid":    `test "$6" = "` + member + `" && test ! -e ` + dir + `/cleared && echo ` + name,
		"wipefs":   `:`,
		"blockdev": `:`,
	} {
		script := "#!/bin/sh\n"
		if program != "blkid" {
			script += "echo " + program + ` "$@" >>` + notes + "\n"
		}
		if err := os.WriteFile(filepath.Join(bin, program), []byte(script+does+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	return func() []string {
		text, err := os.ReadFile(notes)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		return strings.Split(strings.TrimSpace(string(text)), "\n")
	}
}

func TestUndoOfAPool(t *testing.T) {
	const name = "plimsoll-run-12345678"
	list, destroy := "zpool list -v -H -P "+name, "zpool destroy -f "+name
	device := filepath.Join("/dev", "null") // exists, and has no label or partition
	for _, test := range []struct {
		title, on, member string
		keep              bool
		want              []string
		err               string
	}{
		{title: "of a loop device", on: device, member: device, keep: true, want: []string{list, destroy}},
		{title: "on the device itself", on: device, member: device,
			want: []string{list, destroy, "zpool labelclear -f /dev/null"}},
		{title: "with another device's label", on: device, member: "/dev/other", want: []string{list, destroy}},
		{title: "of somebody else, by that name", on: "/dev/other", member: device, want: []string{list},
			err: "stands on /dev/other"},
	} {
		t.Run(test.title, func(t *testing.T) {
			calls := fakePool(t, name, test.on, test.member)
			c := &poolChange{Name: name, Device: device, Keep: test.keep}
			err := c.Undo(t.Context(), "")
			if got := calls(); !slices.Equal(got, test.want) {
				t.Errorf("called %q", got)
			}
			if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("got %v", err)
			}
			if err != nil {
				return
			}
			if err := c.Undo(t.Context(), ""); err != nil || len(calls()) != len(test.want) {
				t.Errorf("undone twice: %v, %q", err, calls())
			}
		})
	}
}

// zpool makes partitions on a whole disk. They go, and so does the label in the first of them.
func TestUndoOfAPoolOnAWholeDisk(t *testing.T) {
	hosttest.Exclusive(t)
	file := filepath.Join(t.TempDir(), "disk.img")
	if err := os.WriteFile(file, make([]byte, 64<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	device := hosttest.Loop(t, file)
	member := device + "p1"
	if out, err := exec.Command("addpart", device, "1", "2048", "65536").CombinedOutput(); err != nil {
		t.Skipf("the kernel takes no partition of a loop device here: %s", out)
	}
	t.Cleanup(func() { run(t, "delpart", device, "1") })
	if _, err := os.Stat(member); err != nil {
		t.Skip("nothing makes nodes of partitions here")
	}
	calls := fakePool(t, "plimsoll-run-1", member, member)
	if err := (&poolChange{Name: "plimsoll-run-1", Device: device}).Undo(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"zpool list -v -H -P plimsoll-run-1", "zpool destroy -f plimsoll-run-1",
		"wipefs --all --quiet --force " + device, "zpool labelclear -f " + member, "blockdev --rereadpt " + device,
	}
	if got := calls(); !slices.Equal(got, want) {
		t.Errorf("called %q", got)
	}
}
