package field

import (
	"errors"
	"math"
	"testing"
	"time"
)

// TestMissingUnit: the units proposed are that of the kind's example and the next smaller one, within its bounds.
func TestMissingUnit(t *testing.T) {
	for _, c := range []struct {
		kind       Kind[time.Duration]
		text, want string
	}{
		{Duration(time.Second, 100*time.Hour).Like("15m"), "15", "add the unit: 15m, or 15s"},
		{Duration(time.Second, 100*time.Hour).Like("1h30m"), "0.5", "add the unit: 0.5m"},
		{Duration(100*time.Millisecond, 24*time.Hour), "5", "add the unit: 5s"},
		{Duration(100*time.Millisecond, 24*time.Hour), "500", "add the unit: 500s, or 500ms"},
		{Duration(0, time.Second), "5", "add the unit: 5ms, or 5us"},
		{Duration(0, math.MaxInt64), "-5", "write 10s"},
		{Duration(time.Hour, 2*time.Hour), "5", "write 10s"},
	} {
		_, err := c.kind.Parse(c.text)
		var e *Error
		if !errors.As(err, &e) || e.Remedy != c.want {
			t.Errorf("%s of %s: %v, not %q", c.text, c.kind.Takes, err, c.want)
		}
	}
	seconds := Seconds(Duration(time.Second, 100*time.Hour).Like("15m"))
	_, err := seconds.Parse("15")
	var e *Error
	if !errors.As(err, &e) || e.Remedy != "add the unit: 15m, or 15s" {
		t.Errorf("a kind of seconds: %v", err)
	}
}
