package stack

import (
	"flag"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"plimsoll/internal/stack/line"
)

var testPlaces = Places{State: "/state", Run: "run"}

func TestWritesNamesEveryPlace(t *testing.T) {
	for _, test := range []struct {
		line           string
		devices, paths []string
	}{
		{"dir:/srv/data", nil, []string{"/srv/data/.plimsoll-run-s"}},
		{"loop(dir=/srv) > xfs", nil, []string{"/srv/plimsoll-run-regions/regions.img", "/dev/loopN, a new loop device on it", "/state/work-run/s"}},
		{"loop > ext4 > volume", nil, []string{
			"/state/work-run/plimsoll-run-regions/regions.img", "/dev/loopN, a new loop device on it", "/state/work-run/s",
			"/state/work-run/engine-N-overlay2", "/run/plimsoll/run-…", "/run/containerd, unless it is there", "/run/docker, unless it is there",
		}},
		{"/dev/nvme0n1 > iocost(min=50) > ext4", []string{"/dev/nvme0n1"}, []string{
			"/sys/fs/cgroup/io.cost.model", "/sys/fs/cgroup/io.cost.qos", "/state/work-run/s",
		}},
		{"/dev/nvme0n1 > scheduler:kyber > xfs > overlay2", []string{"/dev/nvme0n1"}, []string{
			"/sys/block/nvme0n1/queue/scheduler", "/state/work-run/s", "/state/work-run/s/docker", "/run/plimsoll/run-…", "/run/containerd, unless it is there", "/run/docker, unless it is there",
		}},
		{"/dev/nvme0n1 > zfs(recordsize=16KiB)", []string{"/dev/nvme0n1"}, []string{"/state/work-run/s"}},
		{"/dev/nvme0n1 + serial:S1 > lvm-stripe", []string{"/dev/nvme0n1", "serial:S1"}, []string{"/state/work-run/s-lvm", "/dev/mapper/plimsoll--run--…-stripe"}},
		{"/dev/sdb > thin(direct-lvm) > devicemapper", []string{"/dev/sdb"}, []string{
			"/state/work-run/s-lvm", "/dev/mapper/plimsoll--run--…-pool", "/state/work-run/s-engine", "/run/plimsoll/run-…", "/run/containerd, unless it is there", "/run/docker, unless it is there",
		}},
		{"loop + loop > raid0", nil, []string{"/state/work-run/plimsoll-run-regions/regions.img", "/dev/loopN, a new loop device on it", "/dev/mdN, a new array"}},
		{"nvmeof(transport=loop, nqn=nqn.x)", []string{"nvmeof(transport=loop, nqn=nqn.x)"}, []string{"/dev/nvme-fabrics, for a new connection"}},
		{"tmpfs(size=1GiB)", nil, []string{"/state/work-run/s"}},
		{"tmpfs(size=1GiB) > overlayfs(volatile)", nil, []string{
			"/state/work-run/s", "/state/work-run/s/overlay", "/state/work-run/engine-N-overlay2", "/run/plimsoll/run-…",
			"/run/containerd, unless it is there", "/run/docker, unless it is there",
		}},
	} {
		w, err := testPlaces.Writes("s", parse(t, test.line))
		if err != nil || !slices.Equal(w.Devices, test.devices) || !slices.Equal(w.Paths, test.paths) {
			t.Errorf("%s: %v\ndevices %q\npaths   %q", test.line, err, w.Devices, w.Paths)
		}
	}
}

