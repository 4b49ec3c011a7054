package version_test

import (
	"testing"

	"plimsoll/internal/host/version"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]version.Version{
		"3.33":             {Major: 3, Minor: 33},
		"fio-3.35-12-gabc": {Major: 3, Minor: 35},
		"20.10.24+dfsg1":   {Major: 20, Minor: 10},
		"6.18.44-fc":       {Major: 6, Minor: 18},
		"29":               {Major: 29},
		"":                 {},
		"devel":            {},
	} {
		if got := version.Parse(text); got != want {
			t.Errorf("Parse(%q) is %v, want %v", text, got, want)
		}
	}
}

func TestParseFio(t *testing.T) {
	for text, want := range map[string]version.Version{
		"fio-3.33":                   {Major: 3, Minor: 33},
		"fio-3.33\n":                 {Major: 3, Minor: 33},
		"fio-3.35-139-gc5d8":         {Major: 3, Minor: 35},
		"fio-2.2.10":                 {Major: 2, Minor: 2},
		"fio-3.18-dirty":             {Major: 3, Minor: 18},
		"fio-10.0":                   {Major: 10},
		"fio 3.33":                   {},
		"fio-":                       {},
		"fio-3":                      {},
		"fio-3.x":                    {},
		"fio--3.4":                   {},
		"fio-+3.4":                   {},
		"fio-99999999999999999999.0": {},
		"":                           {},
	} {
		got, err := version.ParseFio(text)
		if got != want || (err == nil) != (want != version.Version{}) {
			t.Errorf("ParseFio(%q) = %v, %v", text, got, err)
		}
	}
}

// Versions are compared as numbers.
func TestAtLeast(t *testing.T) {
	ascending := []version.Version{{Major: 2, Minor: 99}, {Major: 3, Minor: 9}, {Major: 3, Minor: 17}, version.OldestFio,
		{Major: 4, Minor: 0}, {Major: 10, Minor: 1}}
	for i, v := range ascending {
		for j, w := range ascending {
			if v.AtLeast(w) != (i >= j) {
				t.Errorf("%v is at least %v: %t", v, w, v.AtLeast(w))
			}
		}
	}
}
