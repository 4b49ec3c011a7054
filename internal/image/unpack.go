package image

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"golang.org/x/sys/unix"

	"plimsoll/internal/printable"
	"plimsoll/internal/units"
)

// Root is an image's root file system, unpacked on this host. All containers of the image share it, so that nobody
// may write to it.
type Root struct {
	Image
	Dir  string   // on this host
	User string   // that the image's programs run as, by name or by number; "" for root
	Env  []string // "NAME=value", as the image has it

	release func()
}

// Release allows the image to be removed again. The root must not be used afterwards.
func (r *Root) Release() { r.release() }

const (
	rootName = "root"
	sticky   = 0o1000 // of a tar's modes
)

// maxUnpacked bounds the unpacked size of an image, in bytes, against decompression bombs.
const maxUnpacked = 32 << 30

// maxEntries bounds the files of an image: an empty one takes no bytes, and an inode of this host.
var maxEntries = 1 << 20

// Root returns the root file system of an image, which it unpacks once. The image cannot be removed until the root is
// released.
func (s *Store) Root(ctx context.Context, i Image, progress Progress) (_ *Root, err error) {
	hex := strings.TrimPrefix(i.Digest, "sha256:")
	release, err := s.shelf.Hold(ctx, hex)
	if err != nil {
		return nil, fmt.Errorf("image %s: %w", i.Name, err)
	}
	defer func() {
		if err != nil {
			release()
		}
	}()
	kept, err := s.Open(i)
	if err != nil {
		return nil, err
	}
	config, err := kept.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("image %s: %w", i.Name, err)
	}
	r := &Root{Image: i, Dir: filepath.Join(s.shelf.Path(hex), rootName), User: config.Config.User, Env: config.Config.Env,
		release: release}
	err = s.shelf.Check(hex, rootName)
	if err == nil {
		err = CheckNames(i.Name, r.Dir)
	}
	if err == nil {
		return r, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	progress.Step("unpacking "+i.Name, 0)
	if err := s.unpack(ctx, i.Name, kept, r.Dir); err != nil {
		return nil, fmt.Errorf("unpack image %s: %w", i.Name, err)
	}
	return r, nil
}

// Open returns an image for use with go-containerregistry.
func (s *Store) Open(i Image) (v1.Image, error) {
	index, err := layout.FromPath(s.Layout(i))
	if err != nil {
		return nil, fmt.Errorf("image %s: %w", i.Name, err)
	}
	digest, err := v1.NewHash(i.Digest)
	if err != nil {
		return nil, fmt.Errorf("image %s: %w", i.Name, err)
	}
	return index.Image(digest)
}

// unpack makes the root file system of an image, under another name until it is whole.
func (s *Store) unpack(ctx context.Context, name string, from v1.Image, to string) (err error) {
	dir, done, err := s.shelf.New()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := eachEntry(ctx, name, from, func(h *tar.Header, content io.Reader) error {
		return extractOne(h, content, root)
	}); err != nil {
		return err
	}
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // it is the / of programs of other users
		return err
	}
	err = unix.Renameat2(unix.AT_FDCWD, dir, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
	if errors.Is(err, fs.ErrExist) {
		return nil // another run was faster
	}
	return err
}

// eachEntry calls do with each file of an image's root, in the order of its layers. It refuses reserved names, and
// images that could exhaust this host.
func eachEntry(
	ctx context.Context, name string, source v1.Image, do func(h *tar.Header, content io.Reader) error,
) error {
	files := mutate.Extract(source)
	defer files.Close()
	in := tar.NewReader(files)
	bytesLeft, entriesLeft := int64(maxUnpacked), maxEntries
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		if bytesLeft -= h.Size; bytesLeft < 0 {
			return fmt.Errorf("it holds more than %s", units.Bytes(maxUnpacked))
		}
		if entriesLeft--; entriesLeft < 0 {
			return fmt.Errorf("it holds more than %d files", maxEntries)
		}
		if len(h.Name) > unix.PathMax {
			return fmt.Errorf("%s: its path is longer than %d bytes", printable.Shorten(h.Name, 60), unix.PathMax)
		}
		if err := checkName(name, rootPath(h.Name), h.Typeflag == tar.TypeDir); err != nil {
			return err
		}
		if err := do(h, in); err != nil {
			return fmt.Errorf("%s: %w", h.Name, err)
		}
	}
}

// rootPath returns the path of a tar's file below the root, without a slash at either end; "" for the root itself.
func rootPath(name string) string { return strings.TrimPrefix(path.Clean("/"+name), "/") }

// extractOne writes a file of a tar below a root, and nothing outside of it. It leaves out anything but files,
// directories and links, and clears set-user-ID bits and the like, which could make users of the host root.
func extractOne(h *tar.Header, content io.Reader, root *os.Root) error {
	name := rootPath(h.Name)
	if name == "" {
		return nil
	}
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	switch h.Typeflag {
	case tar.TypeDir:
		if err := root.MkdirAll(name, 0o755); err != nil {
			return err
		}
	case tar.TypeReg:
		if err := writeFile(root, name, content); err != nil {
			return err
		}
	case tar.TypeSymlink:
		return root.Symlink(h.Linkname, name)
	case tar.TypeLink:
		return root.Link(rootPath(h.Linkname), name)
	default:
		return nil
	}
	if os.Geteuid() == 0 {
		if err := root.Lchown(name, h.Uid, h.Gid); err != nil {
			return err
		}
	}
	mode := fs.FileMode(h.Mode & 0o777)
	if h.Typeflag == tar.TypeDir && h.Mode&sticky != 0 {
		mode |= fs.ModeSticky
	}
	return root.Chmod(name, mode)
}

func writeFile(root *os.Root, name string, content io.Reader) error {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Close())
}
