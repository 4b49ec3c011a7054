package stack

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"plimsoll/internal/result"
	"plimsoll/internal/testkit/hosttest"
)

// What stacks are said to promise is what the kernel does: it takes atomic writes of those sizes, and no others.
func TestAtomicWritesOfStacks(t *testing.T) {
	hosttest.Exclusive(t)
	for _, text := range []string{"loop(size=320MiB) > xfs", "loop(size=320MiB) > xfs(mkfs=\"-m reflink=0\")",
		"loop(size=64MiB) > ext4", "loop(size=160MiB) > btrfs", "tmpfs(size=64MiB)"} {
		t.Run(text, func(t *testing.T) {
			s := up(t, newEnv(t), text)
			u, known := result.Stack{Facts: s.base.Facts}.AtomicWrites()
			if !known {
				t.Fatalf("nothing is known: %v", s.base.Facts)
			}
			dir := s.Target.Path
			if u.Max > 0 && (!takesAtomic(t, dir, u.Max) || !takesAtomic(t, dir, u.Min) || takesAtomic(t, dir, 2*u.Max)) {
				t.Errorf("the kernel does not take just the atomic writes of %s", u)
			}
			if u.Max == 0 && takesAtomic(t, dir, 4096) {
				t.Error("the kernel takes an atomic write where none is promised")
			}
		})
	}
	if s := up(t, newEnv(t), "loop(size=512MiB) > xfs > overlay2"); s.factNamed("atomic writes of files") != "" {
		t.Error("the writable layer of a container is said to have the promise of the file system below")
	}
}

// takesAtomic reports whether the kernel takes a direct write with RWF_ATOMIC to a file that has its blocks.
func takesAtomic(t *testing.T, dir string, bytes int64) bool {
	t.Helper()
	path := filepath.Join(dir, "atomic")
	defer os.Remove(path)
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CREAT|unix.O_DIRECT, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(fd) }()
	if err := unix.Fallocate(fd, 0, 0, bytes); err != nil {
		t.Fatal(err)
	}
	memory, err := unix.Mmap(-1, 0, int(bytes), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Munmap(memory) }()
	const rwfAtomic = 0x40 // include/uapi/linux/fs.h
	n, err := unix.Pwritev2(fd, [][]byte{unsafe.Slice(&memory[0], bytes)}, 0, rwfAtomic)
	if err != nil && !errors.Is(err, unix.EOPNOTSUPP) && !errors.Is(err, unix.EINVAL) {
		t.Fatal(err)
	}
	return err == nil && int64(n) == bytes
}
