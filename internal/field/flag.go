package field

import "reflect"

// FlagValue is a value of a kind that a flag sets. It implements pflag.Value.
type FlagValue[T any] struct {
	kind Kind[T]
	to   *T
}

// Flag returns what sets a variable to what a flag says.
func Flag[T any](k Kind[T], to *T) *FlagValue[T] { return &FlagValue[T]{k, to} }

// Set reads the text of the flag.
func (f *FlagValue[T]) Set(text string) error {
	v, err := f.kind.Parse(text)
	if err == nil {
		*f.to = v
	}
	return err
}

// String returns the value, as Set reads it; "" for the zero value.
func (f *FlagValue[T]) String() string {
	if f.to == nil || reflect.ValueOf(*f.to).IsZero() {
		return ""
	}
	return f.kind.Format(*f.to)
}

// Type returns what help texts call the value where they do not name it.
func (f *FlagValue[T]) Type() string { return "value" }
