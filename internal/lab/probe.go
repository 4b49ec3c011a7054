package lab

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Accelerator is how guests' instructions are executed: "kvm" by the processor, "tcg" by emulation, with the reason.
type Accelerator struct {
	Name string `json:"name"`
	// of the emulated processors of a machine that has several: "multi" for one each, "single" for one for all; ""
	// under KVM
	Threads string `json:"threads"`
	Why     string `json:"why"`

	// Boot and the following fields identify the host that was probed: it is probed again when one of them changes.
	Boot  string `json:"boot"`
	QEMU  string `json:"qemu"`
	Image string `json:"image"`
	User  int    `json:"user"`
}

// emulation is the name of the Accelerator that has no need of KVM.
const emulation = "tcg"

// probeTime bounds the time until a guest runs its first program under KVM, which takes about a second.
const probeTime = 15 * time.Second

// accelerator finds out whether KVM can be used, by starting a guest with it:
// /dev/kvm is also there where it cannot, in guests of another hypervisor.
func accelerator(ctx context.Context, dir string, image *Image, note func(string)) (Accelerator, error) {
	path, err := exec.LookPath(qemu)
	if err != nil {
		return Accelerator{}, needQEMU()
	}
	info, err := os.Stat(path)
	if err != nil {
		return Accelerator{}, err
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return Accelerator{}, err
	}
	a := Accelerator{
		Boot:  strings.TrimSpace(string(boot)),
		QEMU:  fmt.Sprint(path, " ", info.Size(), " ", info.ModTime().UTC().Format(time.RFC3339)),
		Image: filepath.Base(image.Dir), User: os.Getuid(),
	}
	cache := filepath.Join(dir, "accelerator.json")
	var known Accelerator
	if text, err := os.ReadFile(cache); err == nil && json.Unmarshal(text, &known) == nil {
		if known.Boot == a.Boot && known.QEMU == a.QEMU && known.Image == a.Image && known.User == a.User {
			return known, nil
		}
	}
	note("finding out whether KVM works")
	why := probe(ctx, dir, image)
	if ctx.Err() != nil {
		return Accelerator{}, ctx.Err()
	}
	a.Name, a.Why = "kvm", "a guest was started with it"
	if why != nil {
		version, err := exec.CommandContext(ctx, path, "--version").Output()
		if err != nil {
			return Accelerator{}, fmt.Errorf("ask %s for its version: %w", path, err)
		}
		a.Name, a.Threads, a.Why = emulation, emulationThreads(string(version)), "KVM cannot be used here: "+why.Error()
	}
	text, err := json.Marshal(a)
	if err != nil {
		return a, err
	}
	return a, replace(cache, text)
}

// Threads of emulated processors have two faults of QEMU between them.
//
// In threads of their own, before QEMU 8.1 (its commit deba78709ae8, "accel/tcg:
// Always lock pages before translation"), a processor could translate a page of
// code while another one wrote to it, and keep what it had read. A Linux guest that
// attaches or detaches a tracepoint writes INT3 over an instruction, then the new
// one; a processor that keeps the INT3 traps on it for ever, while the kernel, which
// finds none there, sends it back. The change lost sight of blocks of code across
// two pages, until 9.1.
//
// In one thread, or with one processor, before QEMU 8.0 the guest's memory barriers
// were left out, as if nothing else ran at a time; but emulated devices do, in
// threads of their own. A guest that fills a queue in memory and looks whether the
// device wants to be woken may then see what was there before: the device sleeps,
// the guest does not wake it, and the I/O waits until it times out, after a minute
// with NVMe. That takes seconds to occur under load.
//
// A machine of one processor that has room for a second one meets neither: it has a
// thread of its own, and barriers, for QEMU has to be ready for the second.
var leastThreaded = [2]int{9, 1}

var versionNumber = regexp.MustCompile(`version (\d+)\.(\d+)`)

// emulationThreads returns the threading mode for emulated processors of a QEMU, from its output for --version.
func emulationThreads(version string) string {
	found := versionNumber.FindStringSubmatch(version)
	if found == nil {
		return "single"
	}
	major, majorErr := strconv.Atoi(found[1])
	minor, minorErr := strconv.Atoi(found[2])
	if majorErr != nil || minorErr != nil || slices.Compare([]int{major, minor}, leastThreaded[:]) < 0 {
		return "single"
	}
	return "multi"
}

// processors returns QEMU's options -accel and -smp for so many of them.
func (a Accelerator) processors(cpus int) (accel, smp string) {
	smp = strconv.Itoa(cpus)
	switch {
	case a.Name != emulation:
		return a.Name, smp
	case cpus == 1:
		return a.Name + ",thread=multi", "1,maxcpus=2"
	}
	return a.Name + ",thread=" + a.Threads, smp
}

// stalls reports whether I/O of the machine may wait for a minute, for no reason
// but the emulation.
func (a Accelerator) stalls(m Machine) bool { return a.Threads == "single" && m.CPUs > 1 }

// defaultCPUs returns the default number of processors of each machine.
func (a Accelerator) defaultCPUs(machines int) int {
	if a.Threads == "single" || machines > 1 && runtime.NumCPU() < 4 {
		return 1 // machines that wait for each other's turn are slower than small ones
	}
	return 2
}

// probe starts a guest under KVM, and returns an error if that fails.
func probe(ctx context.Context, dir string, image *Image) error {
	kvm, err := os.OpenFile("/dev/kvm", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	kvm.Close()
	initrd, err := os.CreateTemp(dir, "probe-")
	if err != nil {
		return err
	}
	initrd.Close()
	defer os.Remove(initrd.Name())
	if err := writeInitrd(initrd.Name(), image, ""); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, qemu, probeArguments(filepath.Join(image.Dir, imageKernel), initrd.Name(), "kvm")...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	up := false
	for lines := bufio.NewScanner(out); !up && lines.Scan(); {
		up = strings.Contains(lines.Text(), "LAB-PROBE-OK")
	}
	late := ctx.Err() != nil
	cancel()
	err = cmd.Wait()
	switch {
	case up:
		return nil
	case late:
		return fmt.Errorf("a guest did not come up within %s", probeTime)
	case stderr.Len() > 0:
		first, _, _ := strings.Cut(stderr.String(), "\n")
		return errors.New(strings.TrimPrefix(strings.TrimPrefix(first, qemu+": "), "error: "))
	}
	return fmt.Errorf("the guest ended before it was up (%w)", err)
}
