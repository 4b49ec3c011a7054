package report

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strings"

	"plimsoll/internal/fact"
	"plimsoll/internal/finding/prose"
	"plimsoll/internal/model"
	answer "plimsoll/internal/section"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
)

// Fitted prints a model for people: what each class needs, and how far it is to be
// trusted.
func Fitted(w io.Writer, m *model.Model, checked bool, opt TerminalOptions) error {
	out := bufio.NewWriter(w)
	t := newTerminal(out, opt)
	for i := range m.Classes {
		c := &m.Classes[i]
		bringUps := 0
		for _, p := range c.Points {
			bringUps += len(p.Units)
		}
		first := fmt.Sprintf("%s, fitted to %s and %s", c.Name, plural.Count(len(c.Points), "point"),
			plural.Count(bringUps, "setup"))
		if c.Basis != nil {
			first = fmt.Sprintf("%s, a model %s", c.Name, c.Basis.Text())
		}
		t.text("", "  ", first, t.style.bold)
		if c.Basis != nil {
			for _, note := range c.Basis.Notes() {
				t.text("  ! ", "    ", note, t.style.warn)
			}
		}
		t.text("  ", "  ", "Good for "+c.GoodFor(), trustStyle(t.style, c.Check))
		t.text("  ", "  ", trust(c.Check), t.style.plain)
		t.section("What an operation needs")
		for _, need := range needs(c) {
			t.text("  "+fmt.Sprintf("%-12s", need[0]), strings.Repeat(" ", 14), need[1], t.style.plain)
		}
		if checked {
			t.draw([]*answer.Section{c.Held()})
		}
		t.line("")
	}
	if len(m.Drives) > 0 {
		t.drives(m.Drives)
	}
	if checked && len(m.Beside) > 0 {
		t.together(m.Beside)
	}
	for _, left := range m.Left {
		t.text("  ! ", "    ", "left out: "+left, t.style.warn)
	}
	return out.Flush()
}

// FittedPage has the contents of a model's page: how far it is to be trusted, and which resource would help each class
// where it was measured.
func FittedPage(m *model.Model) Answer {
	page := Answer{Kind: "model", Title: "What a model says of what it was not fitted to",
		Meta: []string{plural.Count(len(m.Classes), "class"), "fitted to runs"}}
	var sentences []string
	for i := range m.Classes {
		c := &m.Classes[i]
		if e := c.Check.Between; e.Points > 0 {
			sentences = append(sentences, fmt.Sprintf("%s is off by %s on average between points that were measured", c.Name,
				units.Percent(float64(e.MAPE))))
		}
		held := c.Held()
		if c.Basis != nil {
			sentences = append(sentences, c.Name+" is a model "+c.Basis.Text())
			for _, note := range c.Basis.Notes() {
				held.Remarks = append(held.Remarks, answer.Remark{Warn: true, Text: note})
			}
		}
		held.Note = "Good for " + c.GoodFor() + " " + trust(c.Check)
		page.Sections = append(page.Sections, held)
		kind, largest := m.HostOf(c), 1
		for _, p := range c.Points {
			if p.Host == kind.Host {
				largest = max(largest, p.Instances)
			}
		}
		ask := model.Ask{Tenants: []model.Tenant{{Class: c.Name, Count: largest, Think: -1}}, Host: kind.Host,
			Drives: kind.Drives}
		if a, err := m.Predict(ask); err == nil {
			page.Sections = append(page.Sections, a.WorthSection(fmt.Sprintf("What would help %s of %s",
				plural.Count(largest, "instance"), c.Name)))
		}
	}
	page.Verdict = "No point could be left out that lies between others."
	if len(sentences) > 0 {
		page.Verdict = strings.Join(sentences, "; ") + "."
	}
	return page
}

