package image

import (
	"archive/tar"
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// Jars are programs for a JVM, and all that they need, as Maven Central has them.
type Jars struct {
	List    string // "SHA256 ARTIFACT", one a line; an artifact is its path in the repository
	Into    string // directory of the root that they go into
	Version string // of the program
}

// jar is one of them.
type jar struct{ sha256, artifact string }

// parse returns the jars of the list.
func (j *Jars) parse() (parse []jar) {
	for line := range strings.Lines(j.List) {
		sum, artifact, ok := strings.Cut(strings.TrimSpace(line), " ")
		if ok {
			parse = append(parse, jar{sum, artifact})
		}
	}
	return parse
}

// fetchers is the number of parallel downloads: most jars are small.
const fetchers = 8

// fetch downloads all jars to a directory, and checks them.
func (j *Jars) fetch(ctx context.Context, repository, dir string, progress Progress) error {
	jars := j.parse()
	fetching, ctx := errgroup.WithContext(ctx)
	fetching.SetLimit(fetchers)
	var done atomic.Int64
	for _, jar := range jars {
		fetching.Go(func() error {
			defer done.Add(1)
			return fetch(ctx, repository, jar.artifact, jar.sha256, filepath.Join(dir, path.Base(jar.artifact)), nil)
		})
		progress.Step(fmt.Sprintf("fetching jars: %d of %d", done.Load(), len(jars)),
			0.2+0.2*float64(done.Load())/float64(len(jars)))
	}
	return fetching.Wait()
}

// add adds the jars of a directory to a root.
func (j *Jars) add(dir string, to *root) error {
	for _, one := range j.parse() {
		name := path.Base(one.artifact)
		if err := addFile(filepath.Join(dir, name), path.Join(j.Into, name), to); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func addFile(from, name string, to *root) error {
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return to.entry(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: info.Size()}, f)
}
