package lab

import (
	"fmt"
	"strconv"
	"strings"

	"plimsoll/internal/hostinfo"
)

// Machine tells what a virtual machine has.
type Machine struct {
	Name   string  // host name of the guest: Server or Target
	CPUs   int     // 0: as many as suit the host
	Memory int64   // bytes
	Drives []Drive // emulated NVMe
	Peer   string  // host name of the machine at the other end of the link; "" for none
}

// The names of machines.
const (
	Server = "server" // where commands run
	Target = "target" // which serves its drives to the server
)

// Drive is an emulated NVMe drive with one namespace. Linux knows it by its
// serial alone: it takes no identifier of a namespace from QEMU's drives.
type Drive struct {
	Serial string
	Bytes  int64
	Limits Profile
}

// Serials gives n drives their numbers: LAB1, LAB2 on the server, TGT1 on the
// target.
func Serials(machine string, n int) []string {
	prefix := map[string]string{Server: "LAB", Target: "TGT"}[machine]
	var out []string
	for i := range n {
		out = append(out, prefix+strconv.Itoa(i+1))
	}
	return out
}

// addresses are those of the private link; nothing else is on it.
var addresses = map[string]string{Server: "10.77.0.1", Target: "10.77.0.2"}

// Address is that of a machine on the private link: server or target.
func Address(machine string) string { return addresses[machine] }

// macs are locally administered.
var macs = map[string]string{Server: "52:54:00:77:00:01", Target: "52:54:00:77:00:02"}

// ports is the number of commands that can run in a machine at a time.
const ports = 4

// files are where a machine finds and puts things; all but the last are in its
// own directory, in which QEMU runs.
type files struct {
	Root   string // image of the root file system, which is not changed
	Kernel string
	Initrd string
	Link   string // socket of the private link
}

// Names of the files in a machine's directory.
const (
	consoleFile = "console.log"
	initrdFile  = "initrd"
	linkFile    = "link.sock"
)

func driveFile(d Drive) string { return "drive-" + d.Serial + ".img" }
func portFile(i int) string    { return fmt.Sprintf("port%d.sock", i) }

// emulatedCPU is the processor that QEMU emulates, without what makes it slower. Where
// "rep movsb" is said to be fast (erms, fsrm), Linux copies memory with it, and QEMU
// emulates it byte by byte; process context identifiers (pcid) spare a real processor
// flushes of its TLB, and QEMU none.
const emulatedCPU = "max,erms=off,fsrm=off,pcid=off,invpcid=off"

// arguments returns QEMU's command line.
func arguments(m Machine, f files, accel Accelerator) []string {
	by, processors := accel.processors(m.CPUs)
	cpu := "host"
	if accel.Name == emulation {
		cpu = emulatedCPU
	}
	a := []string{
		"-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-monitor", "none", "-nic", "none",
		"-machine", "q35", "-accel", by, "-cpu", cpu,
		"-smp", processors, "-m", strconv.FormatInt(m.Memory>>20, 10) + "M",
		"-smbios", "type=1,product=" + hostinfo.LabProduct + ",version=" + accel.Name,
		"-serial", "file:" + consoleFile,
		"-kernel", f.Kernel, "-initrd", f.Initrd, "-append", kernelWords(m),
		// Flushes are not passed on, here as for drives: what a lab holds is thrown
		// away, and the host's disk must not be what is measured.
		"-drive", "if=none,id=root,format=raw,snapshot=on,cache=unsafe,file=" + escape(f.Root),
		"-device", "virtio-blk-pci,drive=root",
		"-device", "virtio-serial-pci,max_ports=" + strconv.Itoa(ports+1),
		"-device", "virtio-rng-pci",
	}
	for i := range ports {
		a = append(a,
			"-chardev", fmt.Sprintf("socket,id=port%d,path=%s,server=on,wait=off", i, portFile(i)),
			"-device", fmt.Sprintf("virtserialport,chardev=port%d,name=%s%d", i, portName, i))
	}
	for i, d := range m.Drives {
		options := append([]string{"if=none", fmt.Sprintf("id=drive%d", i), "format=raw", "cache=unsafe",
			"discard=unmap", "file=" + driveFile(d)}, d.Limits.throttling()...)
		a = append(a,
			"-drive", strings.Join(options, ","),
			"-device", fmt.Sprintf("nvme,drive=drive%d,serial=%s", i, d.Serial))
	}
	if m.Peer != "" {
		listens := "off"
		if m.Name == Target {
			listens = "on"
		}
		a = append(a,
			"-netdev", fmt.Sprintf("stream,id=link,server=%s,addr.type=unix,addr.path=%s", listens, f.Link),
			"-device", "virtio-net-pci,netdev=link,mac="+macs[m.Name])
	}
	return a
}

// kernelWords is the guest kernel's command line; guest/lab-init.sh reads the
// words that begin with "lab.".
func kernelWords(m Machine) string {
	words := []string{
		"console=ttyS0", "quiet", "panic=-1", "mitigations=off", "no_timer_check", "net.ifnames=0",
		"lab.name=" + m.Name, "lab.drives=" + strconv.Itoa(len(m.Drives)),
	}
	if m.Peer != "" {
		words = append(words, "lab.addr="+addresses[m.Name]+"/24",
			fmt.Sprintf("lab.hosts=%s,%s;%s,%s", addresses[Server], Server, addresses[Target], Target))
	}
	return strings.Join(words, " ")
}

// probeArguments is the command line of a machine that only says that it runs.
func probeArguments(kernel, initrd, accel string) []string {
	return []string{
		"-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-monitor", "none", "-nic", "none",
		"-machine", "q35", "-accel", accel, "-cpu", "host", "-smp", "1", "-m", "512M", "-serial", "stdio",
		"-kernel", kernel, "-initrd", initrd, "-append", "console=ttyS0 quiet panic=-1 lab.probe",
	}
}

// escape makes a path a value of a QEMU option, where a comma is doubled.
func escape(path string) string { return strings.ReplaceAll(path, ",", ",,") }
