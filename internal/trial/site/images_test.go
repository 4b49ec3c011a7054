package site

import (
	"strings"
	"testing"

	"plimsoll/internal/image"
	"plimsoll/internal/problem"
	"plimsoll/internal/workload"
)

// An option that came with a version is refused of an older image, before anything starts.
func TestImagesThatAreTooOld(t *testing.T) {
	needs := &workload.Image{Name: "postgres:18", Make: "MAKE", Major: 18, Option: "io_method: io_uring"}
	for name, old := range map[string]bool{
		"postgresql:15.20": true, "index.docker.io/library/postgres:17.6": true, "index.docker.io/library/postgres:18": false,
		"postgres:19beta1": false, "postgres:latest": false, "postgres": false,
	} {
		refusal := problem.Of(isNewEnough(image.Image{Name: name}, needs), problem.Unsupported)
		if (refusal != nil) != old {
			t.Errorf("%s: %v", name, refusal)
		}
		if refusal != nil && (!strings.Contains(refusal.Why, "io_method: io_uring needs version 18") ||
			!strings.Contains(refusal.Remedy, "MAKE")) {
			t.Errorf("%s: %v", name, refusal)
		}
		if err := isNewEnough(image.Image{Name: name}, &workload.Image{}); err != nil {
			t.Errorf("%s, of which nothing is needed: %v", name, err)
		}
	}
}

// All containers of an image have the profile that one of its servers needs.
func TestRootsOfServersThatUseIOURing(t *testing.T) {
	o := &root{Root: &image.Root{}, ring: true}
	if !o.config().Ring || (&root{Root: &image.Root{}}).config().Ring {
		t.Error("a place is not told whether its servers use io_uring")
	}
}
