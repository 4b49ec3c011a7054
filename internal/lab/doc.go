// Package lab makes virtual machines in which storage stacks can be tried,
// destructively, on any machine: an image from the distribution's packages,
// one machine with emulated NVMe drives or up to three on a private network, and
// commands in them.
//
// A machine is a QEMU process that dies with the process that started it. Its
// root file system is the image, with whatever it writes kept aside and thrown
// away. The running plimsoll binary travels in the initial RAM disk, and serves
// as the guest's agent: requests and output go through virtio-serial ports, so
// that a guest needs no network and a host no privilege.
//
// Hazards. Nothing that is measured here is a drive's number: drives are files
// in the host's memory, with limits, and processors may be emulated.
// result.MarkLab says so of every stack that is measured in a guest. Programs
// that end a machine (Close, the death of its owner) lose what was not brought
// out of it.
package lab
