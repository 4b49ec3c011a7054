package journal

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
)

// Kind is a kind of change that this program can read from a journal and undo.
type Kind struct {
	Name string        // in journals; it never changes, since journals outlive programs
	New  func() Change // a zero value of its type, to decode an entry into
}

// registered holds the registered kinds, by name and by type.
var registered = struct {
	byName map[string]Kind
	byType map[reflect.Type]string
}{map[string]Kind{}, map[reflect.Type]string{}}

// Register makes a kind of change known, beside its type:
//
//	func init() { journal.Register("loop", func() journal.Change { return new(loopChange) }) }
//
// It is called from init alone, so that what is known does not change while a
// journal is read. A name or a type that is registered twice is a mistake in
// the program, and panics.
//
// A kind is known where its package is linked. Whoever cleans imports
// plimsoll/internal/cli/kinds, which links them all.
func Register(name string, zero func() Change) {
	t := reflect.TypeOf(zero())
	if _, twice := registered.byName[name]; twice || name == "" {
		panic(fmt.Sprintf("journal: the name %q of a kind of change is empty or taken", name))
	}
	if other, twice := registered.byType[t]; twice {
		panic(fmt.Sprintf("journal: %s is registered as %q and as %q", t, other, name))
	}
	registered.byName[name] = Kind{Name: name, New: zero}
	registered.byType[t] = name
}

// Kinds returns all registered kinds, by name.
func Kinds() []Kind {
	var kinds []Kind
	for _, k := range registered.byName {
		kinds = append(kinds, k)
	}
	slices.SortFunc(kinds, func(a, b Kind) int { return cmp.Compare(a.Name, b.Name) })
	return kinds
}

// kindOf returns the name of a change's kind. It fails for an unregistered one, which could be written to a journal
// but never read again.
func kindOf(c Change) (string, error) {
	name, ok := registered.byType[reflect.TypeOf(c)]
	if !ok {
		return "", fmt.Errorf("%T is no registered kind of change: its package has to call journal.Register", c)
	}
	return name, nil
}

func init() {
	Register("dir", func() Change { return new(Dir) })
	Register("file", func() Change { return new(File) })
	Register("mount", func() Change { return new(Mount) })
	Register("process", func() Change { return new(Process) })
	Register("cgroup", func() Change { return new(Cgroup) })
	Register("setting", func() Change { return new(Setting) })
}
