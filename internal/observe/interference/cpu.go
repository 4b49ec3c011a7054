// Package interference measures what other processes used of a disk and of the processors while a trial ran: their I/O
// on a disk that a stack shares, and what the processors of the host did beside the workload.
//
// The host's processor time is read here, and not among observe's samplers, because it is an account of the whole
// trial with the kernel's threads told apart, and is held against what the workload used; a sampler's values are a
// course over time that nothing is subtracted from.
package interference

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"
)

// HostCPU is the processor time of a host since boot.
type HostCPU struct {
	CPUs                int
	BusySeconds         float64 // of all CPUs, those in interrupts too
	InterruptSeconds    float64 // of these
	KernelThreadSeconds float64 // of these, by the kernel's threads that are still there
	StealSeconds        float64 // in which a hypervisor ran something else
}

// ReadHostCPU reads it from proc, which is usually /proc.
func ReadHostCPU(proc string) (HostCPU, error) {
	fs, err := procfs.NewFS(proc)
	if err != nil {
		return HostCPU{}, fmt.Errorf("what the processors do: %w", err)
	}
	stat, err := fs.Stat()
	if err != nil {
		return HostCPU{}, fmt.Errorf("what the processors do: %w", err)
	}
	t := stat.CPUTotal
	c := HostCPU{
		CPUs:             len(stat.CPU),
		BusySeconds:      t.User + t.Nice + t.System + t.IRQ + t.SoftIRQ, // guests are in user
		InterruptSeconds: t.IRQ + t.SoftIRQ,
		StealSeconds:     t.Steal,
	}
	for _, pid := range kernelThreads(proc) {
		c.KernelThreadSeconds += runTime(filepath.Join(proc, pid))
	}
	return c, nil
}

// Since returns what was done between before and c. A kernel thread that ended
// meanwhile took its account with it.
func (c HostCPU) Since(before HostCPU) HostCPU {
	return HostCPU{
		CPUs:                c.CPUs,
		BusySeconds:         max(0, c.BusySeconds-before.BusySeconds),
		InterruptSeconds:    max(0, c.InterruptSeconds-before.InterruptSeconds),
		KernelThreadSeconds: max(0, c.KernelThreadSeconds-before.KernelThreadSeconds),
		StealSeconds:        max(0, c.StealSeconds-before.StealSeconds),
	}
}

// kthreadd is the process whose children the kernel's threads are.
const kthreadd = "2"

// kernelThreads lists the process numbers of the kernel's threads.
func kernelThreads(proc string) (pids []string) {
	if b, err := os.ReadFile(filepath.Join(proc, kthreadd, "task", kthreadd, "children")); err == nil {
		return strings.Fields(string(b))
	}
	// Not all kernels have that list.
	dirs, _ := filepath.Glob(filepath.Join(proc, "[0-9]*"))
	for _, dir := range dirs {
		if f := statFields(dir); len(f) > 1 && f[1] == kthreadd {
			pids = append(pids, filepath.Base(dir))
		}
	}
	return pids
}

// runTime is the processor time of a thread in /proc, in seconds; 0 for one
// that ended.
func runTime(dir string) float64 {
	if b, err := os.ReadFile(filepath.Join(dir, "schedstat")); err == nil {
		first, _, _ := strings.Cut(string(b), " ")
		ns, _ := strconv.ParseFloat(first, 64)
		return ns / 1e9
	}
	const userTicks, systemTicks, perSecond = 11, 12, 100
	f := statFields(dir)
	if len(f) <= systemTicks {
		return 0
	}
	user, _ := strconv.ParseFloat(f[userTicks], 64)
	system, _ := strconv.ParseFloat(f[systemTicks], 64)
	return (user + system) / perSecond
}

// statFields returns the fields of stat behind the command's name: state,
// parent, ...
func statFields(dir string) []string {
	b, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return nil
	}
	return strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
}
