package hostinfo

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/rogpeppe/go-internal/txtar"
	"golang.org/x/sys/unix"

	"plimsoll/internal/host/hostfs"
	"plimsoll/internal/result"
)

// recorded answers the system calls of a recorded host.
type recorded struct {
	ring, maps error
	free       uint64
	limit      string                        // text of /proc/PID/limits
	atomic     map[string]result.AtomicUnits // by directory; others fail
}

func (r recorded) ioURing() error                   { return r.ring }
func (r recorded) bpf() error                       { return r.maps }
func (r recorded) freeBytes(string) (uint64, error) { return r.free, nil }
func (r recorded) atomicWrites(dir string) (result.AtomicUnits, error) {
	u, known := r.atomic[dir]
	if !known {
		return u, fmt.Errorf("make a file without a name in %s: %w", dir, unix.EOPNOTSUPP)
	}
	return u, nil
}
func (recorded) runs() []string   { return nil }
func (r recorded) limits() string { return r.limit }

// unpack makes a recorded host of testdata/NAME.txtar below a new directory.
// Files in bin/ are programs; "links" lists symbolic links; proc/config is
// packed as the kernel packs it.
func unpack(t *testing.T, name string) (*Host, string) {
	t.Helper()
	root := t.TempDir()
	archive, err := txtar.ParseFile("testdata/" + name + ".txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range archive.Files {
		switch f.Name {
		case "links":
			for line := range strings.Lines(string(f.Data)) {
				at, to, _ := strings.Cut(strings.TrimSpace(line), " -> ")
				link(t, filepath.Join(root, at), to)
			}
		case "proc/config":
			var packed bytes.Buffer
			z := gzip.NewWriter(&packed)
			_, _ = z.Write(f.Data)
			_ = z.Close()
			write(t, filepath.Join(root, "proc/config.gz"), packed.Bytes())
		default:
			write(t, filepath.Join(root, f.Name), f.Data)
		}
	}
	return &Host{
		Roots: hostfs.Roots{Proc: filepath.Join(root, "proc"), Sys: filepath.Join(root, "sys")},
		Dev:   filepath.Join(root, "dev"),
		Etc:   filepath.Join(root, "etc"), Lib: filepath.Join(root, "lib"), Boot: filepath.Join(root, "boot"),
		Run: filepath.Join(root, "var/run"), Path: []string{filepath.Join(root, "bin")}, State: "/var/lib/plimsoll",
		sbin: []string{filepath.Join(root, "sbin")}, calls: recorded{free: 100 << 30, limit: limitsOf("20000", "8388608")},
	}, root
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	mode := os.FileMode(0o644)
	if dir := filepath.Base(filepath.Dir(path)); dir == "bin" || dir == "sbin" {
		mode = 0o755
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, mode); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, name, to string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	_ = os.Remove(name)
	if err := os.Symlink(to, name); err != nil {
		t.Fatal(err)
	}
}

// TestRecorded tells stories on recorded hosts: it changes one thing of a
// host and looks again.
//
//	host NAME             take testdata/NAME.txtar
//	write path=PATH       write the input to a file
//	append path=PATH      add the input to a file
//	remove path=PATH      remove a file or a tree
//	link path=PATH to=TO  make a symbolic link
//	calls ring=E bpf=E free=N   what the kernel answers;
//	      atomic=(DIR,DIR)      the directory with atomic writes of 4 to 16 KiB, and the one without
//	devices [NAME...]     the devices, or some of them, with what speaks against each
//	find NAME...          what each name finds
//	environment           the environment, as stored
//	doctor [SECTION]      the report, or one of its sections
//	quick                 whether quick can run
func TestRecorded(t *testing.T) {
	datadriven.Walk(t, "testdata/stories", func(t *testing.T, path string) {
		var h *Host
		var root string
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			arg := func(key string) string {
				var value string
				d.MaybeScanArgs(t, key, &value)
				return value
			}
			target := filepath.Join(root, arg("path"))
			var out strings.Builder
			switch d.Cmd {
			case "host":
				h, root = unpack(t, d.CmdArgs[0].Key)
			case "write":
				write(t, target, []byte(d.Input+"\n"))
			case "append":
				old, _ := os.ReadFile(target)
				write(t, target, append(old, d.Input+"\n"...))
			case "remove":
				if err := os.RemoveAll(target); err != nil {
					t.Fatal(err)
				}
			case "link":
				link(t, target, arg("to"))
			case "calls":
				h.calls = calls(t, d)
			case "devices":
				tellDevices(&out, h, d)
			case "find":
				for _, a := range d.CmdArgs {
					tellFound(&out, h, a.Key)
				}
			case "environment":
				b, err := json.MarshalIndent(h.Environment(t.Context()), "", "  ")
				if err != nil {
					t.Fatal(err)
				}
				out.Write(b)
			case "doctor":
				tellSections(&out, h.Doctor(t.Context(), someFileSystems), d.CmdArgs, func(s Section) []Item { return s.Items })
			case "brief":
				tellSections(&out, h.Doctor(t.Context(), someFileSystems), d.CmdArgs, Section.Brief)
			case "mounts":
				mounts, err := h.Mounts()
				for _, m := range mounts {
					fmt.Fprintf(&out, "%s: %s, %d GiB free\n", m.Dir, m.FSType, m.FreeBytes>>30)
				}
				if err != nil {
					fmt.Fprintln(&out, err)
				}
			case "quick":
				tellQuick(&out, h.Doctor(t.Context(), someFileSystems).Quick)
			default:
				t.Fatalf("unknown command %q", d.Cmd)
			}
			return strings.ReplaceAll(out.String(), root, "")
		})
	})
}