// Words that the options of generated lines are made of: what users write, and
// what leads out of a stack.
var (
	goodMkfs = []string{
		"-b 4096", "-O ^has_journal", "-K", "-L data", "-m 0", "-d agcount=4", "-l size=64m", "-i size=512", "-E stride=16", "-J size=64", "-N 16",
		"-n 16k", "--csum xxhash", "-m dup", "-q", "-f", "-s size=4096", "-m crc=1,reflink=0", "--mixed", "-b4096", "-I 256", "-d single",
	}
	badMkfs = []string{
		"/dev/loop30", "loop30", "4096", "-l logdev=/dev/loop30,size=100m", "-d /etc/apt", "-z FILE", "-zFILE", "-r /etc", "--rootdir=/etc", "--root /etc",
		"-J device=/dev/loop30", "-J size=4,device=LABEL=x", "-d name=/dev/sda", "-d file,name=x", "-r rtdev=/dev/sda", "-p proto", "-c options=/etc/x",
		"-M /mnt", "-l /etc/passwd", "-c", "--", "-", "-b", "-L", "-L /dev/sda", "-Lx/y", "-qz x", "-fr /etc", "-E offset=1", "-O journal_dev", "-n", "-S",
		"-F", "-U x", "-V", "-T ../x", "-o x", "-C", "--help", "-l internal=0", "-l internal=0,logdev=x", "-t ext2", "-b/dev/sda", "-m=/x", "-d\u00a0/etc",
	}
	goodMount = []string{
		"noatime", "dioread_nolock", "data=ordered", "commit=30", "discard", "logbufs=8", "compress=zstd:3", "ssd", "nobarrier", "rw", "dax", "stripe=16",
		"logbsize=256k", "max_inline=0", "space_cache=v2", "lazytime",
	}
	badMount = []string{
		"logdev=/dev/loop30", "rtdev=/dev/loop30", "loop", "loop=/dev/loop30", "helper=x", "uhelper=../x", "journal_path=/dev/sda", "journal_dev=1", "device=/dev/sda",
		"bind", "rbind", "remount", "move", "offset=1", "X-mount.mkdir=/etc", "x-systemd.y", "usrjquota=/x", "subvol=/", "context=x", "", " ", "user", "data=/x",
		"commit=/dev/sda", "noatime=/x", "errors=panic", "upperdir=/x", "lowerdir=/etc", "sb=1", "verity.roothashfile=/x", "test_dummy_encryption", "ro",
	}
	goodSources = []string{
		"loop", "loop(size=64MiB)", "loop(dir=/srv/own)", "/dev/nvme0n1", `"/srv/own/disk.img"`, "serial:S1", "by-id:nvme-x", "uuid:0-1", "dir:/srv/own",
		"tmpfs(size=1GiB)", "nvmeof(transport=tcp, addr=10.0.0.1, nqn=nqn.x)", "loop(cold, direct-io=off)", "dir:/srv/own/deep",
	}
	badSources = []string{
		"loop(dir=srv)", "loop(size=/etc)", "loop(dir=)", "dir:srv", "nvmeof(transport=../x)", `nvmeof(transport="tcp,x=/etc")`, "tmpfs(size=/etc)", `loop(size="1 -o/x")`,
		`tmpfs(size="1,loop=/x")`, "by-id:", "/dev/a /dev/b", `loop(direct-io=/x)`,
	}
	layers = []string{
		"scheduler:kyber", "scheduler:none", "iocost", "iocost(min=50)", "iocost(min=/etc)", "lvm-stripe", "raid0(chunk=64KiB)", "lvm-stripe(stripe=/etc)", "thin(direct-lvm)", "thin(loop-lvm)",
	}
	views = []string{
		"volume", "volume(driver=vfs)", "volume(driver=../../etc)", `volume(driver="vfs --config=/x")`, "overlay2", "btrfs", "vfs", "devicemapper", "fuse-overlayfs", "zfs",
		"overlayfs", "overlayfs(volatile)", `overlayfs(volatile="x,lowerdir=/etc")`,
	}
)

