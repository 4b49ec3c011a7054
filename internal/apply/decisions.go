package apply

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"plimsoll/internal/problem"
	"plimsoll/internal/state/sudouser"
)

// decisionsKind begins a log of decisions.
const decisionsKind = "plimsoll decisions"

// logHead is the first line of a log of decisions.
type logHead struct {
	Kind   string            `json:"kind"`
	Schema int               `json:"schema"`
	Plan   string            `json:"plan"` // its digest
	Rules  Rules             `json:"rules"`
	Places map[string]string `json:"places"` // engine of each container, before the first look
}

// logLine is each other one: a look, and what was decided.
type logLine struct {
	Look
	Decisions []Decision `json:"decisions"`
}

// mostLine is more than a look at all containers has.
const mostLine = 16 << 20

// Replayed is what a log of decisions comes to.
type Replayed struct {
	Looks int `json:"looks"`
	Moves int `json:"moves"`

	head   logHead
	keeper *Keeper
	bytes  int64 // of the lines that are whole
}

// Replay decides again from the looks of a log, and returns an error where it decides otherwise than the log. A last
// line that is not whole is left out: nothing was moved for it.
func Replay(log io.Reader) (*Replayed, error) {
	r := &Replayed{}
	lines := bufio.NewReader(io.LimitReader(log, 1<<40))
	for n := 1; ; n++ {
		line, err := readLine(lines)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if n == 1 {
			err = r.begin(line)
		} else {
			err = r.again(line)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		r.bytes += int64(len(line))
	}
	if r.keeper == nil {
		return nil, problem.New(problem.Invalid, "this is no log of decisions", "it has no whole line",
			"plimsoll apply plan.json --watch --log FILE writes one")
	}
	return r, nil
}

// readLine returns a line with its end. What has no end is none.
func readLine(r *bufio.Reader) (line []byte, err error) {
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > mostLine {
			return nil, fmt.Errorf("it is longer than %d bytes", mostLine)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

func (r *Replayed) begin(line []byte) error {
	err := json.Unmarshal(line, &r.head)
	if err == nil && (r.head.Kind != decisionsKind || r.head.Schema != 1) {
		err = fmt.Errorf("its kind is %q, and its schema %d", r.head.Kind, r.head.Schema)
	}
	if err == nil {
		err = r.head.Rules.check()
	}
	if err != nil {
		return problem.New(problem.Invalid, "this is no log of decisions that is known here", err.Error(),
			"plimsoll apply plan.json --watch --log FILE writes one")
	}
	r.keeper = NewKeeper(r.head.Rules)
	return nil
}

func (r *Rules) check() error {
	if r.BrokenFor <= 0 || r.Cooldown < 0 || r.Budget < 0 {
		return fmt.Errorf("rules of %s, %s and %d moves decide nothing", r.BrokenFor, r.Cooldown, r.Budget)
	}
	return nil
}

// again decides about the look of a line.
func (r *Replayed) again(line []byte) error {
	var was logLine
	if err := json.Unmarshal(line, &was); err != nil {
		return err
	}
	for _, o := range was.Containers {
		if !(o.Limit > 0) || o.P99 < 0 {
			return fmt.Errorf("container %q has a p99 of %v s and a limit of %v s", o.Name, o.P99, o.Limit)
		}
	}
	is := r.keeper.Decide(was.Look)
	if len(is) != len(was.Decisions) {
		return fmt.Errorf("the log has %d decisions, and %d are made of its look", len(was.Decisions), len(is))
	}
	for i, d := range is {
		if d != was.Decisions[i] {
			return fmt.Errorf("the log has %+v, and its looks come to %+v", was.Decisions[i], d)
		}
		if d.Do == Move {
			r.Moves++
			if r.head.Places == nil || r.head.Places[d.Container] != d.From {
				return fmt.Errorf("container %q is moved from engine %q, and stood on %q", d.Container, d.From,
					r.head.Places[d.Container])
			}
			r.head.Places[d.Container] = d.To
		}
	}
	r.Looks++
	return nil
}

// decisions is a log that is being written.
type decisions struct {
	file   *os.File
	sync   func() error // has what was written on the disk
	keeper *Keeper
	places map[string]string
}

// openDecisions opens the log of a plan, or begins one with the places. What it has was decided already: budgets and
// cooldowns go on.
func openDecisions(name, plan string, rules Rules, places map[string]string) (_ *decisions, err error) {
	if err := rules.check(); err != nil {
		return nil, err
	}
	f, err := sudouser.New(name, 0o600)
	if errors.Is(err, os.ErrExist) {
		f, err = os.OpenFile(name, os.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	}
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = f.Close() // the error is known
		}
	}()
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, problem.New(
			problem.Protected,
			"log "+name,
			"another apply --watch writes it",
			"wait for it",
		).CausedBy(
			err,
		)
	}
	d := &decisions{file: f, sync: f.Sync, keeper: NewKeeper(rules), places: places}
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, problem.New(problem.Invalid, "log "+name, "it is no file", "name one")
	}
	if info.Size() == 0 {
		err := d.write(logHead{decisionsKind, 1, plan, rules, places})
		if err != nil {
			return nil, err
		}
		return d, sudouser.SyncDir(filepath.Dir(name))
	}
	r, err := Replay(f)
	if err != nil {
		return nil, fmt.Errorf("log %s: %w", name, err)
	}
	if r.head.Plan != plan || r.head.Rules != rules {
		return nil, problem.New(problem.Invalid, "log "+name, "another plan or other rules made it", "name another file")
	}
	for container := range places {
		if r.head.Places[container] == "" {
			return nil, problem.New(problem.Invalid, "log "+name, "it does not know container "+container, "name another file")
		}
	}
	d.keeper, d.places = r.keeper, r.head.Places
	// A line that is not whole goes.
	if err := f.Truncate(r.bytes); err != nil {
		return nil, err
	}
	_, err = f.Seek(r.bytes, io.SeekStart)
	return d, err
}

// decide decides about a look, and has it on the disk before anything is moved.
func (d *decisions) decide(l Look) ([]Decision, error) {
	l.Time = l.Time.UTC().Round(0)
	line := logLine{Look: l, Decisions: d.keeper.Decide(l)}
	for _, one := range line.Decisions {
		if one.Do == Move {
			d.places[one.Container] = one.To
		}
	}
	return line.Decisions, d.write(line)
}

func (d *decisions) write(line any) error {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(line); err != nil {
		return err
	}
	if _, err := d.file.Write(text.Bytes()); err != nil {
		return err
	}
	return d.sync()
}
