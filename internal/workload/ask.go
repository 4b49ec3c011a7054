package workload

// Asker is a workload of which the installed program knows more than we do: a
// file of the user's own, written for one version or another of it.
type Asker interface {
	Workload
	// Ask gives the question to the program whether it takes the declaration
	// without the lines of known problems. Asking touches nothing.
	Ask(known []Problem) Question
	// Answer gives the problems that the program has, each with its line in
	// the user's file. A program may stop at its first one: ask again without.
	Answer(known []Problem, code int, said string) []Problem
	// File names the user's file.
	File() string
}

// Question is a command, and what it reads.
type Question struct {
	Argv  []string
	Stdin []byte
}
