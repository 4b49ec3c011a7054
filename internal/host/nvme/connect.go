package nvme

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// How soon the kernel gives up on a link that is cut, in seconds. A cut is
// noticed when a keep-alive is not answered: it may have been sent just
// before, so after two intervals at most. From then on I/O waits for the link
// for fastFail, and the connection is given up after lossLimit.
const (
	keepAlive      = 5
	fastFail       = 5
	reconnectEvery = 2
	lossLimit      = 10
)

// CutLimit is within which time I/O on a link that was cut ends with an error.
const CutLimit = (2*keepAlive + fastFail + 5) * time.Second

// Fabrics is the device through which connections are made.
const Fabrics = "/dev/nvme-fabrics"

// Link names a connection to a subsystem.
type Link struct {
	Transport string // "tcp", "rdma", "loop"
	Addr      string // "" for loop
	Port      string // "" for loop
	NQN       string // of the subsystem
	HostNQN   string
}

func (l Link) String() string {
	if l.Transport == "loop" {
		return l.NQN + " on this host (loop)"
	}
	return fmt.Sprintf("%s at %s port %s (%s)", l.NQN, l.Addr, l.Port, l.Transport)
}

// Of reports whether the controller is this connection.
func (l Link) Of(c Controller) bool {
	if c.Transport != l.Transport || c.NQN != l.NQN || c.HostNQN != l.HostNQN {
		return false
	}
	return l.Transport == "loop" || c.Part("traddr") == l.Addr && c.Part("trsvcid") == l.Port
}

// Find returns the controllers of the connection.
func (l Link) Find(sys string) []Controller {
	return slices.DeleteFunc(Controllers(sys), func(c Controller) bool { return !l.Of(c) })
}

// options returns the kernel's options for a connection (drivers/nvme/host/fabrics.c). secret is the host's
// DH-HMAC-CHAP secret, "" for none.
func (l Link) options(hostID, secret string, t Tuning) string {
	o := []string{"transport=" + l.Transport, "nqn=" + l.NQN, "hostnqn=" + l.HostNQN, "hostid=" + hostID}
	if l.Transport != "loop" {
		o = append(o, "traddr="+l.Addr, "trsvcid="+l.Port,
			fmt.Sprintf("keep_alive_tmo=%d,reconnect_delay=%d,ctrl_loss_tmo=%d,fast_io_fail_tmo=%d", keepAlive,
				reconnectEvery, lossLimit, fastFail))
	}
	o = append(o, t.options()...)
	if secret != "" {
		o = append(o, "dhchap_secret="+secret)
	}
	return strings.Join(o, ",")
}

// connectLimit bounds a connection attempt: the kernel tries once, and waits for each of the target's answers.
const connectLimit = time.Minute

// Connect makes the connection and gives the name of its controller. hostID is
// the UUID that belongs to the host's NQN.
func (l Link) Connect(ctx context.Context, hostID, secret string, t Tuning) (controller string, err error) {
	f, err := os.OpenFile(Fabrics, os.O_RDWR, 0)
	if err != nil {
		return "", err
	}
	type answer struct {
		name string
		err  error
	}
	done := make(chan answer, 1)
	go func() {
		defer f.Close()
		var a answer
		reply := make([]byte, 4096)
		if _, a.err = f.WriteString(l.options(hostID, secret, t)); a.err == nil {
			var n int
			n, a.err = f.Read(reply)
			a.name, a.err = instance(string(reply[:n]), a.err)
		}
		done <- a
	}()
	select {
	case a := <-done:
		if a.err != nil {
			return "", fmt.Errorf("connect to %s: %w%s", l, dropPath(a.err), l.hint(a.err, secret != ""))
		}
		return a.name, nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-time.After(connectLimit):
		err = fmt.Errorf("no answer within %s (dmesg may show why)", connectLimit)
	}
	return "", fmt.Errorf("connect to %s: %w", l, err)
}

