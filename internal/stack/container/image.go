package container

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/moby/moby/client"
	"golang.org/x/sys/unix"
)

// idle keeps a container alive between steps.
const idle = "sleep"

// Image is an image loaded into an engine.
type Image struct {
	Ref   string // as the engine knows it
	binds []Bind // the programs, which every container of the image sees

	noInit bool // containers of it can have no init of Docker's
}

// Import makes an image of the host's own programs, with the libraries they
// need and nothing else, and gives it to the engine.
//
// Most of it is no part of what the engine imports. Copies of the programs lie
// in dir, and containers see them read-only: an engine hashes and unpacks an
// image, and the driver vfs copies it for each container, so that 90 MB of
// them took most of a stack's set-up, and would lie on what is measured. The
// next engine that wants the same programs from dir gets the same copies.
func (e *Engine) Import(ctx context.Context, names []string, dir string) (Image, error) {
	img, err := images.get(ctx, names, dir)
	if err != nil {
		return Image{}, fmt.Errorf("make an image of %s: %w", strings.Join(names, ", "), err)
	}
	return e.load(ctx, img)
}

// load loads an image into the engine.
func (e *Engine) load(ctx context.Context, img image) (Image, error) {
	f, err := os.Open(img.tar)
	if err != nil {
		return Image{}, err
	}
	defer f.Close()
	resp, err := e.api.ImageImport(ctx, client.ImageImportSource{Source: f, SourceName: "-"}, img.Ref,
		client.ImageImportOptions{Changes: img.changes})
	if err != nil {
		return Image{}, fmt.Errorf("import an image: %w", e.down(err))
	}
	defer resp.Close()
	// The answer is a stream of messages; a failure is one of them.
	for in := json.NewDecoder(resp); ; {
		var m struct{ Error string }
		switch err := in.Decode(&m); {
		case errors.Is(err, io.EOF):
			return img.Image, nil
		case err != nil:
			return Image{}, fmt.Errorf("import an image: %w", e.down(err))
		case m.Error != "":
			return Image{}, fmt.Errorf("import an image of %s: %s", img.tar, m.Error)
		}
	}
}

// image is a root file system that can be imported.
type image struct {
	Image
	dir     string   // holds the archive, and the programs beside it
	tar     string   // path of the archive
	changes []string // Dockerfile instructions
}

// imageCache holds the images made by this process, by directory and programs.
type imageCache struct {
	mu   sync.Mutex // guards made, and is held while an image is made: another that wants the same waits for it
	made map[string]image
}

var images = imageCache{made: map[string]image{}}

func (c *imageCache) get(ctx context.Context, names []string, dir string) (image, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := dir + "\n" + strings.Join(names, "\n")
	img, ok := c.made[key]
	if _, err := os.Stat(img.tar); ok && err == nil {
		return img, nil
	}
	img, err := makeImage(ctx, names, dir)
	if err == nil {
		c.made[key] = img
	}
	return img, err
}

// makeImage makes an image in a new directory below dir. The same programs give
// the same bytes.
func makeImage(ctx context.Context, names []string, dir string) (_ image, err error) {
	var (
		files   = map[string]bool{}
		folders = []string{"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"}
		pause   string
		errs    []error
	)
	for _, name := range append(slices.Clone(names), idle) {
		program, err := exec.LookPath(name)
		if err == nil {
			program, err = filepath.Abs(program)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s is not installed (apt-get install %s): %w", name, name, err))
			continue
		}
		libs, err := libraries(ctx, program)
		errs = append(errs, err)
		for _, f := range append(libs, program) {
			files[f] = true
		}
		if folder := filepath.Dir(program); !slices.Contains(folders, folder) {
			folders = append(folders, folder)
		}
		pause = program
	}
	if err := errors.Join(errs...); err != nil {
		return image{}, err
	}
	// With the host's cache the loader finds the same files in the container as on the host.
	if _, err := os.Stat("/etc/ld.so.cache"); err == nil {
		files["/etc/ld.so.cache"] = true
	}

	img := image{changes: []string{"ENV PATH=" + strings.Join(folders, ":"), fmt.Sprintf("CMD [%q, \"infinity\"]", pause)}}
	img.dir, err = os.MkdirTemp(dir, "image-")
	if err != nil {
		return image{}, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(img.dir))
		}
	}()
	img.tar = filepath.Join(img.dir, "root.tar")
	f, err := os.Create(img.tar)
	if err != nil {
		return image{}, err
	}
	defer f.Close()
	programs := filepath.Join(img.dir, "programs")
	if noexec, err := noexec(img.dir); err != nil {
		return image{}, err
	} else if noexec {
		programs = ""
	}
	hash := sha256.New()
	shared, err := writeRoot(io.MultiWriter(f, hash), files, programs)
	if err != nil {
		return image{}, err
	}
	img.Ref = "plimsoll:" + hex.EncodeToString(hash.Sum(nil))[:12]
	for _, top := range shared {
		img.binds = append(img.binds, Bind{Host: filepath.Join(img.dir, "programs", top), Inside: top, ReadOnly: true})
	}
	return img, nil
}

