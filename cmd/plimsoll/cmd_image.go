package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"plimsoll/internal/image"
	"plimsoll/internal/printable"
	"plimsoll/internal/problem/suggest"
	"plimsoll/internal/units"
)

func newImageCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "image",
		Short: "Make, list and remove container images of databases",
		Long: `Get the images that databases run from, and keep them by digest below the state
directory. They come from a registry (pull) or from a file that docker save wrote
(load). Where no registry can be reached, they are made of Debian's packages
(build).

EXIT STATUS
  that of the command below it`,
		Example: `  plimsoll image pull postgres:16
  plimsoll image build postgresql
  plimsoll image list`,
	}
	isGroup(cmd)
	cmd.AddCommand(newImageListCommand(a), newImageBuildCommand(a), newImagePullCommand(a), newImageLoadCommand(a),
		newImageRemoveCommand(a))
	return cmd
}

// images is the store of images.
func (a *app) images() *image.Store { return image.InState(a.state) }

const imageStatus = `

EXIT STATUS
  0    the image is kept
  1    it could not be had; the reason is printed, and nothing is left of the attempt
  2    the command line is wrong
  3    this host lacks a program
  130  interrupted; nothing is left of the attempt`

func newImageBuildCommand(a *app) *cobra.Command {
	var quiet bool
	var names []string
	var known strings.Builder
	for _, r := range image.Recipes() {
		names = append(names, r.Name)
		fmt.Fprintf(&known, "  %-13s %s\n", r.Name, r.Summary)
	}
	cmd := &cobra.Command{
		Use:   "build NAME",
		Short: "Make an image of Debian's packages",
		Long: `Make an image of Debian's packages, which come from the archives that this host's
apt knows and trusts. Nothing is installed on the host, and root is not needed.
The same versions of packages give the same digest.

` + known.String() + imageStatus[1:],
		Example:   `  plimsoll image build postgresql`,
		Args:      exactly(1, "an image's name: "+strings.Join(names, ", ")),
		ValidArgs: names,
		RunE: func(cmd *cobra.Command, args []string) error {
			all := image.Recipes()
			name, version, _ := strings.Cut(args[0], ":")
			at := slices.IndexFunc(all, func(r image.Recipe) bool { return r.Name == name })
			if at >= 0 && version != "" {
				why := cmp.Or(all[at].Others, "one version alone can be made")
				return &exitError{exitUsage, fmt.Errorf("%s cannot be made here: %s (take it as it is: plimsoll image pull %s; "+
					"or make %s: %s)", args[0], why, args[0], name, all[at].Summary)}
			}
			if at < 0 {
				return &exitError{exitUsage, fmt.Errorf("no image is called %q: %s", args[0], suggest.DidYouMean(args[0], names))}
			}
			return a.getImage(cmd.Context(), quiet, "Made", func(ctx context.Context, p image.Progress) (image.Image, error) {
				return a.images().Build(ctx, all[at], p)
			})
		},
	}
	cmd.Flags().BoolVarP(&quiet, "quiet", "q", false, "show no progress")
	return cmd
}

func newImagePullCommand(a *app) *cobra.Command {
	var quiet bool
	cmd := &cobra.Command{
		Use:   "pull IMAGE",
		Short: "Take an image from a registry",
		Long: `Take an image from a registry, for this host's processors: by a tag, or by a digest,
which what comes has to have. Docker's credentials are used (docker login).` + imageStatus,
		Example: `  plimsoll image pull postgres:16
  plimsoll image pull registry.example.org/library/postgres@sha256:DIGEST`,
		Args: exactly(1, "an image: NAME:TAG or NAME@sha256:DIGEST"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.getImage(cmd.Context(), quiet, "Pulled", func(ctx context.Context, p image.Progress) (image.Image, error) {
				return a.images().Pull(ctx, args[0], p)
			})
		},
	}
	cmd.Flags().BoolVarP(&quiet, "quiet", "q", false, "show no progress")
	return cmd
}

