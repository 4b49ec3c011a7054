package image

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"plimsoll/internal/problem"
)

// saved writes an image of one layer as docker save does; entries says what the layer has.
func saved(t *testing.T, files ...string) (path string) {
	t.Helper()
	text, err := io.ReadAll(entries(t, files...))
	if err != nil {
		t.Fatal(err)
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(string(text))), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	made, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "image.tar")
	tag, err := name.NewTag("evil:file")
	if err == nil {
		err = tarball.MultiWriteToFile(path, map[name.Tag]v1.Image{tag: made})
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestAttackArchiveOfAnImage: what an image's layers say is done below its own root or not at all, and what has
// Plimsoll's names is refused before it is kept.
func TestAttackArchiveOfAnImage(t *testing.T) {
	outside := t.TempDir()
	file := filepath.Join(outside, "precious")
	if err := os.WriteFile(file, []byte("PRECIOUS"), 0o600); err != nil {
		t.Fatal(err)
	}
	up := strings.Repeat("../", 40)
	usual := maxEntries
	maxEntries = 20
	t.Cleanup(func() { maxEntries = usual })
	var excess []string
	for i := range 21 {
		excess = append(excess, fmt.Sprintf("empty%d=", i))
	}
	for _, c := range []struct {
		name    string
		entries []string
		why     string // "" where it is unpacked
	}{
		{"a link for the scratch directory", []string{"plimsoll->" + outside}, "it has /plimsoll"},
		{"a file below it", []string{"plimsoll/hosts=x"}, "it has /plimsoll"},
		{"links below it", []string{"plimsoll/", "plimsoll/hosts->" + file}, "it has /plimsoll"},
		{"a detour to it", []string{"usr/", "./usr/../plimsoll->" + outside}, "it has /plimsoll"},
		{"an absolute path of it", []string{"/plimsoll.program=x"}, "it has /plimsoll.program"},
		{"a hard link for it", []string{"x=x", "plimsoll=>x"}, "it has /plimsoll"},
		{"a link for the data", []string{"data->" + outside}, "its /data is no directory"},
		{"a file for the data", []string{"data=x"}, "its /data is no directory"},
		{"more files than an image has", excess, "more than 20 files"},
		{"a path that is too long", []string{strings.Repeat("d/", 2100) + "x=x"}, "longer than 4096 bytes"},
		{"a directory for the data", []string{"data/", "data/db/", "data/db/link->" + file}, ""},
		{"devices", []string{"dev/", "dev/sda!"}, ""},
		{"paths that go up", []string{"../../plimsoll->" + outside, up + "etc/x=x", "usr/bin/" + up + "precious=x"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			store := In(filepath.Join(t.TempDir(), "store"))
			image, err := store.Load(t.Context(), saved(t, c.entries...), "", &steps{})
			if c.why != "" {
				p := problem.Of(err)
				if p == nil || !strings.Contains(p.Why, c.why) || p.Remedy == "" {
					t.Errorf("it says %v, and not %s", err, c.why)
				}
				wantEmpty(t, store.shelf.Dir)
				return
			}
			root, err := store.Root(t.Context(), image, &steps{})
			if err != nil {
				t.Fatal(err)
			}
			defer root.Release()
			if err := filepath.WalkDir(root.Dir, func(path string, e fs.DirEntry, err error) error {
				if err == nil && e.Type()&(fs.ModeDevice|fs.ModeNamedPipe) != 0 {
					t.Errorf("%s is made", path)
				}
				return err
			}); err != nil {
				t.Error(err)
			}
		})
	}
	for name, entries := range map[string][]string{
		"a file through a link":           {"way->" + outside, "way/precious=CHANGED"},
		"a file through a link up":        {"way->" + up + outside, "way/new=CHANGED"},
		"a file through the kernel":       {"way->/proc/self/root" + outside, "way/precious=CHANGED"},
		"a hard link to the host's":       {"mine=>" + up + file, "mine=CHANGED"},
		"a hard link to a link":           {"way->" + file, "mine=>way", "mine=CHANGED"},
		"a hard link through a link":      {"way->" + outside, "mine=>way/precious"},
		"a directory in a link's place":   {"way->" + outside, "way/below/"},
		"a file over a link of that name": {"way->" + file, "way=CHANGED"},
	} {
		t.Run(name, func(t *testing.T) {
			store := In(filepath.Join(t.TempDir(), "store"))
			image, err := store.Load(t.Context(), saved(t, entries...), "", &steps{})
			if err != nil {
				t.Fatal(err)
			}
			if root, err := store.Root(t.Context(), image, &steps{}); err == nil {
				root.Release() // a hard link to a link, and the first of two files of one name, are harmless
			}
			text, err := os.ReadFile(file)
			left, _ := os.ReadDir(outside)
			if err != nil || string(text) != "PRECIOUS" || len(left) != 1 {
				t.Errorf("the host has %q, %v, %v", text, left, err)
			}
		})
	}
}

// TestAttackRootThatWasUnpacked: an image that an older version unpacked, with names of Plimsoll's, is refused where it
// is used.
func TestAttackRootThatWasUnpacked(t *testing.T) {
	store := In(filepath.Join(t.TempDir(), "store"))
	image, err := store.Load(t.Context(), saved(t, "usr/"), "", &steps{})
	if err != nil {
		t.Fatal(err)
	}
	root, err := store.Root(t.Context(), image, &steps{})
	if err != nil {
		t.Fatal(err)
	}
	root.Release()
	for _, name := range []string{"plimsoll", "data"} {
		link := filepath.Join(root.Dir, name)
		if err := os.Symlink("/etc", link); err != nil {
			t.Fatal(err)
		}
		again, err := store.Root(t.Context(), image, &steps{})
		if !errors.Is(err, problem.Unsupported) || again != nil {
			t.Errorf("with /%s: %+v, %v", name, again, err)
		}
		if err := os.Remove(link); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Remove(image); err != nil {
		t.Errorf("it cannot be removed: %v", err)
	}
}
