package journal

import (
	"context"
	"time"
)

// busyLimit bounds the wait for a mount, a device or a control group that is still in use.
const busyLimit = 30 * time.Second

// Retry repeats do until it succeeds, and returns its last error after busyLimit. It is for a Change's Undo, which
// may fail while the object is in use or udev examines it, as it does after every change of a device.
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