func newImageLoadCommand(a *app) *cobra.Command {
	var quiet bool
	var tag string
	cmd := &cobra.Command{
		Use:     "load FILE",
		Short:   "Take an image from a file that docker save wrote",
		Long:    `Take an image from a file that docker save wrote, on this host or another one.` + imageStatus,
		Example: `  docker save -o postgres.tar postgres:16 && plimsoll image load postgres.tar`,
		Args:    exactly(1, "a file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.getImage(cmd.Context(), quiet, "Read", func(ctx context.Context, p image.Progress) (image.Image, error) {
				return a.images().Load(ctx, args[0], tag, p)
			})
		},
	}
	cmd.Flags().StringVar(&tag, "tag", "", "which image to take, of a file with several: `NAME:TAG`")
	cmd.Flags().BoolVarP(&quiet, "quiet", "q", false, "show no progress")
	return cmd
}

// getImage gets an image with a progress display, and prints the result.
func (a *app) getImage(
	ctx context.Context, quiet bool, did string, get func(context.Context, image.Progress) (image.Image, error),
) error {
	progress := newBuildProgress(a.stderr, quiet)
	got, err := get(ctx, progress)
	progress.close()
	switch {
	case errors.Is(err, context.Canceled):
		return &exitError{exitInterrupted, errors.New("interrupted; nothing is left of the attempt")}
	case err != nil:
		return &exitError{codeOf(err), err}
	}
	_, err = fmt.Fprintf(a.stdout, "%s %s, %s of layers, %s\n", did, printable.Line(got.Name),
		units.Bytes(uint64(got.Bytes)), got.Digest)
	return err
}

func newImageListCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List the images that are kept",
		Long: `List the images that are kept, by name: where each came from, when, how much its
layers take, and the beginning of its digest, by which it can be named.

EXIT STATUS
  0  listed, also when there is none
  1  the list could not be read or printed
  2  the command line is wrong`,
		Example: `  plimsoll image list
  plimsoll image list --json | jq -r '.images[].digest'`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			all, broken, err := a.images().List()
			return printList(a, "image list", "images", all, broken, err, printImages)
		},
	}
	cmd.Flags().BoolVar(&a.jsonOutput, "json", false, "print JSON")
	return cmd
}

// printList prints the entries of a store, for people or as JSON under a name, and then those that cannot be read.
func printList[T any](
	a *app,
	of, name string,
	all []T,
	broken []error,
	err error,
	people func(io.Writer, []T) error,
) error {
	if err == nil && a.jsonOutput {
		if all == nil {
			all = []T{}
		}
		err = a.document(name, all)
	} else if err == nil {
		err = people(a.stdout, all)
	}
	a.noteRootsData("what sudo plimsoll keeps", strings.Fields(of)...)
	if err := errors.Join(append(broken, err)...); err != nil {
		return &exitError{exitFailure, err}
	}
	return nil
}

// shortDigest is how many digits of a digest are printed.
const shortDigest = 12

func printImages(w io.Writer, all []image.Image) error {
	if len(all) == 0 {
		_, err := fmt.Fprintln(w, "No image is kept: plimsoll image pull, load and build get one.")
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "NAME\tFROM\tWHEN\tLAYERS\tDIGEST")
	for _, i := range all {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", printable.Line(i.Name), i.From, i.Made.Format("2006-01-02 15:04"),
			units.Bytes(uint64(i.Bytes)), strings.TrimPrefix(i.Digest, "sha256:")[:shortDigest])
	}
	return t.Flush()
}

func newImageRemoveCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "remove IMAGE", Aliases: []string{"rm"},
		Short: "Remove an image",
		Long: `Remove an image, by its name or the beginning of its digest.

EXIT STATUS
  0  it is gone
  1  it could not be removed; the reason is printed
  2  the command line is wrong, or there is no such image`,
		Example: `  plimsoll image remove postgresql:15.20`,
		Args:    exactly(1, "an image: its name, or the beginning of its digest"),
		RunE: func(_ *cobra.Command, args []string) error {
			found, err := a.images().Find(args[0])
			if err == nil {
				err = a.images().Remove(found)
			}
			if err != nil {
				return &exitError{codeOf(err), err}
			}
			_, err = fmt.Fprintf(a.stdout, "Removed %s, %s\n", printable.Line(found.Name), found.Digest)
			return err
		},
	}
}
