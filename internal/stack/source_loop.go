package stack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"plimsoll/internal/problem"
	"plimsoll/internal/result"
	"plimsoll/internal/stack/line"
	"plimsoll/internal/state/journal"
)

const defaultLoopSize = "1GiB"

// loopSource is a loop device over a file of the run's own.
var loopSource = &layer{
	Def: line.Def{
		Name: "loop", Summary: "a loop device over a new file, removed after the run", Below: line.Nothing, Gives: line.Block,
		Options: []line.OptionDef{
			{Key: "size", Value: line.Size, Summary: "size of the device", Default: defaultLoopSize},
			{
				Key:     "direct-io",
				Value:   line.OnOff,
				Summary: "whether the loop device passes the page cache of the file system under it by",
				Default: "on",
			},
			{Key: "dir", Value: line.Path, Summary: "directory of the file", Default: "below the state directory"},
			{Key: "cold", Value: line.Flag, Summary: "drop the file from the page cache before each trial"},
		},
	},
	marks: []result.Mark{result.MarkLoop},
	plan: func(n line.Node) []string {
		size, _ := n.Option("size")
		if size == "" {
			size = defaultLoopSize
		}
		dir, _ := n.Option("dir")
		if dir == "" {
			dir = "the run's work directory"
		}
		return []string{fmt.Sprintf("make a file of %s in %s", size, dir), "attach a loop device to it"}
	},
	writes: func(s *dryRun, n line.Node) {
		dir, named := n.Option("dir")
		if !named {
			dir = s.work
		}
		path := regionsFile(dir, s.Run)
		if s.Own {
			path = loopFile(dir, s.Run, s.name)
		}
		s.makes(path)
		s.makes(someLoop + ", a new loop device on it")
		s.block = someLoop
	},
	check: func(_ context.Context, e *Env, n line.Node, _ int64) error {
		if err := needRoot("loop"); err != nil {
			return err
		}
		if _, err := os.Stat("/dev/loop-control"); err != nil {
			return problem.New(problem.Unsupported, "loop device", "this kernel has no loop devices: "+err.Error(),
				"modprobe loop, or use a directory (dir:PATH) as the source").CausedBy(err)
		}
		size, err := sizeOption(n, "size", defaultLoopSize)
		if err != nil {
			return err
		}
		dir, ok := n.Option("dir")
		if !ok {
			return e.checkFree(nearest(e.State), size)
		}
		if err := e.checkDirectory(dir, size); err != nil {
			return err
		}
		if err := checkRoots(dir, "the file of a loop device"); err != nil {
			return err
		}
		if _, cold := n.Option("cold"); cold {
			return checkCold(dir)
		}
		return nil
	},
	up: upLoop,
}

