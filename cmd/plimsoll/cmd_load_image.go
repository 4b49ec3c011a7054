package main

import (
	"errors"

	"github.com/spf13/cobra"

	"plimsoll/internal/database"
	"plimsoll/internal/database/loader"
	"plimsoll/internal/image"
	"plimsoll/internal/state/inputfile"
)

// newLoadImageCommand returns the command that fills a new directory for a database from an image.
func newLoadImageCommand(a *app) *cobra.Command {
	var c loader.Config
	var account string
	cmd := &cobra.Command{
		Use: database.LoadImage + " PLAN", Hidden: true, Args: exactly(1, "the plan of what to load"),
		Short: "Load records into a directory with a database from an image",
		Long: `Lay out records in a new directory, with a database whose image is unpacked in
--root. Its programs run as --account, and see nothing of this host but the new
directory. Runs start it; docs/reference/databases.md explains it.

EXIT STATUS
  0    loaded
  1    it could not be; what the database said is printed
  2    the command line or the plan is wrong
  130  interrupted; the directory is of no use`,
		Example: `  plimsoll load-image --root /tmp/root --dir /mnt/data --scratch /tmp/work \
    --account 999:999 --env PATH=/usr/bin layout.json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := requireOne(cmd, "root", "dir", "scratch", "account"); err != nil {
				return err
			}
			text, err := inputfile.Read(args[0], inputfile.MaxText)
			if err == nil {
				c.Plan, err = database.ReadLoadPlan(text)
			}
			if err == nil {
				c.Account, err = image.ParseAccount(account)
			}
			if err != nil {
				return &exitError{exitUsage, err}
			}
			c.Log = a.stderr
			err = loader.Run(cmd.Context(), c)
			if err != nil && cmd.Context().Err() != nil {
				return &exitError{exitInterrupted, errors.New("interrupted")}
			}
			return failure(err)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&c.Root, "root", "", "`directory` of the image's root file system")
	flags.StringVar(&c.Dir, "dir", "", "`directory` to make and load into")
	flags.StringVar(&c.Scratch, "scratch", "", "`directory` to work in")
	flags.StringVar(&account, "account", "", "`UID:GID` that the database's programs run as")
	flags.StringArrayVar(&c.Env, "env", nil, "`NAME=VALUE` that they see; any number of times")
	return cmd
}
