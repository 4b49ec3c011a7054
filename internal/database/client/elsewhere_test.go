package client

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/database"
)

// A secret comes from a variable or from a file that only its owner may read, and from nothing else.
func TestRevealed(t *testing.T) {
	dir := t.TempDir()
	at := func(name string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.WriteFile(path, []byte(" s3cret\n"), 0o600), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
		return "file:" + path
	}
	t.Setenv("PLIMSOLL_TEST_DSN", "s3cret")
	t.Setenv("PLIMSOLL_TEST_EMPTY", "")
	for where, want := range map[string]string{
		"env:PLIMSOLL_TEST_DSN": "", at("own", 0o600): "", at("readonly", 0o400): "",
		at("shared", 0o640): "others may read", at("public", 0o604): "others may read",
		"env:PLIMSOLL_TEST_EMPTY": "empty, or not set", "file:" + filepath.Join(dir, "none"): "no such file",
		"file:" + dir: "no regular file", "file:/dev/zero": "no regular file", "s3cret": "neither env:NAME nor file:PATH",
	} {
		text, err := revealed(where)
		switch {
		case want == "" && (err != nil || text != "s3cret"):
			t.Errorf("%s: %q, %v", where, text, err)
		case want != "" && (err == nil || text != "" || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %q, %v; want %q", where, text, err, want)
		}
	}
}

// Errors of drivers do not have what they were given.
func TestHidden(t *testing.T) {
	const dsn = "postgres://root:hunter2@db:x/"
	for _, said := range []string{"parse \"" + dsn + "\": invalid port", "cannot parse root:hunter2@db:x/"} {
		if got := hidden(errors.New(said), dsn).Error(); strings.Contains(got, "hunter2") || !strings.Contains(got, "parse") {
			t.Errorf("%q", got)
		}
	}
	plain := errors.New("connection refused")
	if hidden(plain, dsn) != plain || hidden(nil, dsn) != nil { //nolint:errorlint // it is that very one
		t.Error("an error without a secret is another one")
	}
}

// Only what a load made, with nothing else in it, or what is named may go.
func TestMayMake(t *testing.T) {
	named := map[string]string{database.ReplaceOption: "true"}
	for _, c := range []struct {
		there    bool
		tables   []string
		options  map[string]string
		replaces bool
		refused  bool
	}{
		{false, nil, nil, false, false},
		{true, nil, nil, false, true},
		{true, []string{"usertable"}, nil, false, true},
		{true, []string{factsTable}, nil, true, false},
		{true, []string{factsTable, recordsTable}, nil, true, false},
		{true, []string{factsTable, recordsTable, "mine"}, nil, false, true},
		{true, []string{"mine"}, named, true, false},
		{true, []string{"mine"}, map[string]string{database.ReplaceOption: "false"}, false, true},
	} {
		replaces, err := mayMake("bench", c.there, c.tables, c.options)
		if replaces != c.replaces || (err != nil) != c.refused {
			t.Errorf("%+v: %v, %v", c, replaces, err)
		}
	}
}
