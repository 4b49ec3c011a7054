package command

import (
	"fmt"
	"io"

	"plimsoll/internal/printable"
)

// Say prints a line for people. What objects of a cluster say may be in it, and steers no terminal.
func Say(to io.Writer, format string, args ...any) {
	fmt.Fprintln(to, printable.Text(fmt.Sprintf(format, args...)))
}
