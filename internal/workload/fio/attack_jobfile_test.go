package fio

import (
	"fmt"
	"strings"
	"testing"
)

// TestAttackJobFiles has an experiment of another user's name a file that is no job file, but one that its reader can
// read: nothing of it stands in the problems, whatever the line before it makes of it.
func TestAttackJobFiles(t *testing.T) {
	const secret = "sEcret0123"
	lines := []string{
		"root:*:" + secret + ":0:99999:7:::", "root:$y$j9T$" + secret + "$x:20228:0:99999:7:::", secret, "password=" + secret,
		secret + "=1", "export TOKEN=" + secret, "[" + secret, "-----BEGIN KEY-----\n" + secret + "==\n-----END KEY-----",
		"{\"token\": \"" + secret + "\"}", "machine x login y password " + secret, secret + "${HOME}=$x", "$" + secret,
		"include" + secret, "a" + strings.Repeat("b", 500) + secret, "\x1b" + secret, "[]" + secret + "\n" + secret + "=1",
		"Authorization: Bearer " + secret, "siez " + secret, "sizes:" + secret,
	}
	noFile := func(string) ([]byte, error) { return nil, fmt.Errorf("no such file") }
	for _, before := range []string{"", "[global]\n", "[job]\nsize=1m\n", "[job]\nioengine=exec\n"} {
		for _, line := range lines {
			if before == "[job]\nioengine=exec\n" && !strings.Contains(line, "[") {
				continue // options of engines that are refused are not looked at
			}
			_, mistakes := parseJobFile(source{name: "my.fio", text: []byte(before + line + "\n"), open: noFile})
			if len(mistakes) == 0 {
				t.Errorf("%q is taken", before+line)
			}
			if text := mistakes.Join("\n"); strings.Contains(text, secret) {
				t.Errorf("of %q, it repeats\n%s", before+line, text)
			}
		}
	}
	// Nor does it go on without end about a file that is none.
	_, mistakes := parseJobFile(source{name: "my.fio", text: []byte(strings.Repeat("x\n", 10_000))})
	if len(mistakes) > mostMistakes {
		t.Errorf("%d mistakes", len(mistakes))
	}
}
