package client

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"plimsoll/internal/database"
)

// mostSecret is the most bytes of a DSN, or of credentials.
const mostSecret = 64 << 10

// revealed returns what is where a parameter says: "env:NAME" or "file:PATH". A file that others may read is
// refused, as their own programs do.
func revealed(where string) (text string, err error) {
	from, at, _ := strings.Cut(where, ":")
	switch from {
	case "env":
		text = os.Getenv(at)
	case "file":
		f, err := os.Open(at)
		if err != nil {
			return "", err
		}
		defer f.Close()
		info, err := f.Stat()
		switch {
		case err != nil:
			return "", err
		case !info.Mode().IsRegular():
			return "", fmt.Errorf("%s is no regular file", at)
		case info.Mode().Perm()&0o077 != 0:
			return "", fmt.Errorf("others may read %s: chmod 600 %s", at, at)
		}
		read, err := io.ReadAll(io.LimitReader(f, mostSecret))
		if err != nil {
			return "", err
		}
		text = string(read)
	default:
		return "", fmt.Errorf("%q says neither env:NAME nor file:PATH", from)
	}
	if text = strings.TrimSpace(text); text == "" {
		return "", fmt.Errorf("%s is empty, or not set for this user (sudo passes a variable on with --preserve-env=%s)",
			where, at)
	}
	return text, nil
}

// hidden is an error whose text does not have a secret in it, whole or after its scheme.
func hidden(err error, secret string) error {
	if err == nil {
		return nil
	}
	_, rest, _ := strings.Cut(secret, "://")
	text := err.Error()
	for _, part := range []string{secret, rest} {
		if len(part) > 3 {
			text = strings.ReplaceAll(text, part, "...")
		}
	}
	if text == err.Error() {
		return err
	}
	return errors.New(text)
}

// made are the tables that loading makes; a schema that has others too is somebody's.
var made = []string{recordsTable, factsTable,
	"customer", "district", "history", "item", "new_order", "order_line", "orders", "stock", "warehouse"}

// mayMake says whether a schema may be made: one that is there has to be one that a load made before, with
// nothing of anybody else in it, or to be named as one that may go. replaces tells that it has to go first.
func mayMake(schema string, there bool, tables []string, options map[string]string) (replaces bool, err error) {
	switch {
	case !there:
		return false, nil
	case options[database.ReplaceOption] == "true":
		return true, nil
	case slices.Contains(tables, factsTable) &&
		!slices.ContainsFunc(tables, func(name string) bool { return !slices.Contains(made, name) }):
		return true, nil
	}
	return false, fmt.Errorf("%s is there already, and Plimsoll did not make all of it: it loads only into what it "+
		"makes; name another one, or let all that is in it go: --destroy %s", schema, schema)
}
