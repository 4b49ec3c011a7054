package nodetest

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"plimsoll/internal/image"
	"plimsoll/internal/testkit/imagetest"
)

// image makes the archive of an image of files of this host, by their paths in it.
func (k *cluster) image(tag string, files map[string]string, entrypoint ...string) string {
	k.t.Helper()
	return k.imageNamed("test.invalid/"+tag, files, entrypoint...)
}

// imageNamed is image by its whole name.
func (k *cluster) imageNamed(name string, files map[string]string, entrypoint ...string) string {
	k.t.Helper()
	i := imagetest.WithFiles(k.t, empty.Image, files)
	i, err := mutate.ConfigFile(i, &v1.ConfigFile{
		OS: "linux", Architecture: "amd64", RootFS: must(k, i).RootFS,
		Config: v1.Config{Entrypoint: entrypoint, Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin"}},
	})
	if err != nil {
		k.t.Fatal(err)
	}
	return k.archive(name, i)
}

// archive writes an image where nodes can import it from.
func (k *cluster) archive(full string, i v1.Image) string {
	k.t.Helper()
	of, err := name.NewTag(full)
	if err != nil {
		k.t.Fatal(err)
	}
	file := filepath.Join(k.dir, strings.NewReplacer("/", "-", ":", "-").Replace(full)+".tar")
	if err := tarball.WriteToFile(file, of, i); err != nil {
		k.t.Fatal(err)
	}
	return file
}

// postgresql is the archive of the image of PostgreSQL that plimsoll makes, and keeps here.
func (k *cluster) postgresql() string {
	k.t.Helper()
	store := image.In(filepath.Join(k.bin, "images"))
	recipes := image.Recipes()
	at := slices.IndexFunc(recipes, func(r image.Recipe) bool { return r.Name == "postgresql" })
	i, err := store.Open(imagetest.Made(k.t, store, recipes[at]))
	if err != nil {
		k.t.Fatal(err)
	}
	return k.archive("test.invalid/postgresql:1", i)
}

func must(k *cluster, i v1.Image) *v1.ConfigFile {
	c, err := i.ConfigFile()
	if err != nil {
		k.t.Fatal(err)
	}
	return c
}

// withLibraries returns a program of this host and what ldd says that it loads.
func (k *cluster) withLibraries(program string) map[string]string {
	k.t.Helper()
	at, err := exec.LookPath(program)
	if err != nil {
		k.t.Fatal(err)
	}
	out, err := exec.CommandContext(k.t.Context(), "ldd", at).Output()
	if err != nil {
		k.t.Fatal(err)
	}
	files := map[string]string{"/usr/bin/" + program: at}
	for word := range strings.FieldsSeq(string(out)) {
		if filepath.IsAbs(word) {
			files[word] = word
		}
	}
	return files
}
