package filelock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func open(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// A lock that another one never gives back ends with the context, and with a limit, and names the holder.
func TestAttackLockThatIsNeverReleased(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	if err := Try(open(t, path), Alone); err != nil {
		t.Fatal(err)
	}
	holder := fmt.Sprintf("process %d", os.Getpid())
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		name  string
		ctx   context.Context
		limit time.Duration
		want  error
	}{
		{"an interruption", interrupted, time.Hour, context.Canceled},
		{"a limit", t.Context(), 0, ErrHeld},
	} {
		for _, how := range []How{Alone, Shared} {
			err := Wait(c.ctx, open(t, path), how, c.limit)
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), holder) || !strings.Contains(err.Error(), path) {
				t.Errorf("%s: %v", c.name, err)
			}
		}
		if _, err := Hold(c.ctx, path, c.limit); !errors.Is(err, c.want) {
			t.Errorf("%s: Hold says %v", c.name, err)
		}
	}
}

// A lock's file that others can open, or that leads elsewhere, is not waited for.
func TestAttackLockFileOfOthers(t *testing.T) {
	for name, plant := range map[string]func(path string) error{
		"others may read it": func(path string) error {
			return errors.Join(os.WriteFile(path, nil, 0o600), os.Chmod(path, 0o644))
		},
		"a link": func(path string) error {
			return errors.Join(os.WriteFile(path+"-else", nil, 0o600), os.Symlink(path+"-else", path))
		},
		"another user's": func(path string) error {
			if os.Geteuid() != 0 {
				return os.WriteFile(path, nil, 0o400)
			}
			return errors.Join(os.WriteFile(path, nil, 0o600), os.Chown(path, 65534, 65534))
		},
	} {
		path := filepath.Join(t.TempDir(), "lock")
		if err := plant(path); err != nil {
			t.Fatal(err)
		}
		if _, err := Hold(t.Context(), path, time.Minute); err == nil {
			t.Errorf("%s: it is locked", name)
		}
		if _, err := os.Lstat(path); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// One at a time holds, although each removes the file behind itself.
func TestOneHolds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	inside, holders := 0, sync.WaitGroup{}
	for range 8 {
		holders.Go(func() {
			for range 20 {
				release, err := Hold(t.Context(), path, 10*time.Minute)
				if err != nil {
					t.Error(err)
					return
				}
				if inside++; inside != 1 {
					t.Errorf("%d hold it", inside)
				}
				inside--
				release()
			}
		})
	}
	holders.Wait()
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file stays: %v", err)
	}
}
