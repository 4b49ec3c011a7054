// Command release makes all files of a release of this clone, below a directory:
//
//	scripts/with-go go run ./scripts/release --out bin/release
//
// The same commit makes the same bytes: no file has another time than the commit's. What it writes
// are archives and packages of both programs for both architectures, an image of plimsoll-kubernetes,
// lists of the modules in each program (CycloneDX), and SHA256SUMS of all of them.
//
//	scripts/with-go go run ./scripts/release licenses PROGRAM
//
// prints the licenses of the modules that a program holds. The image alone is made by
//
//	scripts/with-go go run ./scripts/release --only image --out bin/image [--minor 1.37]
package main

import (
	"bytes"
	"debug/elf"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// program is one of those that are released.
type program struct {
	name, dir, pkg string // dir is that of its module
	about          about
	minor          string // of Kubernetes, if it is compiled with another than its module requires: 1.37
}

// modfile returns the file with the requirements of the program, below its directory.
func (p program) modfile() string {
	if p.minor == "" {
		return "go.mod"
	}
	return "go-" + p.minor + ".mod"
}

var programs = []program{
	{name: "plimsoll", dir: ".", pkg: "./cmd/plimsoll", about: plimsollPackage},
	{name: "plimsoll-kubernetes", dir: "kubernetes", pkg: "./cmd/plimsoll-kubernetes", about: kubernetesPackage},
}

var architectures = []string{"amd64", "arm64"}

func main() {
	if len(os.Args) == 3 && os.Args[1] == "licenses" {
		exitOn(printLicenses(os.Args[2]))
		return
	}
	var r release
	var date string
	flag.StringVar(&r.version, "version", "", "`version` of the release")
	flag.StringVar(&r.commit, "commit", "", "the `commit` that it is made of")
	flag.StringVar(&date, "date", os.Getenv("SOURCE_DATE_EPOCH"), "`seconds` of the epoch at which that was made")
	flag.StringVar(&r.maintainer, "maintainer", "", "who answers for the packages: `NAME <ADDRESS>`")
	flag.StringVar(&r.only, "only", "", "make nothing but the `image`, or archives and packages of one "+
		"PROGRAM/ARCHITECTURE: plimsoll/amd64")
	flag.StringVar(&r.minor, "minor", "", "with --only image: the `version` of Kubernetes, of a kubernetes/go-VERSION.mod")
	flag.StringVar(&r.out, "out", "bin/release", "`directory` to write, which is made anew")
	flag.Parse()
	seconds, err := strconv.ParseInt(date, 10, 64)
	if err != nil || r.version == "" || r.commit == "" || r.maintainer == "" && r.only != onlyImage {
		fmt.Fprintln(os.Stderr, "release: give --version, --commit, --date and --maintainer, as make release does")
		os.Exit(2)
	}
	r.date = time.Unix(seconds, 0).UTC()
	exitOn(r.make())
}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// onlyImage is the value of --only for the image.
const onlyImage = "image"

// release is what all files of a release are made of.
type release struct {
	version, commit string
	date            time.Time // of the commit
	maintainer      string
	only            string // one program and architecture, or onlyImage; "" for all of them, and the images
	minor           string // of Kubernetes, of onlyImage; "" for that which the module requires
	out             string
	work            string // what is made on the way
}

func (r *release) make() (err error) {
	r.work, err = os.MkdirTemp("", "release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(r.work)
	err = os.RemoveAll(r.out)
	if err != nil {
		return err
	}
	err = os.MkdirAll(r.out, 0o755) //nolint:gosec // for everybody to read
	if err != nil {
		return err
	}
	minors := []string{r.minor}
	if r.only == "" {
		minors, err = kubernetesMinors("kubernetes")
		if err != nil {
			return err
		}
		err = r.chart()
		if err != nil {
			return fmt.Errorf("the chart: %w", err)
		}
	}
	for _, p := range programs {
		for _, arch := range architectures {
			if r.only != "" && r.only != p.name+"/"+arch {
				continue
			}
			err := errors.Join(r.build(p, runtime.GOARCH), r.build(p, arch))
			if err == nil {
				err = r.files(p, arch)
			}
			if err != nil {
				return fmt.Errorf("%s for %s: %w", p.name, arch, err)
			}
		}
	}
	if r.only == "" || r.only == onlyImage {
		for _, minor := range minors {
			err = r.image(minor)
			if err != nil {
				return fmt.Errorf("the image: %w", err)
			}
		}
	}
	return writeSums(r.out)
}

// binary is where a program is built.
func (r *release) binary(p program, arch string) string {
	return filepath.Join(r.work, arch, p.minor, p.name)
}

// build builds a program, once for each architecture.
func (r *release) build(p program, arch string) error {
	to := r.binary(p, arch)
	_, err := os.Stat(to)
	if err == nil {
		return nil
	}
	fmt.Printf("building %s for %s\n", strings.TrimSpace(p.name+" "+p.minor), arch)
	const set = " -X plimsoll/internal/cli/buildinfo."
	flags := "-s -w" + set + "release=" + r.version + set + "commit=" + r.commit + set + "date=" + r.date.Format(
		time.DateOnly,
	)
	kubernetes, err := kubernetesVersion(filepath.Join(p.dir, p.modfile()))
	if err != nil {
		return err
	}
	if of := strings.Split(kubernetes, "."); len(of) == 3 { // as the Makefile has it
		const set = " -X k8s.io/component-base/version."
		flags += set + "gitVersion=" + kubernetes + set + "gitMajor=1" + set + "gitMinor=" + of[1]
	}
	cmd := exec.Command("go", "build", "-modfile", p.modfile(), "-ldflags", flags, "-o", to, p.pkg)
	cmd.Dir, cmd.Env = p.dir, append(os.Environ(), "GOOS=linux", "GOARCH="+arch, "CGO_ENABLED=0",
		"GOFLAGS=-trimpath -buildvcs=false", "GOAMD64=v1", "GOARM64=v8.0")
	err = run(cmd)
	if err != nil {
		return err
	}
	return static(to)
}

// static refuses a program that needs a dynamic loader: the image has none, nor libraries.
func static(program string) error {
	f, err := elf.Open(program)
	if err != nil {
		return fmt.Errorf("%s: %w", program, err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return fmt.Errorf("%s needs a dynamic loader: build it with CGO_ENABLED=0", program)
		}
	}
	return nil
}

// kubernetesMinors returns the minor versions of Kubernetes that there is an image for: "" for that which the module
// requires, and those with a file of requirements of their own, which scripts/kube-minor.sh writes.
func kubernetesMinors(dir string) ([]string, error) {
	names, err := filepath.Glob(filepath.Join(dir, "go-*.mod"))
	minors := []string{""}
	for _, name := range names {
		minors = append(minors, strings.TrimSuffix(strings.TrimPrefix(filepath.Base(name), "go-"), ".mod"))
	}
	return minors, err
}

// kubernetesVersion returns the version of Kubernetes that a file of requirements has; "" for none.
func kubernetesVersion(modfile string) (string, error) {
	text, err := os.ReadFile(modfile)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) >= 2 && words[0] == "k8s.io/kubernetes" {
			return words[1], nil
		}
	}
	return "", nil
}

