package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// RunDir holds what runs need below /run: exec-roots of private engines, and
// their words to each other. It is there while something is in it.
const RunDir = "/run/plimsoll"

// LockRunDir keeps all runs from making and removing what they share below /run
// at the same time.
func LockRunDir(do func() error) error {
	run, err := os.Open(filepath.Dir(RunDir))
	if err != nil {
		return err
	}
	defer run.Close()
	for start := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		err := unix.Flock(int(run.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return do()
		}
		if !errors.Is(err, unix.EWOULDBLOCK) || time.Since(start) > time.Minute {
			return fmt.Errorf("lock %s, which engines of other runs share: %w (lslocks tells who holds it)", run.Name(), err)
		}
	}
}
