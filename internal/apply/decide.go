package apply

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
)

// Rules are when a container is moved.
type Rules struct {
	BrokenFor time.Duration `json:"broken_for_ns"` // that a p99 is above its limit before its container is moved
	Cooldown  time.Duration `json:"cooldown_ns"`   // between two moves of a container
	Budget    int           `json:"budget"`        // moves of all containers in an hour, at most
}

const (
	// budgetTime is what a budget is for.
	budgetTime = time.Hour
	// returnAfter is how long a container does not go back to an engine where its limit broke.
	returnAfter = 24 * time.Hour
	// brokenShare is the share of the looks in which a p99 is above its limit, of a limit that is broken.
	brokenShare = 0.8
	// margin is the share of a limit that a p99 keeps to before it is not above it any more, and that it is to keep to
	// where the container goes, by the model.
	margin = 0.8
	// fewestLooks is how many looks that know a p99 a decision needs.
	fewestLooks = 3
)

// Look is what is seen of all containers that have a limit of p99, at a time.
type Look struct {
	Time       time.Time  `json:"time"`
	Containers []Observed `json:"containers"` // by name
}

// Observed is a container that has a limit of p99.
type Observed struct {
	Name    string  `json:"container"`
	Engine  string  `json:"engine"`
	P99     float64 `json:"p99_seconds,omitempty"` // of its block I/O; 0 where that is not known
	Limit   float64 `json:"limit_seconds"`
	Volumes bool    `json:"volumes,omitempty"` // it has volumes, which a move would leave behind
	Rooms   []Room  `json:"rooms,omitempty"`   // of other engines; none while its p99 keeps below the margin
}

// Room is what the model predicts of an engine with one more container.
type Room struct {
	Engine string  `json:"engine"`
	P99    float64 `json:"p99_seconds,omitempty"` // of that container; 0 where there is no room
	Full   string  `json:"full,omitempty"`        // why there is no room
}

// What is decided of a container.
const (
	Stay   = "stay"
	Move   = "move"
	Refuse = "refuse" // its limit is broken, and it stays
)

// Decision is what is decided of a container, and why.
type Decision struct {
	Do        string `json:"do"`
	Container string `json:"container"`
	From      string `json:"from"`
	To        string `json:"to,omitempty"`
	Why       string `json:"why"`
}

// Keeper decides which containers are moved. What it decides follows from its rules and the looks alone.
type Keeper struct {
	rules   Rules
	watched map[string]*watchedContainer
	moves   []time.Time // within the time of the budget
	last    time.Time
}

// watchedContainer is what a Keeper remembers of a container.
type watchedContainer struct {
	engine string
	since  time.Time // what stands on its engine has been the same
	looks  []looked  // since then, and not before the time that a limit is broken for
	above  bool      // in the last look that knew its p99
	moved  time.Time
	left   map[string]time.Time // engines where its limit broke
}

type looked struct {
	at    time.Time
	known bool
	above bool
}

// NewKeeper returns a Keeper that has seen nothing.
func NewKeeper(r Rules) *Keeper { return &Keeper{rules: r, watched: map[string]*watchedContainer{}} }

// Decide decides about the containers of a look, in its order. At most one of them is moved: the others are looked at
// anew where it was and where it goes.
func (k *Keeper) Decide(l Look) []Decision {
	now := l.Time
	if now.Before(k.last) {
		now = k.last // the clock was set back: nothing is younger by that
	}
	if now.Sub(k.last) > k.rules.BrokenFor {
		for _, w := range k.watched {
			w.looks, w.since = nil, now // nobody looked meanwhile
		}
	}
	k.last = now
	k.moves = slices.DeleteFunc(k.moves, func(at time.Time) bool { return now.Sub(at) >= budgetTime })
	all := make([]Decision, len(l.Containers))
	worst, most := -1, 0.0
	for i := range l.Containers {
		o := &l.Containers[i]
		w := k.remember(o, now)
		all[i] = k.judge(o, w, now)
		if by := o.P99 / o.Limit; all[i].Do == Move && by > most {
			worst, most = i, by
		}
	}
	for i := range all {
		if all[i].Do == Move && i != worst {
			all[i] = Decision{Do: Refuse, Container: all[i].Container, From: all[i].From,
				Why: all[worst].Container + " is moved first"}
		}
	}
	if worst >= 0 {
		k.move(all[worst], now)
	}
	return all
}

