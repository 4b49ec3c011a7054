package headroom

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"plimsoll/internal/printable"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
)

// Verdict returns the answer in a few sentences. Names in them are safe for a terminal.
func (a *Answer) Verdict() string {
	sentences := []string{a.bindingSentence()}
	if len(a.More) > 0 {
		sentences = append(sentences, a.moreSentence(&a.More[0]))
	}
	return printable.Line(strings.Join(sentences, " "))
}

// ordinal writes a quantile: "99.9th percentile".
func ordinal(q float64) string {
	return strconv.FormatFloat(math.Round(1e6*q)/1e4, 'f', -1, 64) + "th percentile"
}

// intervalWord names the intervals of the recording.
func (a *Answer) intervalWord() string {
	if a.IntervalSeconds < 1.5 {
		return "seconds"
	}
	return "intervals of " + units.Elapsed(a.IntervalSeconds)
}

// bindingSentence says what binds first, and when.
func (a *Answer) bindingSentence() string {
	u := a.Binds()
	switch {
	case len(a.Resources) == 0:
		return "The recording has no use of any resource."
	case a.Quantile == 0:
		n := a.intervals()
		return fmt.Sprintf("The recording is too short to say what binds first: it has %s, and a 99th percentile takes %s. "+
			"Record for %s more.", plural.Count(int(n), "interval"), units.Grouped(1000),
			units.Elapsed(math.Max(1, 1000-n)*a.IntervalSeconds))
	case u == nil:
		return "Nothing in the recording comes near to a capacity that is known."
	}
	when := ""
	if a.When != nil {
		when = fmt.Sprintf(", mostly between %02d:00 and %02d:00 UTC", a.When.From, a.When.To)
	}
	return fmt.Sprintf("%s binds first: at the %s of %s it is at %s of %s%s.", u.subject(), ordinal(a.Quantile),
		a.intervalWord(), units.Percent(*u.Share), u.Capacity.phrase(), when)
}

// subject names what binds, at the begin of a sentence.
func (u *Use) subject() string {
	switch u.Resource {
	case CPU:
		return "Processor time"
	case Memory:
		return "Memory"
	}
	return "The drive " + u.Drive + " (" + u.Resource.words() + ")"
}

// words names a resource.
func (r Resource) words() string {
	switch r {
	case CPU:
		return "processor time"
	case Operations:
		return "operations"
	case Bandwidth:
		return "bytes"
	case Reads:
		return "reads"
	case Writes:
		return "writes"
	case ReadBandwidth:
		return "bytes read"
	case WriteBandwidth:
		return "bytes written"
	}
	return string(r)
}

// phrase names a capacity within a sentence.
func (c Capacity) phrase() string {
	switch c.Source {
	case Machine:
		if c.Resource == CPU {
			return plural.Count(int(c.Value), "processor")
		}
		return units.Bytes(uint64(c.Value))
	case Measured:
		return "what " + c.From + " measured"
	case Given:
		return "what was given for it"
	}
	return "the most that it was seen to do"
}

// moreSentence says how many more of a service fit.
func (a *Answer) moreSentence(m *More) string {
	if m.Fit == nil {
		return fmt.Sprintf("How many more of %s fit is not known: %s.", m.Service, m.Unknown)
	}
	var b strings.Builder
	count := strconv.Itoa(*m.Fit)
	switch {
	case *m.Fit >= MostMore:
		count = "More than " + strconv.Itoa(MostMore)
	case *m.Fit == 0 && !m.AtLeast:
		count = "No"
	case m.AtLeast:
		count = "At least " + count
	}
	fmt.Fprintf(&b, "%s more of %s %s", count, m.Service, plural.Choose(*m.Fit, "fits", "fit"))
	if m.Low != m.High {
		fmt.Fprintf(&b, " (95%% interval: %d to %d)", m.Low, m.High)
	}
	if m.Binds != "" {
		fmt.Fprintf(&b, "; %s binds then", labelOf(m.Drive, m.Binds))
	}
	b.WriteString(".")
	b.WriteString(m.operationsSentence())
	if m.AtLeast {
		fmt.Fprintf(&b, " What %s can do was not measured: more may fit.", m.Drive)
	}
	if len(m.Missing) > 0 {
		fmt.Fprintf(&b, " Left out: %s.", strings.Join(m.Missing, "; "))
	}
	return b.String()
}
