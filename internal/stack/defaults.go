package stack

import (
	"slices"
	"strings"

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

// kernelDefaults are those of each file system: what its fill_super sets before it reads options (fs/ext4/super.c,
// fs/xfs/xfs_super.c, fs/btrfs/super.c), and ext4(5), xfs(5) and btrfs(5) call the default.
var kernelDefaults = map[string][]kernelDefault{
	"ext4": {
		// Commit 244adf6426ee, "ext4: make dioread_nolock the default"; data=journal switches it off.
		{Option: "dioread_nolock", Since: "5.6", Against: "dioread_lock", Unless: "data=journal"},
		{Option: "delalloc", Against: "nodelalloc", Unless: "data=journal"},
		{Option: "data=ordered"}, {Option: "barrier", Against: "nobarrier"}, {Option: "barrier=1", Against: "nobarrier"},
		{Option: "auto_da_alloc", Against: "noauto_da_alloc"}, {Option: "nodiscard", Against: "discard"},
		{Option: "commit=5"}, {Option: "user_xattr", Against: "nouser_xattr"}, {Option: "acl", Against: "noacl"},
		{Option: "data_err=ignore"}, {Option: "journal_ioprio=3"}, {Option: "bsddf", Against: "minixdf"},
		{Option: "nogrpid", Against: "grpid"}, {Option: "sysvgroups", Against: "bsdgroups"},
	},
	"xfs": {
		{Option: "inode64", Since: "3.7", Against: "inode32"},
		{Option: "nodiscard", Against: "discard"},
		{
			Option:  "nolargeio",
			Against: "largeio",
		},
		{Option: "nogrpid", Against: "grpid"},
		{Option: "sysvgroups", Against: "bsdgroups"},
	},
	"btrfs": {
		{Option: "datacow", Against: "nodatacow"},
		{Option: "datasum", Against: "nodatasum"},
		{
			Option:  "barrier",
			Against: "nobarrier",
		},
		{Option: "treelog", Against: "notreelog"},
		{Option: "acl", Against: "noacl"},
		{
			Option: "commit=30",
		},
		{Option: "noautodefrag", Against: "autodefrag"},
		{Option: "noflushoncommit", Against: "flushoncommit"},
		{Option: "compress=no"},
		{Option: "compress=none"},
		{Option: "discard=async", Since: "6.2", Against: "nodiscard"},
	},
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
		own, isFileSystem := kernelDefaults[n.Name]
		text, mounts := n.Option("mount")
		if !isFileSystem || !mounts {
			continue
		}
		given := strings.Split(text, ",")
		kept := slices.DeleteFunc(slices.Clone(given), func(option string) bool {
			for _, d := range slices.Concat(own, vfsDefaults) {
				if option == d.Option && !slices.Contains(given, d.Unless) && !slices.Contains(given, d.Against) {
					pointless = append(pointless, Pointless{n.Name, option, d.Since, d.Against})
					return true
				}
			}
			return option == "rw" || option == "defaults"
		})
		n.Options = slices.DeleteFunc(slices.Clone(n.Options), func(o line.Option) bool { return o.Key == "mount" })
		if len(kept) > 0 {
			n.Options = append(n.Options, line.Option{Key: "mount", Value: strings.Join(kept, ",")})
		}
	}
	return plain, pointless
}