// together prints what was said of classes that were measured beside each other.
func (t *terminal) together(mixes []model.Beside) {
	t.section("Beside each other, and what each one's own points said of it")
	columns := []column{{head: "mix", left: true}, {head: "class", left: true}, {head: "instances"}, {head: "measured"},
		{head: "said"}, {head: "off"}}
	var rows []tableRow
	for _, b := range mixes {
		for _, of := range b.Tenants {
			rows = append(rows, tableRow{paint: t.style.plain, cells: []string{b.Mix, of.Class, fmt.Sprint(of.Instances),
				units.Rate(float64(of.Seen)), units.Rate(float64(of.Said)),
				fmt.Sprintf("%+.1f%%", 100*(float64(of.Said/of.Seen)-1))}})
		}
	}
	t.table(columns, rows)
	t.line("")
}

// drives prints what drives can do.
func (t *terminal) drives(drives []model.Drive) {
	t.section("Drives")
	columns := []column{{head: "drive", left: true}, {head: "reads/s"}, {head: "read bytes/s"}, {head: "a read"},
		{head: "writes/s"}, {head: "written/s"}, {head: "a write"}, {head: "a write costs"}, {head: "off", drop: 1}}
	var rows []tableRow
	unknown := func(n model.Number, text func(float64) string) string {
		if n == 0 {
			return answer.None
		}
		return text(float64(n))
	}
	for _, d := range drives {
		cost := answer.NotKnown
		if d.Mixed > 0 && d.Write.IOPS > 0 {
			cost = units.Digits(float64(d.Competes*d.Read.IOPS/d.Write.IOPS)) + " reads"
		}
		rows = append(rows, tableRow{paint: t.style.plain, cells: []string{d.Name, unknown(d.Read.IOPS, units.Rate),
			unknown(d.Read.Bandwidth, units.Bandwidth), unknown(d.Read.Latency, secondsText), unknown(d.Write.IOPS, units.Rate),
			unknown(d.Write.Bandwidth, units.Bandwidth), unknown(d.Write.Latency, secondsText), cost,
			units.Percent(float64(d.Off))}})
	}
	t.table(columns, rows)
	t.line("")
}

// trust says how well a class predicts what it was not fitted to.
func trust(c model.Check) string {
	errorText := func(e model.Errors, place string) string {
		if e.Points == 0 {
			return ""
		}
		return fmt.Sprintf("%s %s off by %s on average, by %s at most", place, plural.Count(e.Points, "point"),
			units.Percent(float64(e.MAPE)), units.Percent(float64(e.Worst)))
	}
	var parts []string
	for _, part := range []string{errorText(c.Between, "between others"), errorText(c.Beyond, "beyond all others")} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 {
		return "None of its own points could be left out: how far off it is, mixes with others show."
	}
	text := "Left out one after the other, " + strings.Join(parts, "; ") + "."
	if b := c.Between; b.Compared > 0 {
		text += fmt.Sprintf(" Where a straight line (%s off) and Gunther's law (%s off) have an answer between others, "+
			"this is %s off.", units.Percent(float64(b.Linear)), units.Percent(float64(b.Gunther)),
			units.Percent(float64(b.Same)))
	}
	for _, l := range c.Laws {
		place := "between levels"
		if l.Side != "" {
			place = string(l.Side) + " them"
		}
		text += fmt.Sprintf(" Over %s, %s, %s answers", l.Axis, place, l.Law)
		if l.Points > 0 && !math.IsNaN(float64(l.MAPE)) {
			text += fmt.Sprintf(": it was %s off", units.Percent(float64(l.MAPE)))
			if !math.IsNaN(float64(l.Network)) {
				text += fmt.Sprintf(", and the network of queues %s", units.Percent(float64(l.Network)))
			}
		}
		text += "."
	}
	return text
}

// Errors from which on a model is not to be trusted.
const (
	offBetween = 0.05
	offBeyond  = 0.1
)

func trustStyle(s style, c model.Check) func(string) string {
	if float64(c.Between.MAPE) > offBetween || float64(c.Beyond.MAPE) > offBeyond {
		return s.warn
	}
	return s.plain
}