// nearest returns the directory itself, or that above it which is there already.
func nearest(dir string) string {
	for {
		_, err := os.Stat(dir)
		if !errors.Is(err, os.ErrNotExist) || dir == filepath.Dir(dir) {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}

func upLoop(ctx context.Context, b *build, n line.Node) error {
	size, err := sizeOption(n, "size", defaultLoopSize)
	if err != nil {
		return err
	}
	named, _ := n.Option("dir")
	dir := named
	if dir == "" {
		dir = b.env.Work
	} else if err := checkRoots(dir, "the file of a loop device"); err != nil {
		return err
	}
	on := &regionExtent{backing: backing{path: loopFile(dir, b.env.RunID, b.name)}, bytes: size}
	if b.env.Regions == nil {
		err = b.ownFile(ctx, &on.backing, size)
	} else {
		on, err = b.nextExtent(ctx, named, size)
	}
	if err != nil {
		return err
	}
	direct := true
	if v, ok := n.Option("direct-io"); ok {
		direct = v == "on"
	}
	number, err := b.attach(ctx, &on.backing, on.offset, size, direct)
	if err != nil {
		return err
	}
	if err := refuseDiscards(number); err != nil {
		return err
	}
	b.base.block = "/dev/loop" + strconv.Itoa(number)
	b.base.ownsBlock = true
	b.base.exclusive = append(b.base.exclusive, filepath.Base(b.base.block))
	if err := b.recordHostFS(dir); err != nil {
		return err
	}
	b.base.sizeBytes = size
	b.base.flush = append(b.base.flush, on.path)
	dio, err := os.ReadFile(fmt.Sprintf("/sys/block/loop%d/loop/dio", number))
	if err != nil {
		return fmt.Errorf("read back direct-io of %s: %w", b.base.block, err)
	}
	got := strings.TrimSpace(string(dio)) == "1"
	if got != direct {
		return problem.New(
			problem.Unsupported,
			fmt.Sprintf("loop(direct-io=on) over a file in %s", dir),
			"the kernel fell back to buffered I/O: the file system there does not offer direct I/O at the loop device's block size",
			"name a directory on ext4 or xfs with dir=, or say direct-io=off to measure the page cache knowingly",
		)
	}
	b.fact("loop direct-io", map[bool]string{true: "on", false: "off"}[got])
	block, err := os.ReadFile(fmt.Sprintf("/sys/block/loop%d/queue/logical_block_size", number))
	if err != nil {
		return fmt.Errorf("read back the block size of %s: %w", b.base.block, err)
	}
	if text := strings.TrimSpace(string(block)); text != "512" {
		b.fact("loop block size", text+" bytes, as direct I/O takes there")
	}
	if _, cold := n.Option("cold"); cold {
		if err := checkCold(dir); err != nil {
			return err
		}
		b.base.ready = append(b.base.ready, func() error { return dropCache(on.path) })
		b.fact("page cache before each trial", "holds nothing of the loop device's file, or the trial fails")
	}
	return nil
}

// ownFile makes a file for the loop device of this stack alone.
func (b *build) ownFile(ctx context.Context, f *backing, size int64) error {
	if err := b.env.checkFree(filepath.Dir(f.path), size); err != nil {
		return err
	}
	err := b.do(ctx, &journal.File{Path: f.path}, func(string) error { return f.allocate(size) })
	if err != nil {
		return fmt.Errorf("make the loop device's file %s: %w", f.path, err)
	}
	return nil
}

// backing is a file of the run that loop devices are attached to. It is opened by its name again and again, and is known
// by its device and inode: what has taken its name meanwhile is not written.
type backing struct {
	path          string
	device, inode uint64 // once it is allocated
}

// open opens the file that was allocated.
func (b *backing) open(flags int) (*os.File, error) {
	f, err := os.OpenFile(b.path, flags|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	err = unix.Fstat(int(f.Fd()), &st)
	if err == nil && (st.Dev != b.device || st.Ino != b.inode) {
		err = errors.New("another file has its name, and is left alone")
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the file of a loop device, %s: %w", b.path, err), f.Close())
	}
	return f, nil
}

// allocate makes a file whose blocks are reserved, so that a full disk is
// noticed now and not in the middle of a trial.
func (b *backing) allocate(size int64) error {
	f, err := os.OpenFile(b.path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return err
	}
	b.device, b.inode = st.Dev, st.Ino
	if err := unix.Fallocate(int(f.Fd()), 0, 0, size); err != nil {
		if !errors.Is(err, unix.EOPNOTSUPP) {
			return err
		}
		if err := f.Truncate(size); err != nil {
			return err
		}
	}
	return f.Sync()
}

// attach finds a free loop device, or adds one, and attaches it to a part of a
// file.
func (b *build) attach(ctx context.Context, backing *backing, offset, size int64, direct bool) (int, error) {
	file, err := backing.open(os.O_RDWR)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	var config unix.LoopConfig
	config.Fd = uint32(file.Fd())
	config.Info.Offset, config.Info.Sizelimit = uint64(offset), uint64(size)
	if direct {
		config.Info.Flags |= unix.LO_FLAGS_DIRECT_IO
		config.Size = directBlock(file)
	}
	copy(config.Info.File_name[:len(config.Info.File_name)-1], backing.path)
	// Others may take a device between our look and our grasp: try the next.
	const tries = 64
	for range tries {
		number, present, err := freeLoop()
		if err != nil {
			return 0, err
		}
		err = b.do(ctx, &loopChange{
			Number: number, Backing: backing.path, Created: !present, Device: backing.device, Inode: backing.inode,
		}, func(string) error {
			if !present {
				if err := addLoop(number); err != nil {
					return err
				}
			}
			dev, err := os.OpenFile("/dev/loop"+strconv.Itoa(number), os.O_RDWR, 0)
			if err != nil {
				return err
			}
			defer dev.Close()
			return unix.IoctlLoopConfigure(int(dev.Fd()), &config)
		})
		switch {
		case err == nil:
			return number, nil
		case errors.Is(err, unix.EBUSY), errors.Is(err, unix.EEXIST):
			continue
		default:
			return 0, fmt.Errorf("attach a loop device to %s: %w", backing.path, err)
		}
	}
	return 0, fmt.Errorf("attach a loop device to %s: other programs took each of %d free devices", backing.path, tries)
}

// directBlock returns the block size in bytes that a loop device over a file takes to do direct I/O, where that is more
// than the 512 bytes that kernels before 6.15 take; 0 leaves it to the kernel. It is what the file system says, and what
// its disk has where that says nothing (before Linux 6.1).
func directBlock(file *os.File) uint32 {
	var st unix.Statx_t
	const wanted = unix.STATX_DIOALIGN
	if err := unix.Statx(int(file.Fd()), "", unix.AT_EMPTY_PATH, wanted, &st); err != nil {
		return 0
	}
	block := int(st.Dio_offset_align)
	if st.Mask&wanted == 0 || block == 0 {
		disk := fmt.Sprintf("/sys/dev/block/%d:%d/", st.Dev_major, st.Dev_minor)
		for _, queue := range []string{"queue", "../queue"} { // a partition has its disk's
			if text, err := os.ReadFile(disk + queue + "/logical_block_size"); err == nil {
				block, _ = strconv.Atoi(strings.TrimSpace(string(text)))
			}
		}
	}
	if block <= 512 || block > os.Getpagesize() || block&(block-1) != 0 {
		return 0
	}
	return uint32(block)
}

// refuseDiscards disables discards on a loop device: from Linux 6.2, btrfs discards free space by itself, and blocks
// in the holes would be allocated elsewhere on the disk during trials. Detaching the device resets the setting.
func refuseDiscards(number int) error {
	path := fmt.Sprintf("/sys/block/loop%d/queue/discard_max_bytes", number)
	if err := os.WriteFile(path, []byte("0"), 0); err != nil {
		return fmt.Errorf("have /dev/loop%d keep the blocks of its file: %w", number, err)
	}
	return nil
}

// freeLoop returns the number of a device that is attached to nothing, or else the lowest number without a node.
func freeLoop() (number int, present bool, err error) {
	for number = 0; ; number++ {
		dir := "/sys/block/loop" + strconv.Itoa(number)
		if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
			return number, false, nil
		} else if err != nil {
			return 0, false, err
		}
		if _, err := os.Stat(dir + "/loop"); errors.Is(err, os.ErrNotExist) {
			return number, true, nil
		}
	}
}

func addLoop(number int) error {
	ctl, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer ctl.Close()
	if err := unix.IoctlSetInt(int(ctl.Fd()), unix.LOOP_CTL_ADD, number); err != nil {
		return fmt.Errorf("add /dev/loop%d: %w", number, err)
	}
	return nil
}
