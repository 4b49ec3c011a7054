package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"plimsoll/internal/cli/glossary"
	"plimsoll/internal/problem/suggest"
)

// helpWords is the command below help that explains words.
const helpWords = "words"

func newHelpWordsCommand(a *app) *cobra.Command {
	var text strings.Builder
	for _, e := range glossary.All() {
		explain(&text, e)
	}
	return &cobra.Command{
		Use:   helpWords + " [WORD...]",
		Short: "Explain the words of reports",
		Long: `Explain the words that reports and tables use, or those that are named. The
report of a run has the same text at its end.

` + text.String() + `
EXIT STATUS
  0  printed
  2  a word is not among them`,
		Example: `  plimsoll help words
  plimsoll help words IOPS p99`,
		RunE: func(_ *cobra.Command, args []string) error {
			found, err := glossary.All(), error(nil)
			if len(args) > 0 {
				found, err = lookUpWords(args)
			}
			for _, e := range found {
				explain(a.stdout, e)
			}
			if err != nil {
				return &exitError{exitUsage, err}
			}
			return nil
		},
	}
}

// lookUpWords returns the entries of words. The error names all words without one; the entries of the others are valid.
func lookUpWords(words []string) (found []glossary.Entry, err error) {
	var known, missing []string
	for _, e := range glossary.All() {
		known = append(append(known, e.Word), e.Also...)
	}
	for _, word := range words {
		e, ok := glossary.Find(word)
		if ok {
			found = append(found, e)
			continue
		}
		why := fmt.Sprintf("%q is not among the words", word)
		if near := suggest.Closest(word, known); near != "" {
			why += fmt.Sprintf(" (did you mean %q?)", near)
		}
		missing = append(missing, why)
	}
	if len(missing) > 0 {
		return found, fmt.Errorf("%s; plimsoll help words prints all", strings.Join(missing, "; "))
	}
	return found, nil
}

// explain prints a word with its meaning, in lines that fit.
func explain(w io.Writer, e glossary.Entry) {
	fmt.Fprintln(w, "  "+e.Word)
	const width, indent = 78, "      "
	line := indent
	for _, word := range strings.Fields(e.Means) {
		if len([]rune(line))+1+len([]rune(word)) > width {
			fmt.Fprintln(w, strings.TrimRight(line, " "))
			line = indent
		}
		line += word + " "
	}
	fmt.Fprintln(w, strings.TrimRight(line, " "))
}
