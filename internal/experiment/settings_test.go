package experiment

import (
	"reflect"
	"strings"
	"testing"

	"plimsoll/internal/result"
)

// Every setting says what it is, once, and can be said somewhere.
func TestSettingsAreComplete(t *testing.T) {
	seen := map[string]bool{}
	once := func(what string) {
		if seen[what] {
			t.Errorf("%s is there twice", what)
		}
		seen[what] = true
	}
	for _, s := range settings {
		if s.Key == "" && s.Flag == "" && s.Without == "" {
			t.Errorf("nobody can say %+v", s)
		}
		if s.Key != "" {
			once(s.Key)
		}
		if (s.Key != "") != (s.Description != "") || (s.Flag != "") != (s.Help != "") || (s.Without != "") != (s.Off != "") {
			t.Errorf("%s%s lacks its description or its help", s.Key, s.Flag)
		}
		if s.value == nil && !s.Repeats {
			t.Errorf("%s%s has no value", s.Key, s.Flag)
		}
		for _, flag := range []string{s.Flag, s.Without} {
			if flag != "" {
				once("--" + flag)
			}
		}
		for _, c := range s.Not {
			if !seen["--"+c.Flag] && !strings.Contains(flagNames(), c.Flag+"\n") || c.Why == "" {
				t.Errorf("--%s does not go together with --%s, which is none, or has no reason", s.Flag, c.Flag)
			}
		}
	}
}

func flagNames() (names string) {
	for _, s := range Flags() {
		names += s.Flag + "\n"
	}
	return names
}

// What a command line says is stored with the run, each in a field of its own, and a run that is resumed has it again.
func TestSettingsAreStoredAndRestored(t *testing.T) {
	texts := map[string]string{
		"repeat": "7", "trials": "3", "runtime": "30s", "ramp": "5s", "fixed": "40s", "precision": "4%", "margin": "2%",
		"precondition": "snia,round=10s", "budget": "15m", "wait-for-quiet": "2m", "jobs": "2", "size": "4GiB", "seed": "9",
		"records": "1000", "instances": "12", "keep-free": "15%", "scale": "paper", "only": "T-*,raw",
		"host":         "cpus=2,cpuset=0-1,3,memory=none,read-bandwidth=1GiB/s",
		"objective":    "p99=10ms,standalone=50%",
		"clients-host": "ssh://bench@client1", "data": "copied", "operations": "10M",
	}
	var fresh Experiment
	for _, s := range Flags() {
		if s.Repeats {
			continue
		}
		var e, again Experiment
		var err error
		switch {
		case s.IsSwitch() && s.Flag == "":
			err = s.SetOff(&e)
		case s.IsSwitch():
			err = s.SetOn(&e)
		case texts[s.Flag] == "":
			t.Errorf("the test has no value of --%s", s.Flag)
		default:
			err = s.Set(&e, texts[s.Flag])
		}
		if err != nil {
			t.Fatalf("--%s%s: %v", s.Flag, s.Without, err)
		}
		if reflect.DeepEqual(e, fresh) {
			t.Errorf("--%s%s changes nothing", s.Flag, s.Without)
		}
		if s.Flag == "seed" { // a run has one in any case, beside its experiment
			continue
		}
		stored := e.Stored()
		if reflect.DeepEqual(stored, result.Experiment{}) {
			t.Errorf("--%s%s is not stored", s.Flag, s.Without)
		}
		if err := again.Restore(stored); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(again, e) {
			t.Errorf("--%s%s: restored is %+v, not %+v", s.Flag, s.Without, again, e)
		}
	}
}
