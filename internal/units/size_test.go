package units

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParseSize(t *testing.T) {
	for _, c := range []struct {
		text string
		want int64
	}{
		{"0", 0}, {"1048576", 1 << 20}, {"512B", 512}, {"4KiB", 4096}, {"4k", 4096}, {"4KB", 4000},
		{"512MiB", 512 << 20}, {"1 GiB", 1 << 30}, {"1gib", 1 << 30}, {"2TiB", 2 << 40}, {"1TB", 1e12},
		{"9223372036854775807", 1<<63 - 1},
	} {
		if got, err := ParseSize(c.text); err != nil || got != c.want {
			t.Errorf("ParseSize(%q) = %d, %v; want %d", c.text, got, err, c.want)
		}
	}
	for text, want := range map[string]string{
		"":                     `write a whole number`,
		"GiB":                  `write a whole number`,
		"-1GiB":                `write a whole number`,
		"1.5GiB":               `write a whole number`,
		"1  GiB":               `write a whole number`,
		"4GIG":                 `unknown unit "GIG"`,
		"9223372036854775808":  `too large`,
		"8388608TiB":           `too large`,
		"99999999999999999999": `too large`,
	} {
		if got, err := ParseSize(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseSize(%q) = %d, %v; want an error with %q", text, got, err, want)
		}
	}
}

func TestFormatSize(t *testing.T) {
	for bytes, want := range map[int64]string{
		0: "0B", 1000: "1000B", 4096: "4KiB", 1536 << 20: "1536MiB", 1 << 30: "1GiB", 3 << 40: "3TiB",
	} {
		if got := FormatSize(bytes); got != want {
			t.Errorf("FormatSize(%d) = %s, want %s", bytes, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		bytes := rapid.Int64Min(0).Draw(t, "bytes")
		if back, err := ParseSize(FormatSize(bytes)); err != nil || back != bytes {
			t.Fatalf("%d prints as %s, which is %d, %v", bytes, FormatSize(bytes), back, err)
		}
	})
}

func TestBytes(t *testing.T) {
	for n, want := range map[uint64]string{0: "0 B", 12: "12 B", 1536: "1.5 KiB", 4096: "4 KiB", 24 << 30: "24 GiB",
		25_233_420_288: "23.5 GiB", 3 << 60: "3072 PiB"} {
		if got := Bytes(n); got != want {
			t.Errorf("Bytes(%d) = %s, want %s", n, got, want)
		}
	}
}
