package journal

import (
	"context"
	"os"
	"strings"
	"testing"
)

// stray is a change that nobody registered.
type stray struct{}

func (*stray) What() string                       { return "stray" }
func (*stray) Prepare() error                     { return nil }
func (*stray) Check(Scope) error                  { return nil }
func (*stray) Undo(context.Context, string) error { return nil }

func TestAChangeThatNobodyCouldReadAgainIsNotMade(t *testing.T) {
	j, err := Create(t.TempDir(), "run")
	if err != nil {
		t.Fatal(err)
	}
	_, err = j.Do(t.Context(), &stray{}, func(string) error { t.Error("it was made"); return nil })
	if err == nil || !strings.Contains(err.Error(), "*journal.stray is no registered kind of change") {
		t.Errorf("got %v", err)
	}
	text, err := os.ReadFile(j.path)
	if err != nil || len(text) > 0 {
		t.Errorf("the journal holds %q, %v", text, err)
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
}

func TestAKindIsRegisteredOnce(t *testing.T) {
	for name, zero := range map[string]func() Change{
		"":      func() Change { return new(stray) },
		"dir":   func() Change { return new(stray) },
		"again": func() Change { return new(Dir) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%q of %T was registered", name, zero())
				}
			}()
			Register(name, zero)
		}()
	}
}
