package reattach

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/problem"
	"plimsoll/internal/state/journal"
)

// program puts a shell script in the place of a program, before all others.
func program(t *testing.T, name, script string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

// honest is a reply as a machine with the drive writes it.
func honest() reply {
	const nqn = "nqn.2014-08.org.nvmexpress:uuid:4c4c4544-0000-1000-8000-000000000001"
	const id = "ee74d12b-f0b0-4d9c-ae3f-2f8407d5d706"
	return reply{
		Host: HostState{HostNQN: nqn, Controllers: []string{"nvme3"}, Device: "/dev/nvme3n1",
			Mounts:  []Mount{{"/srv/my data", "ext4", "rw,nosuid,relatime", false}},
			Holders: []string{"dm-0", "nvme3n1p1", "swap"}, Lacks: []string{"its mount point is missing"}},
		Target: TargetState{Boot: id, Exists: true, Hosts: []string{nqn},
			Drive: Drive{"nqn.2024-01.com.example:db1", id, "/dev/disk/by-id/nvme-x", "tcp", "10.0.0.1", "4420"}},
	}
}

// TestAttackReplyOfAnotherMachine: the root of a machine of a move may be hostile. What is no value of its kind becomes
// no word of a program here or on the other machines.
func TestAttackReplyOfAnotherMachine(t *testing.T) {
	ask := func(t *testing.T, text string) (reply, error) {
		file := filepath.Join(t.TempDir(), "reply")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		program(t, "ssh", "cat "+file)
		return remote{"ssh://root@old", &Move{}}.ask(t.Context(), "look")
	}
	for name, change := range map[string]func(*reply){
		"a module's name":              func(r *reply) { r.Host.Mounts[0].FSType = "nfit_test" },
		"an option of modprobe":        func(r *reply) { r.Host.Mounts[0].FSType = "-r" },
		"a file system in user space":  func(r *reply) { r.Host.Mounts[0].FSType = "fuse.sh" },
		"two file systems":             func(r *reply) { r.Host.Mounts[0].FSType = "ext4,overlay" },
		"an option with a path":        func(r *reply) { r.Host.Mounts[0].Options = "rw,X-mount.mkdir=/etc" },
		"an option that binds":         func(r *reply) { r.Host.Mounts[0].Options = "bind" },
		"an option of another program": func(r *reply) { r.Host.Mounts[0].Options = "rw,helper=x" },
		"a mount point with codes":     func(r *reply) { r.Host.Mounts[0].Dir = "/srv\x1b]0;x\x07" },
		"a list of options as an NQN":  func(r *reply) { r.Host.HostNQN = "nqn.x,transport=rdma" },
		"a path as an NQN":             func(r *reply) { r.Target.Hosts[0] = "nqn.../../x" },
		"a path as a drive's NQN":      func(r *reply) { r.Target.Drive.NQN = "nqn.../../x" },
		"another device":               func(r *reply) { r.Host.Device = "/dev/sda" },
		"a device by a detour":         func(r *reply) { r.Host.Device = "/dev/nvme0n1/../sda" },
		"a target's device elsewhere":  func(r *reply) { r.Target.Drive.Device = "/etc/shadow" },
		"a controller by a path":       func(r *reply) { r.Host.Controllers[0] = "nvme0/../../x" },
		"a holder with codes":          func(r *reply) { r.Host.Holders[0] = "\x1b[2J" },
		"a boot id with codes":         func(r *reply) { r.Target.Boot = "\x1b[2J" },
		"an address with options":      func(r *reply) { r.Target.Drive.Addr = "10.0.0.1,hostnqn=x" },
		"a port with options":          func(r *reply) { r.Target.Drive.Port = "1,x" },
		"a transport with options":     func(r *reply) { r.Target.Drive.Transport = "tcp,hostnqn=x" },
		"an unknown kind of problem":   func(r *reply) { r.Kind = "\x1b[2J" },
		"a long list":                  func(r *reply) { r.Host.Holders = make([]string, mostItems+1) },
	} {
		t.Run(name, func(t *testing.T) {
			r := honest()
			change(&r)
			text, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			got, err := ask(t, string(text))
			p := problem.Of(err, problem.Unsupported)
			if p == nil || p.Remedy == "" || len(got.Host.Mounts) > 0 || strings.Contains(err.Error(), "\x1b") {
				t.Errorf("it gives %+v, %v", got, err)
			}
		})
	}
	r := honest()
	r.Error, r.Kind, r.Host.Lacks[0] = "\x1b[2Jno\nroot", problem.Protected, "\x1b[2J\nx"
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	got, err := ask(t, string(text))
	if !errors.Is(err, problem.Protected) || strings.ContainsAny(err.Error()+got.Host.Lacks[0], "\x1b\n") {
		t.Errorf("an error is shown as %q, and what is missing as %q", err, got.Host.Lacks)
	}
	r = honest()
	if text, err = json.Marshal(r); err != nil {
		t.Fatal(err)
	}
	if got, err := ask(t, string(text)); err != nil || got.Host.Device != "/dev/nvme3n1" || len(got.Target.Hosts) != 1 {
		t.Errorf("an honest one gives %+v, %v", got, err)
	}
	if _, err := ask(t, strings.Repeat("a", 2<<20)); err == nil || !strings.Contains(err.Error(), "does not stop") {
		t.Errorf("a long answer: %.200v", err)
	}
}

// TestAttackRequestOfAnotherMachine: a request has this machine load no module but that of a file system that moves,
// and do nothing where it names another.
func TestAttackRequestOfAnotherMachine(t *testing.T) {
	loaded := filepath.Join(t.TempDir(), "loaded")
	program(t, "modprobe", `echo "$@" >> `+loaded+"\nexit 1")
	move := Move{Drive: Drive{NQN: "nqn.2024-01.com.example:db1"}, Dir: "/srv/none", Service: Service{"unit", "x.service"}}
	scope := journal.NewScope("/var/lib/plimsoll", JournalOf(move.Drive.NQN))
	for _, name := range []string{"nfit_test", "-r", "../../x", "overlay", ""} {
		move.FSType, move.Options = name, "rw"
		if move.checkKnown(scope) == nil {
			t.Errorf("a request with the file system %q is taken", name)
		}
		_ = local{Move: move}.lacks(t.Context())
	}
	move.FSType, move.Options = "ext4", "rw,loop"
	if move.checkKnown(scope) == nil {
		t.Error("a request with an option of mount is taken")
	}
	text, _ := os.ReadFile(loaded)
	for line := range strings.Lines(string(text)) {
		if line != "nvme-tcp\n" {
			t.Errorf("modprobe gets %q", line)
		}
	}
	move.Options = "rw,noatime"
	if err := move.checkKnown(scope); err != nil {
		t.Errorf("a request as it is to be: %v", err)
	}
}