// remember adds a look to what is known of a container.
func (k *Keeper) remember(o *Observed, now time.Time) *watchedContainer {
	w := k.watched[o.Name]
	if w == nil {
		w = &watchedContainer{left: map[string]time.Time{}}
		k.watched[o.Name] = w
	}
	if w.engine != o.Engine {
		w.engine, w.since, w.looks, w.above = o.Engine, now, nil, false
	}
	if o.P99 > 0 {
		w.above = o.P99 > o.Limit || w.above && o.P99 > margin*o.Limit
	}
	w.looks = append(w.looks, looked{now, o.P99 > 0, o.P99 > 0 && w.above})
	w.looks = slices.DeleteFunc(w.looks, func(l looked) bool { return now.Sub(l.at) > k.rules.BrokenFor })
	return w
}

// judge decides about a container as if it were the only one.
func (k *Keeper) judge(o *Observed, w *watchedContainer, now time.Time) Decision {
	d := Decision{Do: Stay, Container: o.Name, From: o.Engine}
	known, above := 0, 0
	for _, l := range w.looks {
		if l.known {
			known++
		}
		if l.above {
			above++
		}
	}
	limit := units.Latency(1e9 * o.Limit)
	switch {
	case known == 0:
		d.Why = "its p99 is not known: it hardly does I/O, or is not seen"
		return d
	case above == 0:
		d.Why = "its p99 keeps to the limit of " + limit
		return d
	}
	seen := fmt.Sprintf("its p99 is above %s in %d of %s", limit, above, plural.Count(known, "look"))
	switch {
	case now.Sub(w.since) < k.rules.BrokenFor || known < fewestLooks || 2*known < len(w.looks):
		d.Why = seen + ", which is not known for long enough"
		return d
	case float64(above) < brokenShare*float64(known) || !w.looks[len(w.looks)-1].above:
		d.Why = seen + ", which is not often enough"
		return d
	}
	d.Do, d.Why = Refuse, seen+", and "
	switch wait := k.rules.Cooldown - now.Sub(w.moved); {
	case o.Volumes:
		d.Why += "its volumes are here: a move copies no data"
		return d
	case !w.moved.IsZero() && wait > 0:
		d.Why += fmt.Sprintf("it was moved %s ago: the cooldown is %s", now.Sub(w.moved).Round(time.Second), k.rules.Cooldown)
		return d
	case len(k.moves) >= k.rules.Budget:
		d.Why += fmt.Sprintf("the budget of %s in an hour is spent", plural.Count(k.rules.Budget, "move"))
		return d
	}
	var best *Room
	why := "there is no other engine"
	for i := range o.Rooms {
		r := &o.Rooms[i]
		left, broke := w.left[r.Engine]
		switch {
		case r.Engine == o.Engine:
		case broke && now.Sub(left) < returnAfter:
			why = "it broke on " + r.Engine + ", too"
		case r.Full != "":
			why = r.Engine + " has no room: " + r.Full
		case r.P99 <= 0 || r.P99 > margin*o.Limit:
			why = fmt.Sprintf("on %s its p99 would be %s, too near to the limit", r.Engine, units.Latency(1e9*r.P99))
		case best == nil || cmp.Or(cmp.Compare(r.P99, best.P99), cmp.Compare(r.Engine, best.Engine)) < 0:
			best = r
		}
	}
	if best == nil {
		d.Why += why
		return d
	}
	d.Do, d.To = Move, best.Engine
	d.Why += fmt.Sprintf("on %s it would be %s, by the model", best.Engine, units.Latency(1e9*best.P99))
	return d
}

// move remembers a move. What stands on both engines differs from now on.
func (k *Keeper) move(d Decision, now time.Time) {
	k.moves = append(k.moves, now)
	moved := k.watched[d.Container]
	moved.moved, moved.left[d.From] = now, now
	moved.engine = d.To
	for _, w := range k.watched {
		if w.engine == d.From || w.engine == d.To {
			w.since, w.looks, w.above = now, nil, false
		}
	}
}
