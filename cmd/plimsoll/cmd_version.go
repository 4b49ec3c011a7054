package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version and commit are set at link time by the Makefile.
var (
	version = "devel"
	commit  = ""
)

// build says which plimsoll this is.
type build struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"` // "" when it was built of no repository
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// thisBuild falls back on what the Go command noted by itself.
func thisBuild() build {
	b := build{Version: version, Commit: commit, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok || b.Commit != "" {
		return b
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			b.Commit = s.Value
		}
	}
	return b
}

// String is the build on one line.
func (b build) String() string {
	of := ""
	if b.Commit != "" {
		of = "commit " + b.Commit[:min(len(b.Commit), 12)] + ", "
	}
	return fmt.Sprintf("plimsoll %s (%s%s, %s)", b.Version, of, b.Go, b.Platform)
}

func newVersionCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Tell which plimsoll this is",
		Long: `Tell which version of plimsoll this is, of which commit and by which Go it was
built, and for which platform. A run stores the version that measured it.

EXIT STATUS
  0  told
  1  it could not be printed
  2  the command line is wrong`,
		Example: `  plimsoll version
  plimsoll version --json | jq -r .commit`,
		Args: none,
		RunE: func(*cobra.Command, []string) error {
			b := thisBuild()
			var err error
			if a.jsonOutput {
				out := json.NewEncoder(a.data())
				out.SetIndent("", "  ")
				err = out.Encode(b)
			} else {
				_, err = fmt.Fprintln(a.stdout, b)
			}
			if err != nil {
				return &exitError{exitFailure, err}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&a.jsonOutput, "json", false, "print JSON")
	return cmd
}
