package fsoption

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"plimsoll/internal/problem"
	"plimsoll/internal/problem/suggest"
)

// Value is a set of permitted texts for an option's value. None can name a device, a file or a directory: no slash
// fits, and only listed names, except for a label.
type Value struct {
	usage    string                 // for people: "a whole number"
	fits     func(text string) bool // one value
	names    []string               // a list of names, each of which may be taken back with ^ in front
	parts    *Options               // a list of options of its own
	optional bool                   // it may be left out
}

func matching(usage, pattern string) *Value {
	return &Value{usage: usage, fits: regexp.MustCompile("^(?:" + pattern + ")$").MatchString}
}

// The values of most options.
var (
	// None is for an option without a value.
	None *Value
	// Number is a whole number.
	Number = matching("a whole number", "[0-9]{1,18}")
	// Percent is a number that may have a fraction.
	Percent = matching("a number", `[0-9]{1,3}(\.[0-9]{1,6})?`)
	// Size is a number with or without a unit, as mkfs programs and file systems take it.
	Size = matching("a size like 4096, 16k or 1g", "[0-9]{1,18}[bskKmMgGtTpPeE]?")
	// Switch is 0 or 1.
	Switch = OneOf("0", "1")
	// Label is the name of a file system. It cannot be mistaken for an option or a path.
	Label = matching(
		"up to 16 letters, digits and any of . _ $ -, not starting with - or .",
		`[A-Za-z0-9_$][A-Za-z0-9._$-]{0,15}`,
	)
	// UserGroup is a pair of numbers.
	UserGroup = matching("a user's and a group's number like 0:0", "[0-9]{1,10}:[0-9]{1,10}")
)

// OneOf is one of these words.
func OneOf(words ...string) *Value {
	return &Value{
		usage: "one of " + strings.Join(words, ", "),
		fits:  func(text string) bool { return slices.Contains(words, text) },
	}
}

// Features is a list of names, with commas between. ^ before one takes it back.
func Features(names ...string) *Value {
	return &Value{usage: "a list of " + strings.Join(names, ", "), names: names}
}

// List is a list of options like agcount=4,noalign.
func List(allowed Options) *Value { return &Value{usage: "a list of options", parts: &allowed} }

// Optional is a value that may be left out.
func Optional(v *Value) *Value {
	optional := *v
	optional.optional = true
	return &optional
}

// String describes the permitted values for people: "a whole number".
func (v *Value) String() string {
	switch {
	case v == None:
		return ""
	case v.optional:
		return v.usage + ", or nothing"
	}
	return v.usage
}

// Parts returns the options that the value is a list of; false for any other value.
func (v *Value) Parts() (Options, bool) {
	if v == None || v.parts == nil {
		return Options{}, false
	}
	return *v.parts, true
}

// check returns the problems with the text of an option's value.
func (v *Value) check(option, text string) problem.List {
	switch {
	case v.parts != nil:
		return v.parts.check(option, text)
	case v.names != nil:
		return v.checkNames(option, text)
	case !v.fits(text):
		return wrong(fmt.Sprintf("%s is not written %q", option, text), "write "+v.usage)
	}
	return nil
}

func (v *Value) checkNames(option, text string) (problems problem.List) {
	for name := range strings.SplitSeq(text, ",") {
		name = strings.TrimPrefix(name, "^")
		if !slices.Contains(v.names, name) {
			problems = append(
				problems,
				wrong(fmt.Sprintf("%s: plimsoll knows no feature %q", option, name), suggest.DidYouMean(name, v.names))...)
		}
	}
	return problems
}

func wrong(what, remedy string) problem.List {
	return problem.List{{What: what, Remedy: remedy}}
}
