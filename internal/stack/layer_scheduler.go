package stack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"plimsoll/internal/problem"
	"plimsoll/internal/problem/suggest"
	"plimsoll/internal/stack/line"
	"plimsoll/internal/state/journal"
)

// scheduler sets the I/O scheduler of the block device below
// (Documentation/block/switching-sched.rst), for as long as the stack is up.
var scheduler = &layer{
	Def: line.Def{
		Name: "scheduler", Summary: "the I/O scheduler of the block device below: none, mq-deadline, kyber, bfq", Arg: "NAME",
		Below: line.Block, Gives: line.Block,
	},
	plan: func(n line.Node) []string { return []string{"set its I/O scheduler to " + n.Arg} },
	writes: func(s *dryRun, _ line.Node) {
		s.makes("/sys/block/" + filepath.Base(s.block) + "/queue/scheduler")
	},
	checkOn: func(e *Env, nodesBelow []line.Node, n line.Node) error {
		device, err := e.queueBelow(nodesBelow, n)
		if err != nil || device == "" {
			return err
		}
		_, err = e.activeScheduler(device, n.Arg)
		return err
	},
	up: func(ctx context.Context, b *build, n line.Node) error {
		device := b.queue()
		was, err := b.env.activeScheduler(device, n.Arg)
		if err != nil {
			return err
		}
		if was != n.Arg {
			change := &journal.Setting{Path: b.env.schedulerOf(device), Value: n.Arg}
			if err := b.do(ctx, change, func(string) error { return change.Make() }); err != nil {
				return fmt.Errorf("set the I/O scheduler of %s to %s: %w", device, n.Arg, err)
			}
		}
		b.fact("I/O scheduler set", fmt.Sprintf("%s on %s, which had %s", n.Arg, device, was))
		return nil
	},
}

// queueBelow returns the kernel name of a device with the same schedulers as the device under a layer; "" if there is
// none yet. The error says why the layer cannot set a scheduler on these nodes.
func (e *Env) queueBelow(nodesBelow []line.Node, n line.Node) (string, error) {
	if err := needRoot(n.String()); err != nil {
		return "", err
	}
	for _, node := range nodesBelow {
		if node.Name == n.Name {
			return "", problem.New(problem.Unsupported, n.String(),
				"the stack sets this of the device already: "+node.String(), "keep one of them")
		}
	}
	if len(nodesBelow[0].And) > 0 {
		return "", problem.New(problem.Unsupported, n.String(),
			"what "+nodesBelow[len(nodesBelow)-1].Name+" makes of several devices has no scheduler of its own: "+
				"it passes I/O on to them",
			"leave the "+n.Name+" out of the stack")
	}
	return e.schedulerDevice(nodesBelow[0], n)
}

// schedulerDevice returns the kernel name of a device with the same schedulers as the source: the device itself, or
// any loop device. It is "" when there is none yet.
func (e *Env) schedulerDevice(source, n line.Node) (string, error) {
	if source.Name == loopSource.Name {
		loops, err := filepath.Glob(filepath.Join(e.Host.Roots.Sys, "block/loop*/queue/scheduler"))
		if err != nil || len(loops) == 0 {
			return "", err
		}
		return filepath.Base(filepath.Dir(filepath.Dir(loops[0]))), nil
	}
	if source.Name == nvmeofSource.Name {
		return "", nil // it comes with the stack
	}
	d, err := e.device(source)
	if err != nil {
		return "", err
	}
	if d.Partition {
		return "", problem.New(problem.Protected, n.Name+" of "+d.Path,
			"it is a partition: that would be set for the whole disk, which others use too",
			"name the whole disk as the source, or leave the "+n.Name+" out of the stack")
	}
	return d.Name, nil
}

// queue returns the kernel name of the block device on top.
func (b *build) queue() string {
	return strings.ReplaceAll(strings.TrimPrefix(b.base.block, "/dev/"), "/", "!")
}

func (e *Env) schedulerOf(device string) string {
	return filepath.Join(e.Host.Roots.Sys, "block", device, "queue/scheduler")
}

// modules are the kernel modules of the schedulers. A kernel that has them as
// modules lists only those that are loaded.
var modules = map[string]string{"mq-deadline": "mq-deadline", "kyber": "kyber-iosched", "bfq": "bfq"}

// activeScheduler returns the scheduler in use, or an error if the kernel does not list name for the device. Writing
// a name that is not listed could load a module, which nothing would unload.
func (e *Env) activeScheduler(device, name string) (active string, err error) {
	active, offered, err := journal.Choices(e.schedulerOf(device))
	unsupported := func(why, remedy string) error {
		return problem.New(problem.Unsupported, fmt.Sprintf("I/O scheduler %s on %s", name, device), why, remedy)
	}
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "", unsupported(
			"the device has no scheduler: it passes I/O on to others, or is gone",
			"leave the scheduler out of the stack",
		)
	case err != nil:
		return "", err
	case slices.Contains(offered, name):
		return active, nil
	}
	remedy := "take one of these"
	if module, ok := modules[name]; ok {
		remedy = "modprobe " + module + ", if this kernel has that as a module, or take one of these"
	} else if meant := suggest.Closest(name, offered); meant != "" {
		remedy = fmt.Sprintf("did you mean %q?", meant)
	}
	return "", unsupported("this kernel offers "+strings.Join(offered, ", ")+" there", remedy)
}
