package journal

import (
	"context"
	"errors"
	"fmt"

	"plimsoll/internal/nvme"
)

// Controller is a connection to an NVMe over Fabrics target. Its secret, where
// it has one, is not kept: undoing needs none.
type Controller struct {
	nvme.Link
	Boot string // filled in by Do: no connection outlives the kernel

	Connected bool `json:"-"` // it came about, so that it was cut when it is gone
}

// What implements Change.
func (c *Controller) What() string { return "connect to " + c.Link.String() }

// sysfs and devices are where controllers are looked for.
const (
	sysfs   = "/sys"
	devices = "/dev"
)

// precheck refuses a connection that is there already: undoing would end what
// somebody else made.
func (c *Controller) precheck() (err error) {
	if c.Boot, err = bootID(); err != nil {
		return err
	}
	if there := c.Find(sysfs); len(there) > 0 {
		return fmt.Errorf("this host is connected to it already, as %s, with host NQN %s: disconnect that first, or give another hostnqn=", there[0].Name, c.HostNQN)
	}
	return nil
}

func (c *Controller) check(scope) error {
	return errors.Join(oneOf("transport", c.Transport, "tcp", "rdma", "loop"), nvme.CheckNQN(c.NQN), nvme.CheckNQN(c.HostNQN))
}

// undo ends every controller of the connection. It goes by what was connected
// and with which host NQN, since another one may have the number by now.
func (c *Controller) undo(ctx context.Context, _ string) error {
	boot, err := bootID()
	if err != nil || boot != c.Boot {
		return err
	}
	var all []error
	found := c.Find(sysfs)
	cut := c.Connected && len(found) == 0
	for _, there := range found {
		cut = cut || !there.Live()
		all = append(all, there.Disconnect(ctx, sysfs, devices))
	}
	if cut && c.Transport == "rdma" {
		stays["nvme_rdma"] = true
	}
	return errors.Join(all...)
}
