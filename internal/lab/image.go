package lab

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/problem"
	"plimsoll/internal/state/filelock"
	"plimsoll/internal/units/plural"
)

// Image is the file system of machines: three files in a directory whose name has the hash of their recipe.
type Image struct {
	Dir string `json:"-"` // it may be moved

	Built   time.Time     `json:"built"`
	Took    time.Duration `json:"took_ns"`
	Recipe  Recipe        `json:"recipe"`
	Release string        `json:"kernel"` // of the guest
	// Installed are the packages with their versions.
	Installed []string `json:"installed"`
}

// Names of the files of an image.
const (
	imageRoot   = "root.img"
	imageKernel = "vmlinux"
	imageInitrd = "initrd-base" // modules and a shell; machines add their part
	imageFacts  = "image.json"  // written last: an image without it is not finished
)

// need looks programs up, each with its package of Debian and Ubuntu. The error names all that are missing.
func need(subject string, programs ...[2]string) error {
	var missing, packages []string
	for _, p := range programs {
		if _, err := exec.LookPath(p[0]); err != nil {
			missing, packages = append(missing, p[0]), append(packages, p[1])
		}
	}
	n := len(missing)
	if n == 0 {
		return nil
	}
	lacks := fmt.Sprintf("%s needs the %s %s, which %s not in PATH", subject, plural.Of(n, "program"), plural.And(missing),
		plural.Choose(n, "is", "are"))
	return problem.New(problem.Unsupported, lacks, "", "apt-get install "+strings.Join(packages, " "))
}

func imageDir(dir string, r Recipe) string { return filepath.Join(dir, "images", r.Hash()) }

// FindImage returns the image of a recipe below the lab's directory. The error is problem.Unsupported where it was
// not built yet.
func FindImage(dir string, r Recipe) (*Image, error) {
	if err := checkTrusted(dir); err != nil {
		return nil, err
	}
	i := &Image{Dir: imageDir(dir, r)}
	text, err := os.ReadFile(filepath.Join(i.Dir, imageFacts))
	if errors.Is(err, os.ErrNotExist) {
		return nil, problem.New(problem.Unsupported, "there is no image of the lab in "+dir, "",
			"plimsoll lab build makes it, in about a minute").CausedBy(err)
	}
	if err == nil {
		err = json.Unmarshal(text, i)
	}
	if err != nil {
		return nil, fmt.Errorf("read the image of the lab: %w; plimsoll lab build --force makes it again", err)
	}
	return i, nil
}

// RemoveImage removes the image of a recipe. Machines that run keep the files
// that they have open.
func RemoveImage(dir string, r Recipe) error {
	if err := checkTrusted(dir); err != nil {
		return err
	}
	return os.RemoveAll(imageDir(dir, r))
}

// Progress receives the progress of a build: the current step, the share that is done (0 to 1), and lines of
// programs' output.
type Progress interface {
	Step(what string, share float64)
}

// Build makes the image of a recipe below the lab's directory. Root is not
// needed where user namespaces are set up (mmdebstrap's mode "unshare").
func Build(ctx context.Context, dir string, r Recipe, p Progress) (*Image, error) {
	began := time.Now()
	programs := [][2]string{
		{"mmdebstrap", "mmdebstrap"}, {"tar", "tar"}, {"mkfs.ext4", "e2fsprogs"}, {"xz", "xz-utils"},
		{"unshare", "util-linux"},
	}
	if os.Getuid() != 0 {
		programs = append(programs, [2]string{"newuidmap", "uidmap"})
	}
	programs = append(programs, [2]string{qemu, "qemu-system-x86"}) // without which an image is of no use
	if err := need("lab build", programs...); err != nil {
		return nil, err
	}
	if err := makeDir(dir, "images", 0o755); err != nil {
		return nil, err
	}
	// One build at a time; the second finds the first one's image.
	lock, err := takeTurn(ctx, filepath.Join(dir, "images/lock"))
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	if done, err := FindImage(dir, r); err == nil {
		return done, nil
	}
	old, err := filepath.Glob(filepath.Join(dir, "images/building-*")) // of builds that were killed: we hold the lock
	if err != nil {
		return nil, err
	}
	for _, o := range old {
		if err := os.RemoveAll(o); err != nil {
			return nil, err
		}
	}
	work, err := os.MkdirTemp(filepath.Join(dir, "images"), "building-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	b := &build{ctx: ctx, dir: work, recipe: r, progress: p}
	for _, step := range []func() error{b.packages, b.unpack, b.kernel, b.initrd, b.filesystem} {
		if err := step(); err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			return nil, fmt.Errorf("build the lab's image: %w", err)
		}
	}
	for _, name := range []string{"root.tar", "root"} {
		if err := os.RemoveAll(filepath.Join(work, name)); err != nil {
			return nil, err
		}
	}
	i := &Image{Dir: imageDir(dir, r), Built: time.Now().UTC(), Took: time.Since(began), Recipe: r, Release: b.release,
		Installed: b.installed}
	text, err := json.MarshalIndent(i, "", "  ")
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(work, imageFacts), text, 0o644); err != nil {
		return nil, err
	}
	if err := os.RemoveAll(i.Dir); err != nil { // one without its facts
		return nil, err
	}
	if err := os.Chmod(work, 0o755); err != nil {
		return nil, err
	}
	giveTree(work)
	return i, os.Rename(work, i.Dir)
}

