package glossary

import (
	"regexp"
	"strings"
	"testing"
)

// Every word is explained once, in sentences, and has a place of its own.
func TestEntries(t *testing.T) {
	words, anchors := map[string]bool{}, map[string]bool{}
	for _, e := range All() {
		for _, word := range append([]string{e.Word}, e.Also...) {
			if words[word] && word != e.Word {
				t.Errorf("%s is explained twice", word)
			}
			words[word] = true
			found, ok := Find(word)
			if !ok || found.Word != e.Word {
				t.Errorf("%s is not found as %s", word, e.Word)
			}
		}
		a := e.Anchor()
		if anchors[a] || !regexp.MustCompile(`^word(-[a-z0-9]+)+$`).MatchString(a) {
			t.Errorf("%s is at %s, which is no place of its own", e.Word, a)
		}
		anchors[a] = true
		if e.Means == "" || !strings.HasSuffix(e.Means, ".") {
			t.Errorf("%s: no sentence: %q", e.Word, e.Means)
		}
	}
	// What a stranger was seen to ask for.
	for _, word := range []string{"IOPS", "p99", "RR", "RW", "SR", "SW", "queue depth", "O_DIRECT", "setup", "bring-up",
		"round", "block", "miniature",
		"interval", "noise floor", "~", "fio", "median"} {
		if !words[word] {
			t.Errorf("%s is not explained", word)
		}
	}
	if _, ok := Find("frob"); ok {
		t.Error("a word that nobody uses is found")
	}
}
