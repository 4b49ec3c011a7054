package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

var commitDate = time.Date(2026, 11, 28, 1, 2, 3, 0, time.UTC)

// tree writes the same files with times, and in an order, of its own.
func tree(t *testing.T, names ...string) []file {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		to := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(to), 0o700)
		if err == nil {
			err = os.WriteFile(to, []byte("the bytes of "+name), 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	err := os.Symlink("plimsoll", filepath.Join(dir, "bin/kubectl-plimsoll"))
	if err != nil {
		t.Fatal(err)
	}
	files, err := filesBelow(dir)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestArchivesAreTheSame(t *testing.T) {
	var first, second bytes.Buffer
	for to, names := range map[*bytes.Buffer][]string{
		&first:  {"bin/plimsoll", "share/man/man1/plimsoll.1.gz", "share/doc/plimsoll/LICENSE"},
		&second: {"share/doc/plimsoll/LICENSE", "share/man/man1/plimsoll.1.gz", "bin/plimsoll"},
	} {
		err := writeTarGz(to, "plimsoll-0.1.0", tree(t, names...), commitDate)
		if err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("the same files made different archives")
	}
	z, err := gzip.NewReader(&first)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if !h.ModTime.Equal(commitDate) || h.Uid != 0 || h.Gid != 0 || h.Uname != "" || h.Mode != 0o755 && h.Linkname == "" {
			t.Errorf("%s is %+v", h.Name, h)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg && string(text) != "the bytes of "+strings.TrimPrefix(h.Name, "plimsoll-0.1.0/") {
			t.Errorf("%s holds %q", h.Name, text)
		}
		got = append(got, strings.TrimSpace(h.Name+" "+h.Linkname))
	}
	want := []string{
		"plimsoll-0.1.0/",
		"plimsoll-0.1.0/bin/",
		"plimsoll-0.1.0/bin/kubectl-plimsoll plimsoll",
		"plimsoll-0.1.0/bin/plimsoll",
		"plimsoll-0.1.0/share/",
		"plimsoll-0.1.0/share/doc/",
		"plimsoll-0.1.0/share/doc/plimsoll/",
		"plimsoll-0.1.0/share/doc/plimsoll/LICENSE",
		"plimsoll-0.1.0/share/man/",
		"plimsoll-0.1.0/share/man/man1/",
		"plimsoll-0.1.0/share/man/man1/plimsoll.1.gz",
	}
	if !slices.Equal(got, want) {
		t.Errorf("it holds\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestModules(t *testing.T) {
	info := &debug.BuildInfo{GoVersion: "go1.26.8", Deps: []*debug.Module{
		{Path: "b.example/two", Version: "v2.0.0"},
		{Path: "plimsoll", Version: "v0.0.0", Replace: &debug.Module{Path: "../", Version: "(devel)"}},
		{Path: "a.example/one", Version: "v1.0.0", Replace: &debug.Module{Path: "c.example/fork", Version: "v1.0.1"}},
	}}
	modules := modulesIn(info)
	if got := []module{
		{"b.example/two", "v2.0.0"},
		{"c.example/fork", "v1.0.1"},
		{"std", "1.26.8"},
	}; !slices.Equal(
		modules,
		got,
	) {
		t.Fatalf("the modules are %v", modules)
	}
	var bom bytes.Buffer
	err := writeBOM(&bom, "plimsoll", "0.1.0", "arm64", modules, commitDate)
	if err != nil {
		t.Fatal(err)
	}
	var read struct {
		SerialNumber string
		Components   []struct{ PURL string }
		Dependencies []struct{ DependsOn []string }
	}
	err = json.Unmarshal(bom.Bytes(), &read)
	if err != nil {
		t.Fatal(err)
	}
	if len(read.Components) != 3 || read.Components[1].PURL != "pkg:golang/c.example/fork@v1.0.1" ||
		len(read.Dependencies) != 1 || len(read.Dependencies[0].DependsOn) != 3 {
		t.Errorf("the list is %s", &bom)
	}
	var other bytes.Buffer
	err = writeBOM(&other, "plimsoll", "0.1.0", "arm64", modules[:2], commitDate)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(read.SerialNumber, "urn:uuid:") || strings.Contains(other.String(), read.SerialNumber) {
		t.Errorf("two lists have the serial number %s", read.SerialNumber)
	}
}

// TestImage reads the archives back as OCI layouts with both architectures.
func TestImage(t *testing.T) {
	for minor, tag := range map[string]string{"": "0.1.0", "1.37": "0.1.0-k1.37"} {
		t.Run(tag, func(t *testing.T) { testImage(t, minor, tag) })
	}
}

func testImage(t *testing.T, minor, tag string) {
	var digest string
	make := func() []byte {
		t.Helper()
		r := release{version: "0.1.0", commit: "123a", date: commitDate, work: t.TempDir(), out: t.TempDir()}
		contents, version := r.imageOf(minor)
		if version != tag {
			t.Fatalf("its tag is %s", version)
		}
		for _, arch := range architectures {
			for _, p := range contents {
				to := r.binary(p, arch)
				err := os.MkdirAll(filepath.Dir(to), 0o755)
				if err == nil {
					err = os.WriteFile(to, []byte(p.name+p.minor+" for "+arch), 0o700)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		err := r.pack(contents, version)
		if err != nil {
			t.Fatal(err)
		}
		archive, err := os.ReadFile(filepath.Join(r.out, "plimsoll-kubernetes-"+tag+"-oci.tar"))
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(r.out, "plimsoll-kubernetes-"+tag+"-oci.digest"))
		if err != nil {
			t.Fatal(err)
		}
		digest = strings.TrimSpace(string(text))
		return archive
	}
	archive := make()
	if !bytes.Equal(archive, make()) {
		t.Error("the same programs made different images")
	}
	dir := t.TempDir()
	unpack(t, archive, dir)
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	outer, err := index.IndexManifest()
	if err != nil || len(outer.Manifests) != 1 {
		t.Fatalf("%+v, %v", outer, err)
	}
	if name := outer.Manifests[0].Annotations["org.opencontainers.image.ref.name"]; name != "plimsoll-kubernetes:"+tag {
		t.Errorf("its name is %q", name)
	}
	if got := outer.Manifests[0].Digest.String(); got != digest {
		t.Errorf("its digest is %s, and the file has %s", got, digest)
	}
	both, err := index.ImageIndex(outer.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	inner, err := both.IndexManifest()
	if err != nil || len(inner.Manifests) != len(architectures) {
		t.Fatalf("%+v, %v", inner, err)
	}
	for i, arch := range architectures {
		image, err := both.Image(inner.Manifests[i].Digest)
		if err != nil {
			t.Fatal(err)
		}
		config, err := image.ConfigFile()
		if err != nil || config.Architecture != arch || config.OS != "linux" ||
			inner.Manifests[i].Platform.String() != "linux/"+arch {
			t.Fatalf("image %d is %+v, %v", i, config, err)
		}
		// What a runtime does with it: the program is found by its name, and is not root.
		entry, env := config.Config.Entrypoint, config.Config.Env
		if !slices.Equal(entry, []string{"plimsoll-kubernetes"}) || !slices.Equal(env, []string{"PATH=/usr/local/bin"}) ||
			config.Config.User != "65532:65532" {
			t.Errorf("it starts %q as %q, with %q", entry, config.Config.User, env)
		}
		rootfs := t.TempDir()
		content, err := io.ReadAll(mutate.Extract(image))
		if err != nil {
			t.Fatal(err)
		}
		unpack(t, content, rootfs)
		contents, _ := (&release{}).imageOf(minor)
		for _, p := range contents {
			text, err := os.ReadFile(filepath.Join(rootfs, "usr/local/bin", p.name))
			if err != nil || string(text) != p.name+p.minor+" for "+arch {
				t.Errorf("%s of %s is %q, %v", p.name, arch, text, err)
			}
		}
	}
}

// What goes into the image is started without a loader.
func TestStatic(t *testing.T) {
	dir := t.TempDir()
	source := filepath.Join(dir, "main.go")
	err := os.WriteFile(source, []byte("package main\n\nfunc main() {}\n"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	for mode, ok := range map[string]bool{"exe": true, "pie": false} {
		program := filepath.Join(dir, mode)
		err := run(exec.Command("go", "build", "-buildmode="+mode, "-o", program, source))
		if err != nil {
			t.Fatal(err)
		}
		err = static(program)
		if ok != (err == nil) {
			t.Errorf("of mode %s: %v", mode, err)
		}
	}
	if static(source) == nil {
		t.Error("a text is taken for a program")
	}
}

func unpack(t *testing.T, archive []byte, dir string) {
	t.Helper()
	for r := tar.NewReader(bytes.NewReader(archive)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(dir, filepath.FromSlash(h.Name))
		if h.Typeflag == tar.TypeDir {
			err = os.MkdirAll(to, fs.FileMode(h.Mode))
		} else {
			var text []byte
			text, err = io.ReadAll(r)
			if err == nil {
				err = os.WriteFile(to, text, fs.FileMode(h.Mode))
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestPackages describes both formats alike but for the names of other packages.
func TestPackages(t *testing.T) {
	r := release{version: "0.1.0", date: commitDate, maintainer: "A <a@localhost>"}
	files := tree(t, "bin/plimsoll", "share/doc/plimsoll/LICENSE")
	deb, rpm := r.describe(programs[0], "arm64", "deb", files), r.describe(programs[0], "arm64", "rpm", files)
	if !slices.Contains(deb.Recommends, "fio") || !slices.Contains(rpm.Recommends, "fio") {
		t.Errorf("fio is not recommended: %q, %q", deb.Recommends, rpm.Recommends)
	}
	if !slices.Contains(deb.Suggests, "docker.io") || slices.Contains(rpm.Suggests, "docker.io") {
		t.Errorf("suggested are %q, %q", deb.Suggests, rpm.Suggests)
	}
	if !slices.Equal(deb.Contents, rpm.Contents) || len(deb.Contents) != 4 {
		t.Errorf("they hold\n%+v\n%+v", deb.Contents, rpm.Contents)
	}
	for _, c := range deb.Contents {
		if !strings.HasPrefix(c.Dst, "/usr/") || c.Info.Owner != "root" || !c.Info.MTime.Equal(commitDate) {
			t.Errorf("%+v", c)
		}
	}
}

// The chart is packed as Helm reads it, and there is an image for each minor version that it may pick.
func TestChart(t *testing.T) {
	t.Chdir("../..")
	r := release{version: "0.1.0", date: commitDate, out: t.TempDir()}
	err := r.chart()
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(filepath.Join(r.out, "plimsoll-chart-0.1.0.tgz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	templates := ""
	found := map[string]bool{}
	for archive := tar.NewReader(z); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		found[h.Name] = true
		if h.Name == "plimsoll/templates/plimsoll.yaml" {
			text, err := io.ReadAll(archive)
			if err != nil {
				t.Fatal(err)
			}
			templates = string(text)
		}
	}
	for _, name := range []string{"Chart.yaml", "values.yaml", "values.schema.json", "templates/NOTES.txt",
		"scheduler/scheduler.yaml"} {
		if !found["plimsoll/"+name] {
			t.Errorf("the chart has no %s", name)
		}
	}
	minors, err := kubernetesMinors("kubernetes")
	if err != nil || len(minors) < 3 {
		t.Fatalf("minor versions %q, %v", minors, err)
	}
	for _, minor := range minors[1:] {
		if !strings.Contains(templates, `"-k`+minor+`"`) {
			t.Errorf("the chart never picks the image of Kubernetes %s", minor)
		}
		v, err := kubernetesVersion("kubernetes/go-" + minor + ".mod")
		if err != nil || !strings.HasPrefix(v, "v"+minor+".") {
			t.Errorf("go-%s.mod has Kubernetes %s, %v", minor, v, err)
		}
		// What plimsoll itself takes is there as in go.mod, else nothing compiles by that file.
		current, newer := requirements(t, "kubernetes/go.mod"), requirements(t, "kubernetes/go-"+minor+".mod")
		for module, indirect := range requirements(t, "go.mod") {
			_, needed := current[module]
			if _, has := newer[module]; needed && !indirect && !has {
				t.Errorf("go-%s.mod lacks %s: run scripts/kube-minor.sh %s", minor, module, v[1:])
			}
		}
	}
}

// requirements returns the modules that a file requires, and whether no package of its module imports them.
func requirements(t *testing.T, modfile string) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(modfile)
	if err != nil {
		t.Fatal(err)
	}
	modules := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) >= 2 && strings.HasPrefix(line, "\t") && words[1][0] == 'v' {
			modules[words[0]] = strings.HasSuffix(line, "// indirect\n")
		}
	}
	return modules
}
