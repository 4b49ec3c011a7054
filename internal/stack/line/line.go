// Package line reads and prints the one-line notation of storage stacks,
// source first:
//
//	loop(size=4GiB) > xfs > volume
//	/dev/nvme0n1 > ext4(mount=dioread_nolock) > overlay2
//	dir:/srv/data
//	tmpfs(size=1GiB)
//	/dev/nvme0n1 + /dev/nvme1n1 > lvm-stripe > xfs
//
// The package is pure. It knows the grammar, and checks a line against a
// Catalog of nodes; what the nodes do is internal/stack's business.
package line

import (
	"slices"
	"strings"

	"plimsoll/internal/problem"
)

// Elsewhere is the source of stacks that are a server which somebody else started.
const Elsewhere = "elsewhere"

// Line is a parsed stack: Nodes[0] is the source, the others stand on it in
// order. Several sources are one node, joined: see Sources.
type Line struct{ Nodes []Node }

// Sources returns one node for each device under the line, in the order written; none for an empty line.
func (l Line) Sources() []Node {
	if len(l.Nodes) == 0 {
		return nil
	}
	first := l.Nodes[0]
	others := first.And
	first.And = nil
	return append([]Node{first}, others...)
}

// Join makes the first node of a line of its sources, of which there is at
// least one.
func Join(sources ...Node) Node {
	joined := sources[0]
	joined.And = slices.Clone(sources[1:])
	return joined
}

// Node is a source, a file system, or a view of it for the workload.
type Node struct {
	Name    string   // "loop", "xfs", "volume"; NameDevice for a bare path
	Arg     string   // behind the colon (dir:ARG, serial:ARG, by-id:ARG), or the bare device path; "" for none
	Options []Option // in the order written
	And     []Node   // the sources joined to this one with +; of a line's first node only
	Column  int      // where the node starts in the text, from 1; 0 when built by hand
}

// NameDevice is the Name of a source written as a bare path.
const NameDevice = "device"

// Option is key=value, or a bare key.
type Option struct {
	Key   string
	Value string
	Bare  bool // written without "="
}

// Option returns the value of the last option with that key, and whether there is one.
func (n Node) Option(key string) (string, bool) {
	for i := len(n.Options) - 1; i >= 0; i-- {
		if n.Options[i].Key == key {
			return n.Options[i].Value, true
		}
	}
	return "", false
}

// MountOptions returns the options with which a file system is mounted, in the order written.
func (n Node) MountOptions() (options []Option) {
	text, _ := n.Option(mountKey)
	for entry := range strings.SplitSeq(text, ",") {
		if entry != "" {
			key, value, valued := strings.Cut(entry, "=")
			options = append(options, Option{Key: key, Value: value, Bare: !valued})
		}
	}
	return options
}

// WithMountOptions returns the node with options of its mount in place of those that it has.
func (n Node) WithMountOptions(options []Option) Node {
	n.Options = slices.DeleteFunc(slices.Clone(n.Options), func(o Option) bool { return o.Key == mountKey })
	var entries []string
	for _, o := range options {
		entry := o.Key
		if !o.Bare {
			entry += "=" + o.Value
		}
		entries = append(entries, entry)
	}
	if len(entries) > 0 {
		n.Options = append(n.Options, Option{Key: mountKey, Value: strings.Join(entries, ",")})
	}
	return n
}

// mountKey is the option of file systems that has the options of their mount.
const mountKey = "mount"

// Kind is the kind of storage that a node offers to the node above it, or requires of the one below.
type Kind string

// The kinds.
const (
	Nothing    Kind = "nothing"              // below a source
	Block      Kind = "block device"         // raw bytes
	Blocks     Kind = "set of block devices" // sources that are joined
	Pool       Kind = "thin pool"            // blocks that a storage driver makes thin devices of
	FileSystem Kind = "file system"          // a mounted directory
	View       Kind = "workload view"        // a path inside a container; nothing stands on it
)

// Value is the type of an option's value.
type Value string

// The types of option values.
const (
	Size   Value = "size"   // 4GiB, 512MiB, 1048576
	Chunk  Value = "chunk"  // a size that is a power of two, from 4KiB to 4MiB
	OnOff  Value = "on|off" // on or off
	Number Value = "number" // 0 or more, with or without a fraction
	Text   Value = "text"   // anything
	Path   Value = "path"   // an absolute path
	Flag   Value = "flag"   // a bare key
)

// Def declares a node: the kind that it requires, the kind that it offers, and its options.
type Def struct {
	Name    string
	Summary string // one line, for help
	Below   Kind   // the kind required below; Nothing for a source
	Gives   Kind
	Arg     string      // the value behind the colon ("PATH"); "" when the node takes none
	Options []OptionDef // none other is accepted

	Least    int64  // smallest size of the storage below, in bytes; 0 for any
	WhyLeast string // "mkfs.xfs makes none below 300 MiB"
}

// OptionDef declares one option of a node.
type OptionDef struct {
	Key      string
	Value    Value
	Summary  string
	Default  string
	Required bool
	Repeats  bool // may be given more than once
	// Check returns the problems with a value that has the right type; nil for an option that takes any. The caller
	// fills in columns.
	Check func(value string) problem.List
}