// needs says what an operation of a class needs: by name.
func needs(c *model.Fitted) (lines [][2]string) {
	p := &c.Params
	add := func(name, format string, args ...any) {
		lines = append(lines, [2]string{name, fmt.Sprintf(format, args...)})
	}
	seconds := func(n model.Number) string { return units.Latency(float64(n) * 1e9) }
	line := func(l model.Line) string {
		if math.IsNaN(float64(l.Base)) {
			return answer.NotKnown
		}
		text := seconds(l.Base)
		if l.More > 0 {
			text += ", and " + seconds(l.More) + " for each read"
		}
		return text
	}
	r := p.Reads
	switch {
	case p.Inferred:
		add("reads", "not counted: of what memory saves, all where an instance has %s, %s at half of that",
			units.Bytes(uint64(r.Fits)), units.Percent(1-r.At(0.5*float64(r.Fits))))
	case r.Fits > 0:
		fits := uint64(r.Fits)
		add("reads", "%s where an instance has %s of memory, %s at three quarters of that, %s at half",
			units.Digits(float64(r.Floor)), units.Bytes(fits), units.Digits(r.At(0.75*float64(fits))),
			units.Digits(r.At(0.5*float64(fits))))
	case !c.Counts(model.Reads):
		add("reads", answer.NotKnown)
	default:
		of := "whatever the memory"
		if c.Basis != nil && c.Basis.IOs {
			of = "of each I/O"
		}
		add("reads", "%s, %s", units.Digits(float64(r.Floor)), of)
	}
	if w := p.Writes; !c.Counts(model.Writings) {
		add("writes", answer.NotKnown)
	} else if w.At1 > 0 && w.Batch > 0 {
		add("writes", "%s where an instance does 1000 operations a second, fewer where they take longer",
			units.Digits(w.At(1000)))
	} else {
		add("writes", "%s", units.Digits(float64(w.At1)))
	}
	add("processors", "%s", line(p.CPU))
	if !math.IsNaN(float64(p.HostCPU.Base)) {
		add("machine", "%s of processors, with those who ask", line(p.HostCPU))
	}
	add("latency", "%s, without waiting for others", line(p.Latency))
	return lines
}

// ends is an interval, by its ends; one that is so wide that it says nothing is not known.
func ends(e model.Estimate, format func(float64) string) string {
	low, high := float64(e.Low), float64(e.High)
	if !(high <= answer.WidestKnown*low) {
		return answer.NotKnown
	}
	return format(low) + " to " + format(high)
}

func memoryText(bytes model.Number) string {
	if bytes == 0 {
		return answer.None
	}
	return units.Bytes(uint64(bytes))
}

func secondsText(seconds float64) string { return latencyText(seconds * 1e9) }

// resourceTexts are the names of resources, for people.
var resourceTexts = map[model.Resource]string{
	model.Processors: "processors", model.OwnCPUs: "each instance's own limit of processors",
	model.Machine: "processors, which they share with those who ask them", model.Memory: "memory",
	model.Reads: "reads of the device", model.Writings: "writes of the device", model.ReadBytes: "bandwidth of reads",
	model.WriteBytes: "bandwidth of writes", model.IOs: "reads and writes of the device", model.IOBytes: "bandwidth",
	model.Clients: "none: more clients would do more",
	model.Network: "the network to remote drives", model.Drives: "the drive", model.TargetCPUs: "processors of the target",
	model.TargetNet: "the network of the target", model.Inside: string(model.Inside),
}

// resourceText returns the name of a resource, for people, with that of a drive or target.
func resourceText(of model.Resource, name string) string {
	return strings.TrimSuffix(resourceTexts[of]+" "+name, " ")
}

// onHost names the host that is asked about; "" where nothing of it is known.
func onHost(ask model.Ask) string {
	if host := ask.Kind().Describe(); host != "" {
		return "; on a host of " + host
	}
	return ""
}

