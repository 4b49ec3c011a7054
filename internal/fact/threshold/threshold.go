// Package threshold has the sizes from which on findings count, name or advise something, each with its reason. What a
// threshold is of is in its comment; ratios are factors, and shares are of 1.
package threshold

// Comparisons of rates and latencies.
const (
	// Visible is the smallest ratio that is not written as 1.00x: a smaller one is no difference to anybody, however
	// significant.
	Visible = 1.005
	// RateChange is the change of throughput, as a share, that counts beside being significant: a smaller one moves
	// nobody to change a limit.
	RateChange = 0.03
	// LargeRateChange is the change of throughput, as a share, that has to be ruled out before there is said to be
	// none.
	LargeRateChange = 0.1
	// TailCost is the ratio of p99 from which on a policy's effect on it is named.
	TailCost = 1.1
	// UnfairShare is the share of an equal one below which the slowest instance is named.
	UnfairShare = 0.8
	// WideInterval is the width of a median's interval, as a share of the median, above which small differences cannot
	// be seen.
	WideInterval = 0.25
	// SteadySeconds is the measured time below which a trial by itself cannot have shown a steady state: SNIA's test
	// rounds take a minute each.
	SteadySeconds = 60
)

// Verdicts.
const (
	// Avoid is the ratio to the recommended stack that a stack is known to be below which is named as one to avoid.
	Avoid = 0.8
	// Headline is the ratio from which on a contrast is part of the headline.
	Headline = 1.2
	// LevelStacks is the smallest number of stacks of which a headline states that all are level.
	LevelStacks = 3
)

// Curves over the number of instances.
const (
	// TailOverMean is the ratio from which on p99 is said to grow more than the mean.
	TailOverMean = 1.1
	// Valley is the share of what the best number of instances does below which others do less, and more of them are in
	// a valley: what varies by less is level.
	Valley = 0.9
	// LikelyLine is the share of bootstrap samples from which on a number of instances may be the load line: a smaller
	// one is outside of its 95% interval.
	LikelyLine = 0.025
	// NextRateGap is the ratio of the lowest rate that is not kept to the highest that is, above which a rate between
	// them is offered next, and NextRateStep how many times the highest one is offered else.
	NextRateGap  = 1.1
	NextRateStep = 1.5
	// HiddenWait is how many times as long latencies from the intended time are, where those from when operations were
	// sent hide the wait.
	HiddenWait = 2
)

// Load.
const (
	// SaturatingInFlight is the smallest number of I/Os in flight at which to look for the maximum of a drive.
	SaturatingInFlight = 128
	// HighLoadInFlight is the smallest number of I/Os in flight of a high load.
	HighLoadInFlight = 32
	// ParallelJobs is how many parallel jobs MSST'17 calls a high load (section 5.5).
	ParallelJobs = 16
)

// Noisy neighbors: the shares of a disk and of processors from which other processes count. A disk that is otherwise
// idle has large shares of next to nothing, which do not count.
const (
	DiskShareOfOthers = 0.05
	CPUShareOfOthers  = 0.10
	StolenShare       = 0.03
	IOsOfOthers       = 20      // per second
	BytesOfOthers     = 1 << 20 // per second
)

// Who disturbs whom on a host that is watched.
const (
	// Disturbed is the ratio of p99 to that of intervals in which the others did at most half as much, from which on
	// they are said to disturb: percentiles of a second of a busy drive vary by less.
	Disturbed = 2
	// QuietIntervals is the least number of such intervals.
	QuietIntervals = 3
	// OffenderDepth is how many requests an offender has under way at least: fewer keep no drive busy. OffenderShare is
	// their share of all that are.
	OffenderDepth = 1.5
	OffenderShare = 0.5
	// WaitingShare is the share of the time in which a group waits for I/O, from which on it may be disturbed.
	WaitingShare = 0.1
	// AtLimit is the share of a limit that is used from which on it holds a group.
	AtLimit = 0.95
	// HeldMemory is the share of a limit of memory that no shortage takes, from which on little page cache is left.
	HeldMemory = 0.9
)

// SaturatedClients is the share of the processors of the clients' machine above which clients, and not the server, may
// have been the bottleneck: what a run queue of so few free processors delays is in the latency.
const SaturatedClients = 0.9

// Costs of an I/O, by traces and counters.
const (
	// Amplification is how many times as often, or as much, the device may write as fio before that is stated.
	Amplification = 1.2
	// NamedRequests is the number of requests for each I/O of fio from which on their owner is named.
	NamedRequests = 0.005
	// Journal is the number of requests of a journal, or of flushes, for each write of the application, from which on
	// they are stated.
	Journal = 0.01
	// LatencyGrowth is the ratio of an I/O's latency under the higher load from which on its growth is explained.
	LatencyGrowth = 1.2
	// SubmissionShare is the share of the total latency above which submission is what the application waits for.
	SubmissionShare = 0.5
	// ClosesAlone and ClosesBusy are the residue, as a share of the latency, up to which the parts are taken to close:
	// for one I/O at a time, and for more.
	ClosesAlone = 0.05
	ClosesBusy  = 0.10
	// Contention is the ratio by which I/Os must stay longer in the kernel before the block layer with the most jobs,
	// by the lower end of the interval, and ContentionShare the part of the latency with the most jobs that they must
	// have gained there.
	Contention      = 1.5
	ContentionShare = 0.1
	// SteadyDevice is the ratio by which the device may take longer meanwhile, and DeviceGain the part of what was
	// gained before the block layer that it may gain itself: if it takes more, what is queued above may wait for it.
	SteadyDevice = 1.25
	DeviceGain   = 0.25
)

// Published results.
const (
	// Rounding is the tolerance, as a share of the value, of published numbers that state none: they come with one or
	// two digits and without an interval.
	Rounding = 0.2
	// WidestFactor is how many times its lower end the upper end of an interval may be for it to confirm a factor,
	// however large; a smaller factor allows no more than itself. Otherwise noise would confirm: a wide interval holds
	// anything.
	WidestFactor = 3
	// LevelShape is the ratio, either way, up to which two differ that have the shape of what the paper found to be
	// equal.
	LevelShape = 1.25
	// HardlyDifferent is the ratio up to which there is no difference to speak of.
	HardlyDifferent = 1.1
	// RoughSize is how many times the published effect, as a logarithm, an effect of the same shape has at most, and at
	// least the inverse of it: twice as much is of the shape of half as much again, eight times as much is not.
	RoughSize = 3
	// LatencyDifference is the difference of mean latencies, as a share of the smaller one, from which on it is
	// stated in which part it is.
	LatencyDifference = 0.1
	// Growth is the ratio up to which all instances do no more together.
	Growth = 1.2
	// LongPlateau is how many times as many instances as at its beginning a plateau has at its end for it to be seen
	// that nothing falls: the paper's falls before that.
	LongPlateau = 2
	// FitsCache is the share of what one container has in the page cache that each of many has at least where all fit.
	FitsCache = 0.9
)

// Guidelines of papers.
const (
	// DrasticLoss is the share that is kept at most of what a paper says degrades drastically: it saw 0.54.
	DrasticLoss = 0.75
	// FairShare is the share that is kept at least of what a paper says is slowed fairly, or by a tenth: it saw 0.85 to
	// 0.90. What keeps less is in bad company.
	FairShare = 0.8
	// DriveHelps is the ratio from which on a faster drive helps.
	DriveHelps = 1.25
)
