package client

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"plimsoll/internal/database"
	"plimsoll/internal/state/inputfile"
)

// reveal returns an address with the secret of its credentials, unless the address has one already.
func reveal(server database.Address) (database.Address, error) {
	if server.Credentials == "" || server.Secret != "" {
		return server, nil
	}
	text, err := inputfile.Secret(server.Credentials)
	server.Secret = database.Secret(text)
	return server, err
}

// parsed has a driver read a DSN. The driver's error is dropped, since drivers quote parts of the DSN.
func parsed[C any](server database.Address, form string, parse func(dsn string) (C, error)) (config C, err error) {
	defer func() {
		if recover() != nil { // go-sql-driver does, of an option that it no longer has
			err = unreadable(server, form)
		}
	}()
	config, err = parse(string(server.Secret))
	if err != nil {
		err = unreadable(server, form)
	}
	return config, err
}

func unreadable(at database.Address, form string) error {
	return fmt.Errorf("what is in %s cannot be read, and is not shown: write %s", at.Credentials, form)
}

const (
	leastToken = 3 // bytes of a part of a secret that is kept out of errors
	mostTokens = 10_000
)

// public are words of drivers. They are in every DSN, and say nothing of one.
var public = []string{"tcp", "unix", "user", "password", "host", "port", "dbname", "database", "sslmode", "localhost",
	"mysql", "postgres", "postgresql", "mongodb"}

var (
	separators = regexp.MustCompile(`[\s:/@?&=(),;'"\\\[\]{}+#%<>]`)
	escaped    = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)
)

// tokens returns the parts of a secret that no error may contain, the longest first: the whole secret, and the parts
// between separators, both as written and URL-decoded. A part that is too short includes the next one.
func tokens(secret string, shown ...string) []string {
	texts := map[string]bool{}
	decoded := escaped.ReplaceAllStringFunc(secret, func(code string) string {
		text, _ := url.PathUnescape(code) // it is one
		return text
	})
	for _, text := range []string{secret, decoded, strings.ReplaceAll(decoded, "+", " ")} {
		texts[text] = true
		starts := []int{0}
		for _, at := range separators.FindAllStringIndex(text, mostTokens) {
			starts = append(starts, at[1])
		}
		for i, start := range starts {
			for _, next := range append(starts[i+1:], len(text)+1) {
				end := min(next-1, len(text))
				if end-start >= leastToken {
					texts[text[start:end]] = true
					break
				}
			}
		}
	}
	for _, word := range append(slices.Clone(public), shown...) {
		delete(texts, word)
	}
	return slices.SortedFunc(maps.Keys(texts), func(a, b string) int { return len(b) - len(a) })
}

// guard keeps a secret out of errors.
type guard struct{ parts *regexp.Regexp }

// newGuard returns one for an address; nil where that has no secret. The schema is the experiment's, and may be shown.
func newGuard(server database.Address, options map[string]string) *guard {
	if server.Secret == "" {
		return nil
	}
	var parts []string
	for _, token := range tokens(string(server.Secret), options[database.SchemaOption]) {
		if len(token) >= leastToken {
			parts = append(parts, regexp.QuoteMeta(token))
		}
	}
	if len(parts) == 0 {
		return nil
	}
	return &guard{regexp.MustCompile("(?i)" + strings.Join(parts, "|"))}
}

// hide returns an error whose text has no part of the secret.
func (g *guard) hide(err error) error {
	if g == nil || err == nil {
		return err
	}
	var refusal *ServerError
	if errors.As(err, &refusal) {
		refusal.Said = g.parts.ReplaceAllLiteralString(refusal.Said, "...")
	}
	text := g.parts.ReplaceAllLiteralString(err.Error(), "...")
	if text == err.Error() {
		return err
	}
	return &hiddenError{text, err}
}

// hiddenError is another error with another text.
type hiddenError struct {
	text string
	err  error
}

func (e *hiddenError) Error() string { return e.text }

// Unwrap has errors.Is and errors.As find what it is.
func (e *hiddenError) Unwrap() error { return e.err }

// guarded is a client of a server that somebody else started. Its errors have no part of a secret, and a panic of the
// driver is an error, after which the connection is not used.
type guarded struct {
	Client
	guard  *guard
	broken error
}

// do runs an operation.
func (c *guarded) do(operation func() error) (err error) {
	if c.broken != nil {
		return c.broken
	}
	c.broken = ErrClosed // unless the operation returns
	defer func() { err = c.guard.hide(err) }()
	defer func() { unpanic(recover(), &err) }()
	err = operation()
	c.broken = nil
	return err
}

// Read implements Client.
func (c *guarded) Read(ctx context.Context, key []byte, field int) (value []byte, err error) {
	err = c.do(func() (err error) {
		value, err = c.Client.Read(ctx, key, field)
		return err
	})
	return value, err
}

// Scan implements Client.
func (c *guarded) Scan(ctx context.Context, key []byte, records, field int) (found int, err error) {
	err = c.do(func() (err error) {
		found, err = c.Client.Scan(ctx, key, records, field)
		return err
	})
	return found, err
}

// Update implements Client.
func (c *guarded) Update(ctx context.Context, key []byte, field int, value []byte) error {
	return c.do(func() error { return c.Client.Update(ctx, key, field, value) })
}

// Insert implements Client.
func (c *guarded) Insert(ctx context.Context, key, value []byte) error {
	return c.do(func() error { return c.Client.Insert(ctx, key, value) })
}

// Do implements Transactor.
func (c *guarded) Do(ctx context.Context, transaction string) error {
	to, ok := c.Client.(Transactor)
	if !ok {
		return errNoTransactions
	}
	return c.do(func() error { return to.Do(ctx, transaction) })
}

// Close implements Client. It also closes a connection that is not used after a panic.
func (c *guarded) Close() error {
	c.broken = nil
	return c.do(c.Client.Close)
}

// Version implements Versioned.
func (c *guarded) Version() (version string) {
	client, ok := c.Client.(Versioned)
	if !ok {
		return ""
	}
	if err := c.do(func() error { version = client.Version(); return nil }); err != nil {
		return ""
	}
	return version
}

// Setting implements SettingReader.
func (c *guarded) Setting(ctx context.Context, name string) (value string, err error) {
	reader, ok := c.Client.(SettingReader)
	if !ok {
		return "", ErrNotFound
	}
	err = c.do(func() (err error) {
		value, err = reader.Setting(ctx, name)
		return err
	})
	return value, err
}
