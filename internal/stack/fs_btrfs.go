package stack

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"plimsoll/internal/stack/fsoption"
	"plimsoll/internal/stack/line"
)

// btrfs checksums data and copies on write unless nodatacow turns both off.
var btrfs = filesystem{
	name: "btrfs", summary: "the btrfs file system", pkg: "btrfs-progs", kernel: "BTRFS_FS", direct: true,
	mkfs: func(uuid, device string) []string {
		return []string{"mkfs.btrfs", "-q", "-f", "-K", "-U", uuid, device}
	},
	mkfsOptions:  btrfsMkfs,
	mountOptions: btrfsMount,
	defaults:     btrfsDefaults,
	options: []line.OptionDef{
		{
			Key:     "nodatacow",
			Value:   line.Flag,
			Summary: "no copy-on-write and no checksums for data (chattr +C), so that O_DIRECT writes are direct",
		},
	},
	afterMount: func(b *build, n line.Node) error {
		if _, ok := n.Option("nodatacow"); !ok {
			return nil
		}
		return setNoCOW(b)
	},
}.layer()

// btrfsProfiles are the redundancy profiles of data and metadata.
var btrfsProfiles = fsoption.OneOf("single", "dup", "raid0", "raid1", "raid1c3", "raid1c4", "raid5", "raid6", "raid10")

// btrfsChecksums are the kinds of checksums.
var btrfsChecksums = fsoption.OneOf("crc32c", "xxhash", "xxhash64", "sha256", "blake2", "blake2b")

// btrfsMkfs are options of mkfs.btrfs(8).
var btrfsMkfs = fsoption.Options{
	Of: "mkfs.btrfs",
	Known: fsoption.Join(
		fsoption.Named("-f --force -K --nodiscard -M --mixed -q --quiet -v --verbose", fsoption.None),
		fsoption.Named("-b --byte-count -n --nodesize -s --sectorsize", fsoption.Size),
		fsoption.Named("-d --data -m --metadata", btrfsProfiles),
		fsoption.Named("--csum --checksum", btrfsChecksums),
		fsoption.Named("-L --label", fsoption.Label),
		fsoption.Named(
			"-O --features",
			fsoption.Features("mixed-bg", "quota", "extref", "raid56", "skinny-metadata", "no-holes",
				"zoned", "free-space-tree", "raid1c34", "block-group-tree", "squota", "raid-stripe-tree"),
		),
		fsoption.Named("-R --runtime-features", fsoption.Features("quota", "free-space-tree")),
	),
	Refused: map[string]string{
		"-r":            "copies files of the host into the file system",
		"--rootdir":     "copies files of the host into the file system",
		"--subvol":      "copies files of the host into the file system",
		"--inode-flags": "copies files of the host into the file system",
		"--shrink":      "copies files of the host into the file system",
		"-U":            "is set by plimsoll, which recognises the file system by it",
		"--uuid":        "is set by plimsoll, which recognises the file system by it",
		"--device-uuid": "is not supported",
		"-V":            "makes no file system",
		"--version":     "makes no file system",
		"--help":        "makes no file system",
	},
}

// btrfsMount are mount options of btrfs (btrfs(5)).
var btrfsMount = fsoption.Options{
	Of: "a mount of btrfs",
	Known: fsoption.Join(
		fsoption.Named(`acl noacl autodefrag noautodefrag barrier nobarrier datacow nodatacow datasum nodatasum nodiscard
			flushoncommit noflushoncommit ssd ssd_spread nossd nossd_spread nospace_cache clear_cache treelog notreelog`, fsoption.None),
		fsoption.Named("commit metadata_ratio thread_pool", fsoption.Number),
		fsoption.Named("compress compress-force", fsoption.Optional(btrfsCompression())),
		map[string]*fsoption.Value{
			"discard":     fsoption.Optional(fsoption.OneOf("sync", "async")),
			"max_inline":  fsoption.Size,
			"space_cache": fsoption.Optional(fsoption.OneOf("v1", "v2")),
		},
	),
	Refused: map[string]string{
		"degraded":     "is not supported",
		"device":       "names another device",
		"rescue":       "is not supported",
		"subvol":       "is not supported",
		"subvolid":     "is not supported",
		"check_int":    "is not supported",
		"fatal_errors": "may stop the host",
	},
}.With(anyMount)

// btrfsCompression names the ways to compress, with their levels.
func btrfsCompression() *fsoption.Value {
	words := []string{"no", "none", "lzo", "zlib", "zstd"}
	for level := 1; level <= 9; level++ {
		words = append(words, fmt.Sprintf("zlib:%d", level))
	}
	for level := 1; level <= 15; level++ {
		words = append(words, fmt.Sprintf("zstd:%d", level))
	}
	return fsoption.OneOf(words...)
}

// noCOW is FS_NOCOW_FL of linux/fs.h.
const noCOW = 0x00800000

// setNoCOW sets an attribute of the mounted directory that disables copy-on-write for new files. It is stored in the
// file system and vanishes with it.
func setNoCOW(b *build) error {
	if err := overwriteInPlace(b.base.dir); err != nil {
		return err
	}
	b.fact("copy-on-write", "off")
	return nil
}

// overwriteInPlace disables copy-on-write for new files in a directory of btrfs, and reads the attribute back.
func overwriteInPlace(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	flags, err := unix.IoctlGetInt(int(d.Fd()), unix.FS_IOC_GETFLAGS)
	if err != nil {
		return fmt.Errorf("read attributes of %s: %w", dir, err)
	}
	if err := unix.IoctlSetPointerInt(int(d.Fd()), unix.FS_IOC_SETFLAGS, flags|noCOW); err != nil {
		return fmt.Errorf("turn copy-on-write off for %s: %w", dir, err)
	}
	flags, err = unix.IoctlGetInt(int(d.Fd()), unix.FS_IOC_GETFLAGS)
	if err != nil {
		return fmt.Errorf("read attributes of %s: %w", dir, err)
	}
	if flags&noCOW == 0 {
		return fmt.Errorf("copy-on-write stays on for %s", dir)
	}
	return nil
}

// btrfsDefaults are what fill_super sets before it reads options, and btrfs(5) calls the default.
var btrfsDefaults = []kernelDefault{
	{Option: "datacow", Against: "nodatacow"},
	{Option: "datasum", Against: "nodatasum"},
	{Option: "barrier", Against: "nobarrier"},
	{Option: "treelog", Against: "notreelog"},
	{Option: "acl", Against: "noacl"},
	{Option: "commit=30"},
	{Option: "noautodefrag", Against: "autodefrag"},
	{Option: "noflushoncommit", Against: "flushoncommit"},
	{Option: "compress=no"},
	{Option: "compress=none"},
	{Option: "discard=async", Since: "6.2", Against: "nodiscard"},
}
