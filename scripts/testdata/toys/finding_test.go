package finding

import (
	"testing"

	"plimsoll/internal/result"
)

func TestToy(t *testing.T) {
	for _, f := range All(&result.Run{ID: "toy"}) {
		if f.Rule == "toy" && f.ID == "toy/run" && f.Title == "This is the run called toy" {
			return
		}
	}
	t.Error("a run has no finding of the toy's")
}
