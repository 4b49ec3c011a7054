package units

import "testing"

func TestFormatSize(t *testing.T) {
	for bytes, want := range map[int64]string{
		0: "0B", 1000: "1000B", 4096: "4KiB", 1536 << 20: "1536MiB", 1 << 30: "1GiB", 3 << 40: "3TiB",
	} {
		if got := FormatSize(bytes); got != want {
			t.Errorf("FormatSize(%d) = %s, want %s", bytes, got, want)
		}
	}
}

func TestBytes(t *testing.T) {
	for n, want := range map[uint64]string{0: "0 B", 12: "12 B", 1536: "1.5 KiB", 4096: "4 KiB", 24 << 30: "24 GiB",
		25_233_420_288: "23.5 GiB", 3 << 60: "3072 PiB"} {
		if got := Bytes(n); got != want {
			t.Errorf("Bytes(%d) = %s, want %s", n, got, want)
		}
	}
}
