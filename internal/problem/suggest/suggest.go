// Package suggest finds the word that somebody meant. It is pure.
package suggest

import (
	"slices"
	"strings"
)

// Closest gives the known word that is most like word, or "" when none is
// near enough to be a slip of the fingers. Case does not count. Of equally
// near words the first wins.
func Closest(word string, known []string) string {
	best, nearest := "", tolerance(word)
	for _, k := range known {
		if d := distance(strings.ToLower(word), strings.ToLower(k)); d < nearest {
			best, nearest = k, d
		}
	}
	return best
}

// Near returns the known words that are most like word, at most n of them, the
// nearest first; none when none is near enough to be a slip of the fingers.
func Near(word string, known []string, n int) []string {
	type candidate struct {
		word     string
		distance int
	}
	var candidates []candidate
	for _, k := range known {
		if d := distance(strings.ToLower(word), strings.ToLower(k)); d < tolerance(word) {
			candidates = append(candidates, candidate{k, d})
		}
	}
	slices.SortStableFunc(candidates, func(a, b candidate) int { return a.distance - b.distance })
	var near []string
	for _, c := range candidates[:min(n, len(candidates))] {
		near = append(near, c.word)
	}
	return near
}

// tolerance is the distance from which on a word is another one. A word that shares no letter is always another one.
func tolerance(word string) int {
	letters := len([]rune(word))
	return min(letters/3+2, letters)
}

// DidYouMean words the closest known word as a question, followed by all of
// them: `did you mean "xfs"? known are btrfs, ext4, xfs`.
func DidYouMean(word string, known []string) string {
	list := "known are " + strings.Join(known, ", ")
	if len(known) == 0 {
		list = "none is known"
	}
	if c := Closest(word, known); c != "" {
		return `did you mean "` + c + `"? ` + list
	}
	return list
}

// distance counts the insertions, deletions, replacements and swaps of
// neighbours that make b of a.
func distance(a, b string) int {
	s, t := []rune(a), []rune(b)
	// Three rows of the table are enough: a swap looks back two.
	before, previous, row := make([]int, len(t)+1), make([]int, len(t)+1), make([]int, len(t)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(s); i++ {
		before, previous, row = previous, row, before
		row[0] = i
		for j := 1; j <= len(t); j++ {
			replace := previous[j-1]
			if s[i-1] != t[j-1] {
				replace++
			}
			row[j] = min(replace, previous[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && s[i-1] == t[j-2] && s[i-2] == t[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return row[len(t)]
}
