package stack

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/blockdev"
	"plimsoll/internal/host/hostfs"
	"plimsoll/internal/result"
	"plimsoll/internal/stack/line"
	"plimsoll/internal/state/journal"
	"plimsoll/internal/units"
)

// What a stack measures depends on the blocks of the disk that it stands on:
// copies of the same stack on different files differed by a third here, each
// steady in itself, and a file system made anew on the same blocks kept the
// difference. So the loop devices of all stacks stand on the same pieces of one
// file, one stack after the other, and each block of trials has a piece of its
// own, elsewhere on the disk. docs/decisions/0009 has the measurements.
const (
	// maxRegions is the number of regions that a run makes at most; later blocks reuse them in turn.
	maxRegions = 8
	// maxRegionBytes and regionShare bound the size of all regions together, in bytes and as a share of the free
	// space on their file system. One region is made in any case.
	maxRegionBytes = 32 << 30
	regionShare    = 0.25
	// spreadShare is the share of the remaining free space that is allocated for a moment, to keep regions apart from
	// each other.
	spreadShare = 0.5
)

// Regions are the pieces of files that a run's loop devices stand on, in turn.
type Regions struct {
	slots map[string][]int64     // by directory, "" for the run's own: the size of each loop device that is up at a time
	used  map[string]int         // number of loop devices in each directory that have an extent of the region
	max   int                    // number of useful regions: one for each block
	files map[string]*regionFile // by directory
	block int
	made  []result.Region
}

// regionFile is a file in a directory that loop devices stand in, which has a
// piece for each loop device of a stack in every region.
type regionFile struct {
	backing
	count  int                     // of regions
	pieces map[int][]*regionExtent // of each region, from 1
}

// regionExtent is the part of a region's file that backs one loop device.
type regionExtent struct {
	backing
	offset, bytes int64
	written       bool
	extents       []extent // on the disk, once written; nil when the file system does not report them
	number        int      // of the result.Region
}

// NewRegions returns the regions that stacks need in a run of so many blocks;
// nothing is made before a loop device is. Each element is stacks that are up at the
// same time, mostly one.
func NewRegions(together [][]line.Line, blocks int) *Regions {
	r := &Regions{
		slots: map[string][]int64{},
		max:   max(1, blocks),
		files: map[string]*regionFile{},
		used:  map[string]int{},
		block: 1,
	}
	for _, lines := range together {
		used := map[string]int{}
		for _, l := range lines {
			r.plan(l, used)
		}
	}
	return r
}

// plan reserves a slot for each loop device of a stack, behind the used ones.
func (r *Regions) plan(l line.Line, used map[string]int) {
	for _, n := range l.Sources() {
		if n.Name != loopSource.Name {
			continue
		}
		dir, _ := n.Option("dir")
		size, err := sizeOption(n, "size", defaultLoopSize)
		if err != nil {
			continue // bringing it up says so
		}
		slot := used[dir]
		used[dir]++
		if slot == len(r.slots[dir]) {
			r.slots[dir] = append(r.slots[dir], 0)
		}
		r.slots[dir][slot] = max(r.slots[dir][slot], size)
	}
}

// Begin selects the region of a block, counted from 1, for stacks that come up from now on. Earlier stacks must be
// down.
func (r *Regions) Begin(block int) {
	r.block = block
	clear(r.used)
}

// Bytes is the size of the files of one region, in all directories.
func (r *Regions) Bytes() (bytes int64) {
	for _, sizes := range r.slots {
		for _, size := range sizes {
			bytes += size
		}
	}
	return bytes
}

// Made returns the regions made so far, ordered by number.
func (r *Regions) Made() []result.Region { return slices.Clone(r.made) }

// Continue counts regions on after those that a run had before it was
// interrupted, whose files are gone.
func (r *Regions) Continue(known []result.Region) { r.made = slices.Clone(known) }

