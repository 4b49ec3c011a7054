package fact

// Elasticity is what the limits of a miniature are worth at one number of instances: each
// was relaxed and tightened, one at a time.
type Elasticity struct {
	Stack     string  `json:"stack,omitempty"` // "" for a mix that names its own
	Workload  string  `json:"workload"`
	Host      string  `json:"host"` // the miniature, for people
	Instances int     `json:"instances"`
	Mix       string  `json:"mix"`  // that each is held against
	Rate      float64 `json:"rate"` // of all together, per second: the median of bring-ups
	P99NS     float64 `json:"p99_ns,omitempty"`
	Limits    []Worth `json:"limits"` // in the order of the file format

	Used   Resource   `json:"used,omitempty"` // what binds by what was used; "" where nothing does
	Helps  []Resource `json:"helps"`          // of which more makes all do more, significantly: what helps most first
	Needed []Resource `json:"needed"`         // of which less makes all do less: what hurts most first
	Agrees bool       `json:"agrees"`         // both sides name the same, or both nothing; see Open
	Open   bool       `json:"open,omitempty"` // too few bring-ups to tell what helps
	// Undecided are those of which more or less may do 10% or more, as far as the trials tell.
	Undecided []Resource `json:"undecided,omitempty"`

	Doubled *Doubled `json:"doubled,omitempty"` // nil where no model of the run is good enough to tell
}

// Doubled is how many instances the host would carry with twice of each limit, as a model of the
// run predicts.
type Doubled struct {
	Off   float64 `json:"off"`   // how far the model is off for points that it was not fitted to: mean, as a share
	Line  int     `json:"line"`  // the load line with the limits as they are, by the model
	Moved []Moved `json:"moved"` // in the order of the file format

	Measured []Carried `json:"measured"` // on the miniature as it is; ascending by instances
	Curve    []Carried `json:"curve"`    // predicted for it; ascending by instances
}

// Carried is what so many instances do together, measured or predicted.
type Carried struct {
	Instances int     `json:"instances"`
	Rate      float64 `json:"rate"` // per second
	Low       float64 `json:"low,omitempty"`
	High      float64 `json:"high,omitempty"` // interval of 90%; 0 for one that was measured
}

// Moved is a predicted load line.
type Moved struct {
	Limit     string   `json:"limit"` // of which there is twice as much
	Resource  Resource `json:"resource"`
	Instances int      `json:"instances"`
	Low       int      `json:"low"` // interval of 90%
	High      int      `json:"high"`
	Most      int      `json:"most"` // instances up to which was looked

	Curve []Carried `json:"curve"` // ascending by instances
}

// Worth is what one limit is worth.
type Worth struct {
	Limit    string       `json:"limit"` // as files name it: "read-iops"
	Resource Resource     `json:"resource"`
	Less     *LimitChange `json:"less,omitempty"` // nil where it was not measured
	More     *LimitChange `json:"more,omitempty"`
	Failed   []float64    `json:"failed,omitempty"` // factors with which no trial was completed, although it was tried
	Rate     *Power       `json:"rate,omitempty"`   // of throughput; nil where nothing can be told
	P99      *Power       `json:"p99,omitempty"`
}

// LimitChange is what a limit times a factor did, against the limit as it is.
type LimitChange struct {
	Factor float64 `json:"factor"`
	Mix    string  `json:"mix"`
	Rate   Effect  `json:"rate"`
	P99    *Effect `json:"p99,omitempty"` // nil where latencies are not known
}

// Power is an elasticity: by how many percent a metric changes for each percent that a
// limit is larger, over all that was measured. Low and High are its 95% interval.
type Power struct {
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}
