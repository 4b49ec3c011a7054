package command

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// What others wrote into objects of a cluster steers no terminal: it is in what is said, and in errors.
func TestAttackTextOfObjects(t *testing.T) {
	const hostile = "\x1b]0;title\a\x1b[2J\u202e"
	var out bytes.Buffer
	Say(&out, "%s is clean\nleft: %v", hostile, errors.New(hostile))
	if said := out.String(); strings.ContainsAny(said, "\x1b\a\u202e") || strings.Count(said, "\n") != 2 {
		t.Errorf("%q", said)
	}
}
