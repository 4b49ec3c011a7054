package kinds

import (
	"encoding/json"
	"strings"
	"testing"

	compiled "github.com/santhosh-tekuri/jsonschema/v6"
)

// Every kind is complete, and a schema can be made of its parameters.
func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range All() {
		if k.Name == "" || k.Summary == "" || k.Decode == nil || k.Schema == nil {
			t.Errorf("%q is incomplete", k.Name)
		}
		if seen[k.Name] {
			t.Errorf("%q is there twice", k.Name)
		}
		seen[k.Name] = true
	}
}

// The schema of fio's options takes what the decoder takes, and refuses what
// an editor can see to be wrong.
func TestFioSchema(t *testing.T) {
	text, err := json.Marshal(All()[0].Schema())
	if err != nil {
		t.Fatal(err)
	}
	document, err := compiled.UnmarshalJSON(strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	c := compiled.NewCompiler()
	if err := c.AddResource("fio.json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("fio.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, check := range []struct {
		json string
		ok   bool
	}{
		{`{"rw": "randread", "size": "1GiB"}`, true},
		{`{"rw": "randrw", "size": 4096, "bs": "4k", "jobs": 4, "iodepth": 16, "direct": false, "engine": "psync", "rwmixread": 70, "runtime": "10s", "ramp": 0}`, true},
		{`{"rw": "randread", "size": "1.5 GB", "jobs": "1k"}`, true},
		{`{"rw": "randread", "runtime": 10}`, false},
		{`{"rw": "randread", "size": "1 XiB"}`, false},
		{`{"file": "my.fio"}`, true},
		{`{"rw": "randreed", "size": "1GiB"}`, false},
		{`{"rw": "randread", "iodpeth": 4}`, false},
		{`{"rw": "randread", "jobs": 0}`, false},
		{`{"rw": "randread", "jobs": "many"}`, false},
		{`{"rw": "randread", "size": true}`, false},
		{`{"rw": "randread", "direct": "maybe"}`, false},
		{`{"rw": "randread", "engine": "null"}`, false},
	} {
		value, err := compiled.UnmarshalJSON(strings.NewReader(check.json))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(value); (err == nil) != check.ok {
			t.Errorf("%s: %v\nschema: %s", check.json, err, text)
		}
	}
}
