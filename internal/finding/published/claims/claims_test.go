package claims

import (
	"math"
	"reflect"
	"strings"
	"testing"
)

func TestEmbeddedClaims(t *testing.T) {
	parsed, err := Parse(source)
	if err != nil {
		t.Fatal(err)
	}
	papers := map[Paper]int{}
	for _, c := range parsed {
		papers[c.Paper]++
	}
	want := map[Paper]int{MSST17: 41, IPCCC16: 9, SYSTOR15: 12}
	if !reflect.DeepEqual(papers, want) {
		t.Errorf("claims by paper: %v, want %v", papers, want)
	}
	for _, c := range All() {
		if got, ok := Find(c.ID); !ok || !reflect.DeepEqual(got, c) {
			t.Errorf("Find(%q) is %+v, %t", c.ID, got, ok)
		}
	}
	if _, ok := Find("nothing"); ok {
		t.Error("a claim is found that does not exist")
	}
}

func TestValuesOfClaims(t *testing.T) {
	exactly := func(v float64) *Value { return &Value{Low: v, High: v} }
	for id, want := range map[string]Claim{
		"fs-xfs-near-raw": {
			Paper: MSST17, Where: "5.1 fig 3a/3b", Subject: []string{"xfs"}, Baseline: "raw",
			Workloads: []string{"randread", "read", "write"}, Kind: Ratio, Value: exactly(1), Tolerance: 0.1,
		},
		"fs-xfs-rw-worse": {
			Paper: MSST17, Where: "5.1 fig 3a", Subject: []string{"xfs randwrite 32 jobs"}, Baseline: "raw randwrite 32 jobs",
			Kind: Ratio, Value: &Value{Low: math.Inf(-1), High: 1},
		},
		"fs-xfs-rw-cliff": {
			Paper: MSST17, Where: "5.1 fig 3e", Subject: []string{"xfs randwrite over jobs"}, Kind: Location, Value: exactly(24),
			Unit: "jobs", Note: "throughput falls beyond this; ext4 stays flat",
		},
		"drv-order-random": {
			Paper: MSST17, Where: "5.2 fig 3c", Subject: []string{"aufs", "overlay", "btrfs"},
			Workloads: []string{"randread", "randwrite"}, Kind: Ordering,
			Note: "aufs and overlay close to raw; btrfs far behind",
		},
		"cas-nvmf-throughput": {
			Paper: MSST17, Where: "6.1 fig 6a", Subject: []string{"NVMe-oF"}, Baseline: "DAS", Kind: Ratio,
			Value: &Value{Low: 0.88, High: 0.94}, Model: true,
		},
		"cg-p99-worst": {
			Paper: MSST17, Where: "6.2 fig 7c", Subject: []string{"p99 under ALL"}, Baseline: "p99 Uncontrolled",
			Kind: Ratio, Value: &Value{Low: 3, High: math.Inf(1)},
		},
		"cas-media": {
			Paper: SYSTOR15, Where: "4.2 fig 11", Subject: []string{"NVMe against one SATA SSD, YCSB"}, Kind: Ratio,
			Value: &Value{Parts: []Part{{"D", *exactly(1.55)}, {"C", *exactly(8.34)}}},
		},
	} {
		want.ID = id
		got, _ := Find(id)
		got.Test, got.Untested = nil, "" // another test is about that
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
}

func TestWhatIsWrongWithClaims(t *testing.T) {
	for text, want := range map[string]string{
		"claims: 7":                            "cannot unmarshal",
		"claims: [{id: a, subject: one, two}]": "field two not found",
		"claims: [{id: a, paper: msst17, where: w, subject: s, kind: ratio, untested: u, value: " +
			"many}]": `claim "a": "many" is no number`,
		"claims: [{id: a, paper: msst17, where: w, subject: s, kind: ratio, value: [2, 1]}]": "a range has two " +
			"numbers, the lower one first",
		"claims: [{id: a, paper: msst17, where: w, subject: s, kind: ratio}]": "a claim of kind ratio " +
			"has a value",
		"claims: [{id: a, paper: msst17, where: w, subject: s, kind: ratio, value: 2}]": "a claim has a test by an " +
			"experiment, or the reason why no built-in one can judge it",
		"claims: [{id: a, paper: x, where: w, kind: odd, value: 1}]": "there is no paper " +
			"\"x\"\nthere is no kind \"odd\"\na claim of kind odd has a subject",
		"claims: [{id: a, paper: msst17, where: w, subject: s, kind: ratio, value: {b: {c: x}}}]": `b: c: "x" is no number`,
		"claims: [{id: a, paper: msst17, where: w, subject: s, kind: ratio, value: .nan}]":        "is no number",
		"claims: [{paper: msst17, subject: s, kind: ratio, value: 1, tolerance: -1}]": "it has no id\nit does " +
			"not say where it was published\na tolerance is not negative",
		"claims: [{id: a, paper: msst17, where: w, " +
			"kind: absolute, value: 1}, {id: a, where: w, paper: msst17, kind: absolute, value: 1}]": "its id is given twice",
		"claims: [{id: a, paper: msst17, where: w, subject: s, " +
			"kind: ratio, value: 1, test: {how: guess, load: heavy, roles: [XX], between: times}}]": "there is no way of " +
			"testing \"guess\"\nno ratio is between \"times\"\na test says what the paper puts the result down to\n" +
			"there is no load \"heavy\"\nthere is no role \"XX\"",
		"claims: [{id: a, paper: msst17, where: w, subject: s, " +
			"kind: ratio, value: 1, test: {how: ratio, reason: r, flag: {wanted: perhaps}}}]": "a flag is wanted on or off",
		"claims: [{id: a, paper: msst17, where: w, subject: s, kind: ratio, value: 1, " +
			"test: {how: ratio, between: policies, reason: r, roles: [A], sides: [B], metric: speed, shape: odd}}]": "the " +
			"side \"B\" is none of its roles\nthere is no metric \"speed\"\nthere is no shape \"odd\"\n" +
			"a test by shape has one, and no other has one\n" +
			"a test between policies names a policy, another one that it is against, and at how many instances",
		"claims: [{id: a, paper: msst17, where: w, subject: s, kind: ratio, value: 1, " +
			"test: {how: ratio, between: workloads, reason: r, roles: [A]}}]": "a test between workloads names two roles, and " +
			"at how many instances",
		"claims: [{id: a, paper: msst17, where: w, subject: s, kind: ratio, value: 1, " +
			"test: {how: ratio, between: company, reason: r, roles: [W]}}]": "a test of company names two roles",
	} {
		all, err := Parse([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\ngives %v, %v; want an error with %q", text, all, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(source)
	f.Add([]byte("claims: [{id: a, paper: msst17, where: w, subject: [s], kind: ratio, value: '<'}]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		parsed, err := Parse(text)
		if err != nil {
			return
		}
		for _, c := range parsed {
			if c.ID == "" || c.Value == nil && c.Kind != Ordering || c.Value != nil && c.Value.Low > c.Value.High {
				t.Errorf("%+v", c)
			}
		}
	})
}
