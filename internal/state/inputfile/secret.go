package inputfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"plimsoll/internal/state/sudouser"
)

// maxSecret is the most bytes of a file that has a secret.
const maxSecret = 64 << 10

// Secret returns the secret at "env:NAME" or "file:PATH". Errors do not contain it.
func Secret(source string) (string, error) {
	kind, name, _ := strings.Cut(source, ":")
	switch kind {
	case "env":
		text, err := oneLine(os.Getenv(name))
		if err != nil {
			return "", fmt.Errorf("the variable %s %w (sudo passes a variable on with --preserve-env=%s)", name, err, name)
		}
		return text, nil
	case "file":
		return ReadSecret(name)
	}
	return "", fmt.Errorf("%q is neither env:NAME nor file:PATH", kind)
}

// ReadSecret reads the one line of a file that only its owner may read: this process's user, root, or the user behind
// sudo. It follows no link. Errors do not contain the line.
func ReadSecret(path string) (string, error) {
	f, err := openOwn(path, 0o077)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := readAll(f, maxSecret)
	if err != nil {
		return "", err
	}
	line, err := oneLine(string(text))
	if err != nil {
		return "", fmt.Errorf("%s %w", path, err)
	}
	return line, nil
}

// ReadOwn reads a file of at most limit bytes that only its owner may write: this process's user, root, or the user
// behind sudo. It follows no link. Use it for files whose content is obeyed.
func ReadOwn(path string, limit int64) ([]byte, error) {
	f, err := openOwn(path, 0o022)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(f, limit)
}

// openOwn opens a regular file of this process's user, root, or the user behind sudo, on which other users have none
// of the forbidden rights.
func openOwn(path string, forbidden fs.FileMode) (*os.File, error) {
	info, err := os.Lstat(path) // before anything is opened
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &NotRegular{path, info.Mode()}
	}
	f, err := openRegular(path, unix.O_NOFOLLOW)
	if err != nil {
		return nil, err
	}
	info, err = f.Stat()
	if err == nil {
		err = checkOwner(path, info, forbidden)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// checkOwner returns an error unless a trusted user owns the file, and other users lack the forbidden rights.
func checkOwner(path string, info fs.FileInfo, forbidden fs.FileMode) error {
	switch may := info.Mode().Perm() & forbidden; {
	case may != 0 && forbidden&0o044 != 0:
		return fmt.Errorf("%s can be read by others than its owner: chmod 600 %s", path, path)
	case may != 0:
		return fmt.Errorf("%s can be written by others than its owner: look what it holds, and chmod go-w %s", path, path)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fmt.Errorf("%s: its owner is not known", path)
	}
	caller, sudo := sudouser.Caller()
	switch int(stat.Uid) {
	case 0, os.Geteuid():
		return nil
	case caller.UID:
		if sudo {
			return nil
		}
	}
	return fmt.Errorf("%s belongs to user %d: it is read from a file of your own, or of root's", path, stat.Uid)
}

// oneLine returns a secret without the space around it. It is one line of printable text; keys and other files are not.
func oneLine(text string) (string, error) {
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return "", errors.New("is empty, or not set")
	case !utf8.ValidString(text), strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }):
		return "", errors.New("has more than one line, or what cannot be printed: is it the right one? " +
			"nothing of it is used or shown")
	}
	return text, nil
}
