// Package buildinfo says which build of plimsoll's programs this is.
package buildinfo

import (
	_ "embed"
	"fmt"
	"runtime"
	"strings"
)

// number is the version of the next release until that release is made: the one place that has it.
//
//go:embed VERSION
var number string

// What the linker sets: see the Makefile and scripts/release.
var (
	release string // the version of a release; "" for all other builds
	commit  string // with "-dirty" when files were changed since
	date    string // of the commit: "2026-11-28"
)

// Build is one build of a program.
type Build struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"` // "" where the build did not set it
	Date     string `json:"date,omitempty"`   // of the commit
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// This returns the build of the running program.
func This() Build {
	return Build{
		Version: version(release, commit), Commit: commit, Date: date,
		Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
}

// Number returns the version of the release that this is, or leads to: "0.1.0".
func Number() string { return strings.TrimSpace(number) }

// version is "0.1.0" of a release, and "0.1.0-dev+123a0a1e686f" of what leads to it.
func version(release, commit string) string {
	if release != "" {
		return release
	}
	v := Number() + "-dev"
	if commit != "" {
		v += "+" + short(commit)
	}
	return v
}

// short is a commit as people quote it.
func short(commit string) string {
	hash, _, dirty := strings.Cut(commit, "-")
	hash = hash[:min(len(hash), 12)]
	if dirty {
		hash += "-dirty"
	}
	return hash
}

// Line returns the build on one line, as the version of a program.
func (b Build) Line(program string) string {
	about := []string{b.Go, b.Platform}
	if b.Date != "" {
		about = append([]string{b.Date}, about...)
	}
	if b.Commit != "" {
		about = append([]string{"commit " + short(b.Commit)}, about...)
	}
	return fmt.Sprintf("%s %s (%s)", program, b.Version, strings.Join(about, ", "))
}
