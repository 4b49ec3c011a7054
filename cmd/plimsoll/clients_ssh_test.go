package main

import (
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/testkit/hosttest"
)

// namespaces starts a process in namespaces of its own, for networks and mounts, and returns its pid.
func namespaces(t *testing.T) string {
	t.Helper()
	cmd := exec.Command("sleep", "infinity")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET | unix.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return strconv.Itoa(cmd.Process.Pid)
}

// sh runs a script, with positional parameters, and returns what it prints.
func sh(t *testing.T, script string, args ...string) string {
	t.Helper()
	out, err := exec.Command("sh", append([]string{"-ec", script, "sh"}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", script, err, out)
	}
	return string(out)
}

// TestClientsOverSSH is TestClientsOnAnotherMachine with the real ssh, a real sshd, and a network between two network
// namespaces. The processors are the same ones.
func TestClientsOverSSH(t *testing.T) {
	sshd, err := exec.LookPath("sshd")
	if err != nil {
		t.Skip("no sshd in PATH: apt-get install openssh-server")
	}
	hosttest.Exclusive(t)
	p := newProgram(t)
	p.keepImage("postgresql")
	home := filepath.Join(p.dir, "client-home")
	here, there := namespaces(t), namespaces(t)
	sh(t, `
		nsenter -t "$1" -n ip link add client type veth peer name server netns "$2"
		nsenter -t "$1" -n ip link set lo up
		nsenter -t "$1" -n ip addr add 198.18.50.1/24 dev client
		nsenter -t "$1" -n ip link set client up
		nsenter -t "$2" -n ip link set lo up
		nsenter -t "$2" -n ip addr add 198.18.50.2/24 dev server
		nsenter -t "$2" -n ip link set server up
		mkdir -p "$3/client-home/.ssh" "$3/bin"
		chmod 755 "$3/client-home"
		ssh-keygen -q -t ed25519 -N "" -f "$3/hostkey"
		ssh-keygen -q -t ed25519 -N "" -f "$3/key"
		cp "$3/key.pub" "$3/client-home/.ssh/authorized_keys"
		echo "root:x:0:0::$3/client-home:/bin/sh
sshd:x:65533:65534::/nonexistent:/bin/false" > "$3/passwd"
		echo "198.18.50.2 $(cut -d' ' -f1,2 "$3/hostkey.pub")" > "$3/known"
		echo "IdentityFile $3/key
IdentitiesOnly yes
StrictHostKeyChecking yes
UserKnownHostsFile $3/known" > "$3/ssh_config"
		echo "HostKey $3/hostkey
ListenAddress 198.18.50.2
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password" > "$3/sshd_config"
		printf '#!/bin/sh\nexec %s -F %s "$@"\n' "$(command -v ssh)" "$3/ssh_config" > "$3/bin/ssh"
		chmod 755 "$3/bin/ssh"`, here, there, p.dir)
	daemon := exec.Command("nsenter", "-t", there, "-n", "-m", "sh", "-ec", `
		mount --make-rprivate /
		mount --bind "$1/passwd" /etc/passwd
		mount -t tmpfs tmpfs /run
		mkdir /run/sshd
		exec "$2" -D -e -f "$1/sshd_config"`, "sh", p.dir, sshd)
	var said strings.Builder
	daemon.Stderr = &said
	daemon.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = daemon.Process.Kill()
		_ = daemon.Wait()
		if t.Failed() {
			t.Log(said.String())
		}
	})
	p.env = append(p.env, "PATH="+filepath.Join(p.dir, "bin")+":"+os.Getenv("PATH"))
	host := "ssh://root@" + netip.MustParseAddr("198.18.50.2").String()
	inside := func(args ...string) (int, string) {
		cmd, out, errs := p.command(args...)
		cmd.Args = append([]string{"nsenter", "-t", here, "-n"}, cmd.Args...)
		cmd.Path, err = exec.LookPath("nsenter")
		if err != nil {
			t.Fatal(err)
		}
		code := exitCode(t, cmd.Run())
		return code, out.String() + errs.String()
	}
	file := p.experiment(clientsOn(host, 2*time.Second))
	deadline := time.Now().Add(2 * time.Minute)
	code, out := inside("run", file, "--dry-run")
	for strings.Contains(out, "Connection refused") && time.Now().Before(deadline) { // sshd starts
		time.Sleep(100 * time.Millisecond)
		code, out = inside("run", file, "--dry-run")
	}
	if code != 0 {
		t.Fatalf("a dry run ends with %d: %s", code, out)
	}
	if code, out := inside("run", file, "--quiet"); code != 0 {
		t.Fatalf("ends with %d: %s", code, out)
	}
	_, run := p.result()
	for _, trial := range run.Trials {
		if c := trial.ClientCPU; c == nil || c.User+c.System <= 0 {
			t.Errorf("processors of the clients' machine: %+v", c)
		}
		for _, in := range trial.Instances {
			if in.Measurement == nil || in.Measurement.IOs() == 0 {
				t.Errorf("instance %d did %+v", in.Index, in.Measurement)
			}
		}
	}
	if dirs := left(t, home); len(dirs) > 0 {
		t.Errorf("%v stays there", dirs)
	}
	// Another key of the host is refused, and nobody is asked.
	sh(t, `echo "198.18.50.2 $(cut -d' ' -f1,2 "$1/key.pub")" > "$1/known"`, p.dir)
	code, out = inside("run", file, "--dry-run")
	if code != exitHost || !strings.Contains(out, "Host key verification failed") {
		t.Errorf("with another key of the host it ends with %d: %s", code, out)
	}
}