// anyLine draws the text of a line.
func anyLine(t *rapid.T) string {
	choose := func(name string, good, bad []string) string {
		if len(bad) > 0 && rapid.IntRange(0, 9).Draw(t, name+" is bad") == 0 {
			return rapid.SampledFrom(bad).Draw(t, name)
		}
		return rapid.SampledFrom(good).Draw(t, name)
	}
	several := func(name, sep string, good, bad []string) string {
		var words []string
		for range rapid.IntRange(0, 3).Draw(t, name+"s") {
			words = append(words, choose(name, good, bad))
		}
		if rapid.IntRange(0, 19).Draw(t, name+" is garbled") == 0 {
			words = append(words, rapid.StringOfN(rapid.RuneFrom([]rune(`-abdzlLO^=,:/. %"`+"\\")), 1, 8, -1).Draw(t, "garble"))
		}
		quoted := strings.Join(words, sep)
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(quoted) + `"`
	}
	text := choose("source", goodSources, badSources)
	for range rapid.IntRange(0, 5).Draw(t, "more sources") / 4 {
		text += " + " + choose("source", goodSources, badSources)
	}
	if rapid.IntRange(0, 3).Draw(t, "layer or none") == 0 {
		text += " > " + rapid.SampledFrom(layers).Draw(t, "layer")
	}
	if rapid.IntRange(0, 5).Draw(t, "file system or none") > 0 {
		text += " > " + rapid.SampledFrom([]string{"ext4", "xfs", "btrfs"}).Draw(t, "file system")
		var options []string
		if rapid.Bool().Draw(t, "mkfs") {
			options = append(options, "mkfs="+several("mkfs option", " ", goodMkfs, badMkfs))
		}
		if rapid.Bool().Draw(t, "mount") {
			options = append(options, "mount="+several("mount option", ",", goodMount, badMount))
		}
		if len(options) > 0 {
			text += "(" + strings.Join(options, ", ") + ")"
		}
	}
	if rapid.IntRange(0, 2).Draw(t, "view or none") == 0 {
		text += " > " + rapid.SampledFrom(views).Draw(t, "view")
	}
	return text
}

// getopts are what the manuals of mkfs programs say: every option, with a colon
// where a value follows; and what leads out of the device. The property does not
// go by the lists that lines are checked with.
var getopts = map[string]struct{ options, leads string }{
	"mkfs.ext4":  {"b:ce:g:i:jl:m:no:qr:s:t:d:vC:DE:FG:I:J:KL:M:N:O:R:ST:U:V:z:", "cdlMnSVzrRt"},
	"mkfs.xfs":   {"b:c:d:i:l:L:m:n:KNp:qr:s:CfV", "cNprV"},
	"mkfs.btrfs": {"A:b:fl:n:s:m:d:L:R:O:r:U:VvMKq", "rV"},
}

// longOptions of mkfs.btrfs that have a value.
var longOptions = []string{"--byte-count", "--data", "--metadata", "--nodesize", "--sectorsize", "--label", "--features", "--runtime-features", "--csum", "--checksum"}

// operands parses a command line of mkfs as getopt_long(3) does, and returns the
// words that are no options. It fails for an option that leads elsewhere.
func operands(argv []string) (words, values []string, err error) {
	spec, ok := getopts[argv[0]]
	if !ok {
		return nil, nil, fmt.Errorf("%s is no mkfs", argv[0])
	}
	for i := 1; i < len(argv); i++ {
		word := argv[i]
		switch {
		case word == "--":
			return append(words, argv[i+1:]...), values, nil
		case strings.HasPrefix(word, "--"):
			name, value, attached := strings.Cut(word, "=")
			switch {
			case slices.Contains(longOptions, name) && attached:
				values = append(values, value)
			case slices.Contains(longOptions, name):
				i++
				values = append(values, argv[i])
			case !slices.Contains([]string{"--force", "--nodiscard", "--mixed", "--quiet", "--verbose"}, name):
				return nil, nil, fmt.Errorf("%s", word)
			}
		case len(word) > 1 && word[0] == '-':
			for position := 1; position < len(word); position++ {
				c := word[position]
				found := strings.IndexByte(spec.options, c)
				if found < 0 || c == ':' || strings.IndexByte(spec.leads, c) >= 0 {
					return nil, nil, fmt.Errorf("-%c", c)
				}
				if !strings.HasPrefix(spec.options[found+1:], ":") {
					continue
				}
				if value := word[position+1:]; value != "" {
					values = append(values, value)
				} else {
					i++
					values = append(values, argv[i])
				}
				break
			}
		default:
			words = append(words, word)
		}
	}
	return words, values, nil
}

