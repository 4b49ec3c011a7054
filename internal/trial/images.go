package trial

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"plimsoll/internal/problem"
	"plimsoll/internal/result"
	"plimsoll/internal/stack/container"
	"plimsoll/internal/stack/image"
	"plimsoll/internal/workload"
)

// root is an image that servers of a run run from.
type root struct {
	*image.Root
	image.Account // that they run as
}

// config is the root as places take it; nil for this host's programs.
func (o *root) config() *container.Root {
	if o == nil {
		return nil
	}
	return &container.Root{Key: strings.TrimPrefix(o.Digest, "sha256:"), Dir: o.Dir, Env: o.Env, User: o.Account.String()}
}

// NeededImage is an image that workloads of an experiment need.
type NeededImage struct {
	Name      string       `json:"name"` // as the experiment has it
	Workloads []string     `json:"workloads"`
	Kept      *image.Image `json:"kept,omitempty"` // nil where there is none: Missing says why, and what to do
	Missing   string       `json:"missing,omitempty"`
}

// NeededImages returns the images that an experiment's workloads need.
func NeededImages(o Options) (all []NeededImage) {
	for _, w := range o.Experiment.Workloads {
		needs := workload.ImageOf(w)
		if needs == nil {
			continue
		}
		at := slices.IndexFunc(all, func(n NeededImage) bool { return n.Name == needs.Name })
		if at < 0 {
			n := NeededImage{Name: needs.Name}
			if kept, err := findImage(o.Images, needs, ""); err != nil {
				n.Missing = err.Error()
			} else {
				n.Kept = &kept
			}
			all, at = append(all, n), len(all)
		}
		all[at].Workloads = append(all[at].Workloads, w.Name)
	}
	return all
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
		return image.Image{}, problem.New(problem.Unsupported, "image "+name, "it is not kept on this host", "get it first, for example: "+needs.Make)
	}
	return found, err
}

// findImages finds the images that the run's workloads need, all that is missing at once. was
// are the workloads of a run that goes on: it takes the images that it began with.
func (r *runner) findImages(was []result.Workload) error {
	var all []error
	for _, w := range r.Experiment.Workloads {
		needs := workload.ImageOf(w)
		if needs == nil {
			continue
		}
		digest := ""
		at := slices.IndexFunc(was, func(o result.Workload) bool { return o.Name == w.Name })
		if at >= 0 && was[at].Image != nil {
			digest = was[at].Image.Digest
		}
		found, err := findImage(r.Images, needs, digest)
		if err != nil {
			if !slices.ContainsFunc(all, func(e error) bool { return e.Error() == err.Error() }) {
				all = append(all, err)
			}
			continue
		}
		r.images[w.Name] = found
	}
	return errors.Join(all...)
}

// unpackImages unpacks the images that were found. They cannot be removed until release is
// called.
func (r *runner) unpackImages(ctx context.Context) (release func(), err error) {
	release = func() {
		for _, o := range r.roots {
			o.Release()
		}
	}
	byDigest := map[string]*root{}
	for _, w := range r.Experiment.Workloads {
		found, some := r.images[w.Name]
		if !some {
			continue
		}
		known := byDigest[found.Digest]
		if known == nil {
			unpacked, err := r.Images.Root(ctx, found, noter{r.Progress})
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
		r.rootOf[w.Name] = known
	}
	return release, nil
}

// noter tells a run's progress of an image's.
type noter struct{ to Progress }

// Step implements image.Progress.
func (n noter) Step(what string, _ float64) { n.to.Note(what) }

// imagesIn adds the images that were found to workloads as a run stores them.
func (r *runner) imagesIn(all []result.Workload) []result.Workload {
	for i, w := range all {
		if found, some := r.images[w.Name]; some {
			all[i].Image = &result.Image{Name: found.Name, Digest: found.Digest}
		}
	}
	return all
}

// content is all that the bytes depend on which an instance's server begins with.
func (r *runner) content(in *instance, serving *workload.Serving) string {
	if o := r.rootOf[in.Workload]; o != nil {
		return serving.Content + ", image " + o.Digest
	}
	return serving.Content
}

// outsideStep fits a step that runs outside of all places to the image of an instance.
func (r *runner) outsideStep(in *instance, step *workload.Step) *workload.Step {
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
func (r *runner) serverDir(in *instance) error {
	o := r.rootOf[in.Workload]
	if o == nil {
		return nil
	}
	err := os.MkdirAll(in.scratch, 0o755) //nolint:gosec // as all scratch directories
	if err == nil {
		err = o.Own(filepath.Join(in.scratch, workload.ServerDir))
	}
	if err != nil {
		return fmt.Errorf("make a directory for the server of %s: %w", in.load.Name, err)
	}
	return nil
}

// answered notes what the server of an instance said of itself when it answered first.
func (r *runner) answered(in *instance, version string, settings map[string]string) error {
	if version == "" || r.rootOf[in.Workload] == nil {
		return nil
	}
	r.telling.Lock()
	defer r.telling.Unlock()
	run := *r.store.Run()
	run.Workloads = slices.Clone(run.Workloads)
	for i, w := range run.Workloads {
		if w.Name != in.Workload || w.Image == nil || w.Image.Version == version && maps.Equal(w.Settings, settings) {
			continue
		}
		said := *w.Image
		said.Version = version
		run.Workloads[i].Image, run.Workloads[i].Settings = &said, settings
		return r.store.SaveHeader(run)
	}
	return nil
}
