package database

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// A server is named by what reaches it in experiments. What is wrong is said at once, and what may be a secret is not.
func TestAttackRunning(t *testing.T) {
	for _, text := range []string{"postgresql,dsn=file:/etc/shop.dsn", "mariadb,dsn=env:SHOP_DSN",
		"cassandra,address=10.0.0.5:9042,credentials=file:/etc/ring,tls=true,ca=/etc/ca.pem", "mongodb,dsn=env:URI"} {
		server, problems := ParseRunning(text)
		if len(problems) > 0 || server.Client.Name == "" || server.Address.Remote == "" {
			t.Errorf("%s: %+v, %v", text, server, problems)
		}
	}
	for text, want := range map[string]string{
		"": "does not begin with a kind", "oracle,dsn=env:A": "does not begin with a kind",
		"pebble,dsn=env:A": "does not begin with a kind", "postgresql": "a key that is not known",
		"postgresql,dsn=postgres://bob:sekret@db/": "env:NAME",
		"postgresql,password=sekret,schema=sekret": "a key that is not known",
		"postgresql,dsn=env:A,dsn=env:sekret":      "twice",
		"postgresql,dsn=file:../sekret":            "file:PATH",
		"postgresql,dsn=env:A,load=true":           "a key that is not known",
		"cassandra,dsn=env:sekret":                 "a key that is not known",
		"cassandra,credentials=env:sekret":         "has no address",
		"cassandra,address=db:9042,ca=/etc/sekret": "tls",
		"cassandra,address=db:9042,tls=sekret":     "tls",
		"mysql,dsn=file:/etc/a\nb":                 "",
	} {
		_, problems := ParseRunning(text)
		said := fmt.Sprint(problems)
		if want != "" && !strings.Contains(said, want) || strings.Contains(said, "sekret") {
			t.Errorf("%q: %s", text, said)
		}
	}
}

// What was done is the difference of counts of one era, without the reader's own.
func TestWorkOfCounts(t *testing.T) {
	before := Counts{Operations: 100, Readings: 3, Timed: 50, Microseconds: 500}
	for name, c := range map[string]struct {
		after Counts
		want  Work
		ok    bool
	}{
		"both":      {Counts{Operations: 150, Readings: 5, Timed: 60, Microseconds: 700}, Work{48, 10, 200}, true},
		"own alone": {Counts{Operations: 101, Readings: 5}, Work{}, true},
		"went back": {Counts{Operations: 99}, Work{}, false},
		"era":       {Counts{Operations: 150, Era: "2"}, Work{}, false},
		"far":       {Counts{Operations: math.MaxUint64}, Work{}, false},
		"time back": {Counts{Operations: 150, Readings: 3, Timed: 60, Microseconds: 400}, Work{Operations: 50}, true},
	} {
		if got, ok := c.after.Since(before); got != c.want || ok != c.ok {
			t.Errorf("%s: %+v, %v", name, got, ok)
		}
	}
}
