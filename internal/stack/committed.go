package stack

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"plimsoll/internal/problem"
	"plimsoll/internal/stack/container"
	"plimsoll/internal/stack/line"
	"plimsoll/internal/state/journal"
)

// committed is the option of storage drivers with which a trial finds its files in layers below the writable one, as
// those of an image are.
var committed = line.OptionDef{
	Key: "committed", Value: line.Number,
	Summary: "a trial begins with its files in an image, committed so many times: each adds a layer",
	Check: func(value string) problem.List {
		if n, err := strconv.Atoi(value); err == nil && n >= 1 && n <= maxCommits {
			return nil
		}
		return problem.List{{What: fmt.Sprintf("%q is no number from 1 to %d", value, maxCommits), Remedy: "write 1"}}
	},
}

// maxCommits leaves room below the layers that engines take.
const maxCommits = 100

// maxLayers are those of a place, which its trials add to. Engines take 125 in all, with those of the image of the
// programs.
const maxLayers = 120

// Committed reports whether trials in the place begin with their files in layers of an image.
func (p *Place) Committed() bool { return commits(p.base.line) > 0 }

// commits returns how often files are committed.
func commits(l line.Line) int {
	value, _ := l.Nodes[len(l.Nodes)-1].Option(committed.Key)
	n, _ := strconv.Atoi(value) // it was checked
	return n
}

// Commit puts the files of the place into layers of an image, and a new container of the image in the place of the old
// one. Each file is then below the writable layer. The limits of the container are those of a new one.
func (p *Place) Commit(ctx context.Context) error {
	n := commits(p.base.line)
	if n == 0 {
		return nil
	}
	if p.commits+n > maxLayers {
		return problem.New(problem.Unsupported, p.base.line.String(), fmt.Sprintf(
			"trials of this setup have added %d layers, %d more are asked for, and an image takes %d", p.commits, n,
			maxLayers), "write a smaller committed=, or fewer workloads and trials for each setup (trials: 1, repeat: 4)")
	}
	made, err := p.base.engine.imageOf(ctx, p.base.env, p.config.Root)
	if err != nil {
		return err
	}
	for i := range n {
		in, ok := p.execute.(*containerExecutor)
		if !ok {
			return fmt.Errorf("commit the files of stack %s: it has no container", p.base.line)
		}
		p.commits++
		ref := fmt.Sprintf("plimsoll-files:%s-%d", in.container.Name, p.commits)
		var took time.Duration
		if made, took, err = in.container.Commit(ctx, made, ref); err != nil {
			return err
		}
		if i == 0 {
			p.setFact("archived and unpacked into a layer in", took.Round(time.Millisecond).String())
		}
		if err := p.replace(ctx, made); err != nil {
			return err
		}
	}
	return nil
}

// replace removes the container of the place, and starts one of an image.
func (p *Place) replace(ctx context.Context, of container.Image) error {
	in, ok := p.execute.(*containerExecutor)
	if !ok {
		return fmt.Errorf("stack %s has no container", p.base.line)
	}
	entries := in.container.Entries()
	if err := in.container.Remove(ctx); err != nil {
		return err
	}
	p.undo = slices.DeleteFunc(p.undo, func(e *journal.Entry) bool { return slices.Contains(entries, e) })
	in.container.Forget()
	p.base.engine.giveBack(p.name)
	return p.containOf(ctx, of)
}

// setFact replaces a fact of the place, or adds it.
func (p *Place) setFact(name, value string) {
	for i, f := range p.Facts {
		if f.Name == name {
			p.Facts[i].Value = value
			return
		}
	}
	p.fact(name, value)
}
