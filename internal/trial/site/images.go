package site

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"plimsoll/internal/experiment"
	"plimsoll/internal/host/hostinfo"
	"plimsoll/internal/image"
	"plimsoll/internal/problem"
	"plimsoll/internal/result"
	"plimsoll/internal/stack/container"
	"plimsoll/internal/workload"
)

// root is an image that servers of a run run from.
type root struct {
	*image.Root
	image.Account // that they run as

	ring bool // one of the servers uses io_uring
}

// config is the root as places take it; nil for this host's programs.
func (o *root) config() *container.Root {
	if o == nil {
		return nil
	}
	return &container.Root{Key: strings.TrimPrefix(o.Digest, "sha256:"), Dir: o.Dir, Env: o.Env, User: o.Account.String(),
		Ring: o.ring}
}

// NeededImage is an image that workloads of an experiment need.
type NeededImage struct {
	Name      string       `json:"name"` // as the experiment has it
	Workloads []string     `json:"workloads"`
	Kept      *image.Image `json:"kept,omitempty"` // nil where there is none: Missing says why, and what to do
	Missing   string       `json:"missing,omitempty"`
	// Rings states what containers permit a server that uses io_uring; "" for none that does.
	Rings string `json:"io_uring,omitempty"`
}

// NeededImages returns the images that an experiment's workloads need.
func NeededImages(e *experiment.Experiment, kept *image.Store, host *hostinfo.Host) (images []NeededImage) {
	for _, w := range e.Workloads {
		needs := workload.ImageOf(w)
		if needs == nil {
			continue
		}
		i := slices.IndexFunc(images, func(n NeededImage) bool { return n.Name == needs.Name })
		if i < 0 {
			n := NeededImage{Name: needs.Name}
			if found, err := findImage(kept, needs, ""); err != nil {
				n.Missing = err.Error()
			} else {
				n.Kept = &found
			}
			images, i = append(images, n), len(images)
		}
		if needs.Rings > 0 {
			images[i].Rings = "Docker's seccomp profile with io_uring; " + host.Rings(needs.Rings).Value
		}
		images[i].Workloads = append(images[i].Workloads, w.Name)
	}
	return images
}

// findImage finds an image that a workload needs: that of a digest, where one is given.
func findImage(in *image.Store, needs *workload.Image, digest string) (image.Image, error) {
	name := needs.Name
	if digest != "" {
		name = digest
	}
	if in == nil {
		return image.Image{}, errors.New("no images are kept here")
	}
	found, err := in.Find(name)
	if errors.Is(err, image.ErrNone) {
		return image.Image{}, problem.New(problem.Unsupported, "image "+name, "it is not kept on this host",
			"get it first, for example: "+needs.Make)
	}
	if err != nil {
		return image.Image{}, err
	}
	return found, isNewEnough(found, needs)
}

// isNewEnough returns an error for an image that is too old for an option.
func isNewEnough(found image.Image, needs *workload.Image) error {
	major, known := found.Major()
	if !known || major >= needs.Major {
		return nil
	}
	return problem.New(problem.Unsupported, "image "+found.Name,
		fmt.Sprintf("%s needs version %d or newer, and this is %d", needs.Option, needs.Major, major),
		"get a newer one and name it (image: NAME): "+needs.Make+"; or leave the option out")
}

// checkRing returns an error if this kernel, or a limit of containers, refuses io_uring, which a server of the image
// uses.
func (r *Sites) checkRing(needs *workload.Image) error {
	if needs.Rings == 0 {
		return nil
	}
	for _, i := range []hostinfo.Item{r.Env.Host.Ring(), r.Env.Host.Rings(needs.Rings)} {
		if i.OK == hostinfo.No {
			return problem.New(problem.Unsupported, needs.Option, i.Why, i.Remedy)
		}
	}
	return nil
}

