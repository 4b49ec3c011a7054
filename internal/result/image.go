package result

import (
	"slices"
	"strings"
)

// Image is what a server runs from.
type Image struct {
	Name    string `json:"name"`              // "postgresql:15.20"
	Digest  string `json:"digest"`            // of its manifest: "sha256:..."
	Version string `json:"version,omitempty"` // that the server said it is of, when it answered; "" where it did not
}

// InPlaceOf stands in a version between the name of a server and that of the one whose protocol it speaks:
// "FerretDB, in place of MongoDB 7.0.42".
const InPlaceOf = ", in place of "

// StandsIn returns which server it is that speaks another's protocol; "" where it is that server itself.
func (i *Image) StandsIn() (server string) {
	if i == nil {
		return ""
	}
	if server, _, found := strings.Cut(i.Version, InPlaceOf); found {
		return server
	}
	return ""
}

// shownDigest is how much of a digest people are shown: enough to find the image by.
const shownDigest = len("sha256:") + 12

// String says which image it is, in a line.
func (i Image) String() string {
	parts := []string{i.Name}
	if i.Version != "" {
		parts = append(parts, "which says that it is "+i.Version)
	}
	return strings.Join(append(parts, i.Digest[:min(len(i.Digest), shownDigest)]), ", ")
}

// Images are those that the servers of a run ran from, each once.
func (r *Run) Images() (all []Image) {
	for _, w := range r.Workloads {
		if w.Image != nil && !slices.Contains(all, *w.Image) {
			all = append(all, *w.Image)
		}
	}
	return all
}
