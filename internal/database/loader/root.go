package loader

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// special are the directories of a root that hide the image's own.
var special = []string{"dev", "proc", "run", "sys", "tmp"}

// devices are the device nodes that programs expect.
var devices = []string{"null", "zero", "full", "random", "urandom"}

// hostname is the programs' host name: one that resolves without DNS.
const hostname = "localhost"

// enter moves the thread into a new mount and UTS namespace in which dir is the root file system: the image is
// read-only, the writable directories of this host are mounted at the given paths, and files are there with their
// texts. The namespaces end with the thread.
//
// What is Plimsoll's is made while the root is empty, and the image is shown last, where no name is taken. So nothing
// is made, opened or mounted through a name that an image could have as a link.
func enter(dir, image string, writable, files map[string]string) error {
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
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := makeSpecial(root); err != nil {
		return err
	}
	for _, inside := range slices.Sorted(maps.Keys(writable)) {
		err := root.MkdirAll(strings.TrimPrefix(inside, "/"), 0o755)
		if err == nil {
			err = showDir(unix.AT_FDCWD, writable[inside], filepath.Join(dir, inside), unix.MS_NOSUID|unix.MS_NODEV)
		}
		if err != nil {
			return err
		}
	}
	for _, inside := range slices.Sorted(maps.Keys(files)) {
		if err := makeFile(root, strings.TrimPrefix(inside, "/"), files[inside], 0o644); err != nil {
			return err
		}
	}
	return showImage(root, image)
}

// showImage shows the directories and links that an image has at its top.
func showImage(root *os.Root, image string) error {
	top, err := unix.Open(image, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: image, Err: err}
	}
	defer func() { _ = unix.Close(top) }() // only looked at
	entries, err := os.ReadDir(image)
	if err != nil {
		return err
	}
	for _, e := range entries {
		switch name := e.Name(); {
		case slices.Contains(special, name):
			continue
		case e.Type() == os.ModeSymlink:
			to, err := os.Readlink(filepath.Join(image, name))
			if err == nil {
				err = root.Symlink(to, name)
			}
			if err != nil {
				return err
			}
		case e.IsDir():
			err := root.Mkdir(name, 0o755)
			if err == nil {
				err = showDir(top, name, filepath.Join(root.Name(), name), unix.MS_NOSUID|unix.MS_NODEV|unix.MS_RDONLY)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// makeSpecial makes the directories and devices that no image has. Each program gets its own /proc.
func makeSpecial(root *os.Root) error {
	for _, dir := range append(slices.Clone(special), "dev/shm") {
		mode := os.FileMode(0o755)
		if dir == "tmp" || dir == "run" || dir == "dev/shm" {
			mode = 0o777 | os.ModeSticky
		}
		if err := errors.Join(root.Mkdir(dir, 0o700), root.Chmod(dir, mode)); err != nil {
			return err
		}
	}
	for _, device := range devices {
		target := filepath.Join("dev", device)
		err := makeFile(root, target, "", 0o600)
		if err == nil {
			err = bind(filepath.Join("/dev", device), filepath.Join(root.Name(), target), unix.MS_NOSUID)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// makeFile makes a file that is not there yet.
func makeFile(root *os.Root, name, text string, mode os.FileMode) error {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// showDir shows a directory of the host at a path: the directory in from at that time, and never what a link in its
// place leads to. The last word of name alone is not followed.
func showDir(from int, name, target string, flags uintptr) error {
	fd, err := unix.Openat(from, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: name, Err: err}
	}
	defer func() { _ = unix.Close(fd) }() // only looked at
	return bind(fmt.Sprintf("/proc/self/fd/%d", fd), target, flags)
}

// bind shows a path of the host at a target, with mount flags.
func bind(from, target string, flags uintptr) error {
	err := unix.Mount(from, target, "", unix.MS_BIND, "")
	if err == nil {
		err = unix.Mount("", target, "", unix.MS_BIND|unix.MS_REMOUNT|flags, "")
	}
	if err != nil {
		return fmt.Errorf("show %s at %s: %w", from, target, err)
	}
	return nil
}