// Predicted prints an answer for people.
func Predicted(w io.Writer, ask model.Ask, a *model.Answer, opt TerminalOptions) error {
	out := bufio.NewWriter(w)
	t := newTerminal(out, opt)
	t.text("", "  ", Answered(a)+".", t.style.bold)
	t.text("", "  ", "Predicted, not measured"+onHost(ask)+". Intervals cover 90%.", t.style.dim)
	t.outside(a)
	t.section("Each class")
	columns := []column{{head: "class", left: true}, {head: "instances"}, {head: "memory each"}, {head: "ops/s"},
		{head: "90% interval", left: true, drop: 2}, {head: "mean"}, {head: "p99"},
		{head: "90% interval", left: true, drop: 1}}
	var rows []tableRow
	for i, n := range a.Tenants {
		rows = append(rows, tableRow{paint: t.style.plain, cells: []string{n.Class, fmt.Sprint(n.Count),
			memoryText(a.Memories[i]), units.Rate(float64(n.Rate.Value)), ends(n.Rate, units.Rate),
			secondsText(float64(n.Mean.Value)), secondsText(float64(n.P99.Value)), ends(n.P99, secondsText)}})
	}
	t.table(columns, rows)
	if len(a.Worth) > 0 {
		t.section("For one percent more of it, all would do more by")
	}
	for _, worth := range a.Worth {
		p := worth.Power
		t.text("  ", "    ", fmt.Sprintf("%5.2f%% (%s)  %s%s", float64(p.Value), worth.Between(),
			resourceText(worth.Resource, worth.Name), used(a, worth.Resource, worth.Name)), t.style.plain)
	}
	return out.Flush()
}

// WouldTell prints which run would tell most about a question.
func WouldTell(w io.Writer, n model.Next, opt TerminalOptions) error {
	out := bufio.NewWriter(w)
	t := newTerminal(out, opt)
	var members []string
	for _, tenant := range n.Tenants {
		members = append(members, plural.Count(tenant.Count, "instance")+" of "+tenant.Class)
	}
	before := "whose interval is not known now"
	if !math.IsNaN(float64(n.Before)) {
		before = fmt.Sprintf("whose interval's upper end is %s times the lower one now", units.Digits(float64(n.Before)))
	}
	t.text("", "  ", fmt.Sprintf("A run of %s on a host of %s would show most for its time of some %s of this "+
		"question, %s, and some %s times behind it.", plural.And(members), n.Host.Describe(),
		units.Latency(1e9*float64(n.Seconds)), before, units.Digits(float64(n.After))), t.style.bold)
	return out.Flush()
}

// used says how much of a resource is used.
func used(a *model.Answer, resource model.Resource, name string) string {
	for _, u := range a.Used {
		if u.Name == name && (u.Resource == resource || resource == model.Drives) {
			return ", " + units.Percent(float64(u.Share)) + " used"
		}
	}
	return ""
}

// Answered is an answer in a sentence.
func Answered(a *model.Answer) string {
	var members []string
	worst := model.TenantAnswer{}
	for _, n := range a.Tenants {
		members = append(members, plural.Count(n.Count, "instance")+" of "+n.Class)
		if n.P99.Value > worst.P99.Value {
			worst = n
		}
	}
	text := fmt.Sprintf("%s would do %s operations a second (%s)", plural.And(members), units.Rate(float64(a.Rate.Value)),
		ends(a.Rate, units.Rate))
	if worst.P99.Value > 0 {
		text += ", with a p99 of " + secondsText(float64(worst.P99.Value))
		if len(a.Tenants) > 1 {
			text += " for " + worst.Class
		}
	}
	if a.Binds == model.Clients {
		return text + "; nothing of the host binds them"
	}
	return text + "; what binds is " + resourceText(a.Binds, a.BindsName)
}

// outside says what lies outside of what was measured.
func (t *terminal) outside(a *model.Answer) {
	for i := range a.Calibrated {
		t.text("  ! ", "    ", a.Calibrated[i].Text(), t.style.warn)
	}
	for _, what := range a.Recorded {
		t.text("  ! ", "    ", what+".", t.style.warn)
	}
	for _, what := range a.Unknown {
		t.text("  ! ", "    ", "not known: "+what, t.style.warn)
	}
	for _, why := range a.Outside {
		t.text("  ! ", "    ", "extrapolated: "+why, t.style.warn)
	}
	if by := a.By(); by != "" {
		t.text("  ! ", "    ", by, t.style.warn)
	}
}

