package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/host/configfs"
	"plimsoll/internal/stack/nvmetarget"
	"plimsoll/internal/state/journal"
	"plimsoll/internal/testkit/hosttest"
)

// Names of the story: a host that may connect, a subsystem, its namespace.
const (
	hostA  = "nqn.2014-08.org.nvmexpress:uuid:11111111-2222-3333-4444-555555555555"
	hostB  = "nqn.2014-08.org.nvmexpress:uuid:66666666-7777-8888-9999-000000000000"
	nqnA   = "nqn.2014-08.org.nvmexpress:uuid:aaaaaaaa-2222-3333-4444-555555555555"
	nqnB   = "nqn.2014-08.org.nvmexpress:uuid:bbbbbbbb-2222-3333-4444-555555555555"
	spaceA = "aaaaaaaa-0000-4000-8000-000000000001"
	// The secret of NVM Express Base Specification's form, 32 bytes from 0 to 31.
	secretA = "DHHC-1:00:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh+KfiaR:"
)

// exporter is plimsoll on a host whose kernel has nvmet, or behaves like it.
type exporter struct {
	*program
	configfs hosttest.Configfs
	device   string
}

func newExporter(t *testing.T) *exporter {
	t.Helper()
	hosttest.Exclusive(t)
	x := &exporter{program: newProgram(t), configfs: hosttest.NewConfigfs(t), device: loopDevice(t)}
	x.env = []string{asConfigfs + "=" + x.configfs.Root}
	sys := filepath.Join(x.dir, "sys")
	for _, dir := range []string{"class", "module/nvmet", "module/nvmet_tcp", "module/nvme_loop"} {
		if err := os.MkdirAll(filepath.Join(sys, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/sys/class/block", filepath.Join(sys, "class/block")); err != nil {
		t.Fatal(err)
	}
	return x
}

// loopDevice returns a block device of the test's own.
func loopDevice(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "disk.img")
	if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Truncate(file, 16<<20)); err != nil {
		t.Fatal(err)
	}
	return hosttest.Loop(t, file)
}

// target runs plimsoll target ..., which must end with a status.
func (x *exporter) target(want int, args ...string) string {
	x.t.Helper()
	args = append([]string{"target"},
		append(args, "--path.configfs", x.configfs.Root, "--path.sysfs", filepath.Join(x.dir, "sys"))...)
	code, out, errs := x.run(args...)
	if code != want {
		x.t.Fatalf("%v ends with %d, not %d: %s%s", args, code, want, out, errs)
	}
	return out + errs
}

// export is the command line of an export that is right, changed by more.
func (x *exporter) export(more ...string) []string {
	return append([]string{"export", x.device, "--destroy", x.device, "--addr", "127.0.0.1", "--allow-host", hostA,
		"--nqn",
		nqnA, "--uuid", spaceA}, more...)
}

func (x *exporter) unchanged(before string) {
	x.t.Helper()
	if now := x.configfs.Tree(); now != before {
		x.t.Errorf("the target is\n%sand was\n%s", now, before)
	}
}

