package nvme

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"plimsoll/internal/testkit/hosttest"
)

// recorded returns the files of an initiator that was recorded in the lab.
func recorded(t *testing.T) string {
	return hosttest.Recorded(t, "../hostinfo/testdata/initiator.txtar")
}

const (
	subsystem = "nqn.2014-08.org.nvmexpress:uuid:ee74d12b-f0b0-4d9c-ae3f-2f8407d5d706"
	host      = "nqn.2014-08.org.nvmexpress:uuid:11111111-2222-3333-4444-555555555555"
)

func TestAConnectionIsFoundByItsNamesAndAddress(t *testing.T) {
	sys := filepath.Join(recorded(t), "sys")
	right := Link{Transport: "tcp", Addr: "127.0.0.1", Port: "4420", NQN: subsystem, HostNQN: host}
	found := right.Find(sys)
	if len(found) != 1 || found[0].Name != "nvme2" || found[0].State != "live" || found[0].Queues != 3 ||
		found[0].QueueSize != 128 {
		t.Fatalf("found %+v", found)
	}
	for name, change := range map[string]func(*Link){
		"transport": func(l *Link) { l.Transport = "rdma" },
		"address":   func(l *Link) { l.Addr = "127.0.0.10" },
		"port":      func(l *Link) { l.Port = "442" },
		"subsystem": func(l *Link) { l.NQN += "0" },
		"host":      func(l *Link) { l.HostNQN = host[:len(host)-1] },
	} {
		l := right
		change(&l)
		if found := l.Find(sys); len(found) > 0 {
			t.Errorf("with another %s it is %s", name, found[0].Name)
		}
	}
}

func TestAHeadNodeIsTheNamespaceAndItsPathIsNot(t *testing.T) {
	sys := filepath.Join(recorded(t), "sys")
	namespaces := Namespaces(sys)
	var names []string
	for _, n := range namespaces {
		names = append(names, fmt.Sprint(n.Name, n.Paths, n.PathDevices, n.UUID))
	}
	want := []string{"nvme0n1[nvme0] []", "nvme2n1[nvme2] [nvme2c2n1]" + subsystem[len(subsystem)-36:]}
	if !slices.Equal(names, want) {
		t.Errorf("namespaces %q, not %q", names, want)
	}
	if c := namespaces[1].Controllers(sys); len(c) != 1 || c[0].Transport != "tcp" {
		t.Errorf("%s is reached by %+v", namespaces[1].Name, c)
	}
}

func TestPathDevices(t *testing.T) {
	for name, want := range map[string]string{
		"nvme3c5n1": "nvme3n1 nvme5", "nvme12c0n34": "nvme12n34 nvme0", "nvme3n1": "", "sdc1": "", "nvme3c5": "",
	} {
		got := ""
		if head, controller, ok := pathOf(name); ok {
			got = head + " " + controller
		}
		if got != want {
			t.Errorf("%s is the path %q, not %q", name, got, want)
		}
	}
}

func TestReplyOfTheKernel(t *testing.T) {
	for reply, want := range map[string]string{
		"instance=3,cntlid=1\n": "nvme3", "cntlid=1,instance=12": "nvme12", "": "", "instance=x": "",
		"transport=%s,traddr=%s\n": "",
	} {
		got, err := instance(reply, nil)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q names %q, %v", reply, got, err)
		}
	}
	if _, err := instance("instance=3", unix.EIO); !errors.Is(err, unix.EIO) {
		t.Errorf("an error of reading is %v", err)
	}
}

func TestOptionsOfAConnection(t *testing.T) {
	l := Link{Transport: "tcp", Addr: "10.0.0.1", Port: "4420", NQN: subsystem, HostNQN: host}
	id := HostID(t.TempDir(), host)
	if id != "11111111-2222-3333-4444-555555555555" {
		t.Errorf("the host's ID is %s", id)
	}
	options := strings.Split(l.options(id, secret, Tuning{IOQueues: 2, QueueSize: 64, DataDigest: true}), ",")
	for _, want := range []string{"transport=tcp", "traddr=10.0.0.1", "trsvcid=4420", "nqn=" + subsystem,
		"hostnqn=" + host, "hostid=" + id,
		"keep_alive_tmo=5", "ctrl_loss_tmo=10", "fast_io_fail_tmo=5", "reconnect_delay=2", "dhchap_secret=" + secret,
		"nr_io_queues=2", "queue_size=64", "data_digest"} {
		if !slices.Contains(options, want) {
			t.Errorf("%s is not in %q", want, options)
		}
	}
	l = Link{Transport: "loop", NQN: subsystem, HostNQN: host}
	if text := l.options(id, "", Tuning{}); strings.Contains(text, "addr") || strings.Contains(text, "tmo") ||
		strings.Contains(text, "secret") || strings.Contains(text, "queue") || strings.Contains(text, "digest") {
		t.Errorf("loop takes %s", text)
	}
}

