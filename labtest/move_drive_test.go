package labtest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"plimsoll/internal/image"
	"plimsoll/internal/lab"
	"plimsoll/internal/testkit/hosttest"
	"plimsoll/internal/testkit/imagetest"
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
	m := startMoving(t, 1<<30)
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

// startMoving starts a target with a drive and two hosts with engines, on which the drive can be. It is exported to the
// server.
func startMoving(t *testing.T, memory int64) moving {
	t.Helper()
	names := []string{lab.Server, lab.Target, lab.Client}
	var machines []lab.Machine
	for _, name := range names {
		m := lab.Machine{Name: name, Memory: memory}
		m.Peers = slices.DeleteFunc(slices.Clone(names), func(other string) bool { return other == name })
		if name == lab.Target {
			m.Drives = drives(name, 1<<30)
		}
		machines = append(machines, m)
	}
	g := start(t, machines...)
	m := moving{g[1], map[string]*guest{lab.Server: g[0], lab.Client: g[2]}}
	m.target.do(t, overTCP.export())
	key := "$(cat /etc/ssh/ssh_host_ed25519_key.pub)"
	for name, nqn := range map[string]string{lab.Server: initiatorNQN, lab.Client: otherNQN} {
		h := m.hosts[name]
		m.target.do(t, "echo \""+name+" "+key+"\" >>/root/.ssh/known_hosts")
		h.do(t, `set -e
			mkdir -p /etc/nvme /srv/db && echo `+nqn+` >/etc/nvme/hostnqn
			pgrep -x sshd >/dev/null || /usr/sbin/sshd
			modprobe nvme-tcp; modprobe overlay
			dockerd --bridge=none --iptables=false >/tmp/dockerd.log 2>&1 &`)
		h.until(t, "the engine is ready", "docker version || { tail -n 5 /tmp/dockerd.log; false; }")
	}
	return m
}

