package printable

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestStyledWriterPassesAllStyles(t *testing.T) {
	if len(styles) < 13 {
		t.Errorf("%d styles", len(styles))
	}
	for _, s := range styles {
		var out bytes.Buffer
		painted := s.Paint("text")
		if _, err := StyledWriter(&out).Write([]byte(painted)); err != nil || out.String() != painted || painted == "text" {
			t.Errorf("%q became %q, %v", painted, out.String(), err)
		}
	}
	if got := Bold.Paint("") + (Style{}).Paint("plain"); got != "plain" {
		t.Errorf("an empty text and no style: %q", got)
	}
}

// TestEscapesAreOfThisPackage: a code that another package writes would not pass the filter.
func TestEscapesAreOfThisPackage(t *testing.T) {
	read := 0
	for _, root := range []string{"../../cmd", "..", "../../kubernetes"} {
		err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
				return err
			}
			text, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			read++
			for _, escape := range []string{`\x1b`, `\033`, `\u001b`, "\x1b"} {
				if bytes.Contains(text, []byte(escape)) && filepath.Dir(name) != filepath.Join("..", "printable") {
					t.Errorf("%s writes %s: take a Style, or a code of this package", name, escape)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if read < 500 {
		t.Errorf("only %d files were read", read)
	}
}
