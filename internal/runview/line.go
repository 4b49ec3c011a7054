package runview

import (
	"slices"

	"plimsoll/internal/stack/line"
)

// Names of nodes whose nature matters to conclusions.
const (
	NodeLoop         = "loop"
	nodeNVMeOF       = "nvmeof"
	NodeDir          = "dir"
	NodeTmpfs        = "tmpfs"
	NodeExt4         = "ext4"
	NodeXFS          = "xfs"
	NodeBtrfs        = "btrfs"
	NodeVolume       = "volume"
	NodeAufs         = "aufs"
	NodeOverlay      = "overlay"
	NodeOverlay2     = "overlay2"
	NodeDeviceMapper = "devicemapper"
	NodeFuse         = "fuse-overlayfs"
	nodeSched        = "scheduler"
	nodeStripe       = "lvm-stripe"
	nodeRAID0        = "raid0"
	NodeThin         = "thin"
)

// OnDevice reports whether a stack stands on a block device that does not cache.
func OnDevice(l line.Line) bool { return onBlocks(l) && !CachingLoop(l) }

func onBlocks(l line.Line) bool {
	source, _, _ := Split(l)
	return source != nil && source.Name != NodeDir && source.Name != NodeTmpfs
}

// Bare reports whether a stack is a block device and nothing on it.
func Bare(l line.Line) bool { return onBlocks(l) && len(l.Nodes) == 1 }

// Hosts reports whether a stack is that file system, on a block device, as the
// host sees it.
func Hosts(l line.Line, fileSystem string) bool {
	return OnDevice(l) && len(l.Nodes) == 2 && l.Nodes[1].Name == fileSystem
}

// Viewed reports whether a stack is a view on a file system on a block device.
func Viewed(l line.Line, names ...string) bool {
	_, fileSystem, view := Split(l)
	return OnDevice(l) && fileSystem != nil && view != nil && slices.Contains(names, view.Name)
}

// CachingLoop reports whether a stack stands on a loop device that keeps its
// file in the page cache.
func CachingLoop(l line.Line) bool {
	source, _, _ := Split(l)
	if source == nil || source.Name != NodeLoop {
		return false
	}
	direct, _ := source.Option("direct-io")
	return direct == "off"
}

// Split returns the source, the file system and the view of a line, each nil when the line has none. Any node on a
// file system is a view, also one that can be both, as btrfs.
func Split(l line.Line) (source, fileSystem, view *line.Node) {
	if len(l.Nodes) == 0 {
		return nil, nil, nil
	}
	source = &l.Nodes[0]
	rest := l.Nodes[1:]
	for len(rest) > 0 && slices.Contains([]string{nodeSched, nodeStripe, nodeRAID0}, rest[0].Name) {
		rest = rest[1:] // a setting of the device below, or one device of several
	}
	if source.Name != NodeDir && source.Name != NodeTmpfs && len(rest) > 0 && rest[0].Name != NodeThin {
		fileSystem, rest = &rest[0], rest[1:]
	}
	if len(rest) > 0 && rest[0].Name == NodeThin {
		rest = rest[1:] // where the view makes its file system
	}
	if len(rest) > 0 {
		view = &rest[0]
	}
	return source, fileSystem, view
}
