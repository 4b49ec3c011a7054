package nvmetarget

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"plimsoll/internal/host/hostinfo"
	"plimsoll/internal/host/nvme"
	"plimsoll/internal/problem"
	"plimsoll/internal/stack"
)

// validate returns all problems with the user's request.
func (e *Export) validate() error {
	var problems problem.List
	wrong := func(format string, v ...any) {
		problems = append(problems, problem.Problem{Kind: problem.Invalid, What: fmt.Sprintf(format, v...)})
	}
	switch {
	case e.AllowAny && len(e.Hosts) > 0:
		wrong("--allow-any lets every host in, and --allow-host only those named: give one of them")
	case e.AllowAny && e.Secret != "":
		wrong("a secret belongs to a host: name the hosts with --allow-host instead of --allow-any")
	case !e.AllowAny && len(e.Hosts) == 0:
		wrong("who may connect? --allow-host NQN names a host (its /etc/nvme/hostnqn), --allow-any lets every one in")
	}
	for _, h := range e.Hosts {
		if err := nvme.CheckNQN(h); err != nil {
			wrong("--allow-host %q: %v", h, err)
		}
	}
	if e.NQN != "" {
		if err := nvme.CheckNQN(e.NQN); err != nil {
			wrong("--nqn %q: %v", e.NQN, err)
		}
	}
	if e.UUID != "" {
		if _, err := uuid.Parse(e.UUID); err != nil {
			wrong("--uuid %q: %v", e.UUID, err)
		}
	}
	if e.Secret != "" {
		if err := nvme.CheckSecret(e.Secret); err != nil {
			wrong("the DH-HMAC-CHAP secret: %v", err)
		}
	}
	switch p := e.Port; p.Transport {
	case "loop":
		if p.Addr != "" {
			wrong("--addr: loop connects this host with itself, and has no address")
		}
	case "tcp", "rdma":
		if net.ParseIP(p.Addr) == nil {
			wrong("--addr %q: give the IP address of this host at which initiators reach it", p.Addr)
		}
		if n, err := strconv.Atoi(p.Service); err != nil || n < 1 || n > 65535 {
			wrong("--port %q: a number from 1 to 65535", p.Service)
		}
	default:
		wrong("--transport %q: tcp, rdma or loop", p.Transport)
	}
	if e.Port.InCapsule != "" {
		largest, known := mostInCapsule[e.Port.Transport]
		n, err := strconv.ParseInt(e.Port.InCapsule, 10, 64)
		switch {
		case !known:
			wrong("--in-capsule-data: %s has no capsules with data", e.Port.Transport)
		case err != nil || n < 0 || n > largest || n%inCapsuleUnit != 0:
			wrong("--in-capsule-data %s: a multiple of 16 bytes, from 0 to %d over %s", e.Port.InCapsule, largest,
				e.Port.Transport)
		}
	}
	return problems.Err()
}

// Bounds of Port.InCapsule in bytes. RDMA's is the kernel's (NVMET_RDMA_MAX_INLINE_DATA_SIZE of
// drivers/nvme/target/rdma.c). Over TCP the kernel has none, and allocates as much for each entry of each queue.
const inCapsuleUnit = 16 // of IOCCSZ in Identify Controller

var mostInCapsule = map[string]int64{"tcp": 1 << 20, "rdma": 16 << 10}

// requiredModules returns the kernel modules that a transport requires.
func requiredModules(transport string) []string {
	if transport == "loop" {
		return []string{"nvmet", "nvme-loop"}
	}
	return []string{"nvmet", "nvmet-" + transport}
}

// checkKernel returns an error if this kernel lacks a part of a target, judged by its files.
func (t *Targets) checkKernel(transport string) error {
	for _, name := range requiredModules(transport) {
		if i := t.Host.Kernel(name); i.OK == hostinfo.No {
			return unsupported("NVMe-oF target over "+transport, "the kernel's "+name+": "+i.Why, i.Remedy)
		}
	}
	return nil
}

// modules loads those that are missing.
func (b *builder) modules() error {
	for _, name := range requiredModules(b.export.Port.Transport) {
		c := &stack.Module{Name: name}
		for _, changes := range b.existing {
			c.Held = append(c.Held, stack.LoadedModules(changes...)...)
		}
		if !c.Needed(b.Host.Kernel(name).Loadable()) {
			continue
		}
		b.trace(c.What())
		if _, err := b.journal.Do(b.ctx, c, func(string) error { return c.Make() }); err != nil {
			return unsupported("NVMe-oF target",
				"the module "+name+" cannot be loaded: "+strings.TrimSpace(err.Error()), "see dmesg")
		}
	}
	return nil
}

// Transports returns the valid transports.
func Transports() []string { return slices.Clone(transports) }

var transports = []string{"tcp", "rdma", "loop"}
