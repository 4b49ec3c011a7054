package target

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/iotrace/capture"
	"plimsoll/internal/suggest"
)

// All is the name for everything that this host exports.
const All = "all"

// Recorded is what is recorded of a target.
type Recorded struct {
	Devices []string // that are behind its namespaces: paths of block devices, and of files
	Titles  []string // of the namespaces, for people

	all   bool
	names map[capture.Namespace]string
}

// Recorded chooses from what this host exports: by NQN, by UUID or device of a
// namespace, or all of it. All names that are wrong are told at once.
func (t *Targets) Recorded(names []string) (*Recorded, error) {
	standing, err := t.List()
	if err != nil {
		return nil, err
	}
	r := &Recorded{all: slices.Contains(names, All), names: map[capture.Namespace]string{}}
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
			chosen := r.all
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
				r.names[key] = unnamed(key)
			}
			r.Titles = append(r.Titles, fmt.Sprintf("namespace %s of %s (%s)", n.ID, s.NQN, n.Device))
			if !slices.Contains(r.Devices, n.Device) {
				r.Devices = append(r.Devices, n.Device)
			}
		}
	}
	if len(standing) == 0 {
		return nil, unsupported("NVMe-oF target", "this host exports nothing: there are no requests to record",
			"export something first (plimsoll target export)")
	}
	var wrong []error
	for _, name := range names {
		if name != All && !meant[name] {
			wrong = append(wrong, unknown(name, suggest.DidYouMean(name, known)))
		}
	}
	return r, errors.Join(wrong...)
}

func unnamed(n capture.Namespace) string { return fmt.Sprintf("%s/%d", n.NQN, n.ID) }

// Name names a namespace as recordings have it: by its device where that is
// exported once. Where all is recorded, that goes for what is exported later.
func (r *Recorded) Name(n capture.Namespace) (string, bool) {
	name, known := r.names[capture.Namespace{NQN: n.NQN, ID: n.ID}]
	if !known && r.all {
		return unnamed(n), true
	}
	return name, known
}