func calls(t *testing.T, d *datadriven.TestData) recorded {
	r := recorded{free: 100 << 30, limit: limitsOf("20000", "8388608")}
	errnos := map[string]error{"EPERM": unix.EPERM, "ENOSYS": unix.ENOSYS, "EACCES": unix.EACCES}
	for _, a := range d.CmdArgs {
		switch a.Key {
		case "ring":
			r.ring = errnos[a.Vals[0]]
		case "bpf":
			r.maps = errnos[a.Vals[0]]
		case "free":
			d.ScanArgs(t, "free", &r.free)
		case "atomic":
			r.atomic = map[string]result.AtomicUnits{a.Vals[0]: {Min: 4096, Max: 16384}, a.Vals[1]: {}}
		}
	}
	return r
}

func tellDevices(out *strings.Builder, h *Host, d *datadriven.TestData) {
	devices, err := h.Devices()
	if err != nil {
		fmt.Fprintln(out, "error:", err)
		return
	}
	for _, dev := range devices {
		if len(d.CmdArgs) == 0 || d.HasArg(dev.Name) {
			tellDevice(out, dev)
		}
	}
}

func tellDevice(out *strings.Builder, d Device) {
	fmt.Fprintf(out, "%s %s %d bytes, model %q, serial %q, firmware %q", d.Path, d.MajMin, d.SizeBytes, d.Model,
		d.Serial, d.Firmware)
	if d.Scheduler != "" {
		fmt.Fprintf(out, ", %s, %s", d.Scheduler, d.WriteCache)
	}
	if d.AtomicWrites != nil {
		fmt.Fprintf(out, ", atomic writes %s", d.AtomicWrites)
	}
	if d.Rotational {
		out.WriteString(", rotational")
	}
	if d.Partition {
		out.WriteString(", partition")
	}
	fmt.Fprintln(out)
	for _, id := range d.IDs {
		fmt.Fprintf(out, "  id %s\n", id)
	}
	if n := d.Namespace; n != nil {
		fmt.Fprintf(out, "  namespace %s of %s, UUID %s, NGUID %s, blocks %d+%d, multipath %t\n", n.NSID, n.NQN, d.UUID,
			d.NGUID, n.BlockBytes, n.MetaBytes, n.Multipath)
		for _, path := range n.Paths {
			fmt.Fprintf(out, "  path %s\n", path)
		}
	}
	for _, p := range d.Problems {
		fmt.Fprintf(out, "  %s: %s\n    > %s\n", p.Cause, p.Why, p.Remedy)
	}
	if d.Usable() {
		fmt.Fprintln(out, "  may be used")
	}
}

func tellFound(out *strings.Builder, h *Host, name string) {
	// A path outside of /dev is below the tree.
	path := name
	if strings.HasPrefix(name, "/") && !strings.HasPrefix(name, "/dev/") {
		path = filepath.Join(filepath.Dir(h.Dev), name)
	}
	d, err := h.Find(path)
	if err != nil {
		fmt.Fprintf(out, "%s: %T: %v\n", name, err, err)
		return
	}
	fmt.Fprintf(out, "%s: %s\n", name, d.Name)
}

func tellSections(out *strings.Builder, r Report, only []datadriven.CmdArg, items func(Section) []Item) {
	for _, s := range r.Sections {
		if len(only) > 0 && !strings.HasPrefix(s.Name, only[0].Key) {
			continue
		}
		fmt.Fprintf(out, "%s:\n", s.Name)
		for _, i := range items(s) {
			fmt.Fprintf(out, "  %-7s %s\n", i.OK, strings.TrimSuffix(i.Name+": "+i.Value, ": "))
			if i.Why != "" {
				fmt.Fprintf(out, "          because %s\n", i.Why)
			}
			if i.Remedy != "" {
				fmt.Fprintf(out, "          > %s\n", i.Remedy)
			}
		}
	}
}

func tellQuick(out *strings.Builder, q Quick) {
	fmt.Fprintf(out, "can run: %v\n", q.CanRun)
	for _, p := range q.Missing {
		fmt.Fprintf(out, "missing: %s: %s\n  > %s\n", p.What, p.Why, p.Remedy)
	}
	for _, p := range q.Warnings {
		fmt.Fprintf(out, "warning: %s: %s\n  > %s\n", p.What, p.Why, p.Remedy)
	}
}

// someFileSystems are those that the hosts of stories are examined for.
var someFileSystems = []FileSystem{{Name: "ext4", Package: "e2fsprogs", KernelOption: "EXT4_FS", DirectIO: true},
	{Name: "xfs", Package: "xfsprogs", KernelOption: "XFS_FS", DirectIO: true},
	{Name: "btrfs", Package: "btrfs-progs", KernelOption: "BTRFS_FS", DirectIO: true}}
