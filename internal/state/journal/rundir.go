package journal

import (
	"context"
	"fmt"
	"os"
	"time"

	"plimsoll/internal/state/filelock"
)

// RunDir holds what runs need below /run: exec-roots of private engines, and
// their words to each other. It is there while something is in it.
const RunDir = "/run/plimsoll"

// LockRunDir calls do while it holds a lock on the files that runs of this user share below /run.
func LockRunDir(ctx context.Context, do func() error) error {
	release, err := HoldHost(ctx, "")
	if err != nil {
		return err
	}
	defer release()
	return do()
}

// HoldHost locks name against other processes of this user on this host, until release is called. The locked file is
// beside RunDir, and nobody else can open it.
func HoldHost(ctx context.Context, name string) (release func(), err error) {
	path := RunDir
	if uid := os.Geteuid(); uid != 0 {
		path = fmt.Sprintf("/run/user/%d/plimsoll", uid)
	}
	return filelock.Hold(ctx, path+name+".lock", time.Minute)
}
