package labtest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"plimsoll/internal/lab"
	"plimsoll/internal/testkit/hosttest"
)

// otherNQN is the host NQN of the client.
const otherNQN = "nqn.2014-08.org.nvmexpress:uuid:dddddddd-0000-4000-8000-000000000004"

// writer counts up. It acknowledges a number, to its log, once that is on the drive. BusyBox of Debian has no fsync.
const writer = `trap exit TERM
n=$(/bin/busybox tail -n 1 /data/numbers 2>/dev/null || echo 0)
while n=$((n+1)); do
	echo $n | /bin/busybox dd of=/data/numbers oflag=append conv=notrunc,fsync status=none && echo $n || exit 1
	/bin/busybox sleep 0.05
done`

// moving is a service that writes to a drive of the target, and the two hosts that can have it.
type moving struct {
	target *guest
	hosts  map[string]*guest // by name
}

// TestMoveDrive moves a container that writes from host to host with its drive, kills the mover at its steps, and has
// the old host try to go on.
func TestMoveDrive(t *testing.T) {
	hosttest.Soak(t) // three machines take minutes
	names := []string{lab.Server, lab.Target, lab.Client}
	var machines []lab.Machine
	for _, name := range names {
		m := lab.Machine{Name: name, Memory: 1 << 30}
		m.Peers = slices.DeleteFunc(slices.Clone(names), func(other string) bool { return other == name })
		if name == lab.Target {
			m.Drives = drives(name, 1<<30)
		}
		machines = append(machines, m)
	}
	g := start(t, machines...)
	m := moving{g[1], map[string]*guest{lab.Server: g[0], lab.Client: g[2]}}
	m.prepare(t)
	t.Run("moved", func(t *testing.T) {
		out := m.target.do(t, m.command(lab.Server, lab.Client)+" 2>&1")
		t.Log(out)
		m.runsOn(t, lab.Client)
		m.staysOut(t, lab.Server, lab.Client, initiatorNQN)
	})
	t.Run("killed", m.killed)
	t.Run("gone", m.gone)
}

func (m moving) command(from, to string, flags ...string) string {
	return fmt.Sprintf("plimsoll move-drive %s --target here --from ssh://root@%s --to ssh://root@%s --container db "+
		"--mount /srv/db %s", overTCP.nqn(), from, to, strings.Join(flags, " "))
}

// connect is the command that connects a host to the drive.
func connectAs(nqn string) string {
	return fmt.Sprintf(
		"echo transport=tcp,traddr=%s,trsvcid=%s,nqn=%s,hostnqn=%s >/dev/nvme-fabrics",
		targetIP,
		overTCP.port,
		overTCP.nqn(),
		nqn,
	)
}

// prepare has the service run on the server, and stopped on the client.
func (m moving) prepare(t *testing.T) {
	t.Helper()
	m.target.do(t, overTCP.export())
	key := "$(cat /etc/ssh/ssh_host_ed25519_key.pub)"
	for name, nqn := range map[string]string{lab.Server: initiatorNQN, lab.Client: otherNQN} {
		h := m.hosts[name]
		m.target.do(t, "echo \""+name+" "+key+"\" >>/root/.ssh/known_hosts")
		h.put(t, "writer.sh", writer)
		h.do(t, `set -e
			mkdir -p /etc/nvme /srv/db && echo `+nqn+` >/etc/nvme/hostnqn
			pgrep -x sshd >/dev/null || /usr/sbin/sshd
			modprobe nvme-tcp; modprobe overlay
			dockerd --bridge=none --iptables=false >/tmp/dockerd.log 2>&1 &`)
		h.until(t, "the engine is ready", "docker version || { tail -n 5 /tmp/dockerd.log; false; }")
		h.do(t, `set -e
			tar -C / -ch bin/busybox $(ldd /bin/busybox 2>/dev/null | grep -o '/[^ ]*' | sed 's,^/,,') | docker import - box
			docker create --name db --network none -v /srv/db:/data box /bin/busybox sh -c "$(cat writer.sh)"`)
	}
	server := m.hosts[lab.Server]
	server.do(t, connectAs(initiatorNQN))
	device := strings.TrimSpace(server.until(t, "the drive is there",
		"grep -l "+overTCP.uuid+" /sys/class/block/nvme*/uuid | cut -d/ -f5 | grep -v c[0-9]*n"))
	server.do(t, fmt.Sprintf("mkfs.ext4 -q /dev/%s && mount /dev/%s /srv/db && docker start db", device, device))
	server.until(t, "it writes",
		"docker logs db 2>/dev/null | grep . || { docker inspect -f '{{json .State}}' db; docker logs db; false; }")
}

