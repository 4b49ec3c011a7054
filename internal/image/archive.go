package image

import (
	"archive/tar"
	"archive/zip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"slices"
	"strings"

	"plimsoll/internal/problem"
)

// Archive is an archive of programs that Maven Central has, and Debian has not.
type Archive struct {
	Artifact     string   // its path in the repository
	SHA256       string   // of the whole of it
	Architecture string   // as Go calls it: "amd64"
	Files        []string // paths in it, of files or directories, that are wanted
	Into         string   // directory of the root that they go into
	Version      string   // of its content
}

// central is Maven's own repository.
const central = "https://repo.maven.apache.org/maven2/"

// mostArchive is the most bytes that an archive may have.
const mostArchive = 2 << 30

// fetch downloads an archive to a file, and checks it.
func (a *Archive) fetch(ctx context.Context, repository, to string, progress Progress) error {
	return fetch(ctx, repository, a.Artifact, a.SHA256, to, progress)
}

// fetch downloads an artifact of a repository to a new file, and checks it; progress may be nil.
func fetch(ctx context.Context, repository, artifact, want, to string, progress Progress) (err error) {
	subject := "archive " + path.Base(artifact)
	ask, err := http.NewRequestWithContext(ctx, http.MethodGet, repository+artifact, http.NoBody)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(ask)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = errors.Join(errors.New("the repository answers "+answer.Status), answer.Body.Close())
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return problem.New(problem.Failed, subject, err.Error(), "see that this host reaches "+repository).CausedBy(err)
	}
	from := answer.Body
	if answer.ContentLength > 0 && progress != nil {
		from = &countingBody{answer.Body, &countingTransport{progress: progress, total: answer.ContentLength}}
	}
	defer from.Close()
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	sum := sha256.New()
	if _, err := io.Copy(io.MultiWriter(f, sum), io.LimitReader(from, mostArchive)); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return problem.New(problem.Failed, subject, err.Error(), "try again").CausedBy(err)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != want {
		return problem.New(problem.Failed, subject, fmt.Sprintf("its SHA-256 is %s, not %s", got, want),
			"what came is not what was published: try again, and see who answers for "+repository)
	}
	return nil
}

// add adds the wanted files of an archive to a root.
func (a *Archive) add(from string, to *root) error {
	in, err := zip.OpenReader(from)
	if err != nil {
		return err
	}
	defer in.Close()
	missing := slices.Clone(a.Files)
	for _, f := range in.File {
		name := strings.TrimSuffix(f.Name, "/")
		if !isWithin(name, a.Files) {
			continue
		}
		missing = slices.DeleteFunc(missing, func(wanted string) bool { return isWithin(name, []string{wanted}) })
		if err := a.entry(f, name, to); err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("it has no %s", strings.Join(missing, ", "))
	}
	return nil
}

func (a *Archive) entry(f *zip.File, name string, to *root) error {
	h := &tar.Header{Name: path.Join(a.Into, name), ModTime: f.Modified, Mode: 0o755, Typeflag: tar.TypeDir}
	switch mode := f.Mode(); {
	case !fs.ValidPath(name):
		return errors.New("its path leaves the archive")
	case mode.IsDir():
		return to.entry(h, nil)
	case !mode.IsRegular():
		return errors.New("it is neither a file nor a directory")
	default:
		h.Typeflag, h.Size, h.Mode = tar.TypeReg, int64(f.UncompressedSize64), int64(mode.Perm()|0o444)
	}
	content, err := f.Open()
	if err != nil {
		return err
	}
	defer content.Close()
	return to.entry(h, content)
}
