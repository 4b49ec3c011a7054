package main

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"
)

// newReadFilesCommand returns the command that reads files of a server into the page cache. A workload's step starts
// it in the place of an instance, so that the pages are charged to the instance.
func newReadFilesCommand() *cobra.Command {
	return &cobra.Command{
		Use: "read-files DIRECTORY", Hidden: true, Args: exactly(1, "the directory whose files to read"),
		Short: "Read every file of a directory once, so that the page cache holds them",
		Long: `Read every file of a directory, and of those below it, once and in the order of
their names, so that the page cache holds as much of them as it has room for.

EXIT STATUS
  0  read
  1  a file could not be read`,
		RunE: func(cmd *cobra.Command, args []string) error { return readFiles(cmd.Context(), args[0]) },
	}
}

func readFiles(ctx context.Context, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return &exitError{exitFailure, err}
	}
	defer root.Close()
	buffer := make([]byte, 1<<20)
	err = fs.WalkDir(root.FS(), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		f, err := root.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		for ctx.Err() == nil {
			_, err := f.Read(buffer)
			if err == io.EOF {
				return nil
			}
			if err != nil {
				return err
			}
		}
		return ctx.Err()
	})
	if err != nil {
		return &exitError{exitFailure, fmt.Errorf("read the files of %s: %w", dir, err)}
	}
	return nil
}