// nextExtent returns the extent for the next loop device of the stack: in the directory that the line names, or in
// the run's own.
func (b *build) nextExtent(ctx context.Context, named string, size int64) (*regionExtent, error) {
	r := b.env.Regions
	f, err := r.file(ctx, b.env, named)
	if err != nil {
		return nil, err
	}
	index := (r.block-1)%f.count + 1
	slot := r.used[named]
	r.used[named]++
	if slot >= len(f.pieces[index]) || f.pieces[index][slot].bytes < size {
		return nil, fmt.Errorf(
			"no region of %s was planned for loop device %d of stack %s",
			units.FormatSize(size),
			slot+1,
			b.name,
		)
	}
	p := f.pieces[index][slot]
	if err := p.ready(ctx, b.env); err != nil {
		return nil, err
	}
	if p.number == 0 {
		r.number(b.env.Host.Roots, f, index)
	}
	b.base.Region = p.number
	return p, nil
}

// number assigns a number to a region that was made, or made again.
func (r *Regions) number(roots hostfs.Roots, f *regionFile, index int) {
	made := result.Region{Number: len(r.made) + 1, File: f.path}
	for _, p := range f.pieces[index] {
		made.Bytes += p.bytes
		made.Extents += len(p.extents)
		p.number = made.Number
	}
	if first := f.pieces[index][0].extents; len(first) > 0 {
		made.Position = int64(first[0].physical)
	}
	if chain, err := blockdev.Chain(roots, f.path); err == nil && len(chain) > 0 {
		made.Device = chain[0].Name
	}
	r.made = append(r.made, made)
}

// file returns the file for loop devices in a directory. The first call makes it.
func (r *Regions) file(ctx context.Context, e *Env, named string) (*regionFile, error) {
	if f := r.files[named]; f != nil {
		return f, nil
	}
	parent := named
	if parent == "" {
		parent = e.Work
	}
	var regionBytes int64
	for _, size := range r.slots[named] {
		regionBytes += roundUp(size)
	}
	if err := e.checkFree(parent, regionBytes); err != nil {
		return nil, err
	}
	free, err := e.free(parent)
	if err != nil {
		return nil, err
	}
	limit := min(maxRegionBytes, int64(regionShare*float64(free)))
	path := regionsFile(parent, e.RunID)
	dir := filepath.Dir(path)
	f := &regionFile{
		backing: backing{path: path},
		count:   int(max(1, min(maxRegions, int64(r.max), limit/max(1, regionBytes)))),
		pieces:  map[int][]*regionExtent{},
	}
	e.trace("reserving %d regions of %s in %s", f.count, units.FormatSize(regionBytes), parent)
	_, err = e.Journal.Do(ctx, &journal.Dir{Path: dir}, func(string) error { return os.Mkdir(dir, 0o700) })
	if err != nil {
		return nil, fmt.Errorf("make a directory for the file of loop devices: %w", err)
	}
	if err := overwriteFilesInPlace(dir); err != nil {
		return nil, err
	}
	if err := f.reserve(r.slots[named], regionBytes, free); err != nil {
		return nil, fmt.Errorf("make the file of loop devices, %s: %w", f.path, err)
	}
	r.files[named] = f
	return f, nil
}

// reserve makes the file with the pieces of all regions, each of regionBytes bytes. File systems lay a file out in its
// order. So the gaps between regions are reserved, too, and given back when all regions are.
func (f *regionFile) reserve(sizes []int64, regionBytes, free int64) error {
	apart := regionBytes
	if f.count > 1 && allocatesAtOnce(filepath.Dir(f.path)) {
		apart = max(regionBytes, int64(spreadShare*float64(free))/int64(f.count))
		apart -= apart % fillChunk
	}
	err := f.allocate(apart*int64(f.count-1) + regionBytes)
	if errors.Is(err, unix.ENOSPC) && apart > regionBytes {
		// Another program took the free space: leave no gaps.
		apart = regionBytes
		if err = os.Remove(f.path); err == nil {
			err = f.allocate(regionBytes * int64(f.count))
		}
	}
	if err != nil {
		return err
	}
	for index := 1; index <= f.count; index++ {
		offset := apart * int64(index-1)
		for _, size := range sizes {
			f.pieces[index] = append(f.pieces[index], &regionExtent{backing: f.backing, offset: offset, bytes: size})
			offset += roundUp(size)
		}
		if index == f.count || apart == regionBytes {
			continue
		}
		if err := f.giveBack(offset, apart-regionBytes); err != nil {
			return err
		}
	}
	return nil
}

