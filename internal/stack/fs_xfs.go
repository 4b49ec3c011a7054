package stack

import "plimsoll/internal/stack/fsoption"

// xfs passes -K to mkfs, which keeps the blocks of the device: discarding a loop device would punch holes into its
// file, and blocks would be allocated during trials.
var xfs = filesystem{
	name: "xfs", summary: "the XFS file system", pkg: "xfsprogs", kernel: "XFS_FS", direct: true,
	minBytes: 300 << 20, // since xfsprogs 5.19
	mkfs: func(uuid, device string) []string {
		return []string{"mkfs.xfs", "-q", "-f", "-K", "-m", "uuid=" + uuid, device}
	},
	mkfsOptions:  xfsMkfs,
	mountOptions: xfsMount,
	defaults:     xfsDefaults,
}.layer()

// xfsParts is the value of an option of mkfs.xfs: a list, of which plimsoll
// takes these.
func xfsParts(refused map[string]string, tables ...map[string]*fsoption.Value) *fsoption.Value {
	return fsoption.List(fsoption.Options{Known: fsoption.Join(tables...), Refused: refused})
}

// xfsMkfs are options of mkfs.xfs(8). Flags among the values of its options may
// be written without a value.
var xfsMkfs = fsoption.Options{
	Of: "mkfs.xfs",
	Known: fsoption.Join(
		fsoption.Named("-f -K -q", fsoption.None),
		map[string]*fsoption.Value{
			"-b": xfsParts(nil, fsoption.Named("size", fsoption.Size)),
			"-d": xfsParts(
				map[string]string{"name": "names another device", "file": "writes a file on the host"},
				fsoption.Named(
					"agcount agsize concurrency extszinherit cowextsize projinherit sectsize size su sunit sw swidth",
					fsoption.Size,
				),
				fsoption.Named("noalign rtinherit daxinherit", fsoption.Optional(fsoption.Switch)),
			),
			"-i": xfsParts(nil,
				fsoption.Named("maxpct perblock size", fsoption.Size),
				fsoption.Named("align projid32bit sparse nrext64 exchange", fsoption.Optional(fsoption.Switch)),
				fsoption.Named("attr", fsoption.OneOf("1", "2")),
			),
			"-l": xfsParts(
				map[string]string{
					"logdev": "names another device",
					"name":   "names another device",
					"file":   "writes a file on the host",
				},
				fsoption.Named("agnum concurrency sectsize size su sunit", fsoption.Size),
				fsoption.Named("lazy-count", fsoption.Switch),
				fsoption.Named("internal", fsoption.Optional(fsoption.OneOf("1"))),
				fsoption.Named("version", fsoption.OneOf("1", "2")),
			),
			"-L": fsoption.Label,
			"-m": xfsParts(
				map[string]string{"uuid": "is set by plimsoll, which recognises the file system by it"},
				fsoption.Named("autofsck bigtime crc finobt inobtcount metadir reflink rmapbt", fsoption.Optional(fsoption.Switch)),
			),
			"-n": xfsParts(nil,
				fsoption.Named("size", fsoption.Size),
				fsoption.Named("ftype parent", fsoption.Optional(fsoption.Switch)),
				fsoption.Named("version", fsoption.OneOf("2", "ci")),
			),
			"-s": xfsParts(nil, fsoption.Named("size sectsize", fsoption.Size)),
		},
	),
	Refused: map[string]string{
		"-c": "reads a file of the host",
		"-N": "makes no file system",
		"-p": "copies files of the host into the file system",
		"-r": "is for a second device",
		"-V": "makes no file system",
	},
}

// xfsMount are mount options of XFS (xfs(5)).
var xfsMount = fsoption.Options{
	Of: "a mount of xfs",
	Known: fsoption.Join(
		fsoption.Named(
			`attr2 noattr2 barrier nobarrier discard nodiscard grpid nogrpid bsdgroups sysvgroups filestreams ikeep noikeep
			inode32 inode64 largeio nolargeio lifetime nolifetime noalign nouuid swalloc wsync
			noquota quota uquota usrquota uqnoenforce gquota grpquota gqnoenforce pquota prjquota pqnoenforce qnoenforce`,
			fsoption.None,
		),
		fsoption.Named("allocsize logbsize max_atomic_write", fsoption.Size),
		fsoption.Named("logbufs sunit swidth", fsoption.Number),
		fsoption.Named("dax", fsoption.Optional(fsoption.OneOf("always", "never", "inode"))),
	),
	Refused: map[string]string{
		"logdev":     "names another device",
		"rtdev":      "names another device",
		"norecovery": "is not supported",
	},
}.With(anyMount)

// xfsDefaults are what fill_super sets before it reads options, and xfs(5) calls the default.
var xfsDefaults = []kernelDefault{
	{Option: "inode64", Since: "3.7", Against: "inode32"},
	{Option: "nodiscard", Against: "discard"},
	{Option: "nolargeio", Against: "largeio"},
	{Option: "nogrpid", Against: "grpid"},
	{Option: "sysvgroups", Against: "bsdgroups"},
}
