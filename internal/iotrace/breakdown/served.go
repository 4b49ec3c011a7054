package breakdown

import (
	"cmp"
	"slices"
	"strings"

	"plimsoll/internal/iotrace"
	"plimsoll/internal/result"
)

// countServed returns the requests that the devices completed, by owner.
func countServed(a *iotrace.Account, owns func(iotrace.Owner) bool) []result.Served {
	var out []result.Served
	for _, c := range a.Cells {
		if c.Requests == 0 {
			continue
		}
		s := result.Served{Device: c.Device, Op: c.Op.String()}
		if s.Application = owns(c.Owner); s.Application {
			s.Owner = "application"
		} else {
			s.Owner, s.Kernel = ownerName(c.Owner), c.Owner.Kernel
		}
		matches := func(o result.Served) bool {
			return o.Device == s.Device && o.Op == s.Op && o.Owner == s.Owner && o.Application == s.Application &&
				o.Kernel == s.Kernel
		}
		i := slices.IndexFunc(out, matches)
		if i < 0 {
			i = len(out)
			out = append(out, s)
		}
		out[i].Requests += c.Requests
		out[i].Bytes += c.Bytes
	}
	slices.SortStableFunc(out, func(a, b result.Served) int {
		if a.Application != b.Application {
			if a.Application {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(b.Requests, a.Requests),
			cmp.Compare(a.Device, b.Device), cmp.Compare(a.Owner, b.Owner), cmp.Compare(a.Op, b.Op))
	})
	return out
}

// NotAttributed is the owner of requests queued by a kernel thread that works for several owners, where the true one
// is unknown.
const NotAttributed = "not attributed"

// ownerName names an owner that is not the application.
func ownerName(o iotrace.Owner) string {
	switch {
	case o.Container != "":
		return "container " + o.Container
	case o.Kernel && (o.Command == "" || strings.HasPrefix(o.Command, "kworker")):
		return NotAttributed
	case o.Kernel:
		return o.Command // a thread with one task, such as jbd2/loop0-8
	case o.Path != "" && o.Path != "/" && o.Command != "":
		return o.Command + " in " + o.Path
	case o.Command != "":
		return o.Command
	case o.Path != "" && o.Path != "/":
		return "cgroup " + o.Path
	}
	return NotAttributed
}
