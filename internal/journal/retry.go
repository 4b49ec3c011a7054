package journal

import (
	"context"
	"time"
)

// busyLimit is how long a mount, a device or a control group that something
// still uses is waited for.
const busyLimit = 30 * time.Second

// Retry does what may fail while somebody still uses what is undone, or looks at
// it, as udev does at every change of a device. It goes on until do succeeds, and
// returns its last error once it has taken too long. It is for a Change's Undo.
func Retry(ctx context.Context, do func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, busyLimit)
	defer cancel()
	for {
		err := do(ctx)
		if err == nil || Pause(ctx, 50*time.Millisecond) != nil {
			return err
		}
	}
}

// Pause waits, or returns why it may not.
func Pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