func TestAnExportStandsUntilItIsTakenBack(t *testing.T) {
	x := newExporter(t)
	before := x.configfs.Tree()
	contains(t, x.target(0, x.export()...),
		"nvmeof(transport=tcp, addr=127.0.0.1, port=4420, nqn="+nqnA+", uuid="+spaceA+")")
	contains(t, x.configfs.Tree(),
		"subsystems/"+nqnA+"/attr_allow_any_host = 0\n",
		"subsystems/"+nqnA+"/allowed_hosts/"+hostA+" -> hosts/"+hostA+"\n",
		"subsystems/"+nqnA+"/namespaces/1/device_path = "+x.device+"\n",
		"subsystems/"+nqnA+"/namespaces/1/device_uuid = "+spaceA+"\n",
		"subsystems/"+nqnA+"/namespaces/1/enable = 1\n",
		"ports/1/addr_traddr = 127.0.0.1\n", "ports/1/addr_trsvcid = 4420\n", "ports/1/addr_trtype = tcp\n",
		"ports/1/addr_adrfam = ipv4\n",
		"ports/1/subsystems/"+nqnA+" -> subsystems/"+nqnA+"\n")

	var document struct{ Targets []nvmetarget.Exported }
	if err := json.Unmarshal([]byte(x.target(0, "list", "--json")), &document); err != nil {
		t.Fatal(err)
	}
	listed := document.Targets
	if len(listed) != 1 || listed[0].NQN != nqnA || listed[0].Journal == "" || len(listed[0].Namespaces) != 1 ||
		listed[0].Namespaces[0].Device != x.device ||
		fmt.Sprint(listed[0].Hosts, listed[0].Ports, listed[0].AllowAny) != "["+hostA+"] [tcp 127.0.0.1:4420] false" {
		t.Errorf("listed as %+v", listed)
	}

	stands := x.configfs.Tree()
	code, out, errs := x.run("clean")
	if code != 0 {
		t.Fatalf("clean ends with %d: %s", code, errs)
	}
	contains(t, out, "left alone", "plimsoll target list")
	x.unchanged(stands)
	for _, name := range []string{"nqn.none", "/dev/loop-none"} {
		contains(t, x.target(exitUsage, "unexport", name), "no export is called")
	}
	x.unchanged(stands)

	for _, name := range []string{nqnA, spaceA, x.device} {
		contains(t, x.target(0, "unexport", name), "not exported any more")
		x.unchanged(before)
		x.target(0, x.export()...)
	}
	if code, out, errs := x.run("clean", "--exports"); code != 0 ||
		!strings.Contains(out, "undone  make NVMe-oF subsystem "+nqnA) {
		t.Errorf("clean --exports ends with %d: %s%s", code, out, errs)
	}
	x.unchanged(before)
	if _, err := os.Stat(x.state); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the state directory stays behind: %v", err)
	}
	contains(t, x.target(0, "list"), "exports no drive")
}

func TestACrashAtAnyStepOfAnExportIsUndone(t *testing.T) {
	x := newExporter(t)
	before, env, crashes := x.configfs.Tree(), x.env, 0
	crash := func(at string, args ...string) bool {
		x.env = append([]string{journal.CrashVariable + "=" + at}, env...)
		code, out, errs := x.run(append([]string{"target"},
			append(args, "--path.configfs", x.configfs.Root, "--path.sysfs", filepath.Join(x.dir, "sys"))...)...)
		x.env = env
		switch code {
		case 0:
			return false
		case -1:
			crashes++
			return true
		}
		t.Fatalf("at %s it ends with %d: %s%s", at, code, out, errs)
		return false
	}
	steps := 0
	for seq := 1; ; seq++ {
		for _, state := range []string{"intent", "made"} {
			if !crash(fmt.Sprintf("%d:%s", seq, state), x.export()...) {
				steps = seq - 1
				break
			}
			x.cleanUp()
			x.unchanged(before)
		}
		if t.Failed() || steps > 0 {
			break
		}
	}
	if steps != 6 { // subsystem, namespace, host, its link, port, its link
		t.Errorf("an export has %d steps", steps)
	}
	x.target(0, "unexport", nqnA)
	if !crash("0:kept", x.export()...) {
		t.Error("it is never kept")
	}
	x.target(0, "unexport", nqnA)
	x.unchanged(before)
	for seq := range steps + 1 {
		for _, state := range []string{"undo", "undone", "released"} {
			at := fmt.Sprintf("%d:%s", seq, state)
			x.target(0, x.export()...)
			if crash(at, "unexport", nqnA) {
				x.cleanUp()
			}
			x.unchanged(before)
		}
	}
	if want := 2*steps + 1 + 2*steps + 1; crashes != want {
		t.Errorf("%d crashes, not %d", crashes, want)
	}
}

