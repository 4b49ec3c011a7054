package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"plimsoll/internal/lab/tarball"
	"plimsoll/internal/printable"
)

// WorkDir is the directory in which commands run in a guest.
const WorkDir = "/work"

// mostBrought is far more than any results have.
const mostBrought = 64 << 30

// maxMessage is how much of a guest's error is kept, in bytes.
const maxMessage = 4 << 10

// Bring copies a directory of a guest's working directory into the directory target, if the guest has it. It skips
// entries that target has already, and returns the names of the others, below target.
func Bring(ctx context.Context, machineDir, name, target string) ([]string, error) {
	r, w := io.Pipe()
	stderr := &printable.Tail{Most: maxMessage}
	ended := make(chan error, 1)
	go func() {
		// An absent directory is an empty archive.
		code, err := Run(ctx, machineDir,
			Command{Args: []string{"sh", "-c", `cd "$1" && if [ -d "$2" ]; then exec tar -cf - -- "$2"; fi`, "sh",
				WorkDir, name}},
			Streams{Stdout: w, Stderr: stderr})
		if err == nil && code != 0 {
			err = fmt.Errorf("tar in the lab ended with status %d: %s", code, strings.TrimSpace(stderr.String()))
		}
		w.CloseWithError(err) // nil: the archive is at its end
		ended <- err
	}()
	brought, err := tarball.Extract(r, name, target, mostBrought)
	r.CloseWithError(err)
	return brought, errors.Join(err, <-ended)
}

// Send copies files and directories into a guest's working directory, each
// under its own name.
func Send(ctx context.Context, machineDir string, paths []string) error {
	for _, p := range paths {
		if _, err := os.Stat(p); err != nil {
			return err
		}
	}
	r, w := io.Pipe()
	packed := make(chan error, 1)
	go func() {
		err := tarball.Pack(w, paths...)
		w.CloseWithError(err)
		packed <- err
	}()
	stderr := &printable.Tail{Most: maxMessage}
	code, err := Run(ctx, machineDir, Command{Args: []string{"tar", "-C", WorkDir, "--no-same-owner", "-xf", "-"}},
		Streams{Stdin: r, Stdout: io.Discard, Stderr: stderr})
	_ = r.Close() // Pack ends, should it still write
	if err == nil && code != 0 {
		err = fmt.Errorf("tar in the lab ended with status %d: %s", code, strings.TrimSpace(stderr.String()))
	}
	if err == nil {
		err = <-packed
	}
	return err
}
