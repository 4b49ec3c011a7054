package stack

// ext4 initializes its tables at once: done lazily, as is the default, it
// would write in the background while trials run.
var ext4 = filesystem{
	name: "ext4", summary: "the ext4 file system", pkg: "e2fsprogs",
	mkfs: func(uuid, device string) []string {
		return []string{"mkfs.ext4", "-q", "-F", "-U", uuid, "-E", "lazy_itable_init=0,lazy_journal_init=0,nodiscard", device}
	},
}.layer()