// files writes what there is of a program for one architecture.
func (r *release) files(p program, arch string) error {
	fmt.Printf("packing %s for %s\n", p.name, arch)
	binary := r.binary(p, arch)
	modules, err := modulesOf(binary)
	if err != nil {
		return err
	}
	text, err := licensesOf(modules, p, arch)
	if err != nil {
		return err
	}
	licenses := binary + ".licenses"
	err = os.WriteFile(licenses, text, 0o600)
	if err != nil {
		return err
	}
	tree := filepath.Join(r.work, "trees", arch, p.name)
	err = run(exec.Command("scripts/lay-out", binary, licenses, tree, r.binary(p, runtime.GOARCH)))
	if err != nil {
		return err
	}
	name := fmt.Sprintf("%s-%s-linux-%s", p.name, r.version, arch)
	files, err := filesBelow(tree)
	if err != nil {
		return err
	}
	var archive bytes.Buffer
	err = writeTarGz(&archive, name, files, r.date)
	if err != nil {
		return err
	}
	err = r.write(name+".tar.gz", archive.Bytes())
	if err != nil {
		return err
	}
	err = r.bom(p, r.version, arch)
	if err != nil {
		return err
	}
	return r.packages(p, arch, files)
}

// bom writes the list of the modules in a program.
func (r *release) bom(p program, version, arch string) error {
	modules, err := modulesOf(r.binary(p, arch))
	if err != nil {
		return err
	}
	var bom bytes.Buffer
	err = writeBOM(&bom, p.name, version, arch, modules, r.date)
	if err != nil {
		return err
	}
	return r.write(fmt.Sprintf("%s-%s-linux-%s.cdx.json", p.name, version, arch), bom.Bytes())
}

// chart writes the Helm chart, as helm push and helm install take it.
func (r *release) chart() error {
	files, err := filesBelow("kubernetes/manifests")
	if err != nil {
		return err
	}
	for i := range files {
		files[i].mode = 0o644 // whatever the umask
	}
	var packed bytes.Buffer
	err = writeTarGz(&packed, "plimsoll", files, r.date)
	if err != nil {
		return err
	}
	return r.write(fmt.Sprintf("plimsoll-chart-%s.tgz", r.version), packed.Bytes())
}

func (r *release) write(name string, content []byte) error {
	return os.WriteFile(filepath.Join(r.out, name), content, 0o644) //nolint:gosec // for everybody to read
}

// run runs a command, whose output is shown when it fails.
func run(cmd *exec.Cmd) error {
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args[:min(3, len(cmd.Args))], " "), err, out)
	}
	return nil
}
