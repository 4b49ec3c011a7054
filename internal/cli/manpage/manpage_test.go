package manpage

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestPage(t *testing.T) {
	root := &cobra.Command{Use: "ship", Short: "Draw a line", Run: func(*cobra.Command, []string) {}, Long: `A ship's line,
on two lines of text.

.TH begins no request here, and 'neither this:

  kept   as it is
  \back  ~x^ ` + "`y`" + ` – µs

EXIT STATUS
  0  done`, Example: "  ship --load 3"}
	root.Flags().IntP("load", "l", 7, "how `much` it may carry")
	root.Flags().String("secret", "", "not shown")
	_ = root.Flags().MarkHidden("secret")
	sub := &cobra.Command{Use: "sail [WHERE]", Short: "NVMe is no word", Run: func(*cobra.Command, []string) {}}
	hidden := &cobra.Command{Use: "leak", Hidden: true, Run: func(*cobra.Command, []string) {}}
	root.AddCommand(sub, hidden)
	pages := Pages(root, "v1-dirty")
	if len(pages) != 2 || pages[0].Name != "ship.1" || pages[1].Name != "ship-sail.1" {
		t.Fatalf("%d pages", len(pages))
	}
	const want = `.TH "SHIP" "1" "" "ship v1\-dirty" "Ship"
.nh
.ad l
.ss 12 0
.SH "NAME"
ship \- draw a line
.SH "SYNOPSIS"
\fBship\fR [flags]
.SH "DESCRIPTION"
A ship\(aqs line,
on two lines of text.
.PP
\&.TH begins no request here, and \(aqneither this:
.PP
.nf
  kept   as it is
  \eback  \(tix\(ha \(gay\(ga \[u2013] \[u00B5]s
.fi
.SH "COMMANDS"
.TP
\fBship sail\fR(1)
NVMe is no word
.SH "OPTIONS"
.TP
\fB\-h\fR, \fB\-\-help\fR
help for ship
.TP
\fB\-l\fR, \fB\-\-load\fR \fImuch\fR
how much it may carry (default 7)
.SH "EXIT STATUS"
.nf
  0  done
.fi
.SH "EXAMPLES"
.nf
  ship \-\-load 3
.fi
.SH "SEE ALSO"
\fBship\-sail\fR(1)
`
	if got := pages[0].Text; got != want {
		t.Errorf("got\n%s", got)
	}
	if !strings.Contains(pages[1].Text, `ship\-sail \- NVMe is no word`) {
		t.Error(pages[1].Text)
	}
}
