package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"runtime"
	"strings"
	"sync"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"plimsoll/internal/problem"
	"plimsoll/internal/state/inputfile"
	"plimsoll/internal/units"
)

// Pull downloads an image from a registry by tag or by digest, and checks the digest. It sends the credentials of the
// user's Docker configuration.
func (s *Store) Pull(ctx context.Context, ref string, progress Progress) (image Image, err error) {
	parsed, plain, err := reference(ref)
	if err != nil {
		return Image{}, problem.New(problem.Invalid, "image "+ref, err.Error(), "write NAME:TAG or NAME@sha256:DIGEST")
	}
	dir, done, err := s.workshop()
	if err != nil {
		return Image{}, err
	}
	defer func() { err = errors.Join(err, done()) }()
	count := &countingTransport{base: http.DefaultTransport, progress: progress, allowHTTP: plain}
	progress.Step("asking "+parsed.Context().RegistryStr(), 0)
	found, err := remote.Image(parsed, remote.WithContext(ctx), remote.WithTransport(count),
		remote.WithAuthFromKeychain(authn.DefaultKeychain),
		remote.WithPlatform(v1.Platform{OS: "linux", Architecture: architecture()}))
	if err != nil {
		return Image{}, pullError(ctx, parsed, err)
	}
	manifest, err := found.Manifest()
	if err != nil {
		return Image{}, pullError(ctx, parsed, err)
	}
	for _, layer := range manifest.Layers {
		count.total += layer.Size
	}
	image, err = s.keep(ctx, dir, found, Image{Name: parsed.Name(), From: FromRegistry})
	if err != nil {
		return Image{}, pullError(ctx, parsed, err)
	}
	return image, nil
}

// reference reads the name of an image. Behind http:// its registry may be asked without encryption.
func reference(ref string) (parsed name.Reference, plain bool, err error) {
	ref, plain = strings.CutPrefix(ref, "http://")
	var options []name.Option
	if plain {
		options = append(options, name.Insecure)
	}
	parsed, err = name.ParseReference(ref, options...)
	return parsed, plain, err
}

// fullName returns a reference with its defaults: registry, repository and tag.
func fullName(ref string) (string, error) {
	parsed, _, err := reference(ref)
	if err != nil {
		return "", err
	}
	return parsed.Name(), nil
}

// architecture returns the architecture of images that run here.
func architecture() string { return runtime.GOARCH }

// pullError explains why an image could not be pulled, with a remedy.
func pullError(ctx context.Context, ref name.Reference, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if problem.Of(err) != nil {
		return err
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

// countingTransport reports how much of the layers was downloaded. Layers come beside each other; their steps do not.
type countingTransport struct {
	base      http.RoundTripper
	progress  Progress
	allowHTTP bool  // allow unencrypted connections to any host
	total     int64 // bytes; 0 until it is known
	mu        sync.Mutex
	come      int64 // bytes; guarded by mu, as is progress while layers come
}

// RoundTrip implements http.RoundTripper.
func (c *countingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != "https" && !c.allowHTTP && !isLoopback(r.URL.Hostname()) {
		return nil, fmt.Errorf("%s is not asked without encryption, by which credentials would be seen: write http:// "+
			"before the name of the image where that may be", r.URL.Host)
	}
	answer, err := c.base.RoundTrip(r)
	if err == nil && c.total > 0 {
		answer.Body = &countingBody{answer.Body, c}
	}
	return answer, err
}

func isLoopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.IsLoopback()
}

// countingBody counts the bytes of a response.
type countingBody struct {
	io.ReadCloser
	transport *countingTransport
}

// Read implements io.Reader.
func (c *countingBody) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	t := c.transport
	t.mu.Lock()
	defer t.mu.Unlock()
	t.come += int64(n)
	t.progress.Step(fmt.Sprintf("%s of %s", units.Bytes(uint64(t.come)), units.Bytes(uint64(t.total))),
		min(1, float64(t.come)/float64(t.total)))
	return n, err
}

// Load reads an image from a file of docker save. tag selects one of several; "" is for the only one.
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
	if _, err := tarball.LoadManifest(open); err != nil {
		var missing *inputfile.Missing
		var other *inputfile.NotRegular
		if errors.As(err, &missing) || errors.As(err, &other) {
			return Image{}, problem.New(problem.Invalid, err.Error(), "", "").CausedBy(err)
		}
		return Image{}, problem.New(problem.Invalid, path, "not an image archive, or not all of one",
			"docker save writes one; it is not read compressed")
	}
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
	if err != nil && ctx.Err() == nil && problem.Of(err) == nil {
		err = problem.New(problem.Failed, "image of "+path, err.Error(), "save it again: docker save")
	}
	return image, err
}

// onlyTag returns the name of the only image in a file; "unnamed" where it has none.
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
