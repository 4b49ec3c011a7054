package watch

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"plimsoll/internal/recording"
)

// recordIt returns a recorder of a made host, with an engine that has one container of a service.
func recordIt(t *testing.T, m made) *Recorder {
	t.Helper()
	labels := map[string]string{"com.docker.compose.project": "shop", "com.docker.compose.service": "db"}
	socket := engine(t, serving(t, containerID, "shop-db-1", labels, nil))
	m.write("sys/fs/cgroup/cgroup.controllers", "cpu io memory\n")
	w, err := New(Options{Roots: m.roots, Sockets: []string{socket}, NoLatency: true})
	if err != nil {
		t.Fatal(err)
	}
	w.engines.systemctl, w.engines.containerd = "", filepath.Join(filepath.Dir(m.roots.Proc), "containerd")
	r, err := newRecorder(w, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// named looks for groups until the engine has named all of them.
func (r *Recorder) named(t *testing.T) {
	t.Helper()
	for {
		if err := r.look(); err != nil {
			t.Fatal(err)
		}
		if r.answers == nil {
			return
		}
		got := <-r.answers
		r.answers = make(chan map[string]asked, 1)
		r.answers <- got
	}
}

// rowOf returns the amounts of a thing in a row.
func rowOf(row recording.Row, key recording.Key) (recording.Amounts, bool) {
	for _, a := range row.Amounts {
		if a.Thing.Key() == key {
			return a, true
		}
	}
	return recording.Amounts{}, false
}

// A container is recorded by its service. What it does between two rows is in the second, by drive.
func TestRecordContainers(t *testing.T) {
	m := newHost(t)
	path := "docker/" + containerID
	m.group(path)
	m.write("sys/fs/cgroup/"+path+"/memory.max", "5000000\n")
	r := recordIt(t, m)
	r.named(t)
	r.Row()
	m.write("sys/fs/cgroup/"+path+"/cpu.stat", "usage_usec 250001\nuser_usec 200001\nsystem_usec 50000\n")
	m.write("sys/fs/cgroup/"+path+"/io.stat",
		"8:0 rbytes=8193 wbytes=1 rios=3 wios=11\n9:9 rbytes=4 wbytes=4 rios=4 wios=4\n")
	m.write("sys/dev/block/8:0/stat", "3 0 24 1 11 0 8 1 0 41 61 0 0 0 0 0 0\n")
	row := r.Row()
	db, ok := rowOf(row, recording.Key{Kind: recording.OfContainer, Name: "shop/db", Copy: 1})
	if !ok {
		t.Fatalf("no container in %+v", row)
	}
	if cpu := db.Values[0]; cpu < 249_999 || cpu > 250_001 {
		t.Errorf("%g µs of processors, want 250,000", cpu)
	}
	if got := db.Values[2]; got < 976 || got > 977 { // KiB of 1,000,000 bytes
		t.Errorf("%g KiB of anonymous memory", got)
	}
	if l := r.groups["/"+path].thing.Limits; db.Thing.Manager != compose || len(l) != 0 {
		t.Errorf("known by %q, limits %v before they were read", db.Thing.Manager, l)
	}
	r.readLimits()
	if l := r.groups["/"+path].thing.Limits; len(l) != 1 || l[0] != (recording.Limit{Of: "memory", Value: 5e6}) {
		t.Errorf("limits %v", l)
	}
	use, ok := rowOf(row, recording.Key{Kind: recording.OfUse, Name: "shop/db", Copy: 1, Drive: "sda"})
	if want := "[2 10 8192 0]"; !ok || fmt.Sprint(use.Values) != want {
		t.Errorf("its use of the drive is %v, want %s", use.Values, want)
	}
	drive, _ := rowOf(row, recording.Key{Kind: recording.OfDrive, Name: "sda"})
	if drive.Values[0] < 1.999 || drive.Values[0] > 2.001 || drive.Values[1] < 9.999 || drive.Values[1] > 10.001 {
		t.Errorf("the drive did %v, want 2 reads and 10 writes", drive.Values)
	}
	if again := r.Row(); len(again.Amounts) != len(row.Amounts)-1 {
		t.Errorf("a use of nothing is in %+v", again)
	}
}

// Copies of a service have numbers. A container that is made again takes the number that is free.
func TestRecordCopies(t *testing.T) {
	m := newHost(t)
	m.group("system.slice/db.service")
	m.group("system.slice/db.service/below") // belongs to the unit
	m.group("user.slice/user-7.slice/session-1.scope")
	m.group("user.slice/user-7.slice/session-2.scope")
	r := recordIt(t, m)
	r.named(t)
	names := map[string]string{}
	for path, g := range r.groups {
		names[path] = g.thing.Label()
	}
	first := "/user.slice/user-7.slice/session-1.scope"
	if len(names) != 3 || names[first] != "user-7.slice scopes" ||
		names["/user.slice/user-7.slice/session-2.scope"] != "user-7.slice scopes #2" {
		t.Fatalf("recorded are %v", names)
	}
	if err := os.RemoveAll(filepath.Join(m.roots.Sys, "fs/cgroup", first)); err != nil {
		t.Fatal(err)
	}
	r.Row() // the group has ended
	m.group("user.slice/user-7.slice/session-9.scope")
	r.named(t)
	if g := r.groups["/user.slice/user-7.slice/session-9.scope"]; g == nil || g.thing.Copy != 1 {
		t.Errorf("the next session is %+v", g)
	}
}

// An engine that does not answer keeps no container from being recorded, under its ID.
func TestRecordWithoutAnEngine(t *testing.T) {
	m := newHost(t)
	m.group("docker/" + containerID)
	m.write("sys/fs/cgroup/cgroup.controllers", "cpu io memory\n")
	r, err := NewRecorder(Options{Roots: m.roots, Sockets: []string{"/nowhere"}, NoLatency: true}, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	r.named(t)
	if g := r.groups["/docker/"+containerID]; g == nil || g.thing.Name != containerID[:12] {
		t.Errorf("recorded is %+v", g)
	}
}

// Cgroups of version 1 do not count I/O: a recording says so rather than 0.
func TestRecordUnknownUses(t *testing.T) {
	m := newHost(t)
	m.write("sys/fs/cgroup/cgroup.controllers", "")
	r, err := NewRecorder(Options{Roots: m.roots, Sockets: []string{}, NoLatency: true}, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if h := r.Header(); !h.UsesUnknown || len(h.Unknown) != 1 {
		t.Errorf("%+v", h)
	}
}
