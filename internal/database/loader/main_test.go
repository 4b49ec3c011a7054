package loader

import (
	"fmt"
	"os"
	"testing"
)

// TestMain makes this test binary be the programs that it starts: plimsoll itself, and those of the images of attacks.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == InsideCommand {
		fmt.Fprintln(os.Stderr, Inside(os.Args[2]))
		os.Exit(1)
	}
	if os.Args[0] == "/usr/bin/env" {
		attack(os.Args[1:])
		return
	}
	os.Exit(m.Run())
}