func TestExportsShareAPortAndAHost(t *testing.T) {
	x := newExporter(t)
	before, second := x.configfs.Tree(), loopDevice(t)
	for _, first := range []string{nqnA, nqnB} {
		x.target(0, x.export()...)
		x.target(0, x.export("--nqn", nqnB, "--uuid", "", "--destroy", second, "--allow-host", hostB)[0], second, "--destroy",
			second, "--addr", "127.0.0.1", "--allow-host", hostA, "--allow-host", hostB, "--nqn", nqnB)
		if ports, _ := filepath.Glob(filepath.Join(x.configfs.Root, "nvmet/ports/*")); len(ports) != 1 {
			t.Errorf("one address has the ports %q", ports)
		}
		x.target(0, "unexport", first)
		other := map[string]string{nqnA: nqnB, nqnB: nqnA}[first]
		contains(t, x.configfs.Tree(), "ports/1/subsystems/"+other+" -> ", "subsystems/"+other+"/allowed_hosts/"+hostA+" -> ")
		x.target(0, "unexport", other)
		x.unchanged(before)
	}
}

// What other programs made is used where it is right, and never taken back.
func TestAnExportLeavesOthersAlone(t *testing.T) {
	x := newExporter(t)
	k, nvmet := x.configfs, filepath.Join(x.configfs.Root, "nvmet")
	port, host, subsystem := filepath.Join(nvmet, "ports/7"), filepath.Join(nvmet, "hosts", hostA),
		filepath.Join(nvmet, "subsystems", nqnA)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(k.Mkdir(port))
	must(configfs.Set(port, configfs.Attribute{Name: "addr_trtype", Value: "tcp"},
		configfs.Attribute{Name: "addr_adrfam", Value: "ipv4"},
		configfs.Attribute{Name: "addr_traddr", Value: "127.0.0.1"}, configfs.Attribute{Name: "addr_trsvcid", Value: "4420"}))
	must(k.Mkdir(host))
	before := k.Tree()
	x.target(0, x.export()...)
	contains(t, k.Tree(), "ports/7/subsystems/"+nqnA+" -> ")
	x.target(0, "unexport", nqnA)
	x.unchanged(before)

	must(k.Mkdir(subsystem))
	contains(t, x.target(exitRefused, x.export()...), "exports one of that name already")
	contains(t, x.target(exitRefused, "unexport", nqnA), "not plimsoll's to take back")
	contains(t, x.target(0, "list"), "made by       another program")
	must(k.Rmdir(subsystem))
	x.unchanged(before)

	// Somebody takes our subsystem away, and makes one of the same name.
	x.target(0, x.export()...)
	must(k.Unlink(filepath.Join(port, "subsystems", nqnA)))
	must(k.Unlink(filepath.Join(subsystem, "allowed_hosts", hostA)))
	must(configfs.Set(filepath.Join(subsystem, "namespaces/1"), configfs.Attribute{Name: "enable", Value: "0"}))
	must(k.Rmdir(filepath.Join(subsystem, "namespaces/1")))
	must(k.Rmdir(subsystem))
	must(k.Mkdir(subsystem))
	must(k.Symlink(subsystem, filepath.Join(port, "subsystems", nqnA)))
	theirs := k.Tree()
	contains(t, x.target(exitRefused, "unexport", nqnA), "not plimsoll's to take back")
	if code, out, errs := x.run("clean", "--exports"); code != 0 {
		t.Errorf("clean ends with %d: %s%s", code, out, errs)
	}
	x.unchanged(theirs)
}

