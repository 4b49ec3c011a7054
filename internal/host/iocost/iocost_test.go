package iocost

import "testing"

// The lines that a kernel 6.1 reads back.
const (
	model = "8:0 ctrl=user model=linear rbps=100 rseqiops=3 rrandiops=2 wbps=50 wseqiops=3 wrandiops=1\n"
	qos   = "7:0 enable=0 ctrl=auto rpct=0.00 rlat=25000 wpct=0.00 wlat=25000 min=1.00 max=10000.00\n" +
		"8:0 enable=1 ctrl=user rpct=95.00 rlat=2500 wpct=0.00 wlat=25000 min=50.00 max=10000.00\n"
)

func TestWhatIsWrittenIsReadBack(t *testing.T) {
	values := map[string]string{
		"rbps": "100", "rseqiops": "3", "rrandiops": "2", "wbps": "50", "wseqiops": "3", "wrandiops": "1",
	}
	if got := Model(values); !Hold(Of(model, "8:0"), got) {
		t.Errorf("model %q is not in %q", got, model)
	}
	values["wrandiops"] = "10"
	if got := Model(values); Hold(Of(model, "8:0"), got) {
		t.Errorf("model %q is in %q", got, model)
	}
	user := QoS(map[string]string{"rpct": "95", "rlat": "2500", "min": "50"})
	if !Hold(Of(qos, "8:0"), user) || Hold(Of(qos, "7:0"), user) || Hold(Of(qos, "8:16"), user) {
		t.Errorf("%q is not of 8:0 alone in\n%s", user, qos)
	}
	if got := QoS(nil); got != "enable=1 ctrl=auto" || Hold(Of(qos, "7:0"), got) || Hold(Of(qos, "8:0"), got) {
		t.Errorf("the kernel's: %q", got)
	}
	if got := Model(nil); got != "ctrl=auto" {
		t.Errorf("the kernel's model: %q", got)
	}
}

func TestRestoring(t *testing.T) {
	user := Of(qos, "8:0")
	for _, c := range []struct{ file, was, want string }{
		{QoSFile, "", "enable=0 ctrl=auto"},
		{QoSFile, Of(qos, "7:0"), "enable=0 ctrl=auto"},
		{QoSFile, "enable=1 ctrl=auto rpct=0.00 rlat=25000", "enable=1 ctrl=auto"},
		{QoSFile, user, user},
		{ModelFile, "", "ctrl=auto"},
		{ModelFile, "ctrl=auto model=linear rbps=1", "ctrl=auto"},
		{ModelFile, Of(model, "8:0"), Of(model, "8:0")},
	} {
		if got := Restoring(c.file, c.was); got != c.want {
			t.Errorf("%s that was %q: %q, not %q", c.file, c.was, got, c.want)
		}
	}
}
