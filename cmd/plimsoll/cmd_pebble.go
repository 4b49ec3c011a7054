package main

import (
	"errors"
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"plimsoll/internal/database"
	"plimsoll/internal/database/pebble"
)

// newServePebbleCommand returns the command that instances of the embedded server run: see package database.
func newServePebbleCommand(a *app) *cobra.Command {
	c := pebble.Config{Params: database.PebbleDefaults(), Log: a.stderr}
	cmd := &cobra.Command{
		Use: database.PebbleServe, Hidden: true, Args: noArgs,
		Short: "Serve an embedded key-value store on a unix socket",
		Long: `Serve the embedded key-value store that "plimsoll load-pebble" laid out in a
directory, on a unix socket, until SIGTERM. Runs start it for experiments whose
database is pebble; docs/reference/databases.md explains it.

EXIT STATUS
  0  shown to end, and did well
  1  it could not go on: a full or failed device, corrupt data
  2  the command line is wrong`,
		Example: `  plimsoll serve-pebble --dir /mnt/data --listen /tmp/kv.sock --cache 64MiB`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := requireOne(cmd, "dir", "listen"); err != nil {
				return err
			}
			return failure(pebble.Serve(cmd.Context(), c))
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&c.Dir, "dir", "", "`directory` of the data")
	flags.StringVar(&c.Socket, "listen", "", "`path` of the socket to make")
	flags.StringVar(&c.Facts, "facts", "", "`file` to leave in the end what the server did, as JSON")
	addPebbleParams(cmd, &c.Params)
	return cmd
}

// newLoadPebbleCommand returns the command that fills a new directory for the embedded server.
func newLoadPebbleCommand(a *app) *cobra.Command {
	var (
		dir    string
		d      database.Dataset
		params = database.PebbleDefaults()
	)
	cmd := &cobra.Command{
		Use: database.PebbleLoad, Hidden: true, Args: noArgs,
		Short: "Load records into a directory for the embedded key-value store",
		Long: `Lay out records for "plimsoll serve-pebble" in a new or empty directory. The same
flags give the same data, and all of it is on the device in the end.

EXIT STATUS
  0    loaded
  1    it could not be: a full or failed device, a directory that has something in it
  2    the command line is wrong
  130  interrupted; the directory is of no use`,
		Example: `  plimsoll load-pebble --dir /mnt/data --records 1000000 --fields 10 --field-bytes 100`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := requireOne(cmd, "dir", "records"); err != nil {
				return err
			}
			if err := d.Check(); err != nil {
				return err
			}
			err := pebble.Load(cmd.Context(), dir, d, params, a.stderr)
			if err != nil && cmd.Context().Err() != nil {
				return &exitError{exitInterrupted, errors.New("interrupted")}
			}
			return failure(err)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&dir, "dir", "", "`directory` to load into")
	flags.Int64Var(&d.Records, "records", 0, "how many `records`")
	flags.IntVar(&d.Fields, "fields", 10, "`fields` of a record")
	flags.IntVar(&d.FieldBytes, "field-bytes", 100, "`bytes` of a field")
	flags.Uint64Var(&d.Seed, "seed", 0, fmt.Sprintf("`number` that values follow from, up to %d", uint64(math.MaxUint64)))
	addPebbleParams(cmd, &params)
	return cmd
}

// addPebbleParams adds a flag for each parameter of the embedded server.
func addPebbleParams(cmd *cobra.Command, p *database.PebbleParams) {
	for _, key := range database.PebbleKeys() {
		cmd.Flags().Var(pebbleParam{p, key}, key, "parameter of the server, as in experiment files")
	}
}

// pebbleParam is a parameter as a flag.
type pebbleParam struct {
	params *database.PebbleParams
	key    string
}

// String is also asked of a zero value, by the help.
func (f pebbleParam) String() string {
	if f.params == nil {
		return ""
	}
	return f.params.Get(f.key)
}

func (f pebbleParam) Set(text string) error { return f.params.Set(f.key, text) }

// Type returns the name of its values in help.
func (f pebbleParam) Type() string { return "value" }

// requireOne refuses a command line without one of these flags.
func requireOne(cmd *cobra.Command, flags ...string) error {
	for _, name := range flags {
		if !cmd.Flags().Changed(name) {
			return fmt.Errorf("%s needs --%s; %s --help lists the flags", commandName(cmd), name, cmd.CommandPath())
		}
	}
	return nil
}

// failure is an error that is not about the command line.
func failure(err error) error {
	if err == nil {
		return nil
	}
	return &exitError{exitFailure, err}
}
