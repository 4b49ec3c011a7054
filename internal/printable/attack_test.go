package printable

import (
	"slices"
	"testing"
)

// TestAttackFormulas: a spreadsheet runs nothing of what others called their jobs, and no terminal obeys it.
func TestAttackFormulas(t *testing.T) {
	in := []string{"=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\x1b]0;owned\x07", "\u202egnp.exe",
		"-0.5", "+1e9", "-Inf", "1", "", "plain, text", "a=b"}
	want := []string{"'=cmd|' /C calc'!A0", "'+1+1", "'-2+3", "'@SUM(A1)", "' =1", "' =1", "?]0;owned?", "?gnp.exe",
		"-0.5", "+1e9", "-Inf", "1", "", "plain, text", "a=b"}
	if got := Cells(in...); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
