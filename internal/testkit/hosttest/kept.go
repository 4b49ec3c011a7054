package hosttest

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/state/sudouser"
)

// Kept returns a directory, in the cache of the user, for what tests of every clone make of
// packages of the distribution at some cost: images. It is another one each week, for newer
// packages, and whenever a file in the source directories changes, tests aside: these make what
// is in it. Those that nobody changed for two weeks are removed.
func Kept(t testing.TB, name string, sources ...string) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	if sudouser.IsBelowHome(cache) { // root keeps nothing in the home of the user behind sudo
		cache = "/var/cache"
	}
	sum := sha256.New()
	for _, dir := range sources {
		files, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if file.IsDir() || strings.HasSuffix(file.Name(), "_test.go") {
				continue
			}
			text, err := os.ReadFile(filepath.Join(dir, file.Name()))
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintln(sum, file.Name(), len(text))
			_, _ = sum.Write(text) // never fails
		}
	}
	year, week := time.Now().ISOWeek()
	base := filepath.Join(cache, "plimsoll", "tests", name)
	dir := filepath.Join(base, fmt.Sprintf("%d-%02d-%x", year, week, sum.Sum(nil)[:8]))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	removeOld(t, base, time.Now().AddDate(0, 0, -14))
	return dir
}

// removeOld removes the directories that nobody changed since a time.
func removeOld(t testing.TB, base string, since time.Time) {
	t.Helper()
	kept, err := os.ReadDir(base)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range kept {
		info, err := k.Info()
		if err != nil || info.ModTime().After(since) {
			continue
		}
		if err := os.RemoveAll(filepath.Join(base, k.Name())); err != nil {
			t.Fatal(err)
		}
	}
}
