package stack

import "plimsoll/internal/stack/fsoption"

// toyFS is a file system that no kernel has.
var toyFS = filesystem{
	name: "toyfs", summary: "the toy's file system", pkg: "toyfs-progs", kernel: "TOY_FS",
	mkfs:         func(uuid, device string) []string { return []string{"mkfs.toyfs", "-U", uuid, device} },
	mkfsOptions:  fsoption.Options{Of: "mkfs.toyfs"},
	mountOptions: fsoption.Options{Of: "a mount of toyfs"},
}.layer()