// build is an image that is being made.
type build struct {
	ctx       context.Context
	dir       string
	recipe    Recipe
	progress  Progress
	release   string
	installed []string
}

func (b *build) path(elem ...string) string {
	return filepath.Join(append([]string{b.dir}, elem...)...)
}

// Shares of the time behind when a part of the build begins, as they were seen
// with a quick mirror.
const (
	shareBaseDownload  = 0.06
	shareBase          = 0.10
	shareOtherDownload = 0.35
	shareOther         = 0.50
	shareUnpack        = 0.85
	shareFilesystem    = 0.90
)

// packages makes mmdebstrap download, check and install the packages, as a tar file.
func (b *build) packages() error {
	b.progress.Step("reading the distribution's index", 0)
	cmd := exec.CommandContext(b.ctx, "mmdebstrap", b.recipe.mmdebstrap(b.path("root.tar"))...)
	cmd.Env = append(os.Environ(), "TMPDIR="+b.dir, "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive")
	cmd.Cancel = func() error { return cmd.Process.Signal(unix.SIGTERM) } // it has mounts to undo
	cmd.WaitDelay = 20 * time.Second
	if os.Getuid() == 0 && mayUnshare() {
		// What is mounted in the tree meanwhile is nobody else's to see, and goes
		// with the last process of the build, also when that is killed.
		cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWNS}
	}
	if os.Getuid() != 0 {
		// Who makes the tree is another user to the kernel.
		if err := os.Chmod(b.dir, 0o755); err != nil {
			return err
		}
	}
	pipe, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	cmd.Stdout = cmd.Stderr
	if err := cmd.Start(); err != nil {
		return err
	}
	log, err := os.Create(b.path("mmdebstrap.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	said := b.follow(io.TeeReader(pipe, log))
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("mmdebstrap: %w; its last words:\n  %s", err, strings.Join(said, "\n  "))
	}
	return nil
}

// mayUnshare reports whether this process may make a mount namespace, which many containers forbid.
func mayUnshare() bool {
	return exec.Command("unshare", "--mount", "true").Run() == nil
}

// follow reads mmdebstrap's output, reports progress, and returns the last lines.
func (b *build) follow(r io.Reader) []string {
	var last []string
	var done, steps int // times that a package is unpacked or set up
	var from, to float64
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if last = append(last, line); len(last) > 12 {
			last = last[1:]
		}
		var upgraded, newly int
		words := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "I: downloading packages"):
			from, to = shareBase, shareOtherDownload
			b.progress.Step("downloading the base system", shareBaseDownload)
		case strings.HasPrefix(line, "I: installing remaining"):
			from, to = shareOther, shareUnpack
			b.progress.Step("downloading packages", shareOtherDownload)
		case scans(line, "%d upgraded, %d newly installed", &upgraded, &newly):
			done, steps = 0, 2*newly
		case len(words) > 1 && words[0] == "Unpacking", len(words) > 2 && words[0] == "Setting" && words[1] == "up":
			done++
			name := words[1]
			if name == "up" {
				name = words[2]
			}
			name, _, _ = strings.Cut(name, ":")
			b.progress.Step("installing "+name, from+(to-from)*min(1, float64(done)/float64(max(steps, 1))))
		}
	}
	return last
}

func scans(line, format string, into ...any) bool {
	n, err := fmt.Sscanf(line, format, into...)
	return err == nil && n == len(into)
}

// asRoot runs a program that sees every file as root's: for other users in a user namespace.
func (b *build) asRoot(name string, args ...string) error {
	if os.Getuid() != 0 {
		name, args = "unshare", append([]string{"--map-root-user", "--", name}, args...)
	}
	return b.run(nil, nil, name, args...)
}

// run runs a program; the error includes its output.
func (b *build) run(in io.Reader, out io.Writer, name string, args ...string) error {
	cmd := exec.CommandContext(b.ctx, name, args...)
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, &stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, strings.TrimSpace(stderr.String()))
	}
	return nil
}

