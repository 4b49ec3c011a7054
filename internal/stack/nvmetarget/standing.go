package nvmetarget

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"plimsoll/internal/host/configfs"
	"plimsoll/internal/problem"
	"plimsoll/internal/problem/suggest"
	"plimsoll/internal/state/journal"
)

// Exported is a subsystem that this host exports, as the kernel reports it.
type Exported struct {
	NQN        string      `json:"nqn"`
	Namespaces []Namespace `json:"namespaces"`
	AllowAny   bool        `json:"allow_any"`
	Hosts      []string    `json:"hosts"`
	Ports      []string    `json:"ports"`             // "tcp 10.0.0.1:4420"
	Journal    string      `json:"journal,omitempty"` // of the export; "" when it is of no journal here
}

// Namespace is one device of it.
type Namespace struct {
	ID      string `json:"id"`
	Device  string `json:"device"`
	UUID    string `json:"uuid"`
	NGUID   string `json:"nguid"`
	Enabled bool   `json:"enabled"`
}

// List returns all subsystems that this host exports, ordered by NQN. A kernel without nvmet exports none.
func (t *Targets) List() ([]Exported, error) {
	journals, err := t.journals()
	if err != nil {
		return nil, err
	}
	names, err := dirs(filepath.Join(t.nvmet(), "subsystems"))
	all := []Exported{}
	for _, nqn := range names {
		all = append(all, t.read(nqn, journals[nqn]))
	}
	return all, err
}

func (t *Targets) exported(nqn string) (Exported, error) {
	journals, err := t.journals()
	return t.read(nqn, journals[nqn]), err
}

func (t *Targets) read(nqn, run string) Exported {
	dir := t.subsystem(nqn)
	s := Exported{NQN: nqn, AllowAny: configfs.Get(dir, "attr_allow_any_host") == "1", Journal: run,
		Namespaces: []Namespace{}, Ports: []string{}}
	ids, _ := dirs(filepath.Join(dir, "namespaces")) // one that ends meanwhile has none
	for _, id := range ids {
		ns := filepath.Join(dir, "namespaces", id)
		s.Namespaces = append(s.Namespaces, Namespace{
			ID: id, Device: configfs.Get(ns, "device_path"), UUID: configfs.Get(ns, "device_uuid"),
			NGUID:   configfs.Get(ns, "device_nguid"),
			Enabled: configfs.Get(ns, "enable") == "1",
		})
	}
	s.Hosts, _ = dirs(filepath.Join(dir, "allowed_hosts"))
	links, _ := filepath.Glob(filepath.Join(t.nvmet(), "ports/*/subsystems", nqn)) // NQNs have no signs of patterns
	for _, l := range links {
		port := filepath.Dir(filepath.Dir(l))
		s.Ports = append(s.Ports, Port{
			Transport: configfs.Get(port, "addr_trtype"), Addr: configfs.Get(port, "addr_traddr"),
			Service: configfs.Get(port, "addr_trsvcid"),
		}.String())
	}
	return s
}

func dirs(path string) ([]string, error) {
	entries, err := os.ReadDir(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	names := []string{}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, nil
}

// journals maps each subsystem made by an export to its journal.
func (t *Targets) journals() (map[string]string, error) {
	changes, err := journal.Look(t.State, isExport)
	if err != nil {
		return nil, err
	}
	owners := map[string]string{}
	for run, runChanges := range changes {
		for _, c := range runChanges {
			d, ok := c.(*objectChange)
			if ok && filepath.Dir(d.Path) == filepath.Join(t.nvmet(), "subsystems") && d.Stands() {
				owners[filepath.Base(d.Path)] = run
			}
		}
	}
	return owners, nil
}

// Unexport removes the export of a subsystem, or of a device. I/O of its initiators fails. The name is an NQN, the
// UUID of a namespace, or the path of its device.
func (t *Targets) Unexport(ctx context.Context, name string) (Exported, error) {
	exports, err := t.List()
	if err != nil {
		return Exported{}, err
	}
	var found []Exported
	known := []string{}
	for _, s := range exports {
		known = append(known, s.NQN)
		if s.NQN == name || slices.ContainsFunc(s.Namespaces, func(n Namespace) bool {
			return strings.EqualFold(n.UUID, name) || n.Device == name
		}) {
			found = append(found, s)
		}
	}
	switch {
	case len(found) == 0 && len(known) == 0:
		return Exported{}, notExported(name, "this host exports no drive")
	case len(found) == 0:
		return Exported{}, notExported(name, suggest.DidYouMean(name, known))
	case len(found) > 1:
		return Exported{},
			notExported(name, fmt.Sprintf("%s and %s both export it: name the NQN", found[0].NQN, found[1].NQN))
	}
	s := found[0]
	if s.Journal == "" {
		return s, refused("subsystem "+s.NQN, "plimsoll did not export it, or with another --state-dir, so it is not "+
			"plimsoll's to take back", "use what made it (nvmetcli), or name that --state-dir")
	}
	release, err := t.lock(ctx)
	if err != nil {
		return s, err
	}
	defer release()
	j, err := journal.Open(t.State, s.Journal)
	if err != nil {
		return s, fmt.Errorf("take back the export of %s: %w", s.NQN, err)
	}
	// From here on a crash leaves something half taken back, which clean ends.
	err = j.Release()
	if err == nil {
		err = j.UndoAll(context.WithoutCancel(ctx), func(what string, err error) {
			if err == nil {
				t.trace("undone: " + what)
			}
		})
	}
	return s, errors.Join(err, j.Close())
}

// notExported returns the error for a name that nothing is exported under.
func notExported(name, why string) error {
	return problem.New(problem.Invalid, fmt.Sprintf("no export is called %q (by NQN, UUID or device)", name), why, "")
}
