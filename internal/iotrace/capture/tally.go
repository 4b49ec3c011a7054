package capture

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/rlimit"
)

//go:embed bpf/tally_btf.o
var tallyBTF []byte

//go:embed bpf/tally_raw.o
var tallyRaw []byte

// Tally counts the bytes and requests that each process queues at block devices: bios before they are split or
// merged. It takes no times and costs a fraction of a Recorder. One is started for a whole run.
type Tally struct {
	coll    *ebpf.Collection
	link    link.Link
	devices []device
	cgroups *cgroups
}

// Kind classifies the origin of a request.
type Kind uint32

// The kinds of who asks.
const (
	ByProcess Kind = iota // of the control group
	ByKernel              // a kernel thread, on behalf of the control group where one is known
	BySelf                // this process
)

// Demand is the I/O that one user of a device queued at it.
type Demand struct {
	Device    string // kernel name
	Cgroup    uint64 // number of the control group; 0 where it is unknown
	Path      string // of that group, in its hierarchy; "" where it is not known
	Container string // name, where the group is a container's
	Kind      Kind
	Command   string // that asked for most of it, where one asked for more than half

	Reads, Writes         uint64
	ReadBytes, WriteBytes uint64
}

// The types of bpf/tally.bpf.c; a test compares them.
type (
	tallyWho struct {
		Group     uint64
		Dev, Kind uint32
	}
	tallyDid struct {
		IOs, Bytes [2]uint64 // reads, writes
		Votes      uint64
		Command    [16]byte
	}
	tallyDevices [maxDevices]uint32
)

// StartTally starts counting. Watch adds devices. The error is problem.Unsupported when the host lacks what it takes.
func StartTally() (*Tally, error) {
	if why, remedy := probeBPF(); why != "" {
		return nil, unsupported("who uses its disks", Way{Name: "bpf", Why: why, Remedy: remedy})
	}
	// Before 5.11 maps counted against a limit; the library knows.
	if err := rlimit.RemoveMemlock(); err != nil {
		return nil, fmt.Errorf("raise the limit of locked memory: %w", err)
	}
	t := &Tally{cgroups: newCgroups()}
	// Kernels before 5.11 do not let programs follow all these pointers by themselves.
	var btfErr error
	if !forceRaw {
		if btfErr = t.start(tallyBTF); btfErr == nil {
			return t, nil
		}
	}
	if err := t.start(tallyRaw); err != nil {
		return nil, errors.Join(btfErr, err)
	}
	return t, nil
}

// start loads and attaches a kind of the program.
func (t *Tally) start(object []byte) error {
	spec, err := ebpf.LoadCollectionSpecFromReader(bytes.NewReader(object))
	if err != nil {
		return fmt.Errorf("read the program that counts: %w", err)
	}
	types, err := btf.LoadKernelSpec()
	if err != nil {
		return fmt.Errorf("read the kernel's types: %w", err)
	}
	ofBios, err := queueIsFirstArgument(types, bioEvent)
	if err != nil {
		return err
	}
	for name, value := range map[string]uint32{
		"bio_queue_first": flag(ofBios), "unified": flag(t.cgroups.unified), "subsystem": ownerSubsystem(types),
		"self": uint32(os.Getpid()),
	} {
		if err := spec.Variables[name].Set(value); err != nil {
			return fmt.Errorf("constant %s of the program that counts: %w", name, err)
		}
	}
	if t.coll, err = ebpf.NewCollection(spec); err != nil {
		return fmt.Errorf("load the program that counts: %w", err)
	}
	program := t.coll.Programs["bio_queued"]
	if program.Type() == ebpf.Tracing {
		t.link, err = link.AttachTracing(link.TracingOptions{Program: program})
	} else {
		t.link, err = link.AttachRawTracepoint(link.RawTracepointOptions{Name: "block_bio_queue", Program: program})
	}
	if err != nil {
		t.coll.Close()
		return fmt.Errorf("attach to the kernel's event block_bio_queue: %w", err)
	}
	return nil
}

