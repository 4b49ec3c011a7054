package kinds

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/invopop/jsonschema"
	compiled "github.com/santhosh-tekuri/jsonschema/v6"
)

// Every kind is complete, and a schema can be made of its parameters.
func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range All() {
		if k.Name == "" || k.Summary == "" || k.Decode == nil || k.Params == nil {
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
	reflector := jsonschema.Reflector{FieldNameTag: "yaml", DoNotReference: true}
	text, err := json.Marshal(reflector.Reflect(All()[0].Params))
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
		{`{"rw": "randrw", "size": 4096, "bs": "4k", "jobs": 4, "iodepth": 16, "direct": false, "engine": "psync", "rwmixread": 70, "runtime": "10s", "ramp": 2}`, true},
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
