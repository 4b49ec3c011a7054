package stack

import (
	"fmt"
	"strings"
	"testing"

	"plimsoll/internal/problem"
	"plimsoll/internal/stack/line"
)

// problemsOf returns what the catalog has against a line, of which the grammar
// is right.
func problemsOf(t *testing.T, text string) problem.List {
	t.Helper()
	l, err := line.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return Catalog().Check(l)
}

// Each of these once had a program that runs as root write or read what the
// stack does not name.
func TestOptionsThatLeaveTheStackAreRefused(t *testing.T) {
	for _, test := range []struct{ line, says string }{
		{`loop(size=200MiB) > btrfs(mkfs="/dev/loop30")`, `"/dev/loop30" is no option`},
		{`loop > xfs(mkfs="-l logdev=/dev/loop30,size=100m")`, "logdev of -l is refused: it names another device"},
		{`loop > xfs(mkfs="-llogdev=/dev/loop30")`, "logdev of -l is refused"},
		{`loop > xfs(mkfs="-l internal=0")`, `-l internal is not written "0"`},
		{`loop > xfs(mkfs="-r rtdev=/dev/loop30")`, "-r of mkfs.xfs is refused"},
		{`loop > xfs(mkfs="-d name=/dev/loop30")`, "name of -d is refused"},
		{`loop > xfs(mkfs="-d file,name=/srv/x,size=1g")`, "file of -d is refused: it writes a file"},
		{`loop > xfs(mkfs="-p /etc/passwd")`, "-p of mkfs.xfs is refused"},
		{`loop > xfs(mkfs="-c options=/etc/x")`, "-c of mkfs.xfs is refused: it reads a file"},
		{`loop > xfs(mkfs="-m uuid=0b0b0b0b-0000-0000-0000-000000000000")`, "uuid of -m is refused"},
		{`loop > ext4(mkfs="-z FILE")`, "-z of mkfs.ext4 is refused: it writes a file on the host, and leaves it"},
		{`loop > ext4(mkfs="-zFILE")`, "-z of mkfs.ext4 is refused"},
		{`loop > ext4(mkfs="-d /etc/apt")`, "-d of mkfs.ext4 is refused: it copies files"},
		{`loop > ext4(mkfs="-J device=/dev/loop30")`, "device of -J is refused"},
		{`loop > ext4(mkfs="-O journal_dev")`, `no feature "journal_dev"`},
		{`loop > ext4(mkfs="-qz FILE")`, `-q takes no value`},
		{`loop > ext4(mkfs="-F")`, "-F of mkfs.ext4 is refused"},
		{`loop > ext4(mkfs="-e panic")`, `-e is not written "panic"`},
		{`loop > ext4(mkfs="-l /etc/passwd")`, "-l of mkfs.ext4 is refused"},
		{`loop > ext4(mkfs="-E offset=4096")`, "offset of -E is refused"},
		{`loop > ext4(mkfs="-L /dev/loop30")`, `-L is not written "/dev/loop30"`},
		{`loop > ext4(mkfs="-b")`, "-b needs a value"}, // which would be the device
		{`loop > ext4(mkfs="--")`, `"--" is no option`},
		{`loop > ext4(mkfs="-")`, `"-" is no option`},
		{`loop > ext4(mkfs=4096)`, `"4096" is no option`}, // the size of the file system
		{`loop > btrfs(mkfs="-r /etc")`, "-r of mkfs.btrfs is refused"},
		{`loop > btrfs(mkfs="--rootdir=/etc")`, "--rootdir of mkfs.btrfs is refused"},
		{`loop > btrfs(mkfs="--root /etc")`, `"--root" is no option of mkfs.btrfs`}, // getopt takes beginnings
		{`loop > btrfs(mkfs="-fr /etc")`, "-f takes no value"},
		{`loop > btrfs(mount="device=/dev/loop30")`, "device of a mount of btrfs is refused: it names another device"},
		{`loop > xfs(mount="logdev=/dev/loop30")`, "logdev of a mount of xfs is refused"},
		{`loop > xfs(mount="rtdev=/dev/loop30")`, "rtdev of a mount of xfs is refused"},
		{`loop > ext4(mount="journal_path=/dev/loop30")`, "journal_path of a mount of ext4 is refused"},
		{`loop > ext4(mount="journal_dev=0x701")`, "journal_dev of a mount of ext4 is refused"},
		{`loop > ext4(mount="usrjquota=a.user,jqfmt=vfsv0")`, "usrjquota of a mount of ext4 is refused"},
		{`loop > ext4(mount="errors=panic")`, `errors is not written "panic"`},
		{`loop > ext4(mount=loop)`, "loop of a mount of ext4 is refused"},
		{`loop > ext4(mount="loop=/dev/loop30")`, "loop of a mount of ext4 is refused"},
		{`loop > ext4(mount="helper=x")`, "helper of a mount of ext4 is refused: it runs a program"},
		{`loop > ext4(mount="uhelper=x")`, "uhelper of a mount of ext4 is refused"},
		{`loop > ext4(mount="bind")`, "bind of a mount of ext4 is refused"},
		{`loop > ext4(mount="X-mount.mkdir=/etc/x")`, `"X-mount.mkdir" is no option`},
		{`loop > ext4(mount="x-systemd.device-timeout=1")`, `is no option of a mount of ext4`},
		{`loop > ext4(mount="data=ordered\\,loop")`, `data is not written "ordered\\"`},
		{`loop > ext4(mount="noatime,,discard")`, "empty option"},
		{`loop > xfs > volume(driver="../../../etc/x")`, `"../../../etc/x" is none of its values`},
		{`loop > xfs > volume(driver="vfs --config-file=/etc/x")`, "is none of its values"},
		{`loop > iocost(min="50 max=1")`, "it takes a number"},
		{`loop > iocost(rbps="1 8:0 enable=0")`, "it takes a size"},
		{`loop > iocost(rseqiops=0.5)`, "it takes a whole number"},
		{`loop > iocost(rpct=101)`, "it takes a number"},
		{`nvmeof(transport="tcp,traddr=10.0.0.1")`, "is none of its values"},
	} {
		problems := problemsOf(t, test.line)
		found := false
		for _, p := range problems {
			found = found || strings.Contains(p.What, test.says) && p.At.Column > 0 && p.Remedy != ""
		}
		if !found {
			t.Errorf("%s: %q is not said, with its place and a remedy: %v", test.line, test.says, problems)
		}
	}
}

