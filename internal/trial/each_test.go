package trial

import (
	"errors"
	"testing"

	"plimsoll/internal/host/hostinfo"
)

// Two stacks on a device that is not there say so once, though a loop device came between the two looks at the host.
func TestADeviceThatIsNotThereIsSaidOnce(t *testing.T) {
	unknown := func(name string, known ...hostinfo.Device) error {
		return &hostinfo.UnknownDeviceError{Name: name, Known: known}
	}
	loop := hostinfo.Device{Path: "/dev/loop0", Name: "loop0"}
	for _, c := range []struct {
		errs []error
		want int
	}{
		{[]error{unknown("A"), unknown("A", loop)}, 1},
		{[]error{unknown("A"), unknown("B")}, 2},
		{[]error{errors.Join(unknown("A"), unknown("B")), errors.Join(unknown("A", loop), unknown("C"))}, 3},
		{[]error{errors.New("x"), errors.New("x"), errors.New("y"), unknown("A")}, 3},
	} {
		got := distinctErrors(c.errs)
		if len(got) != c.want {
			t.Errorf("of %q are said %q", c.errs, got)
		}
	}
}