// PredictedOver prints answers over a factor for people.
func PredictedOver(w io.Writer, m *model.Model, ask model.Ask, c model.Curve, opt TerminalOptions) error {
	out := bufio.NewWriter(w)
	t := newTerminal(out, opt)
	host := onHost(ask)
	if c.Line != nil {
		t.text("", "  ", WouldCarry(ask.Kind(), *c.Line)+".", t.style.bold)
		host = ""
	}
	t.text("", "  ", "Predicted, not measured"+host+". Intervals cover 90%.", t.style.dim)
	var rates []float64
	for _, p := range c.Answers {
		if p.Answer != nil {
			rates = append(rates, float64(p.Answer.Rate.Value))
		}
	}
	if len(rates) > 1 {
		t.line("")
		t.line("  ops/s " + sparkline(rates, false))
	}
	t.draw([]*answer.Section{m.Section(ask, c)})
	return out.Flush()
}

// WouldCarry is the predicted load line of a host in a sentence.
func WouldCarry(host model.HostKind, l model.LoadLine) string {
	if l.Instances == 0 {
		return fmt.Sprintf("No number of instances of %s, of 1 to %d, would meet the limit of p99", l.Class, l.Most)
	}
	subject := prose.Subject(fact.Host{Origin: fact.PredictedHost, Has: host.Describe()})
	text := fmt.Sprintf("%s would carry %s of %s", prose.Capital(subject), plural.Count(l.Instances, "instance"), l.Class)
	if l.Low < l.High {
		text += fmt.Sprintf(" (%d to %d)", l.Low, l.High)
	}
	if l.Demand > 0 {
		text += fmt.Sprintf(", each with nine tenths or more of the %s a second that it did when it was recorded",
			units.Rate(float64(l.Demand)))
	}
	if l.High == l.Most {
		return text + fmt.Sprintf(", or more: up to %d were asked about", l.Most)
	}
	if l.Peak != l.Instances && l.Demand == 0 {
		text += fmt.Sprintf("; %d would do most", l.Peak)
	}
	if l.Law != "" {
		text += ", by " + string(l.Law)
	}
	return text
}

// HeldAgainst prints predictions beside what a run measured.
func HeldAgainst(w io.Writer, a model.Against, opt TerminalOptions) error {
	out := bufio.NewWriter(w)
	t := newTerminal(out, opt)
	if len(a.Rows) == 0 {
		t.text("", "  ", "Nothing of run "+a.Run+" can be held against the model.", t.style.warn)
	} else {
		t.text("", "  ", fmt.Sprintf("Off by %s on average, by %s at most; %s of %s within the interval of 90%%.",
			units.Percent(float64(a.MAPE)), units.Percent(float64(a.Worst)), units.Percent(float64(a.Inside)),
			plural.Count(len(a.Rows), "rate")), t.style.bold)
	}
	columns := []column{{head: "mix", left: true}, {head: "measured"}, {head: "said"},
		{head: "90% interval", left: true, drop: 3}, {head: "off"}, {head: "p99 measured"}, {head: "p99 said"},
		{head: "", left: true, drop: 2}, {head: "host", left: true, drop: 1}}
	var rows []tableRow
	for _, r := range a.Rows {
		mark := ""
		if len(r.Said.Outside) > 0 {
			mark = "extrapolated"
		}
		row := tableRow{paint: t.style.plain, cells: []string{r.Mix, units.Rate(float64(r.Seen)),
			units.Rate(float64(r.Said.Rate.Value)), ends(r.Said.Rate, units.Rate),
			fmt.Sprintf("%+.1f%%", 100*(float64(r.Said.Rate.Value/r.Seen)-1)), secondsText(float64(r.SeenP99)),
			secondsText(float64(r.Said.Tenants[0].P99.Value)), mark, r.Host.Beside(a.Rows[0].Host)}}
		if r.Seen < r.Said.Rate.Low || r.Seen > r.Said.Rate.High {
			row.paint = t.style.warn
		}
		rows = append(rows, row)
	}
	t.table(columns, rows)
	for _, left := range a.Left {
		t.text("  ! ", "    ", "left out: "+left, t.style.warn)
	}
	return out.Flush()
}
