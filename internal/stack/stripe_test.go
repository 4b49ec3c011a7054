package stack

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"plimsoll/internal/host/blockdev"
	"plimsoll/internal/host/devmapper"
	"plimsoll/internal/host/hostfs"
	"plimsoll/internal/host/hostinfo"
	"plimsoll/internal/observe/honesty"
	"plimsoll/internal/problem"
	"plimsoll/internal/result"
	"plimsoll/internal/testkit/hosttest"
	"plimsoll/internal/workload"
)

// needKernel skips where the kernel lacks what a test needs. The lab has it:
// labtest runs these tests there.
func needKernel(t *testing.T, modules ...string) {
	t.Helper()
	for _, m := range modules {
		if part := hostinfo.New().Kernel(m); part.OK == hostinfo.No {
			t.Skipf(
				"NOT TESTED HERE: %s: %s; make lab-test runs this test in a virtual machine that has it",
				part.Name,
				part.Why,
			)
		}
	}
}

// threeDevices gives three spare devices, which e then allows to overwrite, or
// as many loop devices.
func threeDevices(e *Env, size string) string {
	spare := hosttest.Spare(3)
	if spare == nil {
		loop := "loop(size=" + size + ")"
		return strings.Join([]string{loop, loop, loop}, " + ")
	}
	for _, d := range spare {
		e.Allow = append(e.Allow, Permission{Device: d})
	}
	return strings.Join(spare, " + ")
}

// fio runs fio on a stack with the given options, and gives what its devices
// counted meanwhile and whether that agrees.
func (s *Place) fio(t *testing.T, m result.Measurement, options ...string) (blockdev.Counters, result.Honesty) {
	t.Helper()
	file := s.Target.Path
	if !s.Target.Block {
		file += "/file"
	}
	argv := append(
		[]string{
			"fio",
			"--name=x",
			"--filename=" + file,
			"--direct=1",
			"--ioengine=libaio",
			"--iodepth=16",
			fmt.Sprintf("--size=%d", allBytes),
			"--bs=4096",
		},
		options...)
	if err := s.base.Flush(); err != nil {
		t.Fatal(err)
	}
	before, err := blockdev.ReadCounters(hostfs.Default(), s.Devices)
	if err != nil {
		t.Fatal(err)
	}
	_, exit, err := s.Run(
		t.Context(),
		&workload.Step{Argv: argv},
		filepath.Join(s.base.env.Scratch, strings.ReplaceAll(t.Name(), "/", "_")),
		nil,
	)
	if err != nil || exit.Code != 0 {
		t.Fatalf("%v: %v, %+v", argv, err, exit)
	}
	after, err := blockdev.ReadCounters(hostfs.Default(), s.Devices)
	if err != nil {
		t.Fatal(err)
	}
	counted := after.Since(before)
	return counted, honesty.Judge(m, counted, 1)
}

const (
	allBytes    = 24 << 20
	verifiedIOs = allBytes / 4096
)