// runsOn fails unless the service runs on a host and nothing of the drive is on the other one, or when a number that
// either acknowledged is missing.
func (m moving) runsOn(t *testing.T, name string) {
	t.Helper()
	m.hosts[name].until(
		t,
		"it goes on writing",
		"a=$(wc -l </srv/db/numbers); sleep 1; [ $(wc -l </srv/db/numbers) -gt $a ]",
	)
	acked := 0
	var all []string
	for at, h := range m.hosts {
		all = append(all, strings.Fields(h.do(t, "docker logs db 2>/dev/null"))...)
		if at != name {
			h.do(t, `[ $(docker inspect -f '{{.State.Running}}' db) = false ] && ! mountpoint -q /srv/db &&
				! grep -qs `+overTCP.nqn()+` /sys/class/nvme/*/subsysnqn`)
		}
	}
	stored := map[string]bool{}
	for _, n := range strings.Fields(m.hosts[name].do(t, "cat /srv/db/numbers")) {
		stored[n] = true
	}
	for _, n := range all {
		if _, err := strconv.Atoi(n); err != nil {
			continue
		}
		acked++
		if !stored[n] {
			t.Errorf("%s was acknowledged, and is lost", n)
		}
	}
	t.Logf("%s has %d numbers; %d were acknowledged", name, len(stored), acked)
	if acked == 0 {
		t.Error("nothing was acknowledged")
	}
}

// staysOut has a host that was revoked try to connect, and to mount the file system that the other one has.
func (m moving) staysOut(t *testing.T, revoked, has, nqn string) {
	t.Helper()
	label := strings.TrimSpace(m.hosts[has].do(t, "blkid -p -s UUID -o value $(findmnt -no SOURCE /srv/db)"))
	m.hosts[revoked].ends(t, 1, "( "+connectAs(nqn)+" ) || { dmesg | tail -n 2; false; }", "is not allowed, hostnqn: "+nqn)
	m.hosts[revoked].ends(t, 1, "mount UUID="+label+" /srv/db", "can't find UUID")
}

// where returns the host that has the drive, and the other one.
func (m moving) where(t *testing.T) (at, other string) {
	t.Helper()
	if code, _ := m.hosts[lab.Server].status(t, "mountpoint -q /srv/db"); code == 0 {
		return lab.Server, lab.Client
	}
	return lab.Client, lab.Server
}

// killed kills the mover after it announces each step. Where it was then, the target says.
func (m moving) killed(t *testing.T) {
	at, other := m.where(t)
	nqns := map[string]string{lab.Server: initiatorNQN, lab.Client: otherNQN}
	for _, step := range []string{"disconnect", "allow", "stop", "connect", "sync and unmount", "mount",
		"verify that [a-z:/@]* has nothing", "revoke", "verify that here allows", "start", "verify that db runs"} {
		t.Run(step, func(t *testing.T) {
			m.target.do(t, m.command(at, other)+` 2>steps & p=$!
				until grep -q '^`+step+`' steps; do kill -0 $p || exit; sleep 0.02; done; kill -9 $p || true`)
			back, _ := m.target.status(t, "plimsoll target list | grep -q 'host .*"+nqns[at]+"'")
			m.target.until(t, "clean settles it", "plimsoll clean 2>&1")
			if back != 0 {
				at, other = other, at
			}
			t.Logf("killed at %q: it runs on %s", step, at)
			m.runsOn(t, at)
		})
	}
}

// gone is a host that answers nobody and goes on writing: it is fenced, and what it acknowledged is there.
func (m moving) gone(t *testing.T) {
	at, other := m.where(t)
	old := m.hosts[at]
	m.target.ends(t, 4, m.command(at, other, "--old-host-is-gone")+" 2>&1", "it answers, and is not gone")
	old.do(t, "kill $(pgrep -o -x sshd)")
	m.target.ends(t, 3, m.command(at, other)+" 2>&1", "does not answer")
	m.target.do(t, m.command(at, other, "--old-host-is-gone")+" 2>&1")
	old.until(t, "it cannot write", "[ $(docker inspect -f '{{.State.Running}}' db) = false ]")
	old.do(t, "umount /srv/db; until ! grep -qs "+overTCP.nqn()+" /sys/class/nvme/*/subsysnqn; do sleep 1; done")
	m.runsOn(t, other)
}