// dropPath removes the path from an error, which the user did not enter.
func dropPath(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// instance reads the kernel's reply: "instance=3,cntlid=1".
func instance(reply string, err error) (string, error) {
	if err != nil {
		return "", err
	}
	for part := range strings.SplitSeq(strings.TrimSpace(reply), ",") {
		if n, ok := strings.CutPrefix(part, "instance="); ok {
			if _, err := strconv.Atoi(n); err == nil {
				return "nvme" + n, nil
			}
		}
	}
	return "", fmt.Errorf("the kernel does not say which controller it made: %q", reply)
}

// hint returns the likely meaning of the kernel's error, with a remedy.
func (l Link) hint(err error, secret bool) string {
	switch {
	case errors.Is(err, unix.ECONNREFUSED):
		return ": nothing listens there (is it exported on that transport, address and port?)"
	case errors.Is(err, unix.EALREADY):
		return ": this host is connected to it already with that host NQN (nvme list-subsys shows; nvme disconnect, " +
			"or another hostnqn=)"
	case errors.Is(err, unix.ENETUNREACH), errors.Is(err, unix.EHOSTUNREACH), errors.Is(err, unix.ETIMEDOUT),
		errors.Is(err, unix.EADDRNOTAVAIL):
		return ": the address is not reached from here"
	case errors.Is(err, unix.ECONNRESET) && l.Transport == "rdma":
		return ": nothing listens there, or not with RDMA"
	case !secret && (errors.Is(err, unix.EACCES) || errors.Is(err, unix.EKEYREJECTED) || errors.Is(err, unix.ENOKEY)):
		return ": the target wants a DH-HMAC-CHAP secret (secret-file=)"
	case secret && (errors.Is(err, unix.EACCES) || errors.Is(err, unix.EKEYREJECTED) || errors.Is(err, unix.ENOKEY)):
		return ": the target does not know this secret"
	}
	return fmt.Sprintf(": the target may not know that subsystem, or not allow host %s (dmesg may show)", l.HostNQN)
}

// goneLimit bounds the removal of a controller: it waits for a connection attempt under way, and over RDMA such an
// attempt gives up after 15 answers that each did not come within 4 s.
const goneLimit = 2 * time.Minute

// Live reports whether a controller is connected, and neither reconnecting nor about to be given up.
func (c Controller) Live() bool { return read(c.dir, "state") == "live" }

// Disconnect removes a controller without losing data: it writes buffers back, checks that nothing uses the
// namespaces, deletes the controller, and waits until it is gone. Where the link is cut, writing back fails, and the
// controller is removed anyway.
func (c Controller) Disconnect(ctx context.Context, sys, dev string) error {
	for _, n := range Namespaces(sys) {
		if !slices.Contains(n.Paths, c.Name) {
			continue
		}
		path := filepath.Join(dev, n.Name)
		if f, err := os.Open(path); err == nil {
			_ = f.Sync() // nothing is left to be done about it here; the trial has seen its own errors
			f.Close()
		}
		if len(n.Paths) > 1 {
			continue // others lead to it, and go on
		}
		f, err := os.OpenFile(path, os.O_RDONLY|unix.O_EXCL, 0)
		if errors.Is(err, unix.EBUSY) {
			return fmt.Errorf("%s is still in use (findmnt -S %s; ls /sys/block/%s/holders): take that down and "+
				"clean again", path, path, n.Name)
		}
		if err == nil {
			f.Close()
		}
	}
	done := make(chan error, 1)
	go func() { done <- os.WriteFile(filepath.Join(c.dir, "delete_controller"), []byte("1"), 0) }()
	deadline := time.After(goneLimit)
	for {
		if at := read(c.dir, "subsysnqn"); at != c.NQN || read(c.dir, "address") != c.Address {
			return nil
		}
		select {
		case err := <-done:
			if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.ENODEV) {
				return fmt.Errorf("disconnect %s: %w", c.Name, dropPath(err))
			}
			done = nil
		case <-ctx.Done():
			return ctx.Err()
		case <-deadline:
			return fmt.Errorf("disconnect %s: it is still there after %s, in state %q (dmesg may show why)", c.Name,
				goneLimit, read(c.dir, "state"))
		case <-time.After(20 * time.Millisecond):
		}
	}
}
