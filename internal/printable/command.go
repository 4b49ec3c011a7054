package printable

import "strings"

// Command returns a command line as a shell takes it.
func Command(words ...string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = w
		if w == "" || strings.ContainsFunc(w, func(r rune) bool {
			return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%", r)
		}) {
			quoted[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return Line(strings.Join(quoted, " "))
}

// AsRoot returns a command line of plimsoll that takes root, for a person to copy.
func AsRoot(args ...string) string { return "sudo " + Plimsoll(args...) }

// Plimsoll returns a command line of plimsoll that any user may run.
func Plimsoll(args ...string) string { return "plimsoll " + Command(args...) }
