#!/bin/sh
# First process of the guest: makes of the image what a booted host is, and
# then stays to take in orphans while the agent serves.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8

mount -t proc proc /proc
mount -t sysfs sys /sys
mkdir -p /dev/pts /dev/shm /work
mount -t devpts devpts /dev/pts
mount -t tmpfs shm /dev/shm
mount -t tmpfs -o mode=755 run /run
mount -t tmpfs tmp /tmp
mkdir -p /run/lock /run/lvm
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mount -t debugfs debugfs /sys/kernel/debug
mount -t tracefs tracefs /sys/kernel/tracing

# word NAME gives the value of lab.NAME on the kernel's command line.
word() { sed -n "s/.*\\blab\\.$1=\\([^ ]*\\).*/\\1/p" /proc/cmdline; }
name=$(word name)
echo "$name" > /proc/sys/kernel/hostname
echo "$name" > /etc/hostname
{ echo 127.0.0.1 localhost; word hosts | tr ',;' ' \n'; echo; } > /etc/hosts

modprobe -qa configfs nvme loop virtio_net fuse overlay
mount -t configfs configfs /sys/kernel/config
/lib/systemd/systemd-udevd --daemon
udevadm trigger --subsystem-match=block --subsystem-match=nvme --subsystem-match=net --subsystem-match=misc
ip link set lo up
if [ -n "$(word addr)" ]; then
  ip addr add "$(word addr)" dev eth0
  ip link set eth0 up
  modprobe -qa crc32_generic rdma_rxe
  rdma link add rxe0 type rxe netdev eth0
  # Machines of one image have one key, which is the host's and the user's: no other
  # machine is on their network.
  key=/etc/ssh/ssh_host_ed25519_key
  mkdir -p -m 700 /root/.ssh /run/sshd
  cp $key.pub /root/.ssh/authorized_keys
  echo "client $(cat $key.pub)" > /root/.ssh/known_hosts
  echo "IdentityFile $key" > /root/.ssh/config
  [ "$name" != client ] || /usr/sbin/sshd
fi
until [ "$(ls -d /dev/nvme*n1 2>/dev/null | wc -l)" -ge "$(word drives)" ]; do sleep 0.05; done
udevadm settle

cd /work
/usr/local/bin/plimsoll lab agent
echo "the lab's agent ended with status $?" > /dev/console
/bin/busybox poweroff -f