// roundUp makes pieces begin where chunks do.
func roundUp(bytes int64) int64 { return (bytes + fillChunk - 1) / fillChunk * fillChunk }

// giveBack frees a part of the file.
func (b *backing) giveBack(offset, bytes int64) error {
	file, err := b.open(os.O_RDWR)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := unix.Fallocate(
		int(file.Fd()),
		unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE,
		offset,
		bytes,
	); err != nil {
		return fmt.Errorf("give back the space between two regions: %w", err)
	}
	return nil
}

// ready writes the piece from start to end, once, so that no I/O meets a block
// that was never written and the first stack on it is no worse off than the
// next; and takes away what would name the last stack's layers to the tools of
// the next. Where a stack gave blocks back, or the file system moved them, the
// region is another one from then on.
func (p *regionExtent) ready(ctx context.Context, e *Env) error {
	if p.written {
		now, err := p.extentsNow()
		if err != nil {
			return err
		}
		if !slices.Equal(now, p.extents) {
			p.written, p.number = false, 0
		}
	}
	if p.written {
		return p.blank()
	}
	e.trace("writing a region of the disk: %s", units.FormatSize(p.bytes))
	if err := p.fill(ctx); err != nil {
		return fmt.Errorf("write the file of a loop device, %s: %w", p.path, err)
	}
	extents, err := p.extentsNow()
	if err != nil {
		return err
	}
	p.written, p.extents = true, extents
	return nil
}

// extentsNow returns where the piece is on the disk.
func (p *regionExtent) extentsNow() ([]extent, error) {
	file, err := p.open(os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return extentsOf(file, p.offset, p.bytes)
}

// fillChunk is the size of a write; a multiple of any block size.
const fillChunk = 4 << 20

// fill writes the whole extent, with direct I/O where possible, with data that cannot be compressed or deduplicated.
func (p *regionExtent) fill(ctx context.Context) (err error) {
	file, err := p.open(os.O_WRONLY | unix.O_DIRECT)
	if errors.Is(err, unix.EINVAL) {
		file, err = p.open(os.O_WRONLY)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	// Anonymous memory begins at a page, as O_DIRECT wants it.
	chunk, err := unix.Mmap(-1, 0, fillChunk, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unix.Munmap(chunk)) }()
	random := rand.NewChaCha8([32]byte{})
	_, _ = random.Read(chunk)
	for offset := int64(0); offset < p.bytes; offset += fillChunk {
		if err := ctx.Err(); err != nil {
			return err
		}
		// Chunks that are all alike could be stored once.
		_, _ = random.Read(chunk[:4096])
		if _, err := file.WriteAt(chunk[:min(fillChunk, p.bytes-offset)], p.offset+offset); err != nil {
			return err
		}
	}
	return file.Sync()
}

// blank overwrites both ends of the extent, which hold the signatures of file systems, arrays and volume groups.
func (p *regionExtent) blank() (err error) {
	file, err := p.open(os.O_WRONLY)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	zeros := make([]byte, min(fillChunk, p.bytes))
	for _, at := range []int64{0, p.bytes - int64(len(zeros))} {
		if _, err := file.WriteAt(zeros, p.offset+at); err != nil {
			return err
		}
	}
	if err := file.Sync(); err != nil {
		return err
	}
	return unix.Fadvise(int(file.Fd()), p.offset, p.bytes, unix.FADV_DONTNEED)
}

func freeBytes(dir string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, fmt.Errorf("free space of %s: %w", dir, err)
	}
	return int64(st.Bavail) * st.Bsize, nil
}

// allocatesAtOnce reports whether the file system of dir reserves any space in
// a moment, and on a disk.
func allocatesAtOnce(dir string) bool {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return false
	}
	return slices.Contains([]int64{unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC}, st.Type)
}

// overwriteFilesInPlace makes btrfs overwrite the blocks of files in dir in their place.
func overwriteFilesInPlace(dir string) error {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return err
	}
	if st.Type != unix.BTRFS_SUPER_MAGIC {
		return nil
	}
	return overwriteInPlace(dir)
}
