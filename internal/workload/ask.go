package workload

import "plimsoll/internal/problem"

// Question is a command that makes the installed program check a user's file, which may be written for another
// version.
type Question struct {
	File string // the user's, by its name
	// Ask returns the command that reads the declaration without the lines of known
	// problems. It touches nothing.
	Ask func(known problem.List) Command
	// Answer returns the problems that the program has, each with its line in the
	// user's file. A program may stop at its first one: ask again without.
	Answer func(known problem.List, code int, said string) problem.List
	// Inquiries are asked before that, once each, and touch nothing either.
	Inquiries []Inquiry
	// Lacks returns the problems that the file has on a host; nil for a file that asks nothing of it.
	Lacks func(Numbers) problem.List
}

// Inquiry is a command whose output shows what the file asks of the program in vain.
type Inquiry struct {
	Command Command
	Answer  func(code int, output string) problem.List
}

// Numbers are the numbers of what a host has online, as the kernel lists them: "0-3,6". "" is unknown.
type Numbers struct{ CPUs, Nodes string }

// Command is a command line with its input.
type Command struct {
	Argv  []string
	Stdin []byte
}
