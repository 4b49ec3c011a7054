package lab

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/host/hostinfo"
)

// Machine describes a virtual machine.
type Machine struct {
	Name   string   // host name of the guest: Server, Target or Client
	CPUs   int      // 0: as many as suit the host
	Memory int64    // bytes
	Drives []Drive  // emulated NVMe
	Peers  []string // host names of the other machines on the private network; none without it
}

// The names of machines.
const (
	Server = "server" // where commands run
	Target = "target" // which serves its drives to the server
	Client = "client" // which generates load on the server, and lets the others in by ssh
)

// Drive is an emulated NVMe drive with one namespace. Linux knows it by its
// serial alone: it takes no identifier of a namespace from QEMU's drives.
type Drive struct {
	Serial string
	Bytes  int64
	Limits Profile
}

// Serials returns the serial numbers of n drives: LAB1, LAB2 on the server, TGT1 on the target; none on the client,
// which has no drives.
func Serials(machine string, n int) []string {
	prefix, has := map[string]string{Server: "LAB", Target: "TGT"}[machine]
	if !has {
		return nil
	}
	var out []string
	for i := range n {
		out = append(out, prefix+strconv.Itoa(i+1))
	}
	return out
}

// Names are the machines that there can be. The first of a lab is the server.
func Names() []string { return []string{Server, Target, Client} }

// addresses are the machines' addresses on the private network, which has no others.
var addresses = map[string]string{Server: "10.77.0.1", Target: "10.77.0.2", Client: "10.77.0.3"}

// Address returns the address of a machine on the private network.
func Address(machine string) string { return addresses[machine] }

// macs are locally administered.
var macs = map[string]string{
	Server: "52:54:00:77:00:01",
	Target: "52:54:00:77:00:02",
	Client: "52:54:00:77:00:03",
}

// ports is the number of commands that can run in a machine at a time.
const ports = 4

// files are the paths of a machine's files; all but the links are in its own directory, in which QEMU runs.
type files struct {
	Root   string // image of the root file system, which is not changed
	Kernel string
	Initrd string
	Links  string // directory of the sockets of the private network
}

// Names of the files in a machine's directory.
const (
	consoleFile = "console.log"
	initrdFile  = "initrd"
)

func driveFile(d Drive) string { return "drive-" + d.Serial + ".img" }
func portFile(i int) string    { return fmt.Sprintf("port%d.sock", i) }

// linkFile is the socket of the link between the server and another machine.
func linkFile(peer string) string { return "link-" + peer + ".sock" }

// emulatedCPU is the processor that QEMU emulates, without what makes it slower. Where
// "rep movsb" is said to be fast (erms, fsrm), Linux copies memory with it, and QEMU
// emulates it byte by byte; process context identifiers (pcid) spare a real processor
// flushes of its TLB, and QEMU none.
const emulatedCPU = "max,erms=off,fsrm=off,pcid=off,invpcid=off"

// arguments returns QEMU's command line.
func arguments(m Machine, f files, accel Accelerator) []string {
	accelerator, processors := accel.processors(m.CPUs)
	cpu := "host"
	if accel.Name == emulation {
		cpu = emulatedCPU
	}
	a := []string{
		"-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-monitor", "none", "-nic", "none",
		"-machine", "q35", "-accel", accelerator, "-cpu", cpu,
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
	return append(a, network(m, f.Links)...)
}

// network returns the arguments of a machine's place on the private network. The server listens for each other machine,
// and joins three in a hub, which all that is sent passes.
func network(m Machine, links string) (a []string) {
	if len(m.Peers) == 0 {
		return nil
	}
	link := func(id, listens, peer string) string {
		return fmt.Sprintf("stream,id=%s,server=%s,addr.type=unix,addr.path=%s", id, listens,
			filepath.Join(links, linkFile(peer)))
	}
	switch {
	case m.Name != Server:
		a = append(a, "-netdev", link("link", "off", m.Name))
	case len(m.Peers) == 1:
		a = append(a, "-netdev", link("link", "on", m.Peers[0]))
	default:
		for _, peer := range m.Peers {
			a = append(a, "-netdev", link(peer, "on", peer), "-netdev", "hubport,hubid=0,id=hub-"+peer+",netdev="+peer)
		}
		a = append(a, "-netdev", "hubport,hubid=0,id=link")
	}
	return append(a, "-device", "virtio-net-pci,netdev=link,mac="+macs[m.Name])
}

// kernelWords is the guest kernel's command line; guest/lab-init.sh reads the
// words that begin with "lab.".
func kernelWords(m Machine) string {
	words := []string{
		"console=ttyS0", "quiet", "panic=-1", "mitigations=off", "no_timer_check", "net.ifnames=0",
		"lab.name=" + m.Name, "lab.drives=" + strconv.Itoa(len(m.Drives)),
	}
	if len(m.Peers) > 0 {
		var hosts []string
		for _, name := range Names() {
			if name == m.Name || slices.Contains(m.Peers, name) {
				hosts = append(hosts, addresses[name]+","+name)
			}
		}
		words = append(words, "lab.addr="+addresses[m.Name]+"/24", "lab.hosts="+strings.Join(hosts, ";"))
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
