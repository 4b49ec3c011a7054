package stack

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"plimsoll/internal/result"
	"plimsoll/internal/stack/line"
	"plimsoll/internal/testkit/hosttest"
)

// onRegions gives an environment whose stacks stand on regions, of which the
// test takes the files away itself, as a run does.
func onRegions(t *testing.T, blocks int, lines ...string) *Env {
	t.Helper()
	hosttest.Exclusive(t)
	e := newEnv(t)
	e.Regions = NewRegions(oneByOne(t, lines...), blocks)
	t.Cleanup(func() {
		for _, p := range e.Journal.Pending() {
			if err := e.Journal.Undo(context.Background(), p); err != nil {
				t.Error(err)
			}
		}
	})
	return e
}

// oneByOne are stacks of which one is up at a time.
func oneByOne(t *testing.T, texts ...string) (all [][]line.Line) {
	t.Helper()
	for _, text := range texts {
		all = append(all, []line.Line{parse(t, text)})
	}
	return all
}

// bringUp brings a stack up in a block, calls use, and takes it down.
func bringUp(t *testing.T, e *Env, block int, text string, use func(*Place)) *Place {
	t.Helper()
	e.Regions.Begin(block)
	s, err := e.upAlone(t.Context(), "s", parse(t, text))
	if err != nil {
		t.Fatal(err)
	}
	if use != nil {
		use(s)
	}
	if err := s.base.Down(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// standsOn returns the part of a file that the stack's loop device stands on.
func standsOn(t *testing.T, s *Place) regionExtent {
	t.Helper()
	i := slices.IndexFunc(s.Devices, func(d result.Device) bool { return strings.HasPrefix(d.Name, "loop") })
	if i < 0 {
		t.Fatalf("no loop device among %+v", s.Devices)
	}
	read := func(name string) string {
		b, err := os.ReadFile("/sys/block/" + s.Devices[i].Name + "/loop/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(b))
	}
	var st unix.Stat_t
	if err := unix.Stat(read("backing_file"), &st); err != nil {
		t.Fatal(err)
	}
	p := regionExtent{backing: backing{path: read("backing_file"), device: st.Dev, inode: st.Ino}}
	for name, to := range map[string]*int64{"offset": &p.offset, "sizelimit": &p.bytes} {
		n, err := strconv.ParseInt(read(name), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		*to = n
	}
	return p
}

// In a block all stacks stand on the same blocks of the disk; each block has
// blocks of its own, until there are no more regions.
func TestStacksOfABlockShareARegion(t *testing.T) {
	lines := []string{
		"loop(size=64MiB)",
		"loop(size=320MiB) > xfs",
		"loop(size=128MiB) > btrfs",
		"loop(size=64MiB) > ext4",
	}
	e := onRegions(t, 3, lines...)
	var pieces []regionExtent // of each block
	positions := map[int]int64{}
	for block := 1; block <= 4; block++ {
		for i, text := range lines {
			s := bringUp(t, e, block, text, func(s *Place) {
				on := standsOn(t, s)
				if i == 0 {
					pieces = append(pieces, on)
					if s.Target.SizeBytes != 64<<20 || on.bytes != 64<<20 {
						t.Errorf("%s has %d bytes, and its loop device %d", text, s.Target.SizeBytes, on.bytes)
					}
				}
				if on.path != pieces[block-1].path || on.offset != pieces[block-1].offset {
					t.Errorf("block %d: %s stands on %+v, others on %+v", block, text, on, pieces[block-1])
				}
			})
			if want := (block-1)%3 + 1; s.base.Region != want {
				t.Errorf("block %d: %s stands on region %d, want %d", block, text, s.base.Region, want)
			}
		}
	}
	known := e.Regions.Made()
	if len(known) != 3 || pieces[0].offset == pieces[1].offset || pieces[0].offset != pieces[3].offset {
		t.Fatalf("regions %+v, pieces %+v", known, pieces)
	}
	for _, r := range known {
		if r.Bytes != 320<<20 || r.Extents == 0 || r.Device == "" {
			t.Errorf("region %+v", r)
		}
		for n, position := range positions {
			if distance := max(position-r.Position, r.Position-position); distance < 1<<30 {
				t.Errorf("regions %d and %d lie %d bytes apart: they are not spread", n, r.Number, distance)
			}
		}
		positions[r.Number] = r.Position
	}
	// What lies between them was given back: how far they are apart depends on how much is free.
	var st unix.Stat_t
	if err := unix.Stat(pieces[0].path, &st); err != nil || st.Blocks*512 > 3*320<<20+1<<20 || st.Size < 2<<30 {
		t.Errorf("the file is %d bytes long and takes %d: %v", st.Size, st.Blocks*512, err)
	}
}

// No I/O meets a block that was never written: not of the first stack on a
// region either.
func TestARegionIsWrittenOnce(t *testing.T) {
	e := onRegions(t, 1, "loop(size=64MiB)")
	extentsOf := func(s *Place) []extent {
		on := standsOn(t, s)
		extents, err := on.extentsNow()
		if err != nil {
			t.Fatal(err)
		}
		return extents
	}
	var first, second []extent
	bringUp(t, e, 1, "loop(size=64MiB)", func(s *Place) { first = extentsOf(s) })
	bringUp(t, e, 1, "loop(size=64MiB) > ext4", func(s *Place) { second = extentsOf(s) })
	if len(first) == 0 || !slices.Equal(first, second) {
		t.Errorf("it lay at %v, and then at %v", first, second)
	}
	var bytes uint64
	for _, x := range first {
		bytes += x.length
	}
	if bytes != 64<<20 {
		t.Errorf("%d bytes of it were written", bytes)
	}
}

// Whatever a stack does, its loop device keeps the blocks of the file.
func TestLoopDevicesRefuseDiscards(t *testing.T) {
	e := onRegions(t, 1, "loop(size=128MiB)")
	bringUp(t, e, 1, "loop(size=64MiB)", func(s *Place) {
		out, err := exec.Command("blkdiscard", "/dev/"+s.Devices[0].Name).CombinedOutput()
		if err == nil {
			t.Errorf("it discarded: %s", out)
		}
	})
	bringUp(t, e, 1, `loop(size=128MiB) > btrfs(mount="discard=async")`, nil)
}

// A region of which blocks were taken away is another one: the next stack says
// so, and stands on blocks that were written.
func TestARegionThatLostBlocksIsAnother(t *testing.T) {
	e := onRegions(t, 1, "loop(size=64MiB)")
	var on regionExtent
	bringUp(t, e, 1, "loop(size=64MiB)", func(s *Place) { on = standsOn(t, s) })
	if err := on.giveBack(on.offset+1<<20, 32<<20); err != nil {
		t.Fatal(err)
	}
	s := bringUp(t, e, 1, "loop(size=64MiB)", nil)
	if s.base.Region != 2 || len(e.Regions.Made()) != 2 {
		t.Errorf("it stands on region %d of %+v", s.base.Region, e.Regions.Made())
	}
}

// Loop devices that are joined have a file each, in the same region.
func TestJoinedLoopDevicesHaveAFileEach(t *testing.T) {
	r := NewRegions(oneByOne(t,
		"loop(size=64MiB) + loop(size=128MiB) > raid0", "loop(size=96MiB)", "loop(size=1MiB, dir=/srv)", "tmpfs(size=1GiB)",
	), 5)
	if !slices.Equal(r.slots[""], []int64{96 << 20, 128 << 20}) || !slices.Equal(r.slots["/srv"], []int64{1 << 20}) ||
		len(r.slots) != 2 {
		t.Errorf("files of %v", r.slots)
	}
}

// Stacks that are up at the same time stand on pieces of their own: on the same one,
// each would write over the other's file system.
func TestStacksThatAreUpTogetherHavePiecesOfTheirOwn(t *testing.T) {
	const small, large = "loop(size=32MiB) > ext4", "loop(size=48MiB) > ext4"
	e := onRegions(t, 1)
	e.Regions = NewRegions([][]line.Line{{parse(t, small)}, {parse(t, small), parse(t, large)}}, 1)
	e.Regions.Begin(1)
	a, err := e.upAlone(t.Context(), "a", parse(t, small))
	if err != nil {
		t.Fatal(err)
	}
	b, err := e.upAlone(t.Context(), "b", parse(t, large))
	if err != nil {
		t.Fatal(err)
	}
	first, second := standsOn(t, a), standsOn(t, b)
	if first.path == second.path && first.offset < second.offset+second.bytes && second.offset < first.offset+first.bytes {
		t.Errorf(
			"both stand on %s: %d bytes from %d, and %d from %d",
			first.path,
			first.bytes,
			first.offset,
			second.bytes,
			second.offset,
		)
	}
	for _, p := range []*Place{b, a} {
		if err := p.base.Down(t.Context()); err != nil {
			t.Error(err)
		}
	}
	again := bringUp(t, e, 1, small, func(s *Place) {
		if at := standsOn(t, s); at.offset != first.offset {
			t.Errorf("alone it stands %d bytes into the file, and not where it did", at.offset)
		}
	})
	if again.base.Region != a.base.Region {
		t.Errorf("regions %d and %d", a.base.Region, again.base.Region)
	}
}

// How many regions there are depends on the room: one is made in any case, and
// where not even that fits, it is said before anything is.
func TestRegionsLeaveRoom(t *testing.T) {
	e := onRegions(t, 30, "loop(size=64MiB)")
	dir := filepath.Join(t.TempDir(), "small")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=200m", "tmpfs", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	for size, want := range map[string]int{"16MiB": 3, "128MiB": 1, "512MiB": 0} {
		text := "loop(size=" + size + ", dir=" + dir + ", direct-io=off)"
		e.Regions = NewRegions(oneByOne(t, text), 30)
		s, err := e.upAlone(t.Context(), "s", parse(t, text))
		if want == 0 {
			if err == nil || !strings.Contains(err.Error(), "free") {
				t.Errorf("%s: %v", size, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := e.Regions.files[dir].count; got != want {
			t.Errorf("%s: %d regions, want %d", size, got, want)
		}
		if err := s.base.Down(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, p := range e.Journal.Pending() {
			if err := e.Journal.Undo(t.Context(), p); err != nil {
				t.Fatal(err)
			}
		}
	}
}
