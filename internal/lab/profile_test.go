package lab

import (
	"strings"
	"testing"
)

func TestProfiles(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range Profiles() {
		if seen[p.Name] {
			t.Errorf("two profiles are called %s", p.Name)
		}
		seen[p.Name] = true
		if p.Source == "" {
			t.Errorf("%s does not say where its numbers are from", p.Name)
		}
		got, err := ParseProfile(p.Name)
		if err != nil || got != p {
			t.Errorf("%s is read as %+v, %v", p.Name, got, err)
		}
		if limited := len(p.throttling()) == 4; limited == (p.Name == Unlimited) {
			t.Errorf("%s has the limits %v", p.Name, p.throttling())
		}
	}
}

func TestParseProfile(t *testing.T) {
	p, err := ParseProfile("iops-read=5000,bytes-write=100MB")
	if err != nil || p.ReadIOPS != 5000 || p.WriteBytes != 100e6 || p.WriteIOPS != 0 || p.ReadBytes != 0 {
		t.Errorf("%+v, %v", p, err)
	}
	for text, wants := range map[string][]string{
		"sata-sd":                     {`"sata-sd"`, `did you mean "sata-ssd"`},
		"iops-read=many,bytes-read=0": {"iops-read=many", "bytes-read=0"}, // all at once
		"iops-read=-1":                {"iops-read=-1"},
		"speed=1":                     {`"speed=1"`, "bytes-write"},
		"iops-read=1,iops-read=2":     {"twice"},
	} {
		_, err := ParseProfile(text)
		for _, want := range wants {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, which does not say %s", text, err, want)
			}
		}
	}
}
