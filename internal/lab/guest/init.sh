#!/bin/busybox sh
# First process of the initial RAM disk: loads what the root file system needs,
# and hands over to it.
b=/bin/busybox
$b mount -t proc proc /proc
$b mount -t sysfs sys /sys
$b mount -t devtmpfs dev /dev
while read -r module; do $b insmod "$module"; done < /modules.order
if $b grep -q lab.probe /proc/cmdline; then
  echo LAB-PROBE-OK > /dev/console
  $b poweroff -f
fi
until [ -b /dev/vda ]; do $b usleep 20000; done
$b mount -t ext4 -o noatime /dev/vda /newroot
$b cp /lab/plimsoll /newroot/usr/local/bin/plimsoll
$b cp /lab/lab-init /newroot/sbin/lab-init
$b mount --move /dev /newroot/dev
$b umount /sys
$b umount /proc
exec $b switch_root /newroot /sbin/lab-init
