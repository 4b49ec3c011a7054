package result

import (
	"slices"
	"strings"
)

// Image identifies the container image that a server runs from.
type Image struct {
	Name    string `json:"name"`              // "postgresql:15.20"
	Digest  string `json:"digest"`            // of its manifest: "sha256:..."
	Version string `json:"version,omitempty"` // the version that the server reported; "" where it did not answer
}

// InPlaceOf stands in a version between the name of a server and that of the one whose protocol it speaks:
// "FerretDB, in place of MongoDB 7.0.42".
const InPlaceOf = ", in place of "

// StandsIn returns the name of the server that runs in place of the one whose protocol it speaks: "FerretDB". It
// returns "" where the server is that one itself.
func (i *Image) StandsIn() (server string) {
	if i == nil {
		return ""
	}
	if server, _, found := strings.Cut(i.Version, InPlaceOf); found {
		return server
	}
	return ""
}

// shortDigestLen is the length of a shortened digest: enough to find the image by.
const shortDigestLen = len("sha256:") + 12

// String returns the image's name, version and shortened digest in one line.
func (i Image) String() string {
	parts := []string{i.Name}
	if i.Version != "" {
		parts = append(parts, "which says that it is "+i.Version)
	}
	return strings.Join(append(parts, i.Digest[:min(len(i.Digest), shortDigestLen)]), ", ")
}

// Images returns the distinct images of the run's servers.
func (r *Run) Images() (all []Image) {
	for _, w := range r.Workloads {
		if w.Image != nil && !slices.Contains(all, *w.Image) {
			all = append(all, *w.Image)
		}
	}
	return all
}
