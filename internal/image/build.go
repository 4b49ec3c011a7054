package image

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"plimsoll/internal/problem"
)

// Build makes an image of Debian's packages, which come from the archives that this
// host's apt knows and trusts. Nothing is installed on the host. The same versions of
// packages give the same digest.
func (s *Store) Build(ctx context.Context, r Recipe, progress Progress) (image Image, err error) {
	if err := canBuild(r); err != nil {
		return Image{}, err
	}
	dir, done, err := s.workshop()
	if err != nil {
		return Image{}, err
	}
	defer func() { err = errors.Join(err, done()) }()
	a, err := newApt(filepath.Join(dir, "work"))
	if err != nil {
		return Image{}, err
	}
	progress.Step("reading the distribution's index", 0)
	if err := a.update(ctx); err != nil {
		return Image{}, err
	}
	if r.Suite != "" {
		progress.Step("reading the index of Debian "+r.Suite, 0.1)
		if err := a.useSuite(ctx, r.Suite); err != nil {
			return Image{}, err
		}
	}
	progress.Step("fetching packages", 0.15)
	archives, err := a.fetch(ctx, r.Packages)
	if err != nil {
		return Image{}, err
	}
	if r.Archive != nil {
		if err := r.Archive.fetch(ctx, central, filepath.Join(dir, "work", archiveName), progress); err != nil {
			return Image{}, err
		}
	}
	if r.Jars != nil {
		if err := r.Jars.fetch(ctx, central, filepath.Join(dir, "work"), progress); err != nil {
			return Image{}, err
		}
	}
	layer := filepath.Join(dir, "layer.tar")
	packages, err := r.unpack(ctx, archives, filepath.Join(dir, "work"), layer, progress)
	if err != nil {
		return Image{}, err
	}
	progress.Step("writing the image", 0.7)
	made, err := oneLayer(r, layer)
	if err != nil {
		return Image{}, err
	}
	version, err := r.version(packages)
	if err != nil {
		return Image{}, err
	}
	return s.keep(ctx, dir, made, Image{Name: r.Name + ":" + version, From: FromPackages, Packages: packages})
}

// archiveName is the file that an archive is downloaded to.
const archiveName = "archive"

// version returns the version of an image made from these packages.
func (r *Recipe) version(packages []Package) (string, error) {
	switch {
	case r.Versions != "":
	case r.Jars != nil:
		return r.Jars.Version, nil
	default:
		return r.Archive.Version, nil
	}
	at := slices.IndexFunc(packages, func(p Package) bool { return p.Name == r.Versions })
	if at < 0 {
		return "", fmt.Errorf("it has no package %s, which names the image's version", r.Versions)
	}
	return plainVersion(packages[at].Version), nil
}

