package database

import (
	"slices"
	"strings"
	"testing"
)

// A plan reads back as a database wrote it, and one that somebody wrote to is refused.
func TestLoadPlans(t *testing.T) {
	s, _ := cassandraKind.Decode(nil)
	d := Dataset{Records: 1000, Fields: 10, FieldBytes: 100}
	text := string(s.Load("/place/data", d).Files[LoadPlanName])
	p, err := ReadLoadPlan([]byte(text))
	if err != nil || p.At.Port != 9042 || p.Ends != "TERM" || !slices.Equal(p.Codes, []int{143}) || p.Patience == 0 ||
		len(p.Finish) != 2 || !strings.Contains(p.Files["cassandra.yaml"], "data_file_directories: [/plimsoll/data/data]") {
		t.Errorf("%+v, %v", p, err)
	}
	for from, c := range map[string]struct{ to, want string }{
		`"port": 9042`:             {`"port": 0`, "on a socket, on a port, or is external"},
		`"port": 9042   `:          {`"remote": "db:9042"`, "the plan starts the server"},
		`"at": {`:                  {`"at": {"socket": "x", `, "on a socket, on a port, or is external"},
		`"port": 9042 `:            {`"port": 70000`, "write a number from 1 to 65535"},
		`"port": 9042  `:           {`"socket": "../x"`, "a path in the working directory"},
		`"cassandra.yaml": "`:      {`"../cassandra.yaml": "`, "must be a base name"},
		`"logback.xml": "`:         {`"server": "`, "must be a base name"},
		`"client": "cassandra"`:    {`"client": ""`, "client, ends or serve is missing"},
		`"finish": [`:              {`"finish": [[],`, "an empty command"},
		`"patience": 300000000000`: {`"patience": 1, "network": "/proc/1/ns/net"`, "this is no plan of loading"},
	} {
		from = strings.TrimSpace(from)
		if !strings.Contains(text, from) {
			t.Errorf("a plan has no %s", from)
		}
		_, err := ReadLoadPlan([]byte(strings.Replace(text, from, c.to, 1)))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, and not %q", c.to, err, c.want)
		}
	}
}
