package result

// Since returns the measurement of the time after early, which must be an earlier state of m, such as the warm-up to
// discard: counts and bins are subtracted, and rates are of the time between. early must be an earlier state of m.
//
// Least and greatest latencies are those of m where their bins still count something, and else the values of the
// outermost bins that do.
func (m Measurement) Since(early Measurement) Measurement {
	late := Measurement{Seconds: m.Seconds - early.Seconds, Notes: m.Notes}
	share := func(whole, before float64) float64 {
		if late.Seconds <= 0 {
			return whole
		}
		return max(0, (whole*m.Seconds-before*early.Seconds)/late.Seconds)
	}
	late.UserCPU, late.SystemCPU = share(m.UserCPU, early.UserCPU), share(m.SystemCPU, early.SystemCPU)
	for _, o := range m.Operations {
		late.Operations = append(late.Operations, o.since(early.Operation(o.Name), late.Seconds))
	}
	return late
}

func (o Operation) since(early Operation, seconds float64) Operation {
	late := Operation{
		Name: o.Name, Count: o.Count - min(early.Count, o.Count), Errors: o.Errors - min(early.Errors, o.Errors),
		Timeouts: o.Timeouts - min(early.Timeouts, o.Timeouts), Retries: o.Retries - min(early.Retries, o.Retries),
		Bytes: o.Bytes - min(early.Bytes, o.Bytes),
	}
	for stage, h := range o.Latency {
		late.setLatency(stage, h.Since(early.Latency[stage]))
	}
	if seconds > 0 {
		late.Rate, late.BytesPerSecond = float64(late.Count)/seconds, float64(late.Bytes)/seconds
	}
	return late
}
