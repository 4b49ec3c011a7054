// Package imagetest makes the images that tests run databases from.
package imagetest

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"plimsoll/internal/image"
)

// Quiet shows no progress.
type Quiet struct{}

// Step implements image.Progress.
func (Quiet) Step(string, float64) {}

// Made returns an image of the store, which is made where it has none of that name. The test is skipped where
// archives of packages cannot be reached.
func Made(t testing.TB, store *image.Store, r image.Recipe) image.Image {
	t.Helper()
	of, err := store.Find(r.Name)
	if err == nil {
		return of
	}
	of, err = store.Build(t.Context(), r, Quiet{})
	if away := (*url.Error)(nil); errors.As(err, &away) {
		t.Skipf("where the archive is cannot be reached from here: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return of
}

// Mongodb returns an image in the place of MongoDB's, which has FerretDB in it; source is the directory of its
// program.
func Mongodb(t testing.TB, store *image.Store, source string) image.Image {
	t.Helper()
	tag := "ferretdb:1.24.2-" + sum(t, source)
	if of, err := store.Find(tag); err == nil {
		return of
	}
	dir := t.TempDir()
	program, file := filepath.Join(dir, "mongod"), filepath.Join(dir, "image.tar")
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-o", program, ".")
	build.Dir, build.Env = source, append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build FerretDB: %v\n%s", err, said)
	}
	called, err := name.NewTag(tag)
	if err != nil {
		t.Fatal(err)
	}
	base := Made(t, store, image.Recipe{Name: "mongodb-base", Packages: []string{"dash", "coreutils", "base-files"},
		Path: "/usr/bin:/bin", User: "mongodb", UserID: 999, Versions: "dash"})
	if err := tarball.WriteToFile(file, called, withProgram(t, store.Layout(base), program)); err != nil {
		t.Fatal(err)
	}
	of, err := store.Load(t.Context(), file, tag, Quiet{})
	if err != nil {
		t.Fatal(err)
	}
	return of
}

// sum is of the files of a directory.
func sum(t testing.TB, dir string) string {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := sha256.New()
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(all, f.Name(), len(text))
		all.Write(text)
	}
	return fmt.Sprintf("%x", all.Sum(nil)[:6])
}

// withProgram is the image of a layout with one program more.
func withProgram(t testing.TB, dir, program string) v1.Image {
	t.Helper()
	content, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	to := tar.NewWriter(&file)
	header := &tar.Header{Name: "usr/bin/" + filepath.Base(program), Mode: 0o755, Size: int64(len(content))}
	err = to.WriteHeader(header)
	if err == nil {
		_, err = to.Write(content)
	}
	if err := errors.Join(err, to.Close()); err != nil {
		t.Fatal(err)
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(file.Bytes())), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	base, err := index.Image(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	made, err := mutate.AppendLayers(base, layer)
	if err != nil {
		t.Fatal(err)
	}
	return made
}
