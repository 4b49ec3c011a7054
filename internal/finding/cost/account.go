package cost

import (
	"fmt"
	"math"

	"plimsoll/internal/fact"
	"plimsoll/internal/finding/prose"
	"plimsoll/internal/result"
	"plimsoll/internal/runview"
	"plimsoll/internal/units"
)

// Account is where the time of an I/O goes: medians over the trials, in ns.
type Account struct {
	TotalNS   float64 `json:"total_ns"`
	Parts     []Part  `json:"parts"`
	ResidueNS float64 `json:"residue_ns"` // what no part explains; less than nothing where parts take longer than the I/O
}

// String lists the parts: "user 890 ns, kernel 3.00 µs, device 82.7 µs, residue -1.00 µs".
func (a Account) String() string {
	said := joined(a.Parts, ", ")
	if math.Abs(a.ResidueNS) >= 0.5 {
		said += ", residue " + prose.Signed(a.ResidueNS)
	}
	return said
}

// Part is one part of an account.
type Part struct {
	Name   string  `json:"name"` // result.PartName
	NS     float64 `json:"ns"`
	Halves *Halves `json:"halves,omitempty"` // of the kernel's; nil where the traces do not distinguish them
}

func (p Part) String() string {
	said := p.Name + " " + prose.Signed(p.NS)
	if p.Halves != nil {
		said += fmt.Sprintf(" (%s down, %s back)", prose.Signed(p.Halves.DownNS), prose.Signed(p.Halves.BackNS))
	}
	return said
}

// Halves are the kernel's part on the way to the block layer, and on the way back, in ns.
type Halves struct {
	DownNS float64 `json:"down_ns"`
	BackNS float64 `json:"back_ns"`
}

// Accounted is the account of the I/Os of a stack.
type Accounted struct {
	Direction string  `json:"direction"` // reads, writes
	Stack     string  `json:"stack"`
	Under     string  `json:"under,omitempty"` // the workload, where another one is told of beside it
	Account   Account `json:"account"`
}

// String says where the time of an I/O goes.
func (a Accounted) String() string {
	under := ""
	if a.Under != "" {
		under = " under " + a.Under
	}
	return fmt.Sprintf("%s on %s%s takes, traced: %s.", prose.Capital(prose.One(a.Direction)), a.Stack, under, a.Account)
}

// PartsOf returns where the time of a cell's I/Os goes, as remarks; none when no
// trace tells. under is the workload, where it has to be named.
func PartsOf(c *runview.Cell, workload string) (out []fact.Remark) {
	for _, d := range Directions {
		if s := SpanOf(c, d).Parted(); s != nil {
			facts := Accounted{Direction: d.Noun, Stack: c.Stack.Name, Under: workload, Account: s.account()}
			out = append(out, fact.Remark{Case: "accounted", Facts: facts})
		}
	}
	return out
}

func (s *span) account() Account {
	a := Account{TotalNS: s.median(totalLatency), ResidueNS: s.residue()}
	for _, p := range s.pieces(false) {
		part := Part{Name: p.name, NS: s.median(p.time)}
		if p.name == string(result.PartKernel) && s.halved() {
			part.Halves = &Halves{DownNS: s.median(kernelDown.time), BackNS: s.median(kernelBack.time)}
		}
		a.Parts = append(a.Parts, part)
	}
	return a
}

// Unclosed is how the parts of an account do not make up the latency: a residue that
// is more than is tolerated, or a part that is less than nothing.
type Unclosed struct {
	Stack     string  `json:"stack,omitempty"`
	Workload  string  `json:"workload,omitempty"`
	Direction string  `json:"direction"`
	Residue   bool    `json:"residue"` // else it is a part
	NS        float64 `json:"ns"`      // of the residue, or of the part
	Share     float64 `json:"share"`   // of the latency, without a sign
	Tolerance float64 `json:"tolerance"`
	TotalNS   float64 `json:"total_ns"`
}

// Unclosed returns how the parts do not close.
func (s *span) Unclosed() Unclosed {
	u := Unclosed{
		Stack: s.Stack.Name, Workload: s.Workload.Name, Direction: s.Noun,
		Tolerance: s.tolerance(), TotalNS: s.median(totalLatency),
	}
	u.NS = s.residue()
	u.Residue = math.Abs(u.NS) > u.Tolerance*u.TotalNS
	if !u.Residue {
		u.NS = s.negative()
	}
	u.Share = math.Abs(u.NS / u.TotalNS)
	return u
}

// String says how the parts do not close.
func (u Unclosed) String() string {
	if u.Residue {
		return fmt.Sprintf("%s of %s, %s of the latency, are in none, and %s is the tolerance", prose.Signed(u.NS),
			prose.One(u.Direction), units.Percent(u.Share), units.Percent(u.Tolerance))
	}
	return fmt.Sprintf("one is %s of %s that takes %s, so that others are not about the same time, as where the application "+
		"calls fsync", prose.Signed(u.NS), prose.One(u.Direction), units.Latency(u.TotalNS))
}