// elsewhere are the keys of values and mount options that name something else.
var elsewhere = regexp.MustCompile(`(^|,)(device|name|file|logdev|rtdev|offset|location|loop|helper|uhelper|journal_path|journal_dev|usrjquota|grpjquota|bind|rbind|move|remount|subvol|context|lowerdir|upperdir)($|=|,)`)

// ownPath is what a program may be told of: what the run makes, and devices that
// only making them names.
var ownPath = regexp.MustCompile(`^(/state/work-run(/|$)|/run/plimsoll/run-…(/|$)|/plimsoll-run-…$|/srv/own/(deep/)?\.plimsoll-run-s(/|$)|/srv/own/plimsoll-run-regions/regions\.img$|` +
	`/dev/(loopN|DEVICE|nvmeXnY|mdN|md/plimsoll-UUID|mapper/plimsoll--run--…-(stripe|pool))$)`)

var ownOverlay = regexp.MustCompile(`^lowerdir=/[^,:]*/lower,upperdir=/[^,:]*/upper,workdir=/[^,:]*/work(,volatile)?$`)

var pathIn = regexp.MustCompile(`/[^ "|$,=:]*`)

// breaks returns how a line that was accepted would lead elsewhere; "" if it
// does not.
func breaks(l line.Line, w Writes) string {
	var sources []string
	for _, n := range l.Sources() {
		if n.Name == line.NameDevice {
			sources = append(sources, n.Arg)
		}
	}
	for _, argv := range w.Programs {
		for _, word := range argv {
			for _, path := range pathIn.FindAllString(strings.ReplaceAll(strings.ReplaceAll(word, "unix://", ""), `\\.`, "."), -1) {
				if !ownPath.MatchString(path) && !slices.Contains(sources, path) || filepath.Clean(path) != path {
					return fmt.Sprintf("%q names %s", argv, path)
				}
			}
		}
		var lists []string
		switch {
		case strings.HasPrefix(argv[0], "mkfs."):
			words, values, err := operands(argv)
			if err != nil {
				return fmt.Sprintf("%q has the option %v", argv, err)
			}
			if len(words) != 1 || !ownPath.MatchString(words[0]) && !slices.Contains(sources, words[0]) {
				return fmt.Sprintf("%q would write to %q", argv, words)
			}
			lists = values
		case argv[0] == "mount":
			if len(argv) != 6 && (len(argv) != 8 || argv[4] != "-o") || strings.HasPrefix(argv[len(argv)-1], "-") || strings.HasPrefix(argv[len(argv)-2], "-") {
				return fmt.Sprintf("%q is no mount of one device", argv)
			}
			if argv[3] == "overlay" {
				if !ownOverlay.MatchString(argv[5]) { // its paths were looked at above
					return fmt.Sprintf("%q has other options than its own", argv)
				}
			} else if len(argv) == 8 {
				lists = []string{argv[5]}
			}
		case argv[0] == "dockerd":
			at := slices.Index(argv, "--storage-driver")
			if !regexp.MustCompile(`^[a-z0-9-]+$`).MatchString(argv[at+1]) {
				return fmt.Sprintf("%q has no such driver", argv)
			}
		}
		for _, list := range lists {
			if elsewhere.MatchString(list) {
				return fmt.Sprintf("%q names something else in %q", argv, list)
			}
		}
	}
	for _, path := range w.Paths {
		path, _, _ = strings.Cut(path, ",")
		if !ownPath.MatchString(path) && !slices.Contains([]string{"/dev/nvme-fabrics", "/run/containerd", "/run/docker", "/sys/fs/cgroup/io.cost.model", "/sys/fs/cgroup/io.cost.qos"}, path) && !regexp.MustCompile(`^/sys/block/[A-Za-z0-9._-]+/queue/scheduler$`).MatchString(path) {
			return "it would make " + path
		}
	}
	return ""
}

