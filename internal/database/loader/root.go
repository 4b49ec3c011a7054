package loader

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// ours are the directories of a root that are not the image's.
var ours = []string{"dev", "proc", "run", "sys", "tmp"}

// devices are the device nodes that programs expect.
var devices = []string{"null", "zero", "full", "random", "urandom"}

// hostname is the programs' host name: one that resolves without DNS.
const hostname = "localhost"

// enter moves the thread into a new mount and UTS namespace in which dir is the root file system: the image is
// read-only, and the writable directories of this host are mounted at the given paths. The namespaces end with the
// thread.
func enter(dir, image string, writable map[string]string) error {
	if err := unix.Unshare(unix.CLONE_NEWNS | unix.CLONE_NEWUTS); err != nil {
		return fmt.Errorf("get namespaces of mounts and of the host's name: %w", err)
	}
	if err := unix.Sethostname([]byte(hostname)); err != nil {
		return fmt.Errorf("name the host: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("part from the host's mounts: %w", err)
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOSUID, "mode=0755,size=256m"); err != nil {
		return fmt.Errorf("mount a tmpfs on %s: %w", dir, err)
	}
	if err := errors.Join(programs(dir, image), special(dir)); err != nil {
		return err
	}
	for inside, from := range writable {
		at := filepath.Join(dir, inside)
		err := os.MkdirAll(at, 0o755) //nolint:gosec // another user goes through it
		if err == nil {
			err = bind(from, at, unix.MS_NOSUID|unix.MS_NODEV)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// programs shows what an image has at its top.
func programs(dir, image string) error {
	entries, err := os.ReadDir(image)
	if err != nil {
		return err
	}
	for _, e := range entries {
		from, at := filepath.Join(image, e.Name()), filepath.Join(dir, e.Name())
		switch {
		case slices.Contains(ours, e.Name()):
			continue
		case e.Type() == os.ModeSymlink:
			to, err := os.Readlink(from)
			if err == nil {
				err = os.Symlink(to, at)
			}
			if err != nil {
				return err
			}
		case e.IsDir():
			err := os.Mkdir(at, 0o755) //nolint:gosec // as above
			if err == nil {
				err = bind(from, at, unix.MS_NOSUID|unix.MS_NODEV|unix.MS_RDONLY)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// special makes what no image has. Each program gets a /proc of its own.
func special(dir string) error {
	for _, name := range ours {
		mode := os.FileMode(0o755)
		if name == "tmp" || name == "run" {
			mode = 0o777 | os.ModeSticky
		}
		at := filepath.Join(dir, name)
		if err := errors.Join(os.Mkdir(at, mode), os.Chmod(at, mode)); err != nil {
			return err
		}
	}
	shared := filepath.Join(dir, "dev/shm")
	if err := errors.Join(os.Mkdir(shared, 0o700), os.Chmod(shared, 0o777|os.ModeSticky)); err != nil {
		return err
	}
	for _, name := range devices {
		at := filepath.Join(dir, "dev", name)
		err := os.WriteFile(at, nil, 0o600)
		if err == nil {
			err = bind(filepath.Join("/dev", name), at, unix.MS_NOSUID)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// bind shows a path of the host at another, with these flags.
func bind(from, at string, flags uintptr) error {
	err := unix.Mount(from, at, "", unix.MS_BIND, "")
	if err == nil {
		err = unix.Mount("", at, "", unix.MS_BIND|unix.MS_REMOUNT|flags, "")
	}
	if err != nil {
		return fmt.Errorf("show %s at %s: %w", from, at, err)
	}
	return nil
}