// canBuild refuses hosts that have other processors, or lack the programs that it takes.
func canBuild(r Recipe) error {
	if a := r.Archive; a != nil && a.Architecture != architecture() {
		return problem.New(problem.Unsupported, "making image "+r.Name,
			"there are no programs for this host's processors ("+architecture()+")", "pull the database's official image")
	}
	var missing []string
	for _, program := range []string{"apt-get", "dpkg-deb"} {
		if _, err := exec.LookPath(program); err != nil {
			missing = append(missing, program)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return problem.New(problem.Unsupported, "making an image of packages",
		"this host has no "+strings.Join(missing, " and no ")+", which Debian and its kin have",
		"pull the database's official image, or read one from a file: plimsoll image pull, plimsoll image load")
}

// plainVersion is the upstream part of a Debian package's version: "15.20" of
// "1:15.20-0+deb12u1".
func plainVersion(version string) string {
	if _, after, ok := strings.Cut(version, ":"); ok {
		version = after
	}
	if at := strings.LastIndex(version, "-"); at > 0 {
		version = version[:at]
	}
	upstream, _, _ := strings.Cut(version, "+")
	return upstream
}

// unpack writes the files of packages, and of the archive in the directory of work, as one layer,
// and says which packages they are.
func (r *Recipe) unpack(ctx context.Context, archives []string, work, to string, progress Progress) ([]Package, error) {
	f, err := os.Create(to)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	buffered := bufio.NewWriterSize(f, 1<<20)
	files := newRoot(buffered)
	if err := files.begin(r.User, r.UserID); err != nil {
		return nil, err
	}
	var packages []Package
	for i, archive := range archives {
		p, err := aboutPackage(ctx, archive)
		if err != nil {
			return nil, err
		}
		if slices.Contains(r.Without, p.Name) {
			continue
		}
		progress.Step("unpacking "+p.Name, 0.4+0.3*float64(i)/float64(len(archives)))
		if err := eachFile(ctx, archive, files.add); err != nil {
			return nil, fmt.Errorf("unpack package %s: %w", p.Name, err)
		}
		packages = append(packages, p)
	}
	if r.Archive != nil {
		progress.Step("unpacking "+path.Base(r.Archive.Artifact), 0.7)
		if err := r.Archive.add(filepath.Join(work, archiveName), files); err != nil {
			return nil, fmt.Errorf("unpack %s: %w", path.Base(r.Archive.Artifact), err)
		}
	}
	if r.Jars != nil {
		progress.Step("adding jars", 0.7)
		if err := r.Jars.add(work, files); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Links)) {
		if err := errors.Join(files.writeParents(name), files.link(name, r.Links[name])); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(files.end(), buffered.Flush(), f.Close()); err != nil {
		return nil, err
	}
	return packages, nil
}

// oneLayer is the image of one layer that a tar holds.
func oneLayer(r Recipe, path string) (v1.Image, error) {
	layer, err := tarball.LayerFromFile(path)
	if err != nil {
		return nil, err
	}
	made, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return nil, err
	}
	config, err := made.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.Architecture, config.OS = architecture(), "linux"
	config.Config = v1.Config{User: r.User, Env: append([]string{"PATH=" + r.Path, "LANG=C.UTF-8"}, r.Env...)}
	return mutate.ConfigFile(made, config)
}

// apt is apt-get with lists, a cache and a database of installed packages of its own.
type apt struct {
	dir     string
	options []string // beside those for its directories
}

func newApt(dir string) (*apt, error) {
	for _, sub := range []string{"lists/partial", "cache/archives/partial"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil { //nolint:gosec // its own user reads it
			return nil, err
		}
	}
	return &apt{dir: dir}, os.WriteFile(filepath.Join(dir, "status"), nil, 0o644) //nolint:gosec // as above
}

func (a *apt) run(ctx context.Context, args ...string) error {
	_, err := a.output(ctx, args...)
	return err
}

// output runs apt-get and returns what it printed.
func (a *apt) output(ctx context.Context, args ...string) (string, error) {
	argv := slices.Concat([]string{
		"-o", "Dir::State::lists=" + filepath.Join(a.dir, "lists"),
		"-o", "Dir::State::status=" + filepath.Join(a.dir, "status"),
		"-o", "Dir::Cache=" + filepath.Join(a.dir, "cache"),
		"-o", "Debug::NoLocking=1", "-o", "APT::Sandbox::User=", "-o", "Acquire::Languages=none", "-o", "Acquire::Retries=3",
	}, a.options, args)
	cmd := exec.CommandContext(ctx, "apt-get", argv...)
	cmd.Env = append(os.Environ(), "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive")
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil:
		return "", problem.New(problem.Failed, "apt-get "+strings.Join(args, " "), errorLines(output.String()),
			"see that this host reaches the archives in /etc/apt: apt-get update")
	}
	return output.String(), nil
}