func TestAStripeServesFromAllItsDevices(t *testing.T) {
	hosttest.Exclusive(t)
	needKernel(t, "dm-mod", "md-mod", "raid0")
	for _, test := range []struct {
		layers string
		soak   bool
	}{
		{"lvm-stripe", true},
		{"lvm-stripe(stripe=16KiB) > xfs", false},
		{"lvm-stripe(stripe=256KiB) > ext4 > volume", true},
		{"raid0(chunk=64KiB)", false},
		{"raid0(chunk=16KiB) > xfs", true},
		{"raid0(chunk=4KiB) > ext4 > overlay2", true},
	} {
		t.Run(test.layers, func(t *testing.T) {
			if test.soak {
				hosttest.Soak(t)
			}
			e := newEnv(t)
			s := up(t, e, threeDevices(e, "160MiB")+" > "+test.layers)
			if s.factNamed("stripe") == "" {
				t.Errorf("nothing is reported the stripe: %+v", s.Facts)
			}
			if bottoms := countRole(s, "bottom"); hosttest.Spare(3) != nil && bottoms != 3 {
				t.Errorf("%d devices hold the bytes of a stripe over 3: %+v", bottoms, s.Devices)
			}
			// Written with checksums, and read back: what a stripe mixed up or
			// lost is found.
			writes := result.Measurement{
				Operations: result.ReadsWrites(result.Operation{}, result.Operation{Count: verifiedIOs, Bytes: allBytes}),
			}
			_, honest := s.fio(t, writes, "--rw=randwrite", "--verify=crc32c", "--do_verify=0")
			if honest.Source != result.SourceDevice {
				t.Errorf("direct writes count as %s: %s", honest.Source, honest.Reason)
			}
			reads := result.Measurement{
				Operations: result.ReadsWrites(result.Operation{Count: verifiedIOs, Bytes: allBytes}, result.Operation{}),
			}
			counted, honest := s.fio(t, reads, "--rw=randread", "--verify=crc32c")
			if honest.Source != result.SourceDevice || *honest.Ratio < 0.99 || *honest.Ratio > 1.05 {
				t.Errorf("direct reads count as %s: %s", honest.Source, honest.Reason)
			}
			members, total := 0, uint64(0)
			for _, c := range counted {
				if c.Device.Depth == 1 {
					members++
					total += c.Reads
				}
			}
			for _, c := range counted {
				if share := 3 * float64(c.Reads) / float64(total); c.Device.Depth == 1 && (share < 0.95 || share > 1.05) {
					t.Errorf("%s served %.3f of its third of %d reads: %s", c.Device.Name, share, total, honest.Reason)
				}
			}
			if members != 3 || total < verifiedIOs*99/100 {
				t.Errorf("%d members served %d of %d reads", members, total, verifiedIOs)
			}
			t.Log(honest.Reason)
		})
	}
}

func countRole(s *Place, role string) (n int) {
	for _, d := range s.Devices {
		if d.Role == role {
			n++
		}
	}
	return n
}

func TestThinPools(t *testing.T) {
	hosttest.Exclusive(t)
	needKernel(t, "dm-mod", "dm-thin-pool")
	device := "loop(size=1536MiB)"
	if spare := hosttest.Spare(4); spare != nil {
		device = spare[3]
	}
	for _, test := range []struct {
		line   string
		source result.Source
		soak   bool
	}{
		{device + " > thin(direct-lvm) > devicemapper", result.SourceDevice, false},
		{device + " > ext4 > thin(loop-lvm) > devicemapper", result.SourceMemory, true},
		{device + " > xfs > devicemapper", result.SourceMemory, true},
	} {
		t.Run(strings.ReplaceAll(test.line, "/", "-"), func(t *testing.T) {
			if test.soak {
				hosttest.Soak(t)
			}
			e := newEnv(t)
			for _, d := range hosttest.Spare(4) {
				e.Allow = append(e.Allow, Permission{Device: d})
			}
			s := up(t, e, test.line)
			if driver := s.factNamed("storage driver"); driver != "devicemapper" {
				t.Errorf("storage driver %q", driver)
			}
			if s.Target.SizeBytes < 300<<20 || s.Target.SizeBytes > 3<<30 {
				t.Errorf("%d bytes are said to be free", s.Target.SizeBytes)
			}
			s.fio(t, result.Measurement{}, "--rw=write", "--verify=crc32c", "--do_verify=0", "--end_fsync=1")
			reads := result.Measurement{
				Operations: result.ReadsWrites(result.Operation{Count: verifiedIOs, Bytes: allBytes}, result.Operation{}),
			}
			_, honest := s.fio(t, reads, "--rw=randread", "--verify=crc32c")
			if honest.Source != test.source {
				t.Errorf("reads count as %s, want %s: %s", honest.Source, test.source, honest.Reason)
			}
			for _, d := range s.Devices {
				t.Logf("%d %s %s", d.Depth, d.Name, d.Role)
			}
			t.Log(honest.Reason)
		})
	}
}

