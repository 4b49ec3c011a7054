package journal

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// A journal is shared by the goroutines of instances: each makes and undoes changes of its own, while others ask what
// is pending and whether it is kept.
func TestAJournalIsShared(t *testing.T) {
	state := t.TempDir()
	j, err := Create(state, "shared")
	if err != nil {
		t.Fatal(err)
	}
	var users sync.WaitGroup
	for i := range 4 {
		users.Go(func() {
			for n := range 5 {
				dir := filepath.Join(state, fmt.Sprintf("plimsoll-shared-%d-%d", i, n))
				e, err := j.Do(t.Context(), &Dir{dir}, func(string) error { return os.Mkdir(dir, 0o700) })
				if err == nil {
					err = j.Undo(t.Context(), e)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	users.Go(func() {
		for range 5 {
			if err := j.Keep(); err != nil {
				t.Error(err)
			}
			if err := j.Release(); err != nil {
				t.Error(err)
			}
		}
	})
	users.Go(func() {
		for range 100 {
			j.Pending()
			j.Kept()
		}
	})
	users.Wait()
	if left := j.Pending(); len(left) != 0 || j.Kept() {
		t.Errorf("%d changes are left, kept: %t", len(left), j.Kept())
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
}
