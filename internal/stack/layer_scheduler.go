package stack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"plimsoll/internal/journal"
	"plimsoll/internal/problem"
	"plimsoll/internal/stack/line"
	"plimsoll/internal/suggest"
)

// scheduler sets the I/O scheduler of the block device below
// (Documentation/block/switching-sched.rst), for as long as the stack is up.
var scheduler = &layer{
	Def: line.Def{
		Name: "scheduler", Summary: "the I/O scheduler of the block device below: none, mq-deadline, kyber, bfq", Arg: "NAME",
		Below: line.Block, Gives: line.Block,
	},
	plan: func(n line.Node) []string { return []string{"set its I/O scheduler to " + n.Arg} },
	writes: func(s *sketch, _ line.Node) {
		s.makes("/sys/block/" + filepath.Base(s.block) + "/queue/scheduler")
	},
	checkOn: func(e *Env, below []line.Node, n line.Node) error {
		if err := needRoot("scheduler:" + n.Arg); err != nil {
			return err
		}
		if under := below[len(below)-1]; under.Name == n.Name {
			return problem.New(problem.Unsupported, n.String(),
				"the stack sets the I/O scheduler of this device already: "+under.String(), "keep one of them")
		}
		if under := below[len(below)-1]; len(below[0].And) > 0 {
			return problem.New(problem.Unsupported, n.String(),
				"what "+under.Name+" makes of several devices has no scheduler of its own: it passes I/O on to them",
				"leave the scheduler out of the stack")
		}
		device, err := e.scheduled(below[0])
		if err != nil || device == "" {
			return err
		}
		_, err = e.offers(device, n.Arg)
		return err
	},
	up: func(ctx context.Context, b *build, n line.Node) error {
		device := strings.ReplaceAll(strings.TrimPrefix(b.base.block, "/dev/"), "/", "!")
		was, err := b.env.offers(device, n.Arg)
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

// scheduled gives the kernel's name of a device whose schedulers are those of
// the source: the device itself, or any loop device. It is "" when there is
// none to look at yet.
func (e *Env) scheduled(source line.Node) (string, error) {
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
		return "", problem.New(problem.Protected, "I/O scheduler of "+d.Path,
			"it is a partition: its scheduler is that of the whole disk, which others use too",
			"name the whole disk as the source, or leave the scheduler out of the stack")
	}
	return d.Name, nil
}

func (e *Env) schedulerOf(device string) string {
	return filepath.Join(e.Host.Roots.Sys, "block", device, "queue/scheduler")
}

// modules are the kernel modules of the schedulers. A kernel that has them as
// modules lists only those that are loaded.
var modules = map[string]string{"mq-deadline": "mq-deadline", "kyber": "kyber-iosched", "bfq": "bfq"}

// offers tells whether the kernel has the scheduler for a device, and which
// one is at work. Writing the name of one that is not listed could load a
// module, which nothing would unload.
func (e *Env) offers(device, name string) (active string, err error) {
	active, offered, err := journal.Choices(e.schedulerOf(device))
	unsupported := func(why, remedy string) error {
		return problem.New(problem.Unsupported, fmt.Sprintf("I/O scheduler %s on %s", name, device), why, remedy)
	}
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "", unsupported("the device has no scheduler of its own: it passes I/O on to others, or is gone", "leave the scheduler out of the stack")
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
