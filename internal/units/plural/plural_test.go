package plural

import "testing"

func TestCount(t *testing.T) {
	for _, c := range []struct {
		n    int
		noun string
		want string
	}{
		{0, "trial", "0 trials"}, {1, "trial", "1 trial"}, {2, "trial", "2 trials"}, {-1, "trial", "-1 trials"},
		{1, "entry", "1 entry"}, {2, "entry", "2 entries"}, {2, "key", "2 keys"},
		{2, "process", "2 processes"}, {2, "batch", "2 batches"}, {2, "flash", "2 flashes"}, {2, "index", "2 indexes"},
		{2, "y", "2 ies"}, {2, "", "2 s"}, // no nouns; it must not panic
	} {
		if got := Count(c.n, c.noun); got != c.want {
			t.Errorf("Count(%d, %q) = %q, want %q", c.n, c.noun, got, c.want)
		}
	}
	if Choose(1, "was", "were") != "was" || Choose(0, "was", "were") != "were" {
		t.Error("Choose takes the wrong one")
	}
}

func TestLists(t *testing.T) {
	for _, c := range []struct {
		words   []string
		and, or string
	}{
		{nil, "", ""}, {[]string{"a"}, "a", "a"}, {[]string{"a", "b"}, "a and b", "a or b"},
		{[]string{"a", "b", "c"}, "a, b and c", "a, b or c"},
	} {
		if got := And(c.words); got != c.and {
			t.Errorf("And(%q) = %q", c.words, got)
		}
		if got := Or(c.words); got != c.or {
			t.Errorf("Or(%q) = %q", c.words, got)
		}
	}
	stacks := func(n int) string { return Count(n, "stack") }
	if got := List([]int{1, 2, 3}, stacks); got != "1 stack, 2 stacks and 3 stacks" {
		t.Errorf("List = %q", got)
	}
}
