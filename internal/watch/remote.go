package watch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/host/clienthost"
	"plimsoll/internal/printable"
	"plimsoll/internal/problem"
)

const (
	// mostDocument is more than any host has to say.
	mostDocument = 64 << 20
	// remoteLimit is what a host may take beside the interval.
	remoteLimit = 2 * time.Minute
	// notFound is the exit status of a shell that does not find a program.
	notFound = 127
)

// Remote has the plimsoll of another host watch it for an interval. The host is one that ssh reaches.
func Remote(ctx context.Context, host string, interval time.Duration) (*Document, error) {
	ctx, cancel := context.WithTimeout(ctx, interval+remoteLimit)
	defer cancel()
	cmd, err := clienthost.Command(ctx, host, "plimsoll watch --once --json --interval "+interval.String())
	if err != nil {
		return nil, err
	}
	said := &printable.Tail{Most: 4 << 10}
	out := &bounded{most: mostDocument}
	cmd.Stdout, cmd.Stderr = out, said
	err = cmd.Run()
	if out.over {
		return nil, fmt.Errorf("plimsoll watch on %s: it does not stop after %d bytes", host, out.text.Len())
	}
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == notFound {
		return nil, problem.New(problem.Unsupported, "host "+host, "it has no plimsoll that could watch it",
			"copy the program to /usr/local/bin there, and reach it as root").CausedBy(err)
	}
	if err != nil {
		return nil, fmt.Errorf("plimsoll watch on %s: %w: %s", host, err, printable.Line(strings.TrimSpace(said.String())))
	}
	d := &Document{}
	if err := json.Unmarshal(out.text.Bytes(), d); err != nil {
		return nil, fmt.Errorf("plimsoll watch on %s: %w", host, err)
	}
	if d.Kind != "plimsoll watch" || d.Schema != SchemaVersion {
		return nil, problem.New(problem.Unsupported, "host "+host, fmt.Sprintf("its plimsoll writes %q of schema %d", d.Kind,
			d.Schema), "copy this version of the program there")
	}
	return d, nil
}

// bounded keeps what is written, and ends a writer that does not stop.
type bounded struct {
	text bytes.Buffer
	most int
	over bool
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.text.Len()+len(p) > b.most {
		b.over = true
		return 0, io.ErrShortWrite
	}
	return b.text.Write(p)
}

// fewestRequests is how many requests a p99 is of, at least.
const fewestRequests = 100

// P99s returns the p99 of the block I/O of each container that did enough of it, in seconds, by their IDs: the greatest
// of its reads and of its writes on all drives. The error says why latencies are not known.
func (d *Document) P99s() (map[string]float64, error) {
	at := slices.IndexFunc(d.Unknown, func(u string) bool { return strings.HasPrefix(u, noLatencies) })
	if at >= 0 {
		return nil, problem.New(problem.Unsupported, "p99 of block I/O", d.Unknown[at], "run it as root")
	}
	all := map[string]float64{}
	for _, g := range d.Groups {
		if g.Kind != Container {
			continue
		}
		for _, u := range g.Drives {
			for _, s := range []Stream{u.Read, u.Write} {
				if s.PerSecond*d.Seconds >= fewestRequests && s.P99 > all[g.ID] {
					all[g.ID] = s.P99
				}
			}
		}
	}
	return all, nil
}