// mkfs makes a file system on the drive, and mounts it on the server.
func (m moving) mkfs(t *testing.T, fs string) {
	t.Helper()
	server := m.hosts[lab.Server]
	server.do(t, connectAs(initiatorNQN))
	device := strings.TrimSpace(server.until(t, "the drive is there",
		"grep -l "+overTCP.uuid+" /sys/class/block/nvme*/uuid | cut -d/ -f5 | grep -v c[0-9]*n"))
	server.do(t, fmt.Sprintf("mkfs.%s -q /dev/%s && mount /dev/%s /srv/db", fs, device, device))
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
	for _, h := range m.hosts {
		h.put(t, "writer.sh", writer)
		h.do(t, `set -e
			tar -C / -ch bin/busybox $(ldd /bin/busybox 2>/dev/null | grep -o '/[^ ]*' | sed 's,^/,,') | docker import - box
			docker create --name db --network none -v /srv/db:/data box /bin/busybox sh -c "$(cat writer.sh)"`)
	}
	m.mkfs(t, "ext4")
	server := m.hosts[lab.Server]
	server.do(t, "docker start db")
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

// postgresqlWriter commits a row at a time on whichever host PostgreSQL is, and notes when it was acknowledged. psql
// prints what a statement returns once that is committed.
const postgresqlWriter = `while :; do
	while sleep 0.05; do echo 'INSERT INTO numbers DEFAULT VALUES RETURNING n;'; done |
		chroot /pg /usr/lib/postgresql/15/bin/psql -qAtX -v ON_ERROR_STOP=1 \
			'host=%s,%s user=postgres connect_timeout=3 tcp_user_timeout=5000 keepalives_idle=3 keepalives_interval=1'
	sleep 0.2
done 2>/dev/null | while read n; do echo "$n $(date +%%s.%%N)"; done >>acked`

// TestMoveDrivePostgreSQL moves a PostgreSQL that a client writes to all the while: as users do, over a link that is
// cut, and off a host that does not answer.
func TestMoveDrivePostgreSQL(t *testing.T) {
	hosttest.Soak(t) // three machines take minutes
	file := imagetest.Saved(t, image.In(hosttest.Kept(t, "images", "../internal/image")), "postgresql",
		"postgresql:15")
	m := startMoving(t, 2<<30)
	m.preparePostgreSQL(t, file)
	t.Run("moved", func(t *testing.T) {
		t.Log(m.target.do(t, m.command(lab.Server, lab.Client)+" 2>&1"))
		m.hasCommits(t, lab.Client)
		m.staysOut(t, lab.Server, lab.Client, initiatorNQN)
	})
	t.Run("cut", m.cutWhileMoving)
	at, other := m.where(t)
	t.Run("gone", func(t *testing.T) {
		old := m.hosts[at]
		old.do(t, "kill $(pgrep -o -x sshd)")
		t.Log(m.target.do(t, m.command(at, other, "--old-host-is-gone")+" 2>&1"))
		m.hasCommits(t, other)
		old.until(t, "it ends", "[ $(docker inspect -f '{{.State.Running}}' db) = false ] || docker stop -t 1 db")
	})
	t.Run("checksums", func(t *testing.T) {
		t.Log(m.hosts[other].do(t, "docker stop db && docker run --rm --network none --user postgres -v /srv/db:/data "+
			"postgresql:15 pg_checksums --check -D /data/pg"))
	})
}

// preparePostgreSQL has PostgreSQL run on the server, be stopped on the client, and a client on the target that writes.
func (m moving) preparePostgreSQL(t *testing.T, file string) {
	t.Helper()
	for _, g := range []*guest{m.target, m.hosts[lab.Server], m.hosts[lab.Client]} {
		if err := lab.Send(t.Context(), g.dir, []string{file}); err != nil {
			t.Fatal(err)
		}
	}
	m.target.do(t, `set -e; mkdir /pg image; tar -C image -xf postgresql.tar
		for layer in image/*.tar.gz; do tar -C /pg -xzf $layer; done; rm -r image postgresql.tar`)
	for _, h := range m.hosts {
		h.do(t, `docker load -qi postgresql.tar && rm postgresql.tar && docker create --name db --network host \
			--user postgres --stop-signal SIGINT --stop-timeout 120 -v /srv/db:/data postgresql:15 postgres -D /data/pg \
			-c listen_addresses='*' -c unix_socket_directories=/tmp -c shared_buffers=32MB -c max_wal_size=64MB`)
	}
	m.mkfs(t, "xfs")
	server := m.hosts[lab.Server]
	server.do(t, `set -e; in="docker run --rm --network none -v /srv/db:/data"
		$in --user root postgresql:15 chown postgres /data
		$in --user postgres postgresql:15 initdb -D /data/pg --data-checksums --no-locale --auth trust
		echo 'host all all 10.77.0.0/24 trust' >>/srv/db/pg/pg_hba.conf; docker start db`)
	server.until(t, "PostgreSQL answers", m.psql("SELECT 1")+" || { docker logs db | tail; false; }")
	server.do(t, m.psql("CREATE EXTENSION amcheck; CREATE TABLE numbers (n bigint GENERATED ALWAYS AS IDENTITY "+
		"PRIMARY KEY, filling text DEFAULT repeat(chr(120), 500))"))
	m.target.put(t, "client.sh", fmt.Sprintf(postgresqlWriter, lab.Address(lab.Server), lab.Address(lab.Client)))
	m.target.do(t, "setsid sh client.sh </dev/null >/dev/null 2>&1 &")
	m.target.until(t, "the client writes", "[ $(wc -l <acked) -gt 20 ]")
}

func (m moving) psql(statements string) string {
	return "docker exec db psql -qAtX -h /tmp -c '" + statements + "'"
}

// hasCommits fails unless the PostgreSQL of a host has each row that was acknowledged, and its pages and indexes are
// whole.
func (m moving) hasCommits(t *testing.T, name string) {
	t.Helper()
	acked := m.target.do(t, "cat acked")
	before := strings.Count(acked, "\n")
	m.target.until(t, "commits are acknowledged again", fmt.Sprintf("[ $(wc -l <acked) -gt %d ]", before+20))
	acked = m.target.do(t, "cat acked")
	h := m.hosts[name]
	stored := map[string]bool{}
	for _, n := range strings.Fields(h.do(t, m.psql("SELECT n FROM numbers"))) {
		stored[n] = true
	}
	lost, count := 0, 0
	var last, longest float64
	for line := range strings.Lines(acked) {
		n, at, whole := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		seconds, err := strconv.ParseFloat(at, 64)
		if !whole || err != nil {
			continue // the last one, which is being written
		}
		count++
		if !stored[n] {
			lost++
		}
		if last != 0 {
			longest = max(longest, seconds-last)
		}
		last = seconds
	}
	t.Logf("%s: %d commits were acknowledged, %d of these are lost; the longest time without one so far: %.1f s",
		name, count, lost, longest)
	if lost > 0 || count == 0 {
		t.Errorf("%d of %d acknowledged commits are lost", lost, count)
	}
	h.do(t, "docker exec db pg_amcheck -h /tmp --heapallindexed postgres")
}

// cutWhileMoving cuts the link of the old host when the mover is about to unmount there, for longer than connections
// last. No host has the drive twice meanwhile, and the move is taken back when the link is mended.
func (m moving) cutWhileMoving(t *testing.T) {
	at, other := m.where(t)
	address := lab.Address(at)
	wait := m.target.background(t, m.command(at, other)+" 2>steps; cat steps; false")
	m.target.until(t, "the mover unmounts", "grep '^sync and unmount' steps")
	m.target.do(t, "iptables -I INPUT -s "+address+" -j DROP; iptables -I OUTPUT -d "+address+" -j DROP")
	m.hosts[at].until(t, "its drive is gone", "! grep -qs "+overTCP.nqn()+" /sys/class/nvme/*/subsysnqn")
	_, said := wait()
	t.Log(said)
	if !strings.Contains(said, "plimsoll clean") {
		t.Errorf("what to do is not said: %s", said)
	}
	m.target.ends(t, 1, "plimsoll clean 2>&1")
	m.hosts[other].do(t, "! mountpoint -q /srv/db && ! grep -qs "+overTCP.nqn()+" /sys/class/nvme/*/subsysnqn")
	m.target.do(t, "iptables -D INPUT -s "+address+" -j DROP; iptables -D OUTPUT -d "+address+" -j DROP")
	m.target.until(t, "clean settles it", "plimsoll clean 2>&1")
	m.hasCommits(t, at)
	m.hosts[at].do(t, "[ $(grep -c ' /srv/db ' /proc/self/mountinfo) = 1 ]")
}
