package main

import "testing"

func TestMeasure(t *testing.T) {
	h, err := measure(map[string][]byte{
		"internal/a/x.go": []byte("package a\n\nfunc short() {}\n\nfunc long() {\n\tshort()\n}\n"),
		"internal/a/y.go": []byte("package a\n"),
		"cmd/b/z.go":      []byte("package b\n\n// Lines before a function are not its own.\nfunc f() {\n}\n"),
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := h["internal/a"], (size{lines: 8, files: 2, longest: function{"long", 3}}); got != want {
		t.Errorf("internal/a is %+v, want %+v", got, want)
	}
	if got, want := h.total("cmd"), (size{lines: 5, files: 1, longest: function{"f", 2}}); got != want {
		t.Errorf("cmd is %+v, want %+v", got, want)
	}
}

func TestIsSource(t *testing.T) {
	for file, want := range map[string]bool{
		"internal/a/x.go": true, "internal/a/x_test.go": false, "internal/a/testdata/x.go": false, "web/report.js": false,
	} {
		if isSource(file) != want {
			t.Errorf("isSource(%q) is %t", file, !want)
		}
	}
}