// FindImages finds the images that the run's workloads need. The error names all missing images. resumed has the
// workloads of a run that goes on: that run keeps the images that it began with.
func (r *Sites) FindImages(resumed []result.Workload) error {
	var errs []error
	for _, w := range r.Experiment.Workloads {
		needs := workload.ImageOf(w)
		if needs == nil {
			continue
		}
		digest := ""
		i := slices.IndexFunc(resumed, func(o result.Workload) bool { return o.Name == w.Name })
		if i >= 0 && resumed[i].Image != nil {
			digest = resumed[i].Image.Digest
		}
		found, err := findImage(r.Images, needs, digest)
		if err != nil {
			if !slices.ContainsFunc(errs, func(e error) bool { return e.Error() == err.Error() }) {
				errs = append(errs, err)
			}
			continue
		}
		if err := r.checkRing(needs); err != nil {
			errs = append(errs, err)
			continue
		}
		r.images[w.Name] = found
	}
	return errors.Join(errs...)
}

// UnpackImages unpacks the images that were found. The images cannot be removed until release is called.
func (r *Sites) UnpackImages(ctx context.Context) (release func(), err error) {
	release = func() {
		for _, o := range r.roots {
			o.Release()
		}
	}
	byDigest := map[string]*root{}
	for _, w := range r.Experiment.Workloads {
		found, needed := r.images[w.Name]
		if !needed {
			continue
		}
		known := byDigest[found.Digest]
		if known == nil {
			unpacked, err := r.Images.Root(ctx, found, noter{r.Note})
			if err != nil {
				release()
				return nil, err
			}
			known = &root{Root: unpacked}
			byDigest[found.Digest] = known
			r.roots = append(r.roots, known)
			if known.Account, err = unpacked.Account(workload.ImageOf(w).Account); err != nil {
				release()
				return nil, err
			}
		}
		known.ring = known.ring || workload.ImageOf(w).Rings > 0
		r.rootOf[w.Name] = known
	}
	return release, nil
}

// noter makes notes of the progress of an image.
type noter struct{ note func(text string) }

// Step implements image.Progress.
func (n noter) Step(what string, _ float64) { n.note(what) }

// ImagesIn adds the images that were found to workloads as a run stores them.
func (r *Sites) ImagesIn(workloads []result.Workload) []result.Workload {
	for i, w := range workloads {
		if found, needed := r.images[w.Name]; needed {
			workloads[i].Image = &result.Image{Name: found.Name, Digest: found.Digest}
		}
	}
	return workloads
}

// content is all that the bytes depend on which an instance's server begins with.
func (r *Sites) content(in *Instance, serving *workload.Serving) string {
	if o := r.rootOf[in.Workload]; o != nil {
		return serving.Content + ", image " + o.Digest
	}
	return serving.Content
}

// outsideStep fits a step that runs outside of all places to the image of an instance.
func (r *Sites) outsideStep(in *Instance, step *workload.Step) *workload.Step {
	o := r.rootOf[in.Workload]
	if o == nil {
		return step
	}
	fit := *step
	fit.Argv = nil
	for _, word := range step.Argv {
		fit.Argv = append(fit.Argv, strings.ReplaceAll(word, workload.ImageDir, o.Dir))
	}
	fit.Argv = append(fit.Argv, "--account="+o.Account.String())
	for _, variable := range o.Env {
		fit.Argv = append(fit.Argv, "--env="+variable)
	}
	return &fit
}

// serverDir makes the directory of an instance's server in its scratch directory, which the
// account of its image may write to.
func (r *Sites) serverDir(in *Instance) error {
	o := r.rootOf[in.Workload]
	if o == nil {
		return nil
	}
	err := os.MkdirAll(in.Scratch, 0o755) //nolint:gosec // as all scratch directories
	if err == nil {
		err = o.Own(filepath.Join(in.Scratch, workload.ServerDir))
	}
	if err != nil {
		return fmt.Errorf("make a directory for the server of %s: %w", in.Load.Name, err)
	}
	return nil
}

// answered notes what the server of an instance said of itself when it answered first.
func (r *Sites) answered(in *Instance, version string, settings map[string]string) error {
	if version == "" || r.rootOf[in.Workload] == nil {
		return nil
	}
	return r.Answered(in.Workload, version, settings)
}
