package tarball

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// endless is a reader that repeats a text.
type endless struct {
	block  []byte
	times  int
	offset int
}

func (e *endless) Read(p []byte) (int, error) {
	if e.times == 0 {
		return 0, io.EOF
	}
	n := copy(p, e.block[e.offset:])
	if e.offset += n; e.offset == len(e.block) {
		e.offset, e.times = 0, e.times-1
	}
	return n, nil
}

// Who sends without end, or entries of no bytes, or one name of a thousand directories, is not read for ever, and fills
// neither the disk's inodes nor this program's memory.
func TestAttackArchiveWithoutEnd(t *testing.T) {
	whole := archive(t, folder("runs/"), file("runs/a")).Bytes()
	entry := archive(t, folder("elsewhere/")).Bytes()[:512]
	deep := archive(t, folder("runs/"), folder("runs/"+strings.Repeat("d/", longestPath))).Bytes()
	for says, sent := range map[string]io.Reader{
		"behind the end":    io.MultiReader(bytes.NewReader(whole), &endless{block: make([]byte, 64<<10), times: 1 << 10}),
		"more than the":     &endless{block: entry, times: mostEntries + 1},
		"a name of 2005 by": bytes.NewReader(deep),
	} {
		target := t.TempDir()
		if _, err := Extract(sent, "runs", target, 1<<20); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
		if _, err := os.Stat(filepath.Join(target, "runs/d/d/d")); err == nil {
			t.Errorf("%s: it was made", says)
		}
	}
}