// All that is wrong is said at once.
func TestAllOptionsThatAreRefusedAreNamed(t *testing.T) {
	problems := problemsOf(t, `loop > ext4(mkfs="-z a -d /etc -O nosuch,^encrypt,bogus /dev/loop30 -b", mount="loop,nosuch,helper=a")`)
	var texts []string
	for _, p := range problems {
		texts = append(texts, p.String())
	}
	text := strings.Join(texts, "\n")
	for _, name := range []string{"-z", "-d", `"nosuch"`, `"bogus"`, `"/dev/loop30"`, "-b needs", "loop of", `"nosuch" is no option of a mount`, "helper of"} {
		if !strings.Contains(text, name) {
			t.Errorf("%s is not named:\n%s", name, text)
		}
	}
	if len(problems) != 9 {
		t.Errorf("%d problems:\n%s", len(problems), text)
	}
}

func TestOptionsThatStayInTheStackAreTaken(t *testing.T) {
	for _, text := range []string{
		`loop > ext4(mkfs="-O ^has_journal -b 4096")`,
		`loop > ext4(mkfs="-b4096 -L data -m 0.5 -i 8192 -N 16 -I 256 -E stride=16,stripe-width=64,lazy_itable_init=1,root_owner=0:0")`,
		`loop > ext4(mkfs="-J size=64 -J fast_commit_size=4 -G 16 -O bigalloc,^encrypt -C 16k -T largefile -D")`,
		`loop > ext4(mount="noatime,dioread_nolock,data=writeback,commit=30,nobarrier,stripe=16,journal_ioprio=3,init_itable")`,
		`loop > ext4(mount="barrier=0,dax,errors=remount-ro,data_err=abort")`,
		`loop > ext4(mkfs="", mount="")`,
		`loop > xfs(mkfs="-b size=4096 -d agcount=4,su=64k,sw=3 -i size=512,sparse=1,nrext64 -l size=64m,su=4k,version=2 -m crc=1,reflink=0 -n ftype=1 -s size=4096 -K")`,
		`loop > xfs(mount="noatime,logbufs=8,logbsize=256k,allocsize=64m,largeio,inode64,swalloc,noquota")`,
		`loop > btrfs(mkfs="--csum xxhash -n 16k -m single --data=dup -O no-holes,^extref -L x --mixed", mount="compress=zstd:3,ssd,discard=async,space_cache=v2,max_inline=0,nodatacow")`,
		`loop > iocost(rbps=1GiB, rseqiops=90000, rrandiops=90000, min=50.5, max=100, rpct=95, rlat=2500) > ext4`,
		`loop > xfs > volume(driver=fuse-overlayfs)`,
		`loop > ext4 > volume(driver=devicemapper)`,
	} {
		if problems := problemsOf(t, text); len(problems) > 0 {
			t.Errorf("%s: %v", text, problems)
		}
	}
}

// What mkfs.xfs would refuse when the trial starts is refused before.
func TestAnXFSThatIsTooSmallIsRefused(t *testing.T) {
	for text, says := range map[string]string{
		"loop(size=299MiB) > xfs":                    "xfs stands on 299MiB: mkfs.xfs makes none of less than 300MiB",
		"loop(size=64MiB) > scheduler:none > xfs":    "write loop(size=300MiB) or more",
		"loop(size=300MiB) > xfs":                    "",
		"loop > xfs":                                 "",
		"loop(size=16MiB) > ext4":                    "",
		"loop(size=64MiB) + loop > lvm-stripe > xfs": "", // as far as the text tells
	} {
		problems := problemsOf(t, text)
		if says == "" && len(problems) > 0 || says != "" && !strings.Contains(fmt.Sprint(problems), says) {
			t.Errorf("%s: %v, want %q", text, problems, says)
		}
	}
}
