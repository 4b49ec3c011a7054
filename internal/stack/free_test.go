package stack

import (
	"strings"
	"testing"
)

// What is to stay free is not there for files of stacks, however much of it there is.
func TestKeepFree(t *testing.T) {
	dir := t.TempDir()
	err := (&Env{}).checkDirectory(dir, 1)
	if err != nil {
		t.Error(err)
	}
	e := &Env{KeepFree: 1}
	err = e.checkDirectory(dir, 1)
	if err == nil || !strings.Contains(err.Error(), "100%") || !strings.Contains(err.Error(), "--keep-free") {
		t.Errorf("all of it is to stay free: %v", err)
	}
	free, err := (&Env{}).free(dir)
	if err != nil {
		t.Fatal(err)
	}
	e.KeepFree = 0.1
	left, err := e.free(dir)
	if err != nil || left >= free {
		t.Errorf("%d of %d bytes are left beside a tenth, %v", left, free, err)
	}
}
