package claims

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"
)

// Test tells how a claim is tested on a run: which stacks and loads it is about,
// and what of them is held against the published value.
type Test struct {
	How        How      `yaml:"how"`
	Experiment string   `yaml:"experiment"` // the built-in experiment that tests it; "" for none
	Reason     string   `yaml:"reason"`     // what the paper puts it down to
	Stacks     []Stacks `yaml:"stacks"`     // what it is about
	Unless     string   `yaml:"unless"`     // an option that none of these has
	Against    texts    `yaml:"against"`    // patterns of the baseline, the likeliest first
	Without    string   `yaml:"without"`    // an option that the baseline has not, though the stack may
	Beside     string   `yaml:"beside"`     // pattern of a stack that is told of for comparison
	Roles      []string `yaml:"roles"`      // see Roles; those of Claim.Workloads when it names none
	Load       Load     `yaml:"load"`
	Jobs       int      `yaml:"jobs"`    // at least so many, of a high load
	Between    Sides    `yaml:"between"` // of a ratio; stacks where it names none
	Metric     Metric   `yaml:"metric"`
	Falls      bool     `yaml:"falls"` // of a location: the curve falls from there on; otherwise it rises up to there
	Extra      bool     `yaml:"extra"` // the value is the share that the baseline has not
	Flag       *Flag    `yaml:"flag"`  // a mount flag that the claim is about
	PaperFS    string   `yaml:"paper_fs"`
	Illusion   bool     `yaml:"illusion"` // memory answers, which is what the claim says

	// Of instances.
	Software string `yaml:"software"` // the database that it is about: Cassandra; "" for none
	Others   bool   `yaml:"others"`   // any other workload of a database shows the shape too
	// distributions of requests over records that the paper had under a role; YCSB's own where it names none
	Distribution map[string][]string `yaml:"distribution"`

	Shape  Shape    `yaml:"shape"`  // of a curve over the number of instances
	Policy texts    `yaml:"policy"` // of limits that each instance has, mem, or its names; against another one (Against)
	At     int      `yaml:"at"`     // instances at which two policies, or workloads, are compared
	Than   int      `yaml:"than"`   // instances of the baseline, where that is on several drives
	Sides  []string `yaml:"sides"`  // of the two Roles beside each other, whose throughput it is about; both when it names none
	Factor texts    `yaml:"factor"` // of experiments, whose levels are compared: "media"; any that a run has
	Level  string   `yaml:"level"`  // of the subject, against that of Against; the highest against the lowest where it names none

	Parts map[string]Narrow `yaml:"parts"` // what each number of a claim that has several is about
}

// Narrow overrides parts of a test for one number of a claim.
type Narrow struct {
	Roles  []string `yaml:"roles"`
	Sides  []string `yaml:"sides"`
	Metric Metric   `yaml:"metric"`
	Level  string   `yaml:"level"`
}

// Apart returns a claim for each number of a claim with Parts; the claim itself if it has no Parts.
func (c Claim) Apart() (claims []Claim) {
	if c.Test == nil || len(c.Test.Parts) == 0 {
		return []Claim{c}
	}
	for i, p := range c.Value.Parts {
		claim, t, narrow := c, *c.Test, c.Test.Parts[p.Name]
		if narrow.Roles != nil {
			t.Roles = narrow.Roles
		}
		if narrow.Sides != nil {
			t.Sides = narrow.Sides
		}
		t.Metric, t.Level = cmp.Or(narrow.Metric, t.Metric), cmp.Or(narrow.Level, t.Level)
		claim.Test, claim.Value, claim.Part = &t, &c.Value.Parts[i].Value, p.Name
		claims = append(claims, claim)
	}
	return claims
}

// How names the way in which a claim is tested.
type How string

// The ways.
const (
	ByRatio    How = "ratio"    // what a metric is of one side, against another one
	ByOrdering How = "ordering" // rates of stacks that are ranked
	ByLocation How = "location" // where a rate changes over a number that loads differ in
	ByShare    How = "share"    // a share of the latency of a bare device, or another number of it
	ByShape    How = "shape"    // what a metric does over the number of instances
)

// Sides names what the sides of a ratio are.
type Sides string

// The sides.
const (
	BetweenStacks    Sides = "stacks"    // a stack against another one, which Against or Flag names
	BetweenLoads     Sides = "loads"     // a stack under the load of the claim against one I/O at a time
	BetweenCounts    Sides = "counts"    // the most instances against the fewest
	BetweenPolicies  Sides = "policies"  // instances with a policy of limits against as many with another one
	BetweenWorkloads Sides = "workloads" // instances of a workload against as many of another one
	BetweenCompany   Sides = "company"   // instances of a workload beside those of another one against as many alone
	BetweenLevels    Sides = "levels"    // instances at one level of a factor against as many at another one
	BetweenTwins     Sides = "twins"     // instances on a remote drive against as many on its twin in this host
	BetweenHosts     Sides = "hosts"     // instances of two hosts with a drive each against those of one with two drives
)

// Roles of workloads: fio's patterns, and what YCSB asks a database for.
const (
	Updates = "W" // updates alone
	Inserts = "I" // inserts alone, as records are loaded
	TPCC    = "TPC-C"
)

// Roles are all of them: fio's, and YCSB's workloads.
func Roles() []string {
	return []string{"randread", "randwrite", "read", "write", "A", "B", "C", "D", "E", "F", Updates, Inserts, TPCC}
}