// libraries returns the shared libraries of a program, as its loader lists them, and the loader. A static program has
// none.
func libraries(ctx context.Context, program string) ([]string, error) {
	f, err := elf.Open(program)
	if err != nil {
		return nil, fmt.Errorf("%s is no program that can be copied with its libraries: %w", program, err)
	}
	defer f.Close()
	i := slices.IndexFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP })
	if i < 0 {
		return nil, nil
	}
	b, err := io.ReadAll(f.Progs[i].Open())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", program, err)
	}
	loader := strings.TrimRight(string(b), "\x00")
	cmd := exec.CommandContext(ctx, loader, "--list", program)
	cmd.Env = []string{} // no LD_LIBRARY_PATH: the container has none either
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("libraries of %s: %w", program, err)
	}
	libs, err := parseLibraries(string(out))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", program, err)
	}
	return append(libs, loader), nil
}

// parseLibraries reads what a dynamic loader lists:
//
//	libaio.so.1 => /lib/x86_64-linux-gnu/libaio.so.1 (0x00007f...)
//	/lib64/ld-linux-x86-64.so.2 (0x00007f...)
//	linux-vdso.so.1 (0x00007ff...)
//	libgone.so.2 => not found
func parseLibraries(list string) ([]string, error) {
	var libs []string
	for line := range strings.Lines(list) {
		name, file, mapped := strings.Cut(strings.TrimSpace(line), " => ")
		if !mapped {
			file = name
		}
		file, _, _ = strings.Cut(file, " (0x")
		switch {
		case filepath.IsAbs(file):
			libs = append(libs, file)
		case mapped:
			return nil, fmt.Errorf("library %s: %s", name, file)
		}
	}
	return libs, nil
}

// shareable are the directories that containers may see in place of their own:
// nothing but programs and what belongs to them is in these, and neither the
// engine nor the runtime puts anything there, as docker-init goes to /sbin.
var shareable = []string{"/bin", "/lib", "/lib32", "/lib64", "/libx32", "/nix", "/opt", "/usr"}

// noexec reports whether the mount that holds a directory forbids running programs, as /var does on hardened hosts. A
// bind of it would too.
func noexec(dir string) (bool, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return false, fmt.Errorf("mount options of %s: %w", dir, err)
	}
	return st.Flags&unix.ST_NOEXEC != 0, nil
}

// topOf is the first directory of a path: "/usr" of "/usr/bin/fio".
func topOf(name string) string {
	top, _, _ := strings.Cut(name[1:], "/")
	return "/" + top
}

// writeRoot makes a root file system of the host's files, with what links point
// at in place of the links: those below a shareable directory as copies in
// programs, unless that is "", the others and the few that programs expect of a
// root file system in an archive. It gives the directories that are in
// programs, which the archive holds empty.
func writeRoot(w io.Writer, files map[string]bool, programs string) (shared []string, err error) {
	out := tar.NewWriter(w)
	made := map[string]bool{"/": true}
	var mkdir func(dir string, mode int64) error
	mkdir = func(dir string, mode int64) error {
		if made[dir] {
			return nil
		}
		made[dir] = true
		if err := mkdir(path.Dir(dir), 0o755); err != nil {
			return err
		}
		return out.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir[1:] + "/", Mode: mode})
	}
	archive := func(name string, mode, size int64, content io.Reader) error {
		if err := mkdir(path.Dir(name), 0o755); err != nil {
			return err
		}
		if err := out.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name[1:], Mode: mode, Size: size}); err != nil {
			return err
		}
		_, err := io.Copy(out, content)
		return err
	}
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, path.Clean(name))
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		top := topOf(name)
		if programs == "" || !slices.Contains(shareable, top) {
			err = copyFile(name, archive)
		} else if err = mkdir(top, 0o755); err == nil {
			err = copyFile(name, func(name string, mode, _ int64, content io.Reader) error {
				return writeFile(filepath.Join(programs, name), os.FileMode(mode), content)
			})
			if !slices.Contains(shared, top) {
				shared = append(shared, top)
			}
		}
		if err != nil {
			return nil, err
		}
	}
	const passwd = "root:x:0:0:root:/:/bin/sh\n"
	if err := archive("/etc/passwd", 0o644, int64(len(passwd)), strings.NewReader(passwd)); err != nil {
		return nil, err
	}
	if err := mkdir("/tmp", 0o1777); err != nil {
		return nil, err
	}
	return shared, out.Close()
}

func copyFile(name string, write func(name string, mode, size int64, content io.Reader) error) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	return write(name, int64(st.Mode().Perm()), st.Size(), f)
}

// writeFile makes a file with its directories, which users other than root
// can enter, whatever the umask.
func writeFile(name string, mode os.FileMode, content io.Reader) error {
	if err := mkdirOpen(filepath.Dir(name)); err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Chmod(mode), f.Close())
}

func mkdirOpen(dir string) error {
	switch err := os.Mkdir(dir, 0o755); {
	case errors.Is(err, os.ErrExist):
		return nil
	case errors.Is(err, os.ErrNotExist):
		if err := mkdirOpen(filepath.Dir(dir)); err != nil {
			return err
		}
		return mkdirOpen(dir)
	case err != nil:
		return err
	}
	return os.Chmod(dir, 0o755)
}