// Watch starts counting for the device MAJ:MIN. A partition stands for its disk, whose kernel name is returned.
func (t *Tally) Watch(number string) (name string, err error) {
	found, err := findDevices([]string{number})
	if err != nil {
		return "", err
	}
	name = found[0].name
	for _, d := range found {
		if !slices.ContainsFunc(t.devices, func(o device) bool { return o.majMin() == d.majMin() }) {
			t.devices = append(t.devices, d)
		}
	}
	if len(t.devices) > maxDevices {
		t.devices = t.devices[:maxDevices]
		return "", fmt.Errorf("more than %d devices are watched already", maxDevices)
	}
	var watched tallyDevices
	for i, d := range t.devices {
		watched[i] = d.major<<20 | d.minor
	}
	zero := uint32(0)
	if err := t.coll.Maps["watched"].Put(&zero, &watched); err != nil {
		return "", fmt.Errorf("watch %s: %w", name, err)
	}
	return name, nil
}

// Reset sets all counts to 0.
func (t *Tally) Reset() error {
	var key tallyWho
	var keys []tallyWho
	var perCPU []tallyDid
	iterator := t.coll.Maps["tally"].Iterate()
	for iterator.Next(&key, &perCPU) {
		keys = append(keys, key)
	}
	if err := iterator.Err(); err != nil {
		return fmt.Errorf("read who used the disks: %w", err)
	}
	for _, key := range keys {
		if err := t.coll.Maps["tally"].Delete(&key); err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
			return fmt.Errorf("forget who used the disks: %w", err)
		}
	}
	cpus, err := ebpf.PossibleCPU()
	if err != nil {
		return fmt.Errorf("count CPUs: %w", err)
	}
	zero := uint32(0)
	if err := t.coll.Maps["uncounted"].Put(&zero, make([]uint64, cpus)); err != nil {
		return fmt.Errorf("forget who used the disks: %w", err)
	}
	return nil
}

// Read returns the counts since Reset, and the number of bios that were not counted because the table was full.
func (t *Tally) Read() (asked []Demand, uncounted uint64, err error) {
	var key tallyWho
	var perCPU []tallyDid
	ids := map[uint64]bool{}
	iterator := t.coll.Maps["tally"].Iterate()
	for iterator.Next(&key, &perCPU) {
		i := slices.IndexFunc(t.devices, func(d device) bool { return d.major<<20|d.minor == key.Dev })
		if i < 0 {
			continue
		}
		ids[key.Group] = true
		asked = append(asked, sumUp(t.devices[i].name, key, perCPU))
	}
	if err := iterator.Err(); err != nil {
		return nil, 0, fmt.Errorf("read who used the disks: %w", err)
	}
	t.cgroups.learn(ids)
	for i := range asked {
		asked[i].Path, asked[i].Container = t.cgroups.paths[asked[i].Cgroup], t.cgroups.containers[asked[i].Cgroup]
	}
	var lost []uint64
	zero := uint32(0)
	if err := t.coll.Maps["uncounted"].Lookup(&zero, &lost); err != nil {
		return nil, 0, fmt.Errorf("read how much was not counted: %w", err)
	}
	for _, n := range lost {
		uncounted += n
	}
	return asked, uncounted, nil
}

// sumUp adds up the counts of all CPUs.
func sumUp(device string, key tallyWho, perCPU []tallyDid) Demand {
	a := Demand{Device: device, Cgroup: key.Group, Kind: Kind(key.Kind)}
	votes := map[string]uint64{}
	for i := range perCPU {
		d := &perCPU[i]
		a.Reads, a.Writes = a.Reads+d.IOs[0], a.Writes+d.IOs[1]
		a.ReadBytes, a.WriteBytes = a.ReadBytes+d.Bytes[0], a.WriteBytes+d.Bytes[1]
		command, _, _ := bytes.Cut(d.Command[:], []byte{0})
		votes[string(command)] += d.Votes
	}
	mostVotes := uint64(0)
	for command, n := range votes {
		if n > mostVotes || n == mostVotes && command < a.Command {
			a.Command, mostVotes = command, n
		}
	}
	return a
}

// Close closes the program and its maps, which makes the kernel free them.
func (t *Tally) Close() error {
	err := t.link.Close()
	t.coll.Close()
	return err
}
