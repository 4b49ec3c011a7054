package kinds

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/iocost"
	"plimsoll/internal/state/journal"
	"plimsoll/internal/testkit/hosttest"
)

// FuzzJournalEntries cleans a journal of any content, in a state directory of
// its own beside what is not the run's. What only files and directories are
// about is undone for real; of other changes, which would reach the host that
// tests run on, every path that passes the check has to be the run's.
//
// In the content, STATE stands for the state directory and OUT for what is
// beside it.
func FuzzJournalEntries(f *testing.F) {
	line := func(kind, change string) string {
		return `{"seq":1,"state":"made","kind":"` + kind + `","change":` + change + "}\n"
	}
	for _, path := range []string{
		"OUT", "OUT/precious", "STATE/work-run", "STATE/work-run/sub", "STATE/work-run/link/precious",
		"STATE/work-run/link", "STATE/work-run/../../out",
		"OUT/plimsoll-run-x", "OUT/.plimsoll-run-x/link/precious", "OUT/.plimsoll-run-swapped/precious",
		"STATE/journal", "STATE", "/", "",
		"OUT/plimsoll-run-x/../precious", "STATE/work-run/sub/./file", "out/precious", "../out/precious",
		"OUT/plimsoll-run-x//file", "OUT\u0000/x",
	} {
		text, err := json.Marshal(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add([]byte(line("dir", `{"Path":`+string(text)+`}`)))
		f.Add([]byte(line("file", `{"Path":`+string(text)+`}`)))
		f.Add([]byte(line("mount", `{"Target":`+string(text)+`}`)))
		f.Add([]byte(line("loop", `{"Number":3,"Backing":`+string(text)+`}`)))
		f.Add([]byte(line("thinpool", `{"DataRoot":`+string(text)+`}`)))
		f.Add([]byte(line("engine", `{"ExecRoot":"/run/plimsoll/x","Cgroup":"plimsoll-x","DataRoot":`+string(text)+`}`)))
	}
	for _, path := range []string{"../../etc", "plimsoll-x", "a/plimsoll-x", "plimsoll-x/..", "*", "plimsoll-x/../../y"} {
		f.Add([]byte(line("cgroup", `{"Path":"`+path+`"}`)))
	}
	// Every kind has an entry to start from.
	for _, k := range journal.Kinds() {
		text, err := json.Marshal(k.New())
		if err != nil {
			f.Fatal(err)
		}
		f.Add([]byte(line(k.Name, string(text))))
	}
	for kind, change := range acceptable {
		f.Add([]byte(line(kind, change)))
	}
	f.Add([]byte(line("setting", `{"Path":"/proc/sys/kernel/core_pattern","Value":"x","Was":"y"}`)))
	f.Add([]byte(`{"seq":1,"state":"undone"}` + "\n" + `{"state":"kept"}` + "\n" +
		`{"seq":-1,"state":"made","kind":"dir","change":null}`))
	f.Fuzz(func(t *testing.T, content []byte) {
		parent, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		state, out := filepath.Join(parent, "state"), filepath.Join(parent, "out")
		content = bytes.ReplaceAll(bytes.ReplaceAll(content, []byte("STATE"), []byte(state)), []byte("OUT"), []byte(out))
		for _, dir := range []string{"state/journal", "state/work-run/sub", "state/work-other", "out/real",
			"out/plimsoll-run-x", "out/.plimsoll-run-x"} {
			if err := os.MkdirAll(filepath.Join(parent, dir), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		for _, file := range []string{"out/precious", "out/real/precious", "state/work-other/precious",
			"state/work-run/sub/file", "out/plimsoll-run-x/file"} {
			if err := os.WriteFile(filepath.Join(parent, file), []byte("mine"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for _, link := range []string{"state/work-run/link", "out/.plimsoll-run-x/link", "out/.plimsoll-run-swapped"} {
			if err := os.Symlink(filepath.Join(out, "real"), filepath.Join(parent, link)); err != nil {
				t.Fatal(err)
			}
		}
		entries, harmless := entriesOf(content)
		for _, c := range entries {
			if c.Check(scopeOf(c, state)) == nil {
				checkPaths(t, c, state, out)
			}
		}
		if !harmless {
			return
		}
		if err := os.WriteFile(filepath.Join(state, "journal/run.jsonl"), content, 0o600); err != nil {
			t.Fatal(err)
		}
		_, _ = journal.Clean(t.Context(), state)
		for _, file := range []string{"out/precious", "out/real/precious", "state/work-other/precious"} {
			if text, err := os.ReadFile(filepath.Join(parent, file)); err != nil || string(text) != "mine" {
				t.Errorf("%s: %q, %v", file, text, err)
			}
		}
		// Nothing came to be, and only what carries the run's name has gone.
		for _, l := range strings.Split(strings.TrimSpace(hosttest.Below(t, out)), "\n") {
			path := strings.Fields(l)[0]
			if name := strings.TrimPrefix(strings.TrimPrefix(path, out), "/"); !slices.Contains(
				[]string{"", "precious", "real", "real/precious", "plimsoll-run-x", "plimsoll-run-x/file",
					".plimsoll-run-x", ".plimsoll-run-x/link", ".plimsoll-run-swapped"}, name) {
				t.Errorf("%s was made", path)
			}
		}
	})
}

// acceptable are entries that pass their checks, of the kinds that are about more
// than paths: the fuzzer goes on from there.
var acceptable = map[string]string{
	"mkfs":          `{"Device":"/dev/loop0","Type":"ext4","UUID":"11111111-2222-3333-4444-555555555555"}`,
	"array":         `{"Name":"plimsoll-x","UUID":"11111111-2222-3333-4444-555555555555","Members":[{"Device":"/dev/sda","UUID":"11111111-2222-3333-4444-555555555555"}]}`,
	"volumegroup":   `{"Name":"plimsoll-x","Members":[{"Device":"/dev/sda","UUID":"abcdef-abcd-abcd-abcd-abcd-abcd-abcdef"}]}`,
	"zpool":         `{"Name":"plimsoll-x","Device":"/dev/loop0"}`,
	"logicalvolume": `{"Group":"plimsoll-x","Name":"stripe"}`,
	"module":        `{"Name":"nvme-tcp","Adds":["nvme_tcp"]}`,
	"iocost":        `{"Path":"/sys/fs/cgroup/io.cost.qos","Device":"8:0","Settings":"enable=1 ctrl=auto","Was":""}`,
	"controller":    `{"Transport":"tcp","Addr":"::1","Port":"4420","NQN":"nqn.2014-08.org.x:y","HostNQN":"nqn.2014-08.org.x:z"}`,
	"container":     `{"Socket":"/run/plimsoll/x/docker.sock","Name":"db"}`,
	"drivemove":     `{"From":"ssh://root@127.0.0.1:1","To":"here","Target":"here","Drive":{"NQN":"nqn.x"}}`,
	"presence":      `{"Path":"/run/plimsoll/runs/run.json"}`,
	"configdir":     `{"Path":"/sys/kernel/config/nvmet/hosts/nqn.x"}`,
	"configlink":    `{"Path":"/sys/kernel/config/nvmet/ports/1/subsystems/nqn.x","Target":"/sys/kernel/config/nvmet/subsystems/nqn.x"}`,
	"process":       `{"Argv":["fio"]}`,
	"applied":       `{"Engine":{"Name":"west","Host":"unix:///run/x.sock","ID":"X"},"Project":"shop","Do":"start","Name":"shop-web-1","ID":"0123456789ab"}`,
	"clienthost":    `{"Host":"ssh://bench@client1","Dir":".plimsoll-run-clients-01234567"}`,
}

// scopeOf returns the scope of a journal that may have a change.
func scopeOf(c journal.Change, state string) journal.Scope {
	if kindName(c) == "applied" {
		return journal.NewScope(state, "apply-shop")
	}
	return journal.NewScope(state, "run")
}

// The entry of a step of a plan passes its check, in the journal of its project alone.
func TestAppliedEntryIsAcceptable(t *testing.T) {
	changes, _ := entriesOf([]byte(`{"kind":"applied","change":` + acceptable["applied"] + `}`))
	for _, c := range changes {
		if err := c.Check(scopeOf(c, "/state")); err != nil {
			t.Error(err)
		}
		if c.Check(journal.NewScope("/state", "run")) == nil {
			t.Error("it passed in the journal of a run")
		}
	}
	if len(changes) != 1 {
		t.Errorf("%d changes", len(changes))
	}
}

// entriesOf decodes the changes in a journal's text, as far as they can be, and
// reports whether there are files and directories among them only.
func entriesOf(content []byte) (changes []journal.Change, harmless bool) {
	known := map[string]journal.Kind{}
	for _, k := range journal.Kinds() {
		known[k.Name] = k
	}
	harmless = true
	for l := range bytes.Lines(content) {
		var r struct {
			Kind   string
			Change json.RawMessage
		}
		if json.Unmarshal(l, &r) != nil {
			continue
		}
		kind, ok := known[r.Kind]
		if !ok {
			continue
		}
		if r.Kind != "dir" && r.Kind != "file" {
			harmless = false
		}
		c := kind.New()
		if json.Unmarshal(r.Change, c) == nil {
			changes = append(changes, c)
		}
	}
	return changes, harmless
}

var (
	plainName  = regexp.MustCompile(`^[A-Za-z0-9_.+-]+$`)
	deviceName = regexp.MustCompile(`^/dev/[^.][A-Za-z0-9_.!+:/-]*$`)
	remoteDir  = regexp.MustCompile(`^\.plimsoll-run-clients-[0-9a-f]{8}$`)
	remoteHost = regexp.MustCompile(`^ssh://[A-Za-z0-9_][A-Za-z0-9_.-]*@[A-Za-z0-9:.\[\]-]+$`)
)

// checkPaths fails when a change that passed its check is about something that
// is not the run's. It does not use what the checks use, and knows every kind: a
// new one needs its case here.
func checkPaths(t *testing.T, c journal.Change, state, out string) {
	t.Helper()
	f := fieldsOf(c)
	text := func(name string) string {
		s, ok := f[name].(string)
		if !ok {
			t.Fatalf("%T has no field %s", c, name)
		}
		return s
	}
	onDevice := func(path string) {
		if !deviceName.MatchString(path) || filepath.Clean(path) != path {
			t.Errorf("%T: %q passed for a device", c, path)
		}
	}
	onDevices := func() {
		members, _ := f["Members"].([]any) // null: none
		for _, m := range members {
			onDevice(m.(map[string]any)["Device"].(string))
		}
	}
	named := func(name string) {
		if !strings.HasPrefix(name, "plimsoll-") || !plainName.MatchString(name) {
			t.Errorf("%T: the name %q passed", c, name)
		}
	}
	cgroup := func(path string) {
		at := filepath.Join("/sys/fs/cgroup", path)
		if !strings.HasPrefix(at, "/sys/fs/cgroup/") || !strings.HasPrefix(filepath.Base(at), "plimsoll-") ||
			at != "/sys/fs/cgroup/"+path {
			t.Errorf("cgroup %q passed", path)
		}
	}
	inRunDir := func(dir string) {
		if filepath.Dir(filepath.Clean(dir)) != journal.RunDir || filepath.Clean(dir) != dir {
			t.Errorf("exec-root %q passed", dir)
		}
	}
	ofTarget := func(path string) {
		_, err := os.Stat(filepath.Dir(path)) // where there is no such directory, there is nothing to undo
		if !strings.Contains(filepath.Clean(path), "/nvmet/") || strings.HasPrefix(path, out) && err == nil {
			t.Errorf("%q passed as an object of configfs", path)
		}
	}
	var paths []string
	switch kind := kindName(c); kind {
	case "dir", "file":
		paths = []string{text("Path")}
	case "loop":
		paths = []string{text("Backing")}
	case "thinpool":
		paths = []string{text("DataRoot")}
	case "engine":
		paths = []string{text("DataRoot")}
		inRunDir(text("ExecRoot"))
		cgroup(text("Cgroup"))
	case "container":
		inRunDir(filepath.Dir(text("Socket")))
		if filepath.Base(text("Socket")) != "docker.sock" || !plainName.MatchString(text("Name")) {
			t.Errorf("container %q at %q passed", text("Name"), text("Socket"))
		}
	case "mount":
		if text("Target") != "/sys/kernel/tracing" {
			paths = []string{text("Target")}
		}
	case "cgroup":
		cgroup(text("Path"))
	case "clienthost":
		if !remoteDir.MatchString(text("Dir")) || !remoteHost.MatchString(text("Host")) {
			t.Errorf("%q on %q passed as a directory on another machine", text("Dir"), text("Host"))
		}
	case "applied":
		host, _ := f["Engine"].(map[string]any)["host"].(string)
		socket, local := strings.CutPrefix(host, "unix://")
		if !remoteHost.MatchString(host) && (!local || !filepath.IsAbs(socket) || filepath.Clean(socket) != socket) {
			t.Errorf("%q passed as an engine", host)
		}
		if name := text("Name"); !strings.HasPrefix(name, "shop-") || !plainName.MatchString(name) {
			t.Errorf("container %q passed as one of the project", name)
		}
	case "presence":
		if at := filepath.Clean(text("Path")); !strings.HasPrefix(at, "/run/") || filepath.Base(at) != "run.json" {
			t.Errorf("%q passed as a place of runs", text("Path"))
		}
	case "setting":
		var st unix.Statfs_t
		at := filepath.Clean(text("Path"))
		onTracer := unix.Statfs(filepath.Dir(at), &st) != nil || st.Type == unix.TRACEFS_MAGIC
		if !strings.HasPrefix(at, "/sys/block/") && !onTracer {
			t.Errorf("setting %q passed", at)
		}
	case "iocost":
		at := text("Path")
		if !strings.HasPrefix(at, "/sys/fs/cgroup/") || filepath.Clean(at) != at ||
			!slices.Contains([]string{iocost.ModelFile, iocost.QoSFile}, filepath.Base(at)) {
			t.Errorf("%q passed as a file of io.cost", at)
		}
		if strings.ContainsAny(text("Device")+text("Settings")+text("Was"), "\n\r\x00") {
			t.Errorf("several lines passed for %q", at)
		}
	case "configdir":
		ofTarget(text("Path"))
	case "configlink":
		ofTarget(text("Path"))
		ofTarget(text("Target"))
	case "mkfs":
		onDevice(text("Device"))
	case "zpool":
		named(text("Name"))
		onDevice(text("Device"))
	case "array":
		named(text("Name"))
		onDevices()
	case "volumegroup":
		named(text("Name"))
		onDevices()
	case "logicalvolume":
		named(text("Group"))
		if !slices.Contains([]string{"stripe", "pool"}, text("Name")) {
			t.Errorf("logical volume %q passed", text("Name"))
		}
	case "module":
		if name := strings.ReplaceAll(text("Name"), "-", "_"); name != "nvme" && name != "nvmet" &&
			!strings.HasPrefix(name, "nvme_") && !strings.HasPrefix(name, "nvmet_") {
			t.Errorf("module %q passed", name)
		}
	case "controller":
		if !slices.Contains([]string{"tcp", "rdma", "loop"}, text("Transport")) || !strings.HasPrefix(text("NQN"), "nqn.") {
			t.Errorf("a connection by %q to %q passed", text("Transport"), text("NQN"))
		}
	case "process": // it is known by its mark alone
	default:
		t.Errorf("nothing is known here of changes of kind %q: add a case", kind)
	}
	for _, path := range paths {
		at := filepath.Clean("/" + path)
		inWork := at == state+"/work-run" || strings.HasPrefix(at, state+"/work-run/")
		ofRun := slices.ContainsFunc(strings.Split(at, "/"), func(part string) bool {
			return strings.HasPrefix(part, "plimsoll-run-") || strings.HasPrefix(part, ".plimsoll-run-")
		})
		if at != path || !inWork && !ofRun {
			t.Errorf("%T: %q passed", c, path)
		}
	}
}
