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
	broken bool      // in the last look that knew its p99
	moved  time.Time
	left   map[string]time.Time // engines where its limit broke
}

type looked struct {
	time   time.Time
	known  bool
	broken bool
}

// NewKeeper returns a Keeper that has seen nothing.
func NewKeeper(r Rules) *Keeper { return &Keeper{rules: r, watched: map[string]*watchedContainer{}} }

// Decide decides about the containers of a look, in its order. At most one container is moved: the others are looked at
// again afterwards.
func (k *Keeper) Decide(look Look) []Decision {
	now := look.Time
	if now.Before(k.last) {
		now = k.last // the clock was set back: nothing is younger by that
	}
	if now.Sub(k.last) > k.rules.BrokenFor {
		for _, w := range k.watched {
			w.looks, w.since = nil, now // there was no look meanwhile
		}
	}
	k.last = now
	k.moves = slices.DeleteFunc(k.moves, func(at time.Time) bool { return now.Sub(at) >= budgetTime })
	decisions := make([]Decision, len(look.Containers))
	worst, highest := -1, 0.0
	for i := range look.Containers {
		container := &look.Containers[i]
		watched := k.remember(container, now)
		decisions[i] = k.judge(container, watched, now)
		if ratio := container.P99 / container.Limit; decisions[i].Do == Move && ratio > highest {
			worst, highest = i, ratio
		}
	}
	for i := range decisions {
		if decisions[i].Do == Move && i != worst {
			decisions[i] = Decision{Do: Refuse, Container: decisions[i].Container, From: decisions[i].From,
				Why: decisions[worst].Container + " is moved first"}
		}
	}
	if worst >= 0 {
		k.move(decisions[worst], now)
	}
	return decisions
}

// remember adds a look to what is known of a container.
func (k *Keeper) remember(o *Observed, now time.Time) *watchedContainer {
	w := k.watched[o.Name]
	if w == nil {
		w = &watchedContainer{left: map[string]time.Time{}}
		k.watched[o.Name] = w
	}
	if w.engine != o.Engine {
		w.engine, w.since, w.looks, w.broken = o.Engine, now, nil, false
	}
	if o.P99 > 0 {
		w.broken = o.P99 > o.Limit || w.broken && o.P99 > margin*o.Limit
	}
	w.looks = append(w.looks, looked{now, o.P99 > 0, o.P99 > 0 && w.broken})
	w.looks = slices.DeleteFunc(w.looks, func(l looked) bool { return now.Sub(l.time) > k.rules.BrokenFor })
	return w
}

// judge decides about one container, whatever the decisions about others are.
func (k *Keeper) judge(container *Observed, watched *watchedContainer, now time.Time) Decision {
	decision := Decision{Do: Stay, Container: container.Name, From: container.Engine}
	known, broken := 0, 0
	for _, l := range watched.looks {
		if l.known {
			known++
		}
		if l.broken {
			broken++
		}
	}
	limit := units.Latency(1e9 * container.Limit)
	switch {
	case known == 0:
		decision.Why = "its p99 is not known: it hardly does I/O, or is not seen"
		return decision
	case broken == 0:
		decision.Why = "its p99 keeps to the limit of " + limit
		return decision
	}
	seen := fmt.Sprintf("its p99 is above %s in %d of %s", limit, broken, plural.Count(known, "look"))
	switch {
	case now.Sub(watched.since) < k.rules.BrokenFor || known < fewestLooks || 2*known < len(watched.looks):
		decision.Why = seen + ", which is not known for long enough"
		return decision
	case float64(broken) < brokenShare*float64(known) || !watched.looks[len(watched.looks)-1].broken:
		decision.Why = seen + ", which is not often enough"
		return decision
	}
	decision.Do, decision.Why = Refuse, seen+", and "
	switch wait := k.rules.Cooldown - now.Sub(watched.moved); {
	case container.Volumes:
		decision.Why += "its volumes are here: a move copies no data"
		return decision
	case !watched.moved.IsZero() && wait > 0:
		decision.Why += fmt.Sprintf("it was moved %s ago: the cooldown is %s", now.Sub(watched.moved).Round(time.Second),
			k.rules.Cooldown)
		return decision
	case len(k.moves) >= k.rules.Budget:
		decision.Why += fmt.Sprintf("the budget of %s in an hour is spent", plural.Count(k.rules.Budget, "move"))
		return decision
	}
	var best *Room
	why := "there is no other engine"
	for i := range container.Rooms {
		room := &container.Rooms[i]
		left, broke := watched.left[room.Engine]
		switch {
		case room.Engine == container.Engine:
		case broke && now.Sub(left) < returnAfter:
			why = "it broke on " + room.Engine + ", too"
		case room.Full != "":
			why = room.Engine + " has no room: " + room.Full
		case room.P99 <= 0 || room.P99 > margin*container.Limit:
			why = fmt.Sprintf("on %s its p99 would be %s, too near to the limit", room.Engine, units.Latency(1e9*room.P99))
		case best == nil || cmp.Or(cmp.Compare(room.P99, best.P99), cmp.Compare(room.Engine, best.Engine)) < 0:
			best = room
		}
	}
	if best == nil {
		decision.Why += why
		return decision
	}
	decision.Do, decision.To = Move, best.Engine
	decision.Why += fmt.Sprintf("on %s it would be %s, by the model", best.Engine, units.Latency(1e9*best.P99))
	return decision
}

// move remembers a move. What stands on both engines differs from now on.
func (k *Keeper) move(d Decision, now time.Time) {
	k.moves = append(k.moves, now)
	moved := k.watched[d.Container]
	moved.moved, moved.left[d.From] = now, now
	moved.engine = d.To
	for _, w := range k.watched {
		if w.engine == d.From || w.engine == d.To {
			w.since, w.looks, w.broken = now, nil, false
		}
	}
}
