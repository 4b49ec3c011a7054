package main

import (
	"strings"
	"testing"
)

// What a command line names and is not there is exit 2, in every command that takes a name or a path.
func TestMissingIsUsage(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, args := range [][]string{
		{"run", "nosuch"}, {"run", "nosuch.yaml"}, {"run", "--resume", "nosuch"},
		{"run", "quick", "--on", "/dev/nosuch"}, {"run", "quick", "--on", "serial:NOSUCH"},
		{"run", "quick", "--on", "dir:nosuch"},
		{"run", "quick", "--destroy", "/dev/nosuch"},
		{"validate", "nosuch"}, {"validate", "nosuch.yaml"},
		{"show", "nosuch"}, {"report", "nosuch"}, {"open", "nosuch"}, {"export", "nosuch"}, {"runs", "nosuch"},
		{"runs", "remove", "nosuch"}, {"compare", "nosuch", "nosuch"}, {"papers", "claims", "nosuch"},
		{"advise", "settings", "nosuch"},
		{"fit", "nosuch"}, {"predict", "nosuch.json", "C: 1"}, {"plan", "nosuch.yaml"},
		{"init", "nosuch.fio"}, {"import", "nosuch.json"},
		{"image", "load", "nosuch.tar"}, {"image", "remove", "nosuch"}, {"data", "remove", "nosuch"},
		{"image", "build", "nosuch"},
		{"trace", "analyze", "nosuch"}, {"trace", "record", "--device", "nosuch", "--duration", "1s"},
		{"trace", "record", "--stack", "/dev/nosuch", "--", "true"},
		{"target", "export", "/dev/nosuch", "--destroy", "/dev/nosuch", "--addr", "127.0.0.1", "--allow-any"},
		{"target", "unexport", "nosuch"}, {"lab", "nosuch"}, {"help", "nosuch"}, {"completion", "nosuch"},
	} {
		out, errs := plimsoll(t, exitUsage, append(args, "--state-dir", "state")...)
		if !strings.Contains(strings.ToLower(out+errs), "nosuch") || strings.Contains(errs, "state-dir") {
			t.Errorf("plimsoll %s: what is missing is not named:\n%s", strings.Join(args, " "), errs)
		}
	}
}