// errorLines returns the lines of apt's output that report errors; all of it if there are none.
func errorLines(output string) string {
	var lines []string
	for line := range strings.Lines(output) {
		if strings.HasPrefix(line, "E: ") || strings.HasPrefix(line, "Err:") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	if len(lines) == 0 {
		return strings.TrimSpace(output)
	}
	return strings.Join(lines, "; ")
}

func (a *apt) update(ctx context.Context) error {
	// Without it, an archive that is not reached is a warning.
	return a.run(ctx, "-o", "APT::Update::Error-Mode=any", "update")
}

// debianKeys are the keys that Debian signs its archives with.
const debianKeys = "/usr/share/keyrings/debian-archive-keyring.gpg"

// useSuite makes one suite of Debian the only source. It comes from the archive that this host's apt has Debian from,
// which update has read, and only with Debian's signature.
func (a *apt) useSuite(ctx context.Context, suite string) error {
	title := "packages of Debian " + suite
	out, err := a.output(ctx, "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages", "Origin: Debian",
		"Label: Debian")
	if err != nil {
		return err
	}
	archive := debianArchive(out)
	if archive == "" {
		return problem.New(problem.Unsupported, title, "this host's apt has no archive of Debian",
			"pull the database's official image, or make it on a host with Debian: plimsoll image pull, plimsoll image load")
	}
	if _, err := os.Stat(debianKeys); err != nil {
		return problem.New(problem.Unsupported, title, "this host lacks Debian's keys: "+err.Error(),
			"apt-get install debian-archive-keyring")
	}
	list := filepath.Join(a.dir, "suite.list")
	source := fmt.Sprintf("deb [signed-by=%s] %s %s main\n", debianKeys, archive, suite)
	if err := os.WriteFile(list, []byte(source), 0o644); err != nil { //nolint:gosec // as newApt
		return err
	}
	a.options = append(a.options, "-o", "Dir::Etc::sourcelist="+list, "-o", "Dir::Etc::sourceparts=/dev/null")
	return a.update(ctx)
}

// archiveAddress matches addresses of archives that a list of sources can have as they are.
var archiveAddress = regexp.MustCompile(`^(https?|mirror\+https?)://[A-Za-z0-9._~:/@%+-]+$`)

// debianArchive returns the first address of an archive that apt printed, "" for none.
func debianArchive(printed string) string {
	for line := range strings.Lines(printed) {
		if line = strings.TrimSpace(line); archiveAddress.MatchString(line) {
			return line
		}
	}
	return ""
}

// fetch downloads packages and their dependencies, and returns their archives by name.
func (a *apt) fetch(ctx context.Context, packages []string) ([]string, error) {
	args := []string{"--download-only", "--no-install-recommends", "--yes", "install", "--"}
	if err := a.run(ctx, append(args, packages...)...); err != nil {
		return nil, err
	}
	archives, err := filepath.Glob(filepath.Join(a.dir, "cache/archives/*.deb"))
	if err == nil && len(archives) == 0 {
		err = errors.New("apt-get downloaded no package")
	}
	slices.Sort(archives)
	return archives, err
}

// aboutPackage reads the name and version of a package.
func aboutPackage(ctx context.Context, archive string) (Package, error) {
	out, err := exec.CommandContext(ctx, "dpkg-deb", "--show", "--showformat=${Package}\n${Version}\n", archive).Output()
	if err != nil {
		return Package{}, fmt.Errorf("read package %s: %w", filepath.Base(archive), err)
	}
	name, version, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	return Package{name, version}, nil
}

// eachFile calls read with the files of a package as a tar.
func eachFile(ctx context.Context, archive string, read func(io.Reader) error) error {
	cmd := exec.CommandContext(ctx, "dpkg-deb", "--fsys-tarfile", archive)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	failed := read(out)
	if failed == nil {
		_, failed = io.Copy(io.Discard, out) // the end of the archive behind that of the tar
	} else {
		_ = out.Close() // it writes no more then
	}
	err = cmd.Wait()
	switch {
	case failed != nil:
		return failed
	case err != nil:
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(stderr.String()))
	}
	return nil
}
