// Package imagetest makes the images that tests run databases from.
package imagetest

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
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
	found, err := store.Find(r.Name)
	if err == nil {
		return found
	}
	found, err = store.Build(t.Context(), r, Quiet{})
	if away := (*url.Error)(nil); errors.As(err, &away) {
		t.Skipf("where the archive is cannot be reached from here: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// Saved writes an image, made from packages of a recipe, to a file as docker save does, and returns its path.
func Saved(t testing.TB, store *image.Store, recipe, tag string) string {
	t.Helper()
	recipes := image.Recipes()
	i := slices.IndexFunc(recipes, func(r image.Recipe) bool { return r.Name == recipe })
	if i < 0 {
		t.Fatalf("no recipe is called %s", recipe)
	}
	kept, err := store.Open(Made(t, store, recipes[i]))
	if err != nil {
		t.Fatal(err)
	}
	called, err := name.NewTag(tag)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), recipe+".tar")
	if err := tarball.WriteToFile(file, called, kept); err != nil {
		t.Fatal(err)
	}
	return file
}

// Mongodb returns an image in the place of MongoDB's, which has FerretDB in it; source is the directory of its
// program.
func Mongodb(t testing.TB, store *image.Store, source string) image.Image {
	t.Helper()
	tag := "ferretdb:1.24.2-" + sum(t, source)
	if kept, err := store.Find(tag); err == nil {
		return kept
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
	kept, err := store.Open(base)
	if err != nil {
		t.Fatal(err)
	}
	made := WithFiles(t, kept, map[string]string{"/usr/bin/mongod": program})
	if err := tarball.WriteToFile(file, called, made); err != nil {
		t.Fatal(err)
	}
	loaded, err := store.Load(t.Context(), file, tag, Quiet{})
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

// sum returns a checksum of the files of a directory.
func sum(t testing.TB, dir string) string {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	hash := sha256.New()
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(hash, f.Name(), len(text))
		hash.Write(text)
	}
	return fmt.Sprintf("%x", hash.Sum(nil)[:6])
}

// WithFiles is an image with a layer more, of programs by their paths in it, which are copies of files here.
func WithFiles(t testing.TB, base v1.Image, files map[string]string) v1.Image {
	t.Helper()
	var layer bytes.Buffer
	to := tar.NewWriter(&layer)
	for path, from := range files {
		content, err := os.ReadFile(from)
		if err == nil {
			err = to.WriteHeader(&tar.Header{Name: strings.TrimPrefix(path, "/"), Mode: 0o755, Size: int64(len(content))})
		}
		if err == nil {
			_, err = to.Write(content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	added, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(layer.Bytes())), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	made, err := mutate.AppendLayers(base, added)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// Config is what an image says of how to run it.
type Config struct{ Entrypoint, Cmd, Env, Volumes []string }

// Official returns an image that was pulled under an official name, "mysql:8.4", and the store that has it: a
// registry in this process has the files of another image there, with the configuration of the official one.
func Official(
	t testing.TB, from *image.Store, made image.Image, called string, as Config,
) (image.Image, *image.Store) {
	t.Helper()
	to, err := name.NewTag(called)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewTLSServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	away := redirect{to.RegistryStr(), server.Listener.Addr().String(), server.Client().Transport}
	config := v1.Config{Entrypoint: as.Entrypoint, Cmd: as.Cmd, Env: as.Env, Volumes: map[string]struct{}{}}
	for _, path := range as.Volumes {
		config.Volumes[path] = struct{}{}
	}
	kept, err := from.Open(made)
	if err != nil {
		t.Fatal(err)
	}
	dressed, err := mutate.Config(kept, config)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(to, dressed, remote.WithTransport(away)); err != nil {
		t.Fatal(err)
	}
	before := http.DefaultTransport
	http.DefaultTransport = away
	defer func() { http.DefaultTransport = before }()
	store := image.In(t.TempDir())
	pulled, err := store.Pull(t.Context(), called, Quiet{})
	if err != nil {
		t.Fatal(err)
	}
	return pulled, store
}

// redirect sends requests for one host to another, and refuses all other requests.
type redirect struct {
	from, to  string
	transport http.RoundTripper // encrypts: no other registry is asked by its name
}

// RoundTrip implements http.RoundTripper.
func (r redirect) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.URL.Host != r.from && request.URL.Host != r.to {
		return nil, fmt.Errorf("only %s is to be asked, and not %s", r.from, request.URL.Host)
	}
	away := request.Clone(request.Context())
	away.URL.Host = r.to
	answer, err := r.transport.RoundTrip(away)
	if answer != nil {
		answer.Request = request
	}
	return answer, err
}
