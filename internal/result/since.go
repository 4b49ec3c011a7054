package result

// Since is what a measurement holds beyond an earlier state of itself, such as
// the beginning that is left out as warm-up: counts and bins are subtracted,
// and rates are of the time between. early must be an earlier state of m.
//
// Least and greatest latencies are those of m where their bins still count
// something, and else the values of the outermost bins that do.
func (m Measurement) Since(early Measurement) Measurement {
	late := Measurement{RuntimeSeconds: m.RuntimeSeconds - early.RuntimeSeconds}
	share := func(whole, before float64) float64 {
		if late.RuntimeSeconds <= 0 {
			return whole
		}
		return max(0, (whole*m.RuntimeSeconds-before*early.RuntimeSeconds)/late.RuntimeSeconds)
	}
	late.UserCPU, late.SystemCPU = share(m.UserCPU, early.UserCPU), share(m.SystemCPU, early.SystemCPU)
	late.Read = m.Read.since(early.Read, late.RuntimeSeconds)
	late.Write = m.Write.since(early.Write, late.RuntimeSeconds)
	return late
}

func (d Direction) since(early Direction, seconds float64) Direction {
	late := Direction{
		IOs: d.IOs - min(early.IOs, d.IOs), Bytes: d.Bytes - min(early.Bytes, d.Bytes),
		Submission: d.Submission.Since(early.Submission),
		Completion: d.Completion.Since(early.Completion),
		Total:      d.Total.Since(early.Total),
	}
	if seconds > 0 {
		late.IOPS, late.BytesPerSecond = float64(late.IOs)/seconds, float64(late.Bytes)/seconds
	}
	return late
}
