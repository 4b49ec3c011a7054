package journal

import (
	"os"

	"plimsoll/internal/printable"
)

// CleanCommand returns the command that undoes the changes in this user's journals.
func CleanCommand() string {
	if os.Geteuid() == 0 {
		return printable.AsRoot("clean")
	}
	return printable.Plimsoll("clean")
}
