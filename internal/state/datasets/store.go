// Package datasets keeps golden copies of data: the initial data of a server, loaded once and copied from then on,
// also by later runs. A copy is named by its content.
package datasets

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/state/dirstore"
)

// Copy is one that is kept.
type Copy struct {
	Name string `json:"name"` // of its directory in the store
	// description of database, parameters and records: equal texts mean equal data
	Content string        `json:"content"`
	Bytes   int64         `json:"bytes"` // of its files
	Files   int           `json:"files"`
	Loading time.Duration `json:"loading"` // that it took
	Made    time.Time     `json:"made"`
	Used    time.Time     `json:"-"` // last
}

// Store keeps copies below a directory.
type Store struct {
	shelf dirstore.Shelf
	limit int64
}

// In returns the store in a directory, which need not exist, of at most limit bytes. A store with limit 0 is empty
// and keeps nothing, as does a nil store.
func In(dir string, limit int64) *Store { return &Store{dirstore.Shelf{Dir: dir}, limit} }

const (
	aboutName = "golden.json"
	dataName  = "data"
	// leaveFree is the share of a file system's free space that a copy may take: runs need room.
	leaveFree      = 0.25
	maxDescription = 1 << 16 // size of a copy's description, in bytes
)

// nameOf is the directory of a content.
func nameOf(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:16])
}

// List returns the copies, last used first. Entries that cannot be read are in broken, with the reason.
func (s *Store) List() (all []Copy, broken []error, err error) {
	names, err := s.shelf.Names()
	if err != nil {
		return nil, nil, fmt.Errorf("list kept data: %w", err)
	}
	for _, name := range names {
		c, err := s.readDescription(name)
		if err != nil {
			broken = append(broken, err)
			continue
		}
		all = append(all, c)
	}
	slices.SortStableFunc(all, func(a, b Copy) int { return b.Used.Compare(a.Used) })
	return all, broken, nil
}

// readDescription reads the description of a copy.
func (s *Store) readDescription(name string) (c Copy, err error) {
	path := filepath.Join(s.shelf.Path(name), aboutName)
	info, err := os.Lstat(path)
	if err == nil && (!info.Mode().IsRegular() || info.Size() > maxDescription) {
		err = errors.New("it is not what this program wrote")
	}
	var text []byte
	if err == nil {
		text, err = os.ReadFile(path)
	}
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	if err == nil && (c.Name != name || nameOf(c.Content) != name) {
		err = fmt.Errorf("it names %q, which belongs into another directory", c.Content)
	}
	if err != nil {
		return Copy{}, fmt.Errorf("%s is no kept data: %w; remove the directory", s.shelf.Path(name), err)
	}
	c.Used = info.ModTime()
	return c, nil
}

// Fetch replaces the directory name in to by a copy of the data for content, and reports whether the store had the
// data. Data that was changed since it was stored is removed from the store, and not fetched.
func (s *Store) Fetch(ctx context.Context, content string, to *os.Root, name string) (bool, error) {
	if s == nil || s.limit <= 0 {
		return false, nil
	}
	key := nameOf(content)
	release, err := s.shelf.Hold(ctx, key)
	if err != nil {
		return false, ignore(err, fs.ErrNotExist)
	}
	done, err := s.fetch(ctx, key, to, name)
	release()
	if err == nil && !done { // damaged
		err = ignore(s.shelf.Remove(key), fs.ErrNotExist, dirstore.ErrHeld)
	}
	return done, err
}

func (s *Store) fetch(ctx context.Context, key string, to *os.Root, name string) (bool, error) {
	c, err := s.readDescription(key)
	if err != nil {
		return false, nil //nolint:nilerr // it is loaded anew
	}
	root, err := os.OpenRoot(s.shelf.Path(key))
	if err != nil {
		return false, err
	}
	defer root.Close()
	bytes, files, err := measure(root, dataName)
	if err != nil || bytes != c.Bytes || files != c.Files {
		return false, nil //nolint:nilerr // likewise
	}
	if _, err := Tree(ctx, root, to, dataName, name, Cloned); err != nil {
		return false, err
	}
	now := time.Now()
	return true, os.Chtimes(filepath.Join(s.shelf.Path(key), aboutName), now, now)
}

