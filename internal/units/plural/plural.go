// Package plural writes counts and lists as people say them: "1 trial", "3
// trials", "a, b and c". It is pure, and English alone.
package plural

import (
	"fmt"
	"strings"
)

// Count returns a number of things: "1 stack", "9 stacks", "2 entries".
func Count(n int, noun string) string { return fmt.Sprintf("%d %s", n, Of(n, noun)) }

// Of returns the noun alone, in its form after n: "stack", "stacks".
func Of(n int, noun string) string {
	if n == 1 {
		return noun
	}
	before, ends := noun, ""
	for _, ending := range []string{"ch", "sh", "s", "x"} {
		if strings.HasSuffix(noun, ending) {
			ends = "es"
		}
	}
	if stem, ok := strings.CutSuffix(noun, "y"); ok && !strings.ContainsAny(stem[max(0, len(stem)-1):], "aeiou") {
		before, ends = stem, "ies"
	}
	if ends == "" {
		ends = "s"
	}
	return before + ends
}

// Choose returns one for a single thing, and many for any other number: "was",
// "were".
func Choose(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// And joins words: "a", "a and b", "a, b and c".
func And(words []string) string { return join(words, "and") }

// List joins what things are called: "a, b and c".
func List[T any](things []T, word func(T) string) string { return And(Words(things, word)) }

// Words returns what each of some things is called.
func Words[T any](things []T, word func(T) string) []string {
	words := make([]string, len(things))
	for i, t := range things {
		words[i] = word(t)
	}
	return words
}

// Or joins words: "a", "a or b", "a, b or c".
func Or(words []string) string { return join(words, "or") }

func join(words []string, last string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return fmt.Sprintf("%s %s %s", strings.Join(words[:len(words)-1], ", "), last, words[len(words)-1])
}
