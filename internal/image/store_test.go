package image

import (
	"bytes"
	"context"
	"errors"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"plimsoll/internal/problem"
)

// steps is a progress that remembers.
type steps struct {
	titles []string
	last   float64
}

func (s *steps) Step(what string, share float64) {
	s.titles, s.last = append(s.titles, what), share
}

// anImage is one of two layers.
func anImage(t *testing.T) v1.Image {
	t.Helper()
	made, err := random.Image(100_000, 2)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// aRegistry serves on the loopback; what is asked of it goes through before, unless nil.
func aRegistry(t *testing.T, before func(w http.ResponseWriter, r *http.Request) (answered bool)) (host string) {
	t.Helper()
	serve := registry.New(registry.Logger(log.New(&bytes.Buffer{}, "", 0)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if before == nil || !before(w, r) {
			serve.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	t.Setenv("DOCKER_CONFIG", t.TempDir()) // no credentials of whoever runs the test
	return strings.TrimPrefix(server.URL, "http://")
}

// push puts an image into a registry.
func push(t *testing.T, ref string, i v1.Image) {
	t.Helper()
	parsed, err := name.ParseReference(ref)
	if err == nil {
		err = remote.Write(parsed, i)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func digestOf(t *testing.T, i v1.Image) string {
	t.Helper()
	d, err := i.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return d.String()
}

// empty checks that nothing is left in a store.
func wantEmpty(t *testing.T, dir string) {
	t.Helper()
	left, _ := os.ReadDir(dir)
	for _, e := range left {
		t.Errorf("left behind: %s", e.Name())
	}
}

func TestPulledImagesAreKeptByDigest(t *testing.T) {
	host, s, dir := aRegistry(t, nil), &steps{}, t.TempDir()
	made := anImage(t)
	push(t, host+"/library/postgres:16", made)
	store := In(dir)
	got, err := store.Pull(t.Context(), host+"/library/postgres:16", s)
	if err != nil {
		t.Fatal(err)
	}
	if got.Digest != digestOf(t, made) || got.From != FromRegistry || got.Bytes < 200_000 || s.last < 0.99 {
		t.Errorf("it is %+v, pulled to %v", got, s.last)
	}
	// What is kept is the image, byte by byte.
	index, err := layout.ImageIndexFromPath(store.Layout(got))
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if len(manifest.Manifests) != 1 || manifest.Manifests[0].Digest.String() != got.Digest {
		t.Errorf("the layout holds %+v", manifest.Manifests)
	}
	for _, asked := range []string{got.Name, got.Digest, got.Digest[7:15], host + "/library/postgres:16"} {
		found, err := store.Find(asked)
		if err != nil || found.Digest != got.Digest {
			t.Errorf("%s finds %+v, %v", asked, found, err)
		}
	}
	// By its digest it is the same, and kept once.
	again, err := store.Pull(t.Context(), host+"/library/postgres@"+got.Digest, s)
	if err != nil || again.Digest != got.Digest {
		t.Errorf("again it is %+v, %v", again, err)
	}
	images, broken, err := store.List()
	if err != nil || len(broken) > 0 || len(images) != 1 || images[0].Name != host+"/library/postgres@"+got.Digest {
		t.Errorf("kept are %+v, %v, %v", images, broken, err)
	}
	if err := store.Remove(images[0]); err != nil {
		t.Fatal(err)
	}
	wantEmpty(t, dir)
}

// A registry that gives other bytes than it was asked for is refused, and nothing of
// what it gave stays.
func TestALyingRegistryIsRefused(t *testing.T) {
	truth, lie := anImage(t), anImage(t)
	raw, err := lie.RawManifest()
	if err != nil {
		t.Fatal(err)
	}
	for name, lies := range map[string]func(*http.Request) []byte{
		"the manifest": func(r *http.Request) []byte {
			if strings.Contains(r.URL.Path, "/manifests/") && r.Method != http.MethodPut {
				return raw
			}
			return nil
		},
		"a layer": func(r *http.Request) []byte {
			if strings.Contains(r.URL.Path, "/blobs/sha256:") && r.Method == http.MethodGet {
				return []byte("something else")
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			lying := false
			host := aRegistry(t, func(w http.ResponseWriter, r *http.Request) bool {
				answer := lies(r)
				if !lying || answer == nil {
					return false
				}
				w.Header().Set("Content-Type", "application/vnd.docker.distribution.manifest.v2+json")
				w.Header().Set("Docker-Content-Digest", digestOf(t, truth))
				_, _ = w.Write(answer)
				return true
			})
			push(t, host+"/db:1", truth)
			lying = true
			dir := t.TempDir()
			got, err := In(dir).Pull(t.Context(), host+"/db@"+digestOf(t, truth), &steps{})
			if err == nil {
				t.Errorf("it is taken: %+v", got)
			}
			wantEmpty(t, dir)
		})
	}
}

// Why an image cannot be pulled comes with what to do.
func TestRefusedPulls(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		ref    string
		remedy string
	}{
		"not logged in": {http.StatusUnauthorized, "/db:1", "docker login"},
		"forbidden":     {http.StatusForbidden, "/db:1", "docker login"},
		"counted":       {http.StatusTooManyRequests, "/db:1", "it counts what is pulled"},
		"no such tag":   {0, "/db:none", "has none of these"},
		"out of order":  {http.StatusNotImplemented, "/db:1", "is reached from here"},
	} {
		t.Run(name, func(t *testing.T) {
			host := aRegistry(t, func(w http.ResponseWriter, r *http.Request) bool {
				if c.status != 0 && strings.Contains(r.URL.Path, "/manifests/") {
					w.WriteHeader(c.status)
				}
				return c.status != 0 && strings.Contains(r.URL.Path, "/manifests/")
			})
			dir := t.TempDir()
			_, err := In(dir).Pull(t.Context(), host+c.ref, &steps{})
			p := problem.Of(err, problem.Failed)
			if p == nil || !strings.Contains(p.Remedy, c.remedy) {
				t.Errorf("it says %v, not %q", err, c.remedy)
			}
			wantEmpty(t, dir)
		})
	}
	_, err := In(t.TempDir()).Pull(t.Context(), "Not A Name", &steps{})
	if !errors.Is(err, problem.Invalid) {
		t.Errorf("a bad name is %v", err)
	}
	_, err = In(t.TempDir()).Pull(t.Context(), "127.0.0.1:1/db:1", &steps{})
	if p := problem.Of(err, problem.Failed); p == nil || !strings.Contains(p.Remedy, "mirrors") {
		t.Errorf("no registry is %v", err)
	}
}

func TestAnInterruptedPullLeavesNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	host := aRegistry(t, func(_ http.ResponseWriter, r *http.Request) bool {
		if strings.Contains(r.URL.Path, "/blobs/") && r.Method == http.MethodGet {
			cancel()
		}
		return false
	})
	push(t, host+"/db:1", anImage(t))
	dir := t.TempDir()
	if _, err := In(dir).Pull(ctx, host+"/db:1", &steps{}); !errors.Is(err, context.Canceled) {
		t.Errorf("it ends with %v", err)
	}
	wantEmpty(t, dir)
}

func TestImagesOfFiles(t *testing.T) {
	first, second := anImage(t), anImage(t)
	dir := t.TempDir()
	save := func(file string, images map[string]v1.Image) string {
		t.Helper()
		refs := map[name.Tag]v1.Image{}
		for ref, i := range images {
			tag, err := name.NewTag(ref)
			if err != nil {
				t.Fatal(err)
			}
			refs[tag] = i
		}
		path := filepath.Join(dir, file)
		if err := tarball.MultiWriteToFile(path, refs); err != nil {
			t.Fatal(err)
		}
		return path
	}
	single := save("single.tar", map[string]v1.Image{"postgres:16": first})
	both := save("both.tar", map[string]v1.Image{"postgres:16": first, "mysql:8": second})
	store := In(filepath.Join(dir, "store"))
	got, err := store.Load(t.Context(), single, "", &steps{})
	if err != nil || got.Name != "postgres:16" || got.From != FromFile {
		t.Errorf("it is %+v, %v", got, err)
	}
	if got, err = store.Load(t.Context(), both, "mysql:8", &steps{}); err != nil || got.Name != "mysql:8" {
		t.Errorf("of two it is %+v, %v", got, err)
	}
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte("no tar\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range [][2]string{
		{both, ""}, {both, "cassandra:5"}, {fifo, ""}, {"/dev/zero", ""}, {dir, ""}, {text, ""},
		{filepath.Join(dir, "none"), ""},
		{single, "NOT:a:tag"},
	} {
		if got, err := store.Load(t.Context(), c[0], c[1], &steps{}); !errors.Is(err, problem.Invalid) {
			t.Errorf("%s %s gives %+v, %v", c[0], c[1], got, err)
		}
	}
	images, broken, err := store.List()
	if err != nil || len(images) != 2 || len(broken) != 0 {
		t.Errorf("kept are %+v, %v, %v", images, broken, err)
	}
}

// What lies in the store and is no image is told, and named as none.
func TestBrokenImagesAreTold(t *testing.T) {
	dir := t.TempDir()
	hex := strings.Repeat("ab", 32)
	for path, text := range map[string]string{
		hex + "/image.json":                      `{"digest": "sha256:` + strings.Repeat("cd", 32) + `"}`,
		strings.Repeat("ef", 32) + "/image.json": `{`,
		"other/image.json":                       `{"digest": "sha256:other"}`,
	} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(path)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, path), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	images, broken, err := In(dir).List()
	if err != nil || len(images) != 0 || len(broken) != 3 {
		t.Errorf("found are %+v, %v, %v", images, broken, err)
	}
	if _, err := In(dir).Find(hex); !errors.Is(err, ErrNone) {
		t.Errorf("finding one is %v", err)
	}
}