// Metric names what is compared: of stacks the rate, and of instances throughput, where it names none.
type Metric string

// The metrics.
const (
	Throughput        Metric = "throughput" // of all together
	P99               Metric = "p99"        // 99th percentile of latency
	TailOverMean      Metric = "p99 over mean latency"
	DeviceBandwidth   Metric = "disk bandwidth"
	TotalLatency      Metric = "mean total latency"
	CompletionLatency Metric = "mean completion latency"

	// Of a bare device.
	SubmissionShare Metric = "share of submission"
	SoftwareShare   Metric = "share of software"
	SoftwareParts   Metric = "parts of software"
	HighestRate     Metric = "highest rate"
)

// Shape names what a curve over the number of instances does.
type Shape string

// The shapes.
const (
	Valley    Shape = "valley"    // it falls once files outgrow the memory
	Peaks     Shape = "peaks"     // it rises, and falls behind its best
	Saturates Shape = "saturates" // it rises, and is level then
	Level     Shape = "level"     // it does not rise
	Rises     Shape = "rises"     // it rises up to the most
	Moves     Shape = "moves"     // its best is at more instances, the more memory or drives there are
)

// Load names how many I/Os are in flight.
type Load string

// The loads.
const (
	Low      Load = "low"      // one at a time
	High     Load = "high"     // 32 jobs of 32 in the paper
	Parallel Load = "parallel" // 16 jobs in the paper, which does not say how deep
)

// Stacks is a pattern of stacks that a claim is about, or that stand in for those.
type Stacks struct {
	Line    string `yaml:"line"`
	StandIn string `yaml:"stand_in"` // what is measured in the place of what; "" for nothing
}

// UnmarshalYAML implements yaml.Unmarshaler.
func (s *Stacks) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		s.Line = n.Value
		return nil
	}
	type plain Stacks
	return n.Decode((*plain)(s))
}

// Flag is a mount flag and its opposite.
type Flag struct {
	On           string `yaml:"on"`
	Off          string `yaml:"off"`
	DefaultSince string `yaml:"default_since"` // the kernel from which on On is the default: "5.6"
	Wanted       string `yaml:"wanted"`        // which of both the stack of the claim has: on, off
}

// About are the roles whose instances a test is about: of Sides, or all.
func (t *Test) About() []string {
	if len(t.Sides) > 0 {
		return t.Sides
	}
	return t.Roles
}

// complete sets what a test names by leaving it out.
func (t *Test) complete() {
	if t.Between == "" {
		t.Between = BetweenStacks
	}
	if t.Between != BetweenStacks && t.Metric == "" {
		t.Metric = Throughput
	}
}

// check says what is wrong with a test.
func (t *Test) check() error {
	var problems []error
	wrong := func(so bool, format string, args ...any) {
		if so {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	wrong(!slices.Contains([]How{ByRatio, ByOrdering, ByLocation, ByShare, ByShape}, t.How),
		"there is no way of testing %q", t.How)
	wrong(!slices.Contains([]Sides{BetweenStacks, BetweenLoads, BetweenCounts, BetweenPolicies, BetweenWorkloads,
		BetweenCompany, BetweenLevels, BetweenTwins, BetweenHosts}, t.Between), "no ratio is between %q", t.Between)
	wrong(t.Reason == "", "a test says what the paper puts the result down to")
	wrong(!slices.Contains([]Load{"", Low, High, Parallel}, t.Load), "there is no load %q", t.Load)
	for _, r := range t.Roles {
		wrong(!slices.Contains(Roles(), r), "there is no role %q", r)
	}
	for _, r := range t.Sides {
		wrong(!slices.Contains(t.Roles, r), "the side %q is none of its roles", r)
	}
	for r := range t.Distribution {
		wrong(!slices.Contains(t.Roles, r), "a distribution is of %q, which is none of its roles", r)
	}
	wrong(!slices.Contains([]Metric{"", Throughput, P99, TailOverMean, DeviceBandwidth, TotalLatency, CompletionLatency,
		SubmissionShare, SoftwareShare, SoftwareParts, HighestRate}, t.Metric), "there is no metric %q", t.Metric)
	wrong(!slices.Contains([]Shape{"", Valley, Peaks, Saturates, Level, Rises, Moves}, t.Shape),
		"there is no shape %q", t.Shape)
	wrong((t.How == ByShape) != (t.Shape != ""), "a test by shape has one, and no other has one")
	wrong(t.Between == BetweenPolicies && (len(t.Policy) == 0 || len(t.Against) != 1 || t.At < 1),
		"a test between policies names a policy, another one that it is against, and at how many instances")
	wrong(t.Between == BetweenWorkloads && (len(t.Roles) != 2 || t.At < 1),
		"a test between workloads names two roles, and at how many instances")
	wrong(t.Between == BetweenCompany && len(t.Roles) != 2, "a test of company names two roles")
	wrong(t.Between == BetweenLevels && (len(t.Factor) == 0 || (t.Level != "" || t.Parts != nil) && len(t.Against) != 1),
		"a test between levels names a factor, and of two levels both")
	wrong(t.Between == BetweenHosts && (t.At < 1 || t.Than < 1), "a test between hosts names two numbers of instances")
	if t.Flag != nil {
		wrong(t.Flag.Wanted != "on" && t.Flag.Wanted != "off", "a flag is wanted on or off")
	}
	return errors.Join(problems...)
}
