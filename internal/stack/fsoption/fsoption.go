// Package fsoption lists the options that users may pass to mkfs programs and mounts. Any other is refused: an option
// that names a device, a file or a directory would make the program access, as root, what is not part of the stack,
// and a word that is no option is taken for a device. Each list is with its file system, in internal/stack. The
// package is pure.
package fsoption

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"plimsoll/internal/problem"
	"plimsoll/internal/problem/suggest"
)

// Options are the options that a program, or an option of one, takes.
type Options struct {
	// Of names the program, for people: "mkfs.xfs".
	Of string
	// Known maps each option to its permitted values; to None for an option without one.
	Known map[string]*Value
	// Refused holds the reasons for refusing existing options. Unknown ones are refused too, because nobody has
	// checked whether they leave the stack.
	Refused map[string]string
}

// Mkfs returns what checks the options of a mkfs program, separated by blanks.
// Every short option that has a value has it attached or in the next word, as
// getopt(3) does; so the lists have to agree with the program on which have one.
func (o Options) Mkfs() func(text string) problem.List {
	return func(text string) (problems problem.List) {
		words := strings.Fields(text)
		for len(words) > 0 {
			var found problem.List
			found, words = o.word(words)
			problems = append(problems, found...)
		}
		return problems
	}
}

// word checks the first of the words, and returns those that follow it and its
// value.
func (o Options) word(words []string) (problems problem.List, rest []string) {
	word := words[0]
	rest = words[1:]
	if len(word) < 2 || word[0] != '-' || word == "--" {
		return wrong(fmt.Sprintf("%q is no option: %s would take it for a device, a file or a size", word, o.Of),
			"leave it out: plimsoll names the device"), rest
	}
	name, value, attached := word[:2], word[2:], len(word) > 2
	if strings.HasPrefix(word, "--") {
		name, value, attached = strings.Cut(word, "=")
	}
	v, known := o.Known[name]
	switch {
	case !known:
		if _, refused := o.Refused[name]; refused && !attached && len(rest) > 0 && rest[0][0] != '-' {
			rest = rest[1:] // it belongs to what is refused
		}
		return o.unknown(name), rest
	case v == None && attached:
		return wrong(
			fmt.Sprintf("%s takes no value, and %q has one", name, word),
			"write each option as a separate word",
		), rest
	case v == None:
		return nil, rest
	case !attached && len(rest) == 0:
		return wrong(name+" needs a value", "write "+v.usage+" behind it"), rest
	case !attached:
		value = rest[0]
		rest = rest[1:]
	}
	return v.check(name, value), rest
}

// Mount returns what checks mount options, separated by commas.
func (o Options) Mount() func(text string) problem.List {
	return func(text string) problem.List {
		if text == "" {
			return nil
		}
		return o.check("", text)
	}
}

// check checks a list with commas of NAME and NAME=VALUE. Within is the option
// that has the list as its value.
func (o Options) check(within, text string) (problems problem.List) {
	for entry := range strings.SplitSeq(text, ",") {
		name, value, valued := strings.Cut(entry, "=")
		v, known := o.Known[name]
		full := strings.TrimSpace(within + " " + name)
		switch {
		case name == "":
			problems = append(
				problems,
				wrong(fmt.Sprintf("there is an empty option in %q", text), "leave out the comma that is too many")...)
		case !known:
			problems = append(problems, o.suboptions(within).unknown(name)...)
		case v == None && valued:
			problems = append(problems, wrong(full+" takes no value", "write "+name)...)
		case v != None && !valued && !v.optional:
			problems = append(problems, wrong(full+" needs a value", "write "+v.usage+" behind it")...)
		case valued:
			problems = append(problems, v.check(full, value)...)
		}
	}
	return problems
}

// suboptions returns a name for the options in the value of an option.
func (o Options) suboptions(option string) Options {
	if option != "" {
		o.Of = option
	}
	return o
}

// unknown returns why an option is refused.
func (o Options) unknown(name string) problem.List {
	if why, ok := o.Refused[name]; ok {
		return wrong(fmt.Sprintf("%s of %s is refused: it %s", name, o.Of, why), "leave it out")
	}
	known := slices.Sorted(maps.Keys(o.Known))
	const listLimit = 8 // as a sub-option has; a mount has some seventy
	remedy := "docs/reference/stacks.md lists those that it takes"
	if len(known) <= listLimit {
		remedy = "taken are " + strings.Join(known, ", ")
	}
	if meant := suggest.Closest(name, known); meant != "" && meant != name && len(name) > 2 {
		remedy = fmt.Sprintf("did you mean %q? %s", meant, remedy)
	}
	return wrong(
		fmt.Sprintf("%q is no option of %s that plimsoll takes: whether it leaves the stack was not checked", name, o.Of),
		remedy,
	)
}

// With returns the options of both lists.
func (o Options) With(other Options) Options {
	o.Known = maps.Clone(o.Known)
	maps.Copy(o.Known, other.Known)
	refused := maps.Clone(other.Refused)
	maps.Copy(refused, o.Refused)
	o.Refused = refused
	return o
}

// Named maps each of the names, separated by blanks, to the same value.
func Named(names string, v *Value) map[string]*Value {
	m := map[string]*Value{}
	for _, name := range strings.Fields(names) {
		m[name] = v
	}
	return m
}

// Join makes one table of several. It panics when two have the same name: the
// tables are written into the program.
func Join(tables ...map[string]*Value) map[string]*Value {
	joined := map[string]*Value{}
	for _, t := range tables {
		for name, v := range t {
			if _, twice := joined[name]; twice {
				panic("option " + name + " is listed twice")
			}
			joined[name] = v
		}
	}
	return joined
}
