package stack

import "plimsoll/internal/stack/fsoption"

// ext4 initializes its tables at once: done lazily, as is the default, it
// would write in the background while trials run.
var ext4 = filesystem{
	name: "ext4", summary: "the ext4 file system", pkg: "e2fsprogs", kernel: "EXT4_FS", direct: true,
	mkfs: func(uuid, device string) []string {
		return []string{"mkfs.ext4", "-q", "-F", "-U", uuid, "-E", "lazy_itable_init=0,lazy_journal_init=0,nodiscard", device}
	},
	mkfsOptions:  ext4Mkfs,
	mountOptions: ext4Mount,
	defaults:     ext4Defaults,
}.layer()

// ext4Mkfs are options of mkfs.ext4 (mke2fs(8)).
var ext4Mkfs = fsoption.Options{
	Of: "mkfs.ext4",
	Known: fsoption.Join(
		fsoption.Named("-D -j -K -q -v", fsoption.None),
		fsoption.Named("-b -C -g -G -i -I -N", fsoption.Size),
		map[string]*fsoption.Value{
			"-e": fsoption.OneOf("continue", "remount-ro"),
			"-E": fsoption.List(fsoption.Options{
				Known: fsoption.Join(
					fsoption.Named("discard nodiscard", fsoption.None),
					fsoption.Named("stride stripe-width stripe_width resize desc-size desc_size mmp_update_interval orphan_file_size", fsoption.Size),
					fsoption.Named("lazy_itable_init lazy_journal_init packed_meta_blocks assume_storage_prezeroed",
						fsoption.Optional(fsoption.Switch)),
					map[string]*fsoption.Value{
						"num_backup_sb": fsoption.OneOf("0", "1", "2"),
						"root_owner":    fsoption.Optional(fsoption.UserGroup),
					},
				),
				Refused: map[string]string{"offset": "puts the file system where it is not mounted from"},
			}),
			"-J": fsoption.List(fsoption.Options{
				Known:   fsoption.Named("size fast_commit_size", fsoption.Size),
				Refused: map[string]string{"device": "writes to another device", "location": "is not supported"},
			}),
			"-L": fsoption.Label,
			"-m": fsoption.Percent,
			"-O": fsoption.Features("64bit", "bigalloc", "casefold", "dir_index", "dir_nlink", "ea_inode", "encrypt", "ext_attr",
				"extent", "extents", "extra_isize", "fast_commit", "filetype", "flex_bg", "has_journal", "huge_file", "inline_data",
				"large_dir", "large_file", "metadata_csum", "metadata_csum_seed", "meta_bg", "mmp", "none", "orphan_file", "project",
				"quota", "resize_inode", "sparse_super", "sparse_super2", "stable_inodes", "uninit_bg", "verity"),
			"-T": fsoption.OneOf("default", "floppy", "small", "big", "huge", "news", "largefile", "largefile4", "hurd"),
		},
	),
	Refused: map[string]string{
		"-c": "starts a program that tests the whole device",
		"-d": "copies files of the host into the file system",
		"-F": "is set by plimsoll, and given twice it overwrites a file system that is mounted",
		"-l": "reads a file of the host",
		"-M": "writes the name of a directory of the host",
		"-n": "makes no file system",
		"-S": "makes no file system",
		"-t": "makes another file system than the stack says",
		"-U": "is set by plimsoll, which recognises the file system by it",
		"-V": "makes no file system",
		"-z": "writes a file on the host, and leaves it",
	},
}

// ext4Mount are mount options of ext4 (ext4(5)).
var ext4Mount = fsoption.Options{
	Of: "a mount of ext4",
	Known: fsoption.Join(
		fsoption.Named(`dioread_lock dioread_nolock delalloc nodelalloc journal_checksum nojournal_checksum journal_async_commit
			nobarrier discard nodiscard noauto_da_alloc noinit_itable block_validity noblock_validity
			acl noacl user_xattr nouser_xattr bsddf minixdf grpid nogrpid bsdgroups sysvgroups i_version nombcache no_mbcache
			prefetch_block_bitmaps no_prefetch_block_bitmaps quota noquota usrquota grpquota prjquota`, fsoption.None),
		fsoption.Named("barrier auto_da_alloc mb_optimize_scan", fsoption.Optional(fsoption.Switch)),
		fsoption.Named("commit stripe inode_readahead_blks max_batch_time min_batch_time max_dir_size_kb", fsoption.Number),
		map[string]*fsoption.Value{
			"data":           fsoption.OneOf("journal", "ordered", "writeback"),
			"data_err":       fsoption.OneOf("ignore", "abort"),
			"dax":            fsoption.Optional(fsoption.OneOf("always", "never", "inode")),
			"errors":         fsoption.OneOf("continue", "remount-ro"),
			"init_itable":    fsoption.Optional(fsoption.Number),
			"journal_ioprio": fsoption.OneOf("0", "1", "2", "3", "4", "5", "6", "7"),
		},
	),
	Refused: map[string]string{
		"abort":        "ends the file system",
		"journal_dev":  "names another device",
		"journal_path": "names another device",
		"noload":       "is not supported",
		"norecovery":   "is not supported",
		"sb":           "is not supported",
		"usrjquota":    "names a file",
		"grpjquota":    "names a file",
	},
}.With(anyMount)

// ext4Defaults are what fill_super sets before it reads options, and ext4(5) calls the default.
var ext4Defaults = []kernelDefault{
	// Commit 244adf6426ee, "ext4: make dioread_nolock the default"; data=journal switches it off.
	{Option: "dioread_nolock", Since: "5.6", Against: "dioread_lock", Unless: "data=journal"},
	{Option: "delalloc", Against: "nodelalloc", Unless: "data=journal"},
	{Option: "data=ordered"}, {Option: "barrier", Against: "nobarrier"}, {Option: "barrier=1", Against: "nobarrier"},
	{Option: "auto_da_alloc", Against: "noauto_da_alloc"}, {Option: "nodiscard", Against: "discard"},
	{Option: "commit=5"}, {Option: "user_xattr", Against: "nouser_xattr"}, {Option: "acl", Against: "noacl"},
	{Option: "data_err=ignore"}, {Option: "journal_ioprio=3"}, {Option: "bsddf", Against: "minixdf"},
	{Option: "nogrpid", Against: "grpid"}, {Option: "sysvgroups", Against: "bsdgroups"},
}
