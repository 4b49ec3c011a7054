package node

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A program that another user of the node planted is not run as root in the place of plimsoll, nor is her directory
// worked in.
func TestAttackProgramOnTheNode(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make directories of others")
	}
	for what, plant := range map[string]func(base, bin string) error{
		"all is hers":      func(base, _ string) error { return os.Chown(base, 65534, 65534) },
		"programs are":     func(_, bin string) error { return os.Chown(filepath.Dir(bin), 65534, 65534) },
		"its place is":     func(_, bin string) error { return os.Chown(bin, 65534, 65534) },
		"others may write": func(_, bin string) error { return os.Chmod(bin, 0o777) },
	} {
		p := place(t)
		program, err := os.ReadFile(p.Program)
		if err != nil {
			t.Fatal(err)
		}
		hash := sha256.Sum256(program)
		bin := filepath.Join(p.Base, programs, hex.EncodeToString(hash[:8]))
		ran := filepath.Join(t.TempDir(), "ran")
		err = errors.Join(os.MkdirAll(bin, 0o700),
			os.WriteFile(filepath.Join(bin, "plimsoll"), []byte("#!/bin/sh\ntouch "+ran+"\n"), 0o755), plant(p.Base, bin))
		if err != nil {
			t.Fatal(err)
		}
		_, measure := p.Measure(t.Context(), "density", nil, io.Discard)
		for _, err := range []error{measure, p.Clean(t.Context(), io.Discard)} {
			if err == nil || !strings.Contains(err.Error(), "may be replaced at any time") {
				t.Errorf("%s: %v", what, err)
			}
		}
		if _, err := os.Stat(ran); err == nil {
			t.Errorf("%s: her program was run", what)
		}
	}
}
