package nvmetarget

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/iotrace/capture"
	"plimsoll/internal/problem/suggest"
)

// All is the name for all exported namespaces.
const All = "all"

// Selection is a set of exported namespaces to record.
type Selection struct {
	Devices []string // that are behind its namespaces: paths of block devices, and of files
	Titles  []string // of the namespaces, for people

	unfiltered bool
	names      map[capture.Namespace]string
}

// Select returns a selection of this host's exported namespaces: by NQN, by UUID or device of a namespace, or All.
// The error lists all names that are wrong.
func (t *Targets) Select(names []string) (*Selection, error) {
	standing, err := t.List()
	if err != nil {
		return nil, err
	}
	r := &Selection{unfiltered: slices.Contains(names, All), names: map[capture.Namespace]string{}}
	times := map[string]int{} // that a device is exported
	known := []string{All}
	for _, s := range standing {
		known = append(known, s.NQN)
		for _, n := range s.Namespaces {
			times[n.Device]++
		}
	}
	meant := map[string]bool{}
	for _, s := range standing {
		for _, n := range s.Namespaces {
			chosen := r.unfiltered
			for _, name := range names {
				if s.NQN == name || strings.EqualFold(n.UUID, name) || n.Device == name {
					chosen, meant[name] = true, true
				}
			}
			id, err := strconv.ParseUint(n.ID, 10, 32)
			if !chosen || err != nil {
				continue
			}
			key := capture.Namespace{NQN: s.NQN, ID: uint32(id)}
			r.names[key] = "nvmet:" + filepath.Base(n.Device)
			if times[n.Device] > 1 {
				r.names[key] = fallbackName(key)
			}
			r.Titles = append(r.Titles, fmt.Sprintf("namespace %s of %s (%s)", n.ID, s.NQN, n.Device))
			if !slices.Contains(r.Devices, n.Device) {
				r.Devices = append(r.Devices, n.Device)
			}
		}
	}
	if len(standing) == 0 {
		return nil, unsupported("NVMe-oF target", "this host exports no drive: there are no requests to record",
			"export something first (plimsoll target export)")
	}
	var wrong []error
	for _, name := range names {
		if name != All && !meant[name] {
			wrong = append(wrong, notExported(name, suggest.DidYouMean(name, known)))
		}
	}
	return r, errors.Join(wrong...)
}

// fallbackName returns a name for a namespace that the selection does not name.
func fallbackName(n capture.Namespace) string { return fmt.Sprintf("%s/%d", n.NQN, n.ID) }

// Name returns the name of a namespace in recordings: its device where that is exported once. With All, this includes
// namespaces that are exported later.
func (r *Selection) Name(n capture.Namespace) (string, bool) {
	name, known := r.names[capture.Namespace{NQN: n.NQN, ID: n.ID}]
	if !known && r.unfiltered {
		return fallbackName(n), true
	}
	return name, known
}