func TestLayersThatTheKernelLacks(t *testing.T) {
	hosttest.Exclusive(t)
	for text, module := range map[string]string{
		"loop + loop > lvm-stripe":                      "dm-mod",
		"loop + loop > raid0":                           "md-mod",
		"loop > thin(direct-lvm) > devicemapper":        "dm-thin-pool",
		"loop > ext4 > thin(loop-lvm) > devicemapper":   "dm-thin-pool",
		"loop > ext4 > devicemapper":                    "dm-thin-pool",
		"loop + loop + loop > raid0(chunk=1MiB) > ext4": "raid0",
	} {
		t.Run(text, func(t *testing.T) {
			if part := hostinfo.New().Kernel(module); part.OK != hostinfo.No {
				t.Skipf("this kernel has %s", part.Name)
			}
			err := newEnv(t).Check(t.Context(), parse(t, text), 1<<20)
			if !isProblem(err, problem.Unsupported, "", "") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestEveryDeviceOfAListIsProtected: a permission for one is none for another,
// and what is wrong with several is told at once.
func TestEveryDeviceOfAListIsProtected(t *testing.T) {
	hosttest.Exclusive(t)
	a, b, c := disk(t, 16), disk(t, 16), disk(t, 16)
	run(t, "mkfs.ext4", "-q", c)
	for _, test := range []struct {
		line, destroy string
		need          int64
		says          []string // nothing when it may be used
	}{
		{a + " + " + b, a + " " + b, 0, nil},
		{a + " + " + b, a + " " + b, 32 << 20, nil},
		{a + " + " + b, a + " " + b, 33 << 20, []string{a, b, "too small"}},
		{a + " + " + b, a, 0, []string{b, "--destroy does not name it", "--destroy " + b}},
		{a + " + " + b, "", 0, []string{"--destroy " + a, "--destroy " + b}},
		{a + " + " + c, a + " " + c, 0, []string{c, "ext4", "=signature"}},
		{a + " + " + c, a + " " + c + "=signature", 0, nil},
		{b + " + " + c, "", 0, []string{"ext4", "--destroy " + b}},
		{a + " + " + strings.Replace(a, "/dev/", "/dev/../dev/", 1), a, 0, []string{"the same device"}},
	} {
		t.Run(test.line+" allowed "+test.destroy, func(t *testing.T) {
			e := newEnv(t)
			for _, d := range strings.Fields(test.destroy) {
				p, err := ParsePermission(d)
				if err != nil {
					t.Fatal(err)
				}
				e.Allow = append(e.Allow, p)
			}
			parts, err := resolve(parse(t, test.line+" > raid0"))
			if err != nil {
				t.Fatal(err)
			}
			err = e.checkSources(context.Background(), parts[:2], test.need)
			if len(test.says) == 0 {
				if err != nil {
					t.Errorf("refused: %v", err)
				}
				return
			}
			if problem.Of(err, problem.Protected) == nil {
				t.Fatalf("got %v", err)
			}
			for _, want := range test.says {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("it does not say %q: %v", want, err)
				}
			}
		})
	}
}

func TestStripesStandOnEachOfTheirDevices(t *testing.T) {
	hosttest.Exclusive(t)
	e := newEnv(t)
	a, b := disk(t, 16), disk(t, 16)
	single, both := e.Occupies(parse(t, a)), e.Occupies(parse(t, a+" + "+b+" + loop > raid0 > ext4"))
	if len(single) != 1 || len(both) != 3 || both[0] != single[0] || both[1] == both[0] || both[1] == "" || both[2] != "" {
		t.Errorf("%s occupies %q; with %s and a loop device %q", a, single, b, both)
	}
	marks := Marks(parse(t, "loop + loop > raid0"))
	if len(marks) != 1 || marks[0] != result.MarkLoop {
		t.Errorf("marks %v", marks)
	}
	plan, err := Plan(parse(t, a+" + "+b+" > lvm-stripe > xfs"))
	if text := fmt.Sprint(
		plan,
	); err != nil || !strings.Contains(text, a) || !strings.Contains(text, b) ||
		!strings.Contains(text, "volume group") {
		t.Errorf("plan %q, %v", plan, err)
	}
}

func TestNamesOfGroupsAreLVMs(t *testing.T) {
	b := &build{env: &Env{RunID: "my run/ÄÖ-20261121-204340.367923" + strings.Repeat("x", 200)}}
	first, second := b.groupName(), b.groupName()
	if first == second || badGroupChars.MatchString(first) || len(first) > 100 {
		t.Errorf("%q, %q", first, second)
	}
	b.env.RunID = strings.Repeat("-", 100)
	if name := devmapper.VolumeName(b.groupName(), "pool_tdata"); len(name) > 127 {
		t.Errorf("%s has %d characters", name, len(name))
	}
	id := volumeUUID()
	var lengths []string
	for _, f := range strings.Split(id, "-") {
		lengths = append(lengths, strconv.Itoa(len(f)))
	}
	if got := strings.Join(lengths, "-"); got != "6-4-4-4-4-4-6" {
		t.Errorf("%s is %s", id, got)
	}
}
