package loader

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/database"
	"plimsoll/internal/testkit/hosttest"
	"plimsoll/internal/workload"
)

// Data that another version laid out is not served, and the server's own words become that reason.
func TestDataOfAnotherVersion(t *testing.T) {
	hosttest.Exclusive(t)
	for _, c := range []struct {
		name string
		data string // whose data it is
		says string
		make func(dir string) error
	}{
		{"postgresql", "postgresql", "another version of PostgreSQL made its data", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "PG_VERSION"), []byte("13\n"), 0o600)
		}},
		{"mysql", "mariadb", "its data is damaged", func(string) error { return nil }},
		{"mariadb", "mysql", "another version made its data", func(string) error { return nil }},
		{"cassandra", "cassandra", "another version made its data", func(dir string) error {
			files, err := filepath.Glob(filepath.Join(dir, "data/plimsoll/usertable-*/*-big-*"))
			for _, file := range files {
				_, rest, _ := strings.Cut(filepath.Base(file), "-")
				err = errors.Join(err, os.Rename(file, filepath.Join(filepath.Dir(file), "zz-"+rest)))
			}
			if len(files) == 0 {
				return errors.New("it has no files")
			}
			return err
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name != hosttest.Database {
				hosttest.Soak(t)
			}
			b := lay(t, c.data, dataset)
			if err := Run(t.Context(), b.config); err != nil {
				t.Fatalf("%v\n%s", err, b.output)
			}
			if err := c.make(b.config.Dir); err != nil {
				t.Fatal(err)
			}
			b.output.Reset()
			server, config := b.server, b.config
			if c.data != c.name {
				other := lay(t, c.name, dataset)
				server, config.Root, config.Env = other.server, other.config.Root, other.config.Env
			}
			config.Plan = config.Plan.Serving(server.Serve(database.DataDir))
			err := config.serve(t.Context(), nil, nil, func(context.Context, database.Address) error { return nil })
			if err == nil {
				t.Fatal("it serves")
			}
			failure := server.Failed(workload.Exit{Code: 1, Stderr: b.output.String()})
			if !strings.Contains(failure.Why, c.says) || failure.Remedy == "" {
				t.Errorf("it ends with %v, of which is shown %+v", err, failure)
			}
		})
	}
}
