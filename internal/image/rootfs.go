package image

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"
)

// root writes a root file system as a tar, from the files of packages: each path once, with its parent directories,
// in the layout of a merged /usr, which packages of Debian 12 still expect.
type root struct {
	out  *tar.Writer
	seen map[string]byte // type of each path written, without a slash at either end
}

func newRoot(w io.Writer) *root { return &root{tar.NewWriter(w), map[string]byte{}} }

// mergedDirs are the directories that are links into /usr.
var mergedDirs = []string{"bin", "sbin", "lib", "lib32", "lib64", "libx32"}

// skippedDirs are directories of files that no server reads.
var skippedDirs = []string{
	"usr/share/doc", "usr/share/man", "usr/share/info", "usr/share/lintian", "usr/share/locale", "usr/share/bug",
	"usr/include", "var/cache", "var/lib/dpkg",
}

// begin writes the directories and files of every root, and the accounts of the server.
func (r *root) begin(user string, id int) error {
	var errs []error
	for _, dir := range []string{"usr", "etc", "var", "var/lib", "proc", "sys", "dev", "root"} {
		errs = append(errs, r.directory(dir, 0o755))
	}
	for _, dir := range []string{"tmp", "var/tmp", "run"} {
		errs = append(errs, r.directory(dir, 0o1777))
	}
	for _, name := range []string{"bin", "sbin", "lib", "lib64"} {
		errs = append(errs, r.directory("usr/"+name, 0o755), r.link(name, "usr/"+name))
	}
	passwd := fmt.Sprintf("root:x:0:0:root:/root:/bin/sh\n%s:x:%d:%d::/var/lib/%s:/bin/sh\n"+
		"nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n", user, id, id, user)
	groups := fmt.Sprintf("root:x:0:\n%s:x:%d:\nnogroup:x:65534:\n", user, id)
	errs = append(errs, r.file("etc/passwd", passwd), r.file("etc/group", groups),
		r.file("etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n"))
	return errors.Join(errs...)
}

// add adds the files of a package, which is read as a tar.
func (r *root) add(from io.Reader) error {
	in := tar.NewReader(from)
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := r.entry(h, in); err != nil {
			return fmt.Errorf("%s: %w", h.Name, err)
		}
	}
}

// entry adds one file.
func (r *root) entry(h *tar.Header, content io.Reader) error {
	name, err := inUsr(h.Name)
	if err != nil {
		return err
	}
	if name == "" || isWithin(name, skippedDirs) {
		return nil
	}
	kind, taken := r.seen[name]
	switch h.Typeflag {
	case tar.TypeDir:
		if taken {
			return nil // packages share directories; the first says whose they are
		}
	case tar.TypeReg, tar.TypeSymlink:
		if taken && kind == tar.TypeDir {
			return nil // bin of a package that has it as a link into usr
		}
		if taken {
			return errors.New("two packages bring it")
		}
	case tar.TypeLink:
		if h.Linkname, err = inUsr(h.Linkname); err != nil {
			return err
		}
		if r.seen[h.Linkname] != tar.TypeReg {
			return fmt.Errorf("it is a link to %s, which the package does not bring", h.Linkname)
		}
	default:
		return fmt.Errorf("it is neither a file, a directory nor a link (type %q)", h.Typeflag)
	}
	if err := r.writeParents(name); err != nil {
		return err
	}
	h.Name = name
	return r.write(h, content)
}

// inUsr is the path of a package's file below the root, without a slash at either end,
// where bin and lib are below usr; "" for the root itself.
func inUsr(name string) (string, error) {
	if slices.Contains(strings.Split(name, "/"), "..") {
		return "", errors.New("its path goes up")
	}
	name = strings.TrimPrefix(path.Clean("/"+name), "/")
	top, _, _ := strings.Cut(name, "/")
	if slices.Contains(mergedDirs, top) {
		name = "usr/" + name
	}
	return name, nil
}

// isWithin reports whether name is one of dirs, or below one.
func isWithin(name string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return name == dir || strings.HasPrefix(name, dir+"/") })
}

// writeParents writes those directories above a path that the root lacks.
func (r *root) writeParents(name string) error {
	dir := path.Dir(name)
	if dir == "." {
		return nil
	}
	if kind, exists := r.seen[dir]; exists {
		if kind == tar.TypeSymlink {
			return fmt.Errorf("%s, which it is below, is a link", dir)
		}
		return nil
	}
	if err := r.writeParents(dir); err != nil {
		return err
	}
	return r.directory(dir, 0o755)
}

func (r *root) directory(name string, mode int64) error {
	return r.write(&tar.Header{Typeflag: tar.TypeDir, Name: name, Mode: mode}, nil)
}

func (r *root) link(name, to string) error {
	return r.write(&tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: to, Mode: 0o777}, nil)
}

func (r *root) file(name, text string) error {
	h := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(text))}
	return r.write(h, strings.NewReader(text))
}

// write writes an entry as the same packages always give it: owned by root, at the
// beginning of time unless the package says when.
func (r *root) write(h *tar.Header, content io.Reader) error {
	name := h.Name
	out := &tar.Header{
		Typeflag: h.Typeflag, Name: name, Linkname: h.Linkname, Mode: h.Mode, Size: h.Size, Uid: h.Uid, Gid: h.Gid,
		ModTime: h.ModTime.Truncate(time.Second), Format: tar.FormatPAX,
	}
	if out.ModTime.IsZero() || out.ModTime.Unix() < 0 {
		out.ModTime = time.Unix(0, 0)
	}
	if h.Typeflag == tar.TypeDir {
		out.Name += "/"
	}
	if err := r.out.WriteHeader(out); err != nil {
		return err
	}
	r.seen[name] = h.Typeflag
	if h.Typeflag != tar.TypeReg {
		return nil
	}
	_, err := io.Copy(r.out, content)
	return err
}

func (r *root) end() error { return r.out.Close() }
