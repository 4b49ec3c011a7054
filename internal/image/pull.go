package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"sync/atomic"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"plimsoll/internal/inputfile"
	"plimsoll/internal/problem"
	"plimsoll/internal/units"
)

// Pull takes an image from a registry: by a tag, or by a digest, which what comes has to
// have. Registries are asked with the credentials of the user's Docker configuration.
func (s *Store) Pull(ctx context.Context, ref string, progress Progress) (image Image, err error) {
	parsed, err := name.ParseReference(ref)
	if err != nil {
		return Image{}, problem.New(problem.Invalid, "image "+ref, err.Error(), "write NAME:TAG or NAME@sha256:DIGEST")
	}
	dir, done, err := s.workshop()
	if err != nil {
		return Image{}, err
	}
	defer func() { err = errors.Join(err, done()) }()
	count := &counting{under: http.DefaultTransport, progress: progress}
	progress.Step("asking "+parsed.Context().RegistryStr(), 0)
	found, err := remote.Image(parsed, remote.WithContext(ctx), remote.WithTransport(count),
		remote.WithAuthFromKeychain(authn.DefaultKeychain),
		remote.WithPlatform(v1.Platform{OS: "linux", Architecture: architecture()}))
	if err != nil {
		return Image{}, refused(ctx, parsed, err)
	}
	manifest, err := found.Manifest()
	if err != nil {
		return Image{}, refused(ctx, parsed, err)
	}
	for _, layer := range manifest.Layers {
		count.all += layer.Size
	}
	image, err = s.keep(ctx, dir, found, Image{Name: parsed.Name(), From: FromRegistry})
	if err != nil {
		return Image{}, refused(ctx, parsed, err)
	}
	return image, nil
}

// fullName is what a reference stands for, with what is understood.
func fullName(ref string) (string, error) {
	parsed, err := name.ParseReference(ref)
	if err != nil {
		return "", err
	}
	return parsed.Name(), nil
}

// architecture is that of the images that run here.
func architecture() string { return runtime.GOARCH }

// refused says why an image could not be pulled, and what to do.
func refused(ctx context.Context, ref name.Reference, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	host := ref.Context().RegistryStr()
	remedy := "see that " + host + " is reached from here; mirrors are named like registries: MIRROR/" +
		ref.Context().RepositoryStr()
	var answer *transport.Error
	if errors.As(err, &answer) {
		switch answer.StatusCode {
		case http.StatusUnauthorized, http.StatusForbidden:
			remedy = "log in, docker login " + host + ", or look at what you are logged in with"
		case http.StatusNotFound:
			remedy = "look at the name and the tag: " + host + " has none of these"
		case http.StatusTooManyRequests:
			remedy = "log in, docker login " + host + ", or wait: it counts what is pulled"
		}
	}
	return problem.New(problem.Failed, "pull "+ref.Name(), err.Error(), remedy)
}

// counting tells how much of the layers has come.
type counting struct {
	under    http.RoundTripper
	progress Progress
	all      int64 // bytes; 0 until it is known
	come     atomic.Int64
}

// RoundTrip implements http.RoundTripper.
func (c *counting) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := c.under.RoundTrip(r)
	if err == nil && c.all > 0 {
		answer.Body = &counted{answer.Body, c}
	}
	return answer, err
}

type counted struct {
	io.ReadCloser
	by *counting
}

// Read implements io.Reader.
func (c *counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	come := c.by.come.Add(int64(n))
	c.by.progress.Step(fmt.Sprintf("%s of %s", units.Bytes(uint64(come)), units.Bytes(uint64(c.by.all))),
		min(1, float64(come)/float64(c.by.all)))
	return n, err
}

// Load takes an image from a file that docker save wrote; of several in it, the one of
// that tag, which is "" for the only one.
func (s *Store) Load(ctx context.Context, path, tag string, progress Progress) (image Image, err error) {
	var asked *name.Tag
	if tag != "" {
		parsed, err := name.NewTag(tag)
		if err != nil {
			return Image{}, problem.New(problem.Invalid, "image "+tag, err.Error(), "write NAME:TAG")
		}
		asked = &parsed
	}
	open := func() (io.ReadCloser, error) { return inputfile.Open(path) }
	progress.Step("reading "+path, 0)
	found, err := tarball.Image(open, asked)
	if err == nil && tag == "" {
		tag, err = onlyTag(open)
	}
	if err != nil {
		return Image{}, problem.New(problem.Invalid, path, err.Error(),
			"give a file that docker save wrote, and with --tag which of its images")
	}
	dir, done, err := s.workshop()
	if err != nil {
		return Image{}, err
	}
	defer func() { err = errors.Join(err, done()) }()
	image, err = s.keep(ctx, dir, found, Image{Name: tag, From: FromFile})
	if err != nil && ctx.Err() == nil {
		err = problem.New(problem.Failed, "image of "+path, err.Error(), "save it again: docker save")
	}
	return image, err
}

// onlyTag is what the only image of a file is called; "unnamed" where it has no name.
func onlyTag(open tarball.Opener) (string, error) {
	manifest, err := tarball.LoadManifest(open)
	if err != nil {
		return "", err
	}
	for _, image := range manifest {
		if len(image.RepoTags) > 0 {
			return image.RepoTags[0], nil
		}
	}
	return "unnamed", nil
}
