package client

import (
	"errors"
	"testing"
)

func TestToy(t *testing.T) {
	c, err := Dial(t.Context(), "toy", Config{})
	if err != nil {
		t.Fatalf("no client of the toy: %v", err)
	}
	_, err = c.Read(t.Context(), []byte("key"), AllFields)
	if !errors.Is(err, ErrNotFound) {
		t.Errorf("reading says %v", err)
	}
}