func TestHostID(t *testing.T) {
	etc := t.TempDir()
	named := "nqn.2024-01.com.example:db1"
	made := HostID(etc, named)
	if made != HostID(etc, named) || made == HostID(etc, named+"1") || len(made) != 36 {
		t.Errorf("the ID of %s is %s, and %s", named, made, HostID(etc, named))
	}
	if err := errors.Join(os.Mkdir(filepath.Join(etc, "nvme"), 0o755),
		os.WriteFile(filepath.Join(etc, "nvme/hostnqn"), []byte(named+"\n"), 0o644),
		os.WriteFile(filepath.Join(etc, "nvme/hostid"), []byte("2a248368-39ae-4dfa-a8d1-d3981f5009f5\n"),
			0o644)); err != nil {
		t.Fatal(err)
	}
	if HostNQN(etc) != named || HostID(etc, named) != "2a248368-39ae-4dfa-a8d1-d3981f5009f5" {
		t.Errorf("%s has ID %s", HostNQN(etc), HostID(etc, named))
	}
	if HostID(etc, host) != "11111111-2222-3333-4444-555555555555" {
		t.Error("another host NQN has the ID of this one")
	}
}

// 32 bytes from 0 to 31, and their CRC-32.
const secret = "DHHC-1:00:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh+KfiaR:"

func TestCheckSecret(t *testing.T) {
	for text, want := range map[string]string{
		secret: "",
		strings.Replace(secret, ":00:", ":01:", 1): "",
		strings.Replace(secret, ":00:", ":03:", 1): "does not go with hash",
		strings.Replace(secret, ":00:", ":07:", 1): "hash",
		strings.Replace(secret, "AAEC", "AAED", 1): "checksum",
		strings.TrimSuffix(secret, ":"):            "form",
		strings.Replace(secret, "+", "-", 1):       "base64",
		"":                                         "form",
		"hunter2":                                  "form",
		"DHHC-1:00:AAECAw==:":                      "0 bytes",
	} {
		err := CheckSecret(text)
		if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
		if err != nil && text != "" && strings.Contains(err.Error(), text) {
			t.Errorf("the secret is shown: %v", err)
		}
	}
}

func TestCheckNQN(t *testing.T) {
	for nqn, right := range map[string]bool{
		host: true, "nqn.2024-01.com.example:db1": true, "nqn.": true,
		"": false, "db1": false, "nqn.x,transport=rdma": false, "nqn.../../x": false, "nqn.a b": false,
		"nqn.a\n": false, "nqn.*": false,
		"nqn." + strings.Repeat("x", 219): true, "nqn." + strings.Repeat("x", 220): false,
	} {
		if err := CheckNQN(nqn); (err == nil) != right {
			t.Errorf("%q: %v", nqn, err)
		}
	}
}

func TestSameIdentifier(t *testing.T) {
	if !SameID("EE74D12B-f0b0-4d9c-ae3f-2f8407d5d706", "ee74d12bf0b04d9cae3f2f8407d5d706") || SameID("", "") ||
		SameID("ee74", "ee75") || validID("0000-00") != "" {
		t.Error("identifiers are not compared by their digits")
	}
}

// A secret's file is named by users, and in experiment files of others.
func TestReadSecretReadsRegularFilesOnly(t *testing.T) {
	dir := t.TempDir()
	pathOf := func(name string) string { return filepath.Join(dir, name) }
	err := errors.Join(unix.Mkfifo(pathOf("fifo"), 0o600), os.Symlink("/dev/zero", pathOf("zero")),
		os.WriteFile(pathOf("good"), []byte(secret+"\n"), 0o600),
		os.WriteFile(pathOf("open"), []byte(secret), 0o644),
		os.WriteFile(pathOf("huge"), nil, 0o600), os.Truncate(pathOf("huge"), 1<<40))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := ReadSecret(pathOf("good")); err != nil || got != secret {
		t.Errorf("%q, %v", got, err)
	}
	for name, want := range map[string]string{
		"fifo": "a named pipe", "zero": "a link", "huge": "more than 64KiB", "open": "chmod 600",
		"missing": "no such file",
	} {
		if _, err := ReadSecret(pathOf(name)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, wants %q", name, err, want)
		}
	}
}
