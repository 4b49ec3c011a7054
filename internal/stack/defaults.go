package stack

import (
	"slices"

	"plimsoll/internal/stack/line"
)

// kernelDefault is a mount option that changes nothing: the kernel mounts so without it.
type kernelDefault struct {
	Option  string
	Since   string // first Linux with this default; "" for all with the option
	Against string // the opposite option; "" for none
	Unless  string // an option with which it is not the default; "" for none
}

// vfsDefaults are those of every file system (mount(8), "FILESYSTEM-INDEPENDENT MOUNT OPTIONS"). Without
// noatime or strictatime the kernel has relatime since 2.6.30. "rw" and "defaults" are left out: who writes
// them wants a level that changes nothing.
var vfsDefaults = []kernelDefault{
	{Option: "relatime", Since: "2.6.30", Against: "norelatime"},
	{Option: "async", Against: "sync"}, {Option: "atime", Against: "noatime"}, {Option: "diratime", Against: "nodiratime"},
	{Option: "nolazytime", Against: "lazytime"}, {Option: "nostrictatime", Against: "strictatime"},
}

// Pointless is a mount option of a stack that the kernel has without it.
type Pointless struct {
	FileSystem, Option string
	Since              string // first Linux for which that holds; "" for all supported ones
	Against            string // the option that would change something; "" for none
}

// WithoutDefaults returns a line without the mount options that change nothing, and these.
func WithoutDefaults(l line.Line) (plain line.Line, pointless []Pointless) {
	plain.Nodes = slices.Clone(l.Nodes)
	for i := range plain.Nodes {
		n := &plain.Nodes[i]
		defaults, isFileSystem := defaultsOf(n.Name)
		if !isFileSystem {
			continue
		}
		mounted := n.MountOptions()
		var given []string
		for _, o := range mounted {
			given = append(given, o.String())
		}
		*n = n.WithMountOptions(slices.DeleteFunc(mounted, func(o line.Option) bool {
			option := o.String()
			for _, d := range slices.Concat(defaults, vfsDefaults) {
				if option == d.Option && !slices.Contains(given, d.Unless) && !slices.Contains(given, d.Against) {
					pointless = append(pointless, Pointless{n.Name, option, d.Since, d.Against})
					return true
				}
			}
			return option == "rw" || option == "defaults"
		}))
	}
	return plain, pointless
}

// defaultsOf returns the mount options that change nothing on a file system of its own. ok is false for any other node.
func defaultsOf(node string) (own []kernelDefault, ok bool) {
	for _, k := range table {
		if k.fileSystem != nil && k.Name == node {
			return k.fileSystem.defaults, true
		}
	}
	return nil, false
}