func TestRefusedExports(t *testing.T) {
	x := newExporter(t)
	before := x.configfs.Tree()
	for name, c := range map[string]struct {
		status int
		args   []string
		says   []string
	}{
		"not named": {exitRefused, []string{"export", x.device, "--addr", "127.0.0.1", "--allow-host", hostA},
			[]string{"whatever program connects can overwrite", "--destroy"}},
		"no such": {exitUsage, []string{"export", "serial:NONE", "--addr", "127.0.0.1", "--allow-host", hostA},
			[]string{"there is no device NONE"}},
		"nobody": {exitUsage, []string{"export", x.device, "--destroy", x.device, "--addr", "127.0.0.1"},
			[]string{"who may connect?"}},
		"all and one": {exitUsage, x.export("--allow-any"), []string{"give one of them"}},
		"all at once": {exitUsage,
			[]string{"export", x.device, "--addr", "here", "--port", "0", "--nqn", "x/y", "--uuid", "z", "--allow-host",
				"me"}, []string{"--addr", "--port", "--nqn", "--uuid", "--allow-host"}},
		"a transport": {exitUsage, x.export("--transport", "ip"), []string{"tcp, rdma or loop"}},
		"no RDMA":     {exitHost, x.export("--transport", "rdma"), []string{"nvmet-rdma"}},
		"any cause":   {exitUsage, x.export("--destroy", x.device+"=mounted"), []string{"cannot be overlooked"}},
		"no device":   {exitUsage, []string{"export"}, []string{"takes the device"}},
		"loop, addr":  {exitUsage, x.export("--transport", "loop"), []string{"has no address"}},
		"secret, any": {exitUsage,
			[]string{"export", x.device, "--destroy", x.device, "--addr", "127.0.0.1", "--allow-any", "--secret-file",
				x.secret(secretA, 0o600)}, []string{"belongs to a host"}},
		"open secret": {exitUsage, x.export("--secret-file", x.secret(secretA, 0o644)), []string{"chmod 600"}},
		"a cut secret": {exitUsage, x.export("--secret-file", x.secret(secretA[:30]+secretA[34:], 0o600)),
			[]string{"DH-HMAC-CHAP"}},
	} {
		t.Run(name, func(t *testing.T) {
			text := x.target(c.status, c.args...)
			contains(t, text, c.says...)
			if strings.Contains(text, secretA[12:24]) {
				t.Errorf("the secret is shown: %s", text)
			}
			x.unchanged(before)
		})
	}
	if out, err := exec.Command("mkfs.ext4", "-q", x.device).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	contains(t, x.target(exitRefused, x.export()...), "ext4", x.device+"=signature")
	x.target(0, x.export("--destroy", x.device+"=signature")...)
	x.target(0, "unexport", x.device)
	x.unchanged(before)
}

// secret writes a secret to a file.
func (x *exporter) secret(text string, mode os.FileMode) string {
	x.t.Helper()
	name := filepath.Join(x.t.TempDir(), "secret")
	if err := os.WriteFile(name, []byte(text+"\n"), mode); err != nil {
		x.t.Fatal(err)
	}
	return name
}

func TestASecretIsKeptByTheKernelAlone(t *testing.T) {
	x := newExporter(t)
	before := x.configfs.Tree()
	out := x.target(0, x.export("--secret-file", x.secret(secretA, 0o600))...)
	contains(t, x.configfs.Tree(), "hosts/"+hostA+"/dhchap_key = "+secretA)
	files, _ := filepath.Glob(x.state + "/journal/*")
	if len(files) != 1 {
		t.Fatalf("journals: %q", files)
	}
	kept, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{out, string(kept), x.target(0, "list"), x.target(0, "list", "--json")} {
		if strings.Contains(text, secretA[10:20]) {
			t.Errorf("the secret is in: %s", text)
		}
	}
	// A host has one secret.
	second := loopDevice(t)
	again := []string{"export", second, "--destroy", second, "--addr", "127.0.0.1", "--allow-host", hostA}
	contains(t, x.target(exitRefused, again...), "one secret")
	x.target(0, append(again, "--nqn", nqnB, "--secret-file", x.secret(secretA, 0o600))...)
	x.target(0, "unexport", nqnA)
	x.target(0, "unexport", nqnB)
	x.unchanged(before)
}
