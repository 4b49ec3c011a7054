// Package problem is the one form in which the program says what is wrong: what
// failed, on which object, why, and what would change it. It is a leaf, so that
// whoever finds something wrong can say so, and whoever prints it need not know
// who did.
package problem

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Kind is what a problem means for who meets it: a trial that is skipped or
// failed, a command and its exit code. errors.Is(err, problem.Unsupported)
// reports whether any problem within err is of that kind.
type Kind string

// The kinds.
const (
	Failed      Kind = ""                                   // an internal or an I/O error
	Invalid     Kind = "what was asked for is wrong"        // a file, or what the command line names
	Unsupported Kind = "this host lacks something"          // which is needed: trials are skipped
	Protected   Kind = "a device is protected from changes" // nothing is started
)

// Error is for errors.Is alone: texts are those of problems.
func (k Kind) Error() string { return cmp.Or(string(k), "something failed") }

// Problem is something wrong, for the person who reads it. Results store What, Why
// and Remedy.
type Problem struct {
	At     Position `json:"-"`                // nothing when it is about no text
	What   string   `json:"what"`             // what failed, on which object
	Why    string   `json:"why"`              // the cause, in the words of what refused; "" when What says it all
	Remedy string   `json:"remedy,omitempty"` // what would change it; "" when nothing is known to
	Kind   Kind     `json:"-"`
	Cause  error    `json:"-"` // that Why tells of; nil when nobody has to look for it
}

// New returns a problem that is about no text.
func New(kind Kind, what, why, remedy string) *Problem {
	return &Problem{Kind: kind, What: what, Why: why, Remedy: remedy}
}

// CausedBy has the problem wrap what Why tells of, for those who look for it with
// errors.Is.
func (p *Problem) CausedBy(err error) *Problem {
	p.Cause = err
	return p
}

// Of returns the first problem within err; nil when there is none, or when it is of
// none of the kinds that are named.
func Of(err error, kinds ...Kind) *Problem {
	var p *Problem
	if errors.As(err, &p) && len(kinds) > 0 && !slices.Contains(kinds, p.Kind) {
		return nil
	}
	return p
}

// Text says what is wrong and why, without place and remedy.
func (p Problem) Text() string { return joined(": ", p.What, p.Why) }

// String is the problem on one line: "my.yaml:7: what: why (remedy)".
func (p Problem) String() string {
	s := joined(": ", p.At.String(), p.Text())
	if p.Remedy != "" {
		s += " (" + p.Remedy + ")"
	}
	return s
}

// Error is String. Only pointers are errors, so that errors.As has one type to look for.
func (p *Problem) Error() string { return p.String() }

// Unwrap returns the cause.
func (p *Problem) Unwrap() error { return p.Cause }

// Is reports whether target is the problem's kind.
func (p *Problem) Is(target error) bool { return target == p.Kind }

// Position is a place in a text. What is not known, or does not apply, is left out.
type Position struct {
	In     string // the name of a file, or what else the text is: `stack "loop"`
	Line   int    // from 1
	Column int    // from 1, in characters
}

// String is the position as compilers print it ("my.yaml:7:3"); in words where the
// reader knows the file, or the text is one line ("line 7", "column 3").
func (p Position) String() string {
	switch {
	case p.In != "" && p.Line > 0 && p.Column > 0:
		return fmt.Sprintf("%s:%d:%d", p.In, p.Line, p.Column)
	case p.In != "" && p.Line > 0:
		return fmt.Sprintf("%s:%d", p.In, p.Line)
	}
	line, column := "", ""
	if p.Line > 0 {
		line = fmt.Sprintf("line %d", p.Line)
	}
	if p.Column > 0 {
		column = fmt.Sprintf("column %d", p.Column)
	}
	return joined(": ", p.In, joined(", ", line, column))
}

// List is all that is wrong with something, so that it is told at once. As an
// error it is not empty.
type List []Problem

// InLine adds what is wrong in a line of a file that the user wrote.
func (l *List) InLine(line int, what, remedy string) {
	*l = append(*l, Problem{At: Position{Line: line}, What: what, Remedy: remedy, Kind: Invalid})
}

// InColumn adds what is wrong in a column of a line that the user wrote.
func (l *List) InColumn(column int, what, remedy string) {
	*l = append(*l, Problem{At: Position{Column: column}, What: what, Remedy: remedy, Kind: Invalid})
}

// Sorted returns the list in the order of the text, and problems of one place in
// the order in which they were found.
func (l List) Sorted() List {
	slices.SortStableFunc(l, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.At.Line, b.At.Line), cmp.Compare(a.At.Column, b.At.Column))
	})
	return l
}

// Unplaced returns the problems without their positions, of a text that nobody wrote.
func (l List) Unplaced() List {
	out := slices.Clone(l)
	for i := range out {
		out[i].At = Position{}
	}
	return out
}

// Within returns the list with the name of the file, or what else all of it is in.
func (l List) Within(name string) List {
	named := slices.Clone(l)
	for i := range named {
		named[i].At.In = name
	}
	return named
}

// Err is the list as an error; nil when nothing is wrong.
func (l List) Err() error {
	if len(l) == 0 {
		return nil
	}
	return l
}

// Error prints one problem a line.
func (l List) Error() string { return l.Join("\n") }

// Join prints all problems with sep between them.
func (l List) Join(sep string) string {
	texts := make([]string, len(l))
	for i, p := range l {
		texts[i] = p.String()
	}
	return strings.Join(texts, sep)
}

// Unwrap returns each problem.
func (l List) Unwrap() []error {
	all := make([]error, len(l))
	for i := range l {
		all[i] = &l[i]
	}
	return all
}

// joined is those texts that say something, with sep between them.
func joined(sep string, texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(s string) bool { return s == "" }), sep)
}
