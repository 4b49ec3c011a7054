package kinds

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"plimsoll/internal/state/journal"
)

// kindName returns the name of a change's kind.
func kindName(c journal.Change) string {
	for _, k := range journal.Kinds() {
		if reflect.TypeOf(k.New()) == reflect.TypeOf(c) {
			return k.Name
		}
	}
	return ""
}

// fieldsOf returns what a journal has of a change.
func fieldsOf(c journal.Change) fields {
	text, err := json.Marshal(c)
	if err != nil {
		panic(err)
	}
	var f fields
	if err := json.Unmarshal(text, &f); err != nil {
		panic(err)
	}
	return f
}

// written makes a journal of run "run" that holds this change, as a crash would
// leave it.
func written(t *testing.T, state string, c journal.Change) (path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(state, "journal"), 0o700); err != nil {
		t.Fatal(err)
	}
	line, err := json.Marshal(fields{"seq": 1, "state": "made", "kind": kindName(c), "change": c})
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(state, "journal/run.jsonl")
	if err := os.WriteFile(path, append(line, '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// precious makes a directory with a file in it, which are nobody's to remove.
func precious(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "precious"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func isThere(t *testing.T, dir string) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(dir, "precious")); err != nil {
		t.Errorf("clean removed what no run made: %v", err)
	}
}

// TestEntriesThatNoRunCanHaveWrittenAreNotObeyed has journals of root's own ask
// for what no run makes.
func TestEntriesThatNoRunCanHaveWrittenAreNotObeyed(t *testing.T) {
	theirs := precious(t)
	state := t.TempDir()
	const id = "11111111-2222-3333-4444-555555555555"
	link := filepath.Join(journal.WorkDir(state, "run"), "link")
	if err := errors.Join(os.Mkdir(journal.WorkDir(state, "run"), 0o700),
		os.Symlink(filepath.Dir(theirs), link)); err != nil {
		t.Fatal(err)
	}
	over := filepath.Join(link, filepath.Base(theirs))
	fakeTracer := filepath.Join(theirs, "current_tracer")
	if err := os.WriteFile(fakeTracer, []byte("nop"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []journal.Change{
		newChange("dir", fields{"Path": theirs}),
		newChange("dir", fields{"Path": "/"}),
		newChange("dir", fields{"Path": ""}),
		newChange("dir", fields{"Path": "work-run"}),
		newChange("dir", fields{"Path": over}),
		newChange("dir", fields{"Path": journal.WorkDir(state, "run") + "/../" + filepath.Base(theirs)}),
		newChange("dir", fields{"Path": journal.WorkDir(state, "other")}),
		newChange("dir", fields{"Path": state}),
		newChange("dir", fields{"Path": filepath.Join(state, "journal")}),
		newChange("dir", fields{"Path": filepath.Join(theirs, "plimsoll-other-x")}),
		newChange("dir", fields{"Path": filepath.Join(theirs, "plimsoll-runner-x")}),
		newChange("file", fields{"Path": filepath.Join(theirs, "precious")}),
		newChange("file", fields{"Path": filepath.Join(over, "precious")}),
		newChange("file", fields{"Path": "/etc/passwd"}),
		newChange("loop", fields{"Number": 0, "Backing": filepath.Join(theirs, "precious")}),
		newChange("loop", fields{"Number": -1, "Backing": journal.WorkDir(state, "run")}),
		newChange("mkfs", fields{"Device": "/etc/passwd", "Type": "ext4", "UUID": id}),
		newChange("mkfs", fields{"Device": "/dev/../etc/passwd", "Type": "ext4", "UUID": id}),
		newChange("mkfs", fields{"Device": "/dev/loop0", "Type": "ext4", "UUID": ""}),
		newChange("mkfs", fields{"Device": "--all", "UUID": id}),
		newChange("mount", fields{"Target": "/"}),
		newChange("mount", fields{"Target": theirs}),
		newChange("mount", fields{"Target": "/proc"}),
		newChange("mount", fields{"Target": "/sys/kernel/tracing", "Type": "ext4"}),
		newChange("cgroup", fields{"Path": "../.."}),
		newChange("cgroup", fields{"Path": "../../tmp/plimsoll-x"}),
		newChange("cgroup", fields{"Path": "system.slice"}),
		newChange("cgroup", fields{"Path": ""}),
		newChange("cgroup", fields{"Path": "/plimsoll-x"}),
		newChange("cgroup", fields{"Path": "plimsoll-x/.."}),
		newChange("cgroup", fields{"Path": "plimsoll-*"}),
		newChange("cgroup", fields{"Path": "plimsoll-x/../../plimsoll-y"}),
		newChange("setting", fields{"Path": "/etc/passwd", "Value": "x", "Was": "y"}),
		newChange("setting", fields{"Path": "/sys/block/../../proc/sys/queue/scheduler", "Value": "x", "Was": "y"}),
		newChange("setting", fields{"Path": fakeTracer, "Value": "nop", "Was": "blk"}),
		newChange("setting", fields{"Path": "/sys/block/sda/queue/scheduler", "Value": "none", "Was": "a\nb"}),
		newChange("setting", fields{"Path": "/proc/sys/kernel/core_pattern", "Value": "core", "Was": "x"}),
		newChange("iocost", fields{"Path": "/etc/passwd", "Device": "8:0", "Settings": "ctrl=auto"}),
		newChange("iocost", fields{"Path": "/sys/fs/cgroup/../io.cost.qos", "Device": "8:0", "Settings": "ctrl=auto"}),
		newChange("iocost", fields{"Path": "/sys/fs/cgroup/io.cost.qos", "Device": "8:0 x=1", "Settings": "ctrl=auto"}),
		newChange("iocost", fields{"Path": "/sys/fs/cgroup/io.cost.qos", "Device": "8:0", "Settings": "a=1\n8:16 a=1"}),
		newChange("presence", fields{"Path": "/etc/passwd"}),
		newChange("presence", fields{"Path": "/run/plimsoll/runs/other.json"}),
		newChange("presence", fields{"Path": "/run/plimsoll/runs/../run.json"}),
		newChange("engine", fields{"DataRoot": theirs, "ExecRoot": "/run/plimsoll/x", "Cgroup": "plimsoll-x"}),
		newChange("engine", fields{"DataRoot": journal.WorkDir(state, "run"), "ExecRoot": theirs, "Cgroup": "plimsoll-x"}),
		newChange("engine",
			fields{"DataRoot": journal.WorkDir(state, "run"), "ExecRoot": "/run/plimsoll/..", "Cgroup": "plimsoll-x"}),
		newChange("engine",
			fields{"DataRoot": journal.WorkDir(state, "run"), "ExecRoot": "/run/plimsoll/x", "Cgroup": "docker"}),
		newChange("container", fields{"Socket": "/run/docker.sock", "Name": "db"}),
		newChange("container", fields{"Socket": "/run/plimsoll/x/docker.sock", "Name": "../images/x"}),
		newChange("thinpool", fields{"DataRoot": "/var/lib/docker"}),
		newChange("thinpool", fields{"DataRoot": ""}),
		newChange("array", fields{"Name": "../sda", "UUID": id}),
		newChange("array", fields{"Name": "md0", "UUID": id}),
		newChange("array", fields{"Name": "plimsoll-x", "UUID": "x"}),
		newChange("array", fields{"Name": "plimsoll-x", "UUID": id, "Members": []fields{{"Device": theirs, "UUID": id}}}),
		newChange("zpool", fields{"Name": "tank", "Device": "/dev/sda"}),
		newChange("zpool", fields{"Name": "plimsoll-x/home", "Device": "/dev/sda"}),
		newChange("zpool", fields{"Name": "plimsoll-x -f tank", "Device": "/dev/sda"}),
		newChange("zpool", fields{"Name": "plimsoll-x", "Device": "-f"}),
		newChange("volumegroup", fields{"Name": "vg0"}),
		newChange("volumegroup", fields{"Name": ""}),
		newChange("volumegroup", fields{"Name": "plimsoll-/../../etc"}),
		newChange("volumegroup", fields{"Name": "plimsoll-x", "Members": []fields{{"Device": "/dev/loop0", "UUID": ""}}}),
		newChange("logicalvolume", fields{"Group": "vg0", "Name": "pool"}),
		newChange("logicalvolume", fields{"Group": "plimsoll-x", "Name": ""}),
		newChange("module", fields{"Name": "ext4", "Adds": []string{"ext4"}}),
		newChange("module", fields{"Name": "nvme-tcp", "Adds": []string{"../x"}}),
		newChange("controller", fields{"Transport": "pcie", "NQN": "nqn.x", "HostNQN": "nqn.y"}),
		newChange("controller", fields{"Transport": "tcp", "NQN": "../x", "HostNQN": "nqn.y"}),
		newChange("configdir", fields{"Path": theirs}),
		newChange("configdir", fields{"Path": filepath.Join(theirs, "nvmet/hosts/nqn.x")}),
		newChange("configdir", fields{"Path": "/sys/kernel/config/nvmet/ports/1/../2"}),
		newChange("configdir", fields{"Path": "/sys/kernel/config/nvmet/ports/1", "Off": "../../x"}),
		newChange("configdir", fields{"Path": "/sys/kernel/config/nvmet/ports/1", "Own": []fields{{"Name": "../x"}}}),
		newChange("configlink",
			fields{"Path": filepath.Join(theirs, "precious"), "Target": "/sys/kernel/config/nvmet/hosts/nqn.x"}),
		newChange("configlink", fields{"Path": "/sys/kernel/config/nvmet/ports/1/subsystems/nqn.x", "Target": theirs}),
	} {
		t.Run(fmt.Sprintf("%s %+v", kindName(c), c), func(t *testing.T) {
			path, _ := fieldsOf(c)["Path"].(string)
			if kindName(c) == "configdir" && strings.Contains(path, theirs) {
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			file := written(t, state, c)
			reports, err := journal.Clean(t.Context(), state)
			if !errors.Is(err, journal.ErrForeign) && !strings.Contains(fmt.Sprint(err), `it starts with "nqn."`) {
				t.Errorf("clean: %+v, %v", reports, err)
			}
			isThere(t, theirs)
			if _, err := os.Stat(file); err != nil {
				t.Errorf("the journal is gone: %v", err)
			}
			// Nor can a run make it.
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
			j, err := journal.Create(state, "run")
			if err != nil {
				t.Fatal(err)
			}
			defer j.Close()
			if _, err := j.Do(t.Context(), c, func(string) error { t.Error("it was made"); return nil }); err == nil {
				t.Error("a run makes it")
			}
		})
	}
}
