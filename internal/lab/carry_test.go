package lab

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestWhatIsAbsentIsNotSent(t *testing.T) {
	dir := t.TempDir()
	err := Send(t.Context(), dir, []string{filepath.Join(dir, "absent")})
	if err == nil || !strings.Contains(err.Error(), "absent") {
		t.Errorf("%v", err)
	}
}
