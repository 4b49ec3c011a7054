package stack

// xfs keeps what is on the device (-K): discarding a loop device would punch
// holes into its file, and blocks would be allocated while trials run.
var xfs = filesystem{
	name: "xfs", summary: "the XFS file system", pkg: "xfsprogs",
	mkfs: func(uuid, device string) []string {
		return []string{"mkfs.xfs", "-q", "-f", "-K", "-m", "uuid=" + uuid, device}
	},
}.layer()