func (b *build) unpack() error {
	b.progress.Step("unpacking the kernel and the file system", shareUnpack)
	if err := os.Mkdir(b.path("root"), 0o755); err != nil {
		return err
	}
	// In a user namespace there is but one owner, and the guest has little use
	// for others. Device nodes are made by the guest's kernel.
	owner := "--same-owner"
	if os.Getuid() != 0 {
		owner = "--no-same-owner"
	}
	if err := b.asRoot("tar", "-C", b.path("root"), "--exclude=./dev/*", owner, "--numeric-owner", "-xf",
		b.path("root.tar")); err != nil {
		return err
	}
	if err := os.Remove(b.path("root.tar")); err != nil {
		return err
	}
	list, err := os.ReadFile(b.path("root/var/lib/dpkg/status"))
	if err != nil {
		return err
	}
	b.installed = installedPackages(string(list))
	for _, name := range []string{"root/var/lib/apt/lists", "root/var/cache/apt"} {
		if err := os.RemoveAll(b.path(name)); err != nil {
			return err
		}
	}
	return nil
}

// installedPackages returns name and version of the packages in dpkg's status file.
func installedPackages(status string) []string {
	var out []string
	for paragraph := range strings.SplitSeq(status, "\n\n") {
		var name, version string
		for line := range strings.Lines(paragraph) {
			if v, ok := strings.CutPrefix(line, "Package: "); ok {
				name = strings.TrimSpace(v)
			} else if v, ok := strings.CutPrefix(line, "Version: "); ok {
				version = strings.TrimSpace(v)
			}
		}
		if name != "" {
			out = append(out, name+" "+version)
		}
	}
	slices.Sort(out)
	return out
}

func (b *build) kernel() error {
	found, err := filepath.Glob(b.path("root/boot/vmlinuz-*"))
	if err != nil || len(found) != 1 {
		return fmt.Errorf("the packages brought %d kernels, and one was expected", len(found))
	}
	b.release = strings.TrimPrefix(filepath.Base(found[0]), "vmlinuz-")
	image, err := os.ReadFile(found[0])
	if err != nil {
		return err
	}
	body, err := payload(image)
	if err != nil {
		return err
	}
	out, err := os.Create(b.path(imageKernel))
	if err != nil {
		return err
	}
	defer out.Close()
	// The length that follows the stream is none of xz's business.
	if err := b.run(bytes.NewReader(body), out, "xz", "-dc", "--single-stream"); err != nil {
		return err
	}
	return out.Close()
}

// initrd packs the initial RAM disk that mounts the root file system.
func (b *build) initrd() error {
	modules := b.path("root/lib/modules", b.release)
	dep, err := os.ReadFile(filepath.Join(modules, "modules.dep"))
	if err != nil {
		return err
	}
	order, err := loadOrder(string(dep), b.recipe.Early)
	if err != nil {
		return err
	}
	out, err := os.Create(b.path(imageInitrd))
	if err != nil {
		return err
	}
	defer out.Close()
	w := bufio.NewWriter(out)
	c := &cpio{w: w}
	for _, dir := range []string{"bin", "lib", "lab", "proc", "sys", "dev", "newroot"} {
		c.dir(dir)
	}
	var list strings.Builder
	for _, f := range order {
		name := "lib/" + filepath.Base(f)
		fmt.Fprintln(&list, "/"+name)
		c.add(name, filepath.Join(modules, f))
	}
	c.text("modules.order", list.String())
	c.add("bin/busybox", b.path("root/bin/busybox"))
	if err := errors.Join(c.end(), w.Flush()); err != nil {
		return err
	}
	return out.Close()
}

// add packs a file of the host, to be executed or read.
func (c *cpio) add(name, from string) {
	if c.err != nil {
		return
	}
	f, err := os.Open(from)
	if err != nil {
		c.err = err
		return
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		c.err = err
		return
	}
	c.file(name, 0o755, info.Size(), f)
}

func (b *build) filesystem() error {
	b.progress.Step("making the file system", shareFilesystem)
	root := b.path(imageRoot)
	if err := os.WriteFile(root, nil, 0o644); err != nil {
		return err
	}
	if err := os.Truncate(root, b.recipe.Bytes); err != nil {
		return err
	}
	return b.asRoot("mkfs.ext4", "-q", "-F", "-O", "^has_journal", "-E", "lazy_itable_init=1,nodiscard", "-m", "0",
		"-d", b.path("root"), root)
}

// lockFile opens a file and locks it, for as long as it is open. It fails with filelock.ErrHeld where another
// process has it.
func lockFile(name string) (*os.File, error) {
	return locked(name, func(f *os.File) error { return filelock.Try(f, filelock.Alone) })
}

// turnLimit bounds the wait for another process's exclusive work; building an image takes minutes.
const turnLimit = 30 * time.Minute

// takeTurn is lockFile that waits for others.
func takeTurn(ctx context.Context, name string) (*os.File, error) {
	return locked(name, func(f *os.File) error { return filelock.Wait(ctx, f, filelock.Alone, turnLimit) })
}

func locked(name string, lock func(f *os.File) error) (*os.File, error) {
	f, err := openOrMake(name, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lock(f); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