// Keep stores a copy of the directory name of from, under content. loading is how long the data took to load. Where
// room is short, the least recently used copies are removed; if that does not suffice, nothing is stored, and why has
// the reason.
func (s *Store) Keep(
	ctx context.Context, content string, from *os.Root, name string, loading time.Duration,
) (why string, err error) {
	if s == nil || s.limit <= 0 {
		return "", nil
	}
	bytes, files, err := measure(from, name)
	if err != nil {
		return "", err
	}
	dir, done, err := s.shelf.New()
	if err != nil {
		return "", fmt.Errorf("keep data: %w", err)
	}
	defer func() { err = errors.Join(err, done()) }()
	why, err = s.room(bytes)
	if err != nil || why != "" {
		return why, err
	}
	to, err := os.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer to.Close()
	_, err = Tree(ctx, from, to, name, dataName, Cloned)
	if errors.Is(err, unix.ENOSPC) {
		return "the file system is full", nil
	}
	if err != nil {
		return "", err
	}
	c := Copy{Name: nameOf(content), Content: content, Bytes: bytes, Files: files, Loading: loading,
		Made: time.Now().UTC().Truncate(time.Second)}
	text, err := json.MarshalIndent(c, "", "  ")
	if err == nil {
		err = to.WriteFile(aboutName, append(text, '\n'), 0o600)
	}
	if err == nil {
		_, err = s.shelf.Put(dir, c.Name)
	}
	return "", err
}

// room removes copies, the one that was not used for longest first, until there is room for
// so many bytes. why is why there is none.
func (s *Store) room(bytes int64) (why string, err error) {
	if bytes > s.limit {
		return "it is larger than all that is kept may be", nil
	}
	var st unix.Statfs_t
	if err := unix.Statfs(s.shelf.Dir, &st); err != nil {
		return "", err
	}
	kept, _, err := s.List()
	if err != nil {
		return "", err
	}
	free, used := int64(st.Bavail)*st.Bsize, int64(0)
	for _, c := range kept {
		used += c.Bytes
	}
	const small = "its file system has too little room"
	if float64(bytes) > leaveFree*float64(free+used) {
		return small, nil // none need go
	}
	fits := func() bool { return used+bytes <= s.limit && float64(bytes) <= leaveFree*float64(free) }
	for _, c := range slices.Backward(kept) {
		if fits() {
			break
		}
		err := s.shelf.Remove(c.Name)
		if errors.Is(err, dirstore.ErrHeld) || errors.Is(err, fs.ErrNotExist) {
			continue // another run has it
		}
		if err != nil {
			return "", err
		}
		used, free = used-c.Bytes, free+c.Bytes
	}
	if !fits() {
		return small, nil
	}
	return "", nil
}

// Remove removes a copy, unless a run reads it.
func (s *Store) Remove(c Copy) error {
	if err := s.shelf.Remove(c.Name); err != nil {
		return fmt.Errorf("remove the data of %s: %w", c.Content, err)
	}
	return nil
}

// measure returns the bytes and the number of the files below a directory.
func measure(root *os.Root, dir string) (bytes int64, files int, err error) {
	err = fs.WalkDir(root.FS(), dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil && !info.Mode().IsRegular() {
			err = errors.New("it holds more than files and directories")
		}
		if err == nil {
			bytes, files = bytes+info.Size(), files+1
		}
		return err
	})
	return bytes, files, err
}

// ignore is nil for errors that are no failure.
func ignore(err error, no ...error) error {
	for _, target := range no {
		if errors.Is(err, target) {
			return nil
		}
	}
	return err
}
