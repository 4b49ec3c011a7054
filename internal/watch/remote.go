package watch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	out, message, err := clienthost.Answer(cmd, mostDocument)
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == notFound {
		return nil, problem.New(problem.Unsupported, "host "+host, "it has no plimsoll that could watch it",
			"copy the program to /usr/local/bin there, and reach it as root").CausedBy(err)
	}
	if err != nil {
		return nil, fmt.Errorf("plimsoll watch on %s: %w: %s", host, err, printable.Line(message))
	}
	document := &Document{}
	if err := json.Unmarshal(out, document); err != nil {
		return nil, fmt.Errorf("plimsoll watch on %s: %w", host, err)
	}
	if document.Kind != "plimsoll watch" || document.Schema != SchemaVersion {
		return nil, problem.New(problem.Unsupported, "host "+host, fmt.Sprintf("its plimsoll writes %q of schema %d",
			document.Kind, document.Schema), "copy this version of the program there")
	}
	return document, nil
}

// fewestRequests is how many requests a p99 is of, at least.
const fewestRequests = 100

// P99s returns the p99 of the block I/O of each container that did enough of it, in seconds, by their IDs: the greatest
// of its reads and of its writes on all drives. The error says why latencies are not known.
func (d *Document) P99s() (map[string]float64, error) {
	i := slices.IndexFunc(d.Unknown, func(u string) bool { return strings.HasPrefix(u, noLatencies) })
	if i >= 0 {
		return nil, problem.New(problem.Unsupported, "p99 of block I/O", d.Unknown[i], "run it as root")
	}
	p99s := map[string]float64{}
	for _, g := range d.Groups {
		if g.Kind != Container {
			continue
		}
		for _, u := range g.Drives {
			for _, s := range []Stream{u.Read, u.Write} {
				if s.PerSecond*d.Seconds >= fewestRequests && s.P99 > p99s[g.ID] {
					p99s[g.ID] = s.P99
				}
			}
		}
	}
	return p99s, nil
}
