package image

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"

	"plimsoll/internal/problem"
	"plimsoll/internal/state/dirstore"
)

// Image is one that is kept.
type Image struct {
	Digest   string    `json:"digest"` // of its manifest: "sha256:..."
	Name     string    `json:"name"`   // as it was asked for, in full: "index.docker.io/library/postgres:16"
	From     Source    `json:"from"`
	Made     time.Time `json:"made"`               // or pulled, or read
	Bytes    int64     `json:"bytes"`              // that its layers take, compressed
	Packages []Package `json:"packages,omitempty"` // that it was made of
}

// Major returns the major version that the image's tag begins with: 18 of "postgres:18.1-trixie". known is false for an
// image without a tag, and for one such as "postgres:latest".
func (i Image) Major() (major int, known bool) {
	name, _, _ := strings.Cut(i.Name, "@")
	_, tag, tagged := strings.Cut(name[strings.LastIndexByte(name, '/')+1:], ":")
	digits := tag[:len(tag)-len(strings.TrimLeft(tag, "0123456789"))]
	major, err := strconv.Atoi(digits)
	return major, tagged && err == nil
}

// Source is the origin of an image.
type Source string

// The sources.
const (
	FromRegistry Source = "registry"
	FromFile     Source = "file"
	FromPackages Source = "packages"
)

// Package is one of a distribution's packages.
type Package struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Progress watches an image being made.
type Progress interface {
	// Step reports the current step, and the share of the whole that is done, from 0 to 1. Calls may come from several
	// goroutines, and never overlap.
	Step(what string, share float64)
}

// Store keeps images below a directory.
type Store struct{ shelf dirstore.Shelf }

// In returns the store in a directory, which need not be there.
func In(dir string) *Store { return &Store{dirstore.Shelf{Dir: dir}} }

// InState returns the store in a state directory.
func InState(state string) *Store { return In(filepath.Join(state, "images")) }

const recordName = "image.json"

var directoryName = regexp.MustCompile(`^[0-9a-f]{64}$`)

// List returns the images, by name and then newest first. What lies in the store and
// cannot be read is in broken, with its reason.
func (s *Store) List() (images []Image, broken []error, err error) {
	names, err := s.shelf.Names()
	if err != nil {
		return nil, nil, fmt.Errorf("list images: %w", err)
	}
	for _, name := range names {
		image, err := s.read(name)
		if err != nil {
			broken = append(broken, err)
			continue
		}
		images = append(images, image)
	}
	slices.SortStableFunc(images, func(a, b Image) int {
		if byName := strings.Compare(a.Name, b.Name); byName != 0 {
			return byName
		}
		return b.Made.Compare(a.Made)
	})
	return images, broken, nil
}

// read reads the description of an image in a directory of the store.
func (s *Store) read(dir string) (image Image, err error) {
	path := s.shelf.Path(dir)
	text, err := os.ReadFile(filepath.Join(path, recordName))
	if err == nil {
		err = json.Unmarshal(text, &image)
	}
	if err == nil && (!directoryName.MatchString(dir) || image.Digest != "sha256:"+dir) {
		err = fmt.Errorf("it says that it is %q, which belongs into another directory", image.Digest)
	}
	if err != nil {
		return Image{}, fmt.Errorf("%s is no image: %w; remove the directory", path, err)
	}
	return image, nil
}

// ErrNone is within the error of a name that no image has.
var ErrNone = errors.New("there is no such image")

// Find returns the newest image of a name, or that of a digest or its beginning.
func (s *Store) Find(name string) (Image, error) {
	images, _, err := s.List()
	if err != nil {
		return Image{}, err
	}
	var found []Image
	for _, image := range images {
		if image.Name == name || image.matches(name) {
			return image, nil
		}
		hex := strings.TrimPrefix(image.Digest, "sha256:")
		if asked := strings.TrimPrefix(name, "sha256:"); len(asked) >= minDigest && strings.HasPrefix(hex, asked) {
			found = append(found, image)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return Image{}, problem.New(problem.Invalid, "there is no image "+name, "",
			"see plimsoll image list; plimsoll image build or pull gets one").CausedBy(ErrNone)
	}
	return Image{}, problem.New(problem.Invalid, "image "+name, "several digests begin so", "write more of it")
}

// minDigest is the shortest prefix of a digest, in digits, that identifies an image.
const minDigest = 6

// matches reports whether a name means the image. The name may leave out defaults: the registry, or the version of an
// image that was built here.
func (i Image) matches(name string) bool {
	if i.From == FromPackages {
		own, _, _ := strings.Cut(i.Name, ":")
		return own == name
	}
	full, err := fullName(name)
	return err == nil && i.From == FromRegistry && full == i.Name
}

// Layout returns the directory of an image's OCI layout.
func (s *Store) Layout(i Image) string {
	return filepath.Join(s.shelf.Path(strings.TrimPrefix(i.Digest, "sha256:")), "oci")
}

// Remove removes an image, unless a run uses it.
func (s *Store) Remove(i Image) error {
	if err := s.shelf.Remove(strings.TrimPrefix(i.Digest, "sha256:")); err != nil {
		return fmt.Errorf("remove image %s: %w", i.Name, err)
	}
	return nil
}

// workshop makes a directory for an image that is being made.
func (s *Store) workshop() (dir string, done func() error, err error) {
	dir, done, err = s.shelf.New()
	if err != nil {
		return "", nil, fmt.Errorf("make an image: %w", err)
	}
	return dir, done, nil
}

// keep writes an image into dir, and moves dir to its place. An image of the same digest that is already there stays,
// under the new name.
func (s *Store) keep(ctx context.Context, dir string, source v1.Image, about Image) (Image, error) {
	digest, err := source.Digest()
	if err != nil {
		return Image{}, err
	}
	manifest, err := source.Manifest()
	if err != nil {
		return Image{}, err
	}
	about.Digest, about.Made = digest.String(), time.Now().UTC().Truncate(time.Second)
	for _, layer := range manifest.Layers {
		about.Bytes += layer.Size
	}
	final := s.shelf.Path(digest.Hex)
	known, err := s.read(digest.Hex)
	if err == nil {
		known.Name, known.From = about.Name, about.From
		return known, record(final, known)
	}
	if _, err := os.Lstat(final); err == nil {
		return Image{}, fmt.Errorf("%s is there, and is no image that can be read: remove it", final)
	}
	index, err := layout.Write(filepath.Join(dir, "oci"), empty.Index)
	if err == nil {
		err = index.AppendImage(source)
	}
	if err == nil {
		source, err = index.Image(digest) // the stored layers, instead of a second download
	}
	if err == nil {
		err = eachEntry(ctx, about.Name, source, func(*tar.Header, io.Reader) error { return nil })
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return Image{}, err
	}
	if err := record(dir, about); err != nil {
		return Image{}, err
	}
	for _, path := range []string{filepath.Join(dir, "work"), filepath.Join(dir, "layer.tar")} {
		if err := os.RemoveAll(path); err != nil {
			return Image{}, err
		}
	}
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // images are no secret
		return Image{}, err
	}
	_, err = s.shelf.Put(dir, digest.Hex) // an image that another process stored meanwhile is the same
	return about, err
}

func record(dir string, about Image) error {
	text, err := json.MarshalIndent(about, "", "  ")
	if err != nil {
		return err
	}
	path := filepath.Join(dir, recordName)
	if err := os.WriteFile(path+".new", append(text, '\n'), 0o644); err != nil { //nolint:gosec // no secret
		return err
	}
	return os.Rename(path+".new", path)
}
