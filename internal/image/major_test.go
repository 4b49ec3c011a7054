package image

import "testing"

func TestMajorVersionOfImages(t *testing.T) {
	for name, want := range map[string]int{
		"postgresql:15.20": 15, "index.docker.io/library/postgres:18": 18, "index.docker.io/library/postgres:18.1-trixie": 18,
		"localhost:5000/postgres:17.2@sha256:00": 17, "localhost:5000/postgres": 0, "postgres:latest": 0,
		"postgres": 0, "": 0, "postgres@sha256:1800": 0, "postgres:99999999999999999999": 0, "postgres:-18": 0,
	} {
		major, known := (Image{Name: name}).Major()
		if known != (want > 0) || known && major != want {
			t.Errorf("%q: %d, %v", name, major, known)
		}
	}
}