// TestNoAcceptedLineNamesAnotherPlace holds for 100,000 generated lines: what
// the parser accepts has its programs name no path but the line's own sources
// and the run's directories.
func TestNoAcceptedLineNamesAnotherPlace(t *testing.T) {
	const lines = 100_000
	checks := flag.Lookup("rapid.checks")
	was := checks.Value.String()
	if err := checks.Value.Set(fmt.Sprint(lines)); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = checks.Value.Set(was) }()
	catalog := Catalog()
	var drawn, accepted, programs, optioned, hostile int
	rapid.Check(t, func(t *rapid.T) {
		text := anyLine(t)
		drawn++
		l, err := line.Parse(text)
		if err != nil {
			return
		}
		problems := catalog.Check(l)
		if len(problems) > 0 {
			for _, p := range problems {
				if strings.Contains(p.What, "option mkfs of") || strings.Contains(p.What, "option mount of") {
					hostile++
					break
				}
			}
			return
		}
		accepted++
		w, err := testPlaces.Writes("s", l)
		if err != nil {
			t.Fatal(err)
		}
		programs += len(w.Programs)
		if strings.Contains(text, "mkfs=\"-") || strings.Contains(text, "mount=\"") {
			optioned++
		}
		if why := breaks(l, w); why != "" {
			t.Fatalf("%s: %s", text, why)
		}
	})
	t.Logf("%d lines: %d accepted, of them %d with options of mkfs or mount; %d programs; %d refused for such options", drawn, accepted, optioned, programs, hostile)
	want := lines
	if testing.Short() {
		want /= 5 // as rapid has it
	}
	if drawn < want || accepted < want/10 || optioned < want/50 || programs < accepted || hostile < want/20 {
		t.Errorf("the generator shows too little")
	}
}

// The property itself sees each way out that lines once had.
func TestThePropertySeesWhatLeadsElsewhere(t *testing.T) {
	l := line.Line{Nodes: []line.Node{{Name: "loop"}}}
	for _, argv := range []string{
		"mkfs.btrfs -q -f -K -U UUID /dev/loop30 /dev/loopN", "mkfs.xfs -l logdev=/dev/loop30,size=100m /dev/loopN", "mkfs.ext4 -z FILE /dev/loopN",
		"mkfs.ext4 -d etc /dev/loopN", "mkfs.ext4 -qz FILE /dev/loopN", "mkfs.ext4 -b /dev/loopN", "mkfs.xfs -l logdev=x /dev/loopN", "mkfs.btrfs --rootdir=x /dev/loopN",
		"mkfs.ext4 loop30 /dev/loopN", "mkfs.ext4 -J device=LABEL=x /dev/loopN", "mount -n -t ext4 -o loop /dev/loopN /state/work-run/s",
		"mount -n -t xfs -o noatime,logdev=x /dev/loopN /state/work-run/s", "mount -n -t xfs -o helper=x /dev/loopN /state/work-run/s",
		"mount -n -t xfs /dev/loopN /state/work-run/../../etc", "dockerd --data-root /state/work-run/x --storage-driver ../x", "mkfs.ext4 /dev/sda",
	} {
		if breaks(l, Writes{Programs: [][]string{strings.Fields(argv)}}) == "" {
			t.Errorf("%s is taken for harmless", argv)
		}
	}
	for _, path := range []string{"/etc/x", "/srv/own/x", "/state/work-other", "/state/work-runner"} {
		if breaks(l, Writes{Paths: []string{path}}) == "" {
			t.Errorf("%s is taken for the run's", path)
		}
	}
}
