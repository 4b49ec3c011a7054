package placement

import (
	"math"

	"plimsoll/internal/model"
)

// Strategy is another way to place the same containers, as MSST'17 6.3 compares them.
type Strategy struct {
	Name   string       `json:"name"`
	Rate   model.Number `json:"rate"` // operations a second, of all that stand
	P99    model.Number `json:"p99_seconds"`
	Used   int          `json:"hosts_used"`
	Left   int          `json:"left,omitempty"`   // containers that stand nowhere
	Broken int          `json:"broken,omitempty"` // hosts on which a limit or wish is broken
}

// strategies returns those of the papers' five that the fleet allows.
func (s *search) strategies() (strategies []Strategy) {
	counts := s.counts()
	for _, way := range []struct {
		name string
		find func() found
	}{
		{"one host after the other, until its drives are full", func() found { return s.sequence(counts, s.saturated) }},
		{"one host after the other, until one more does not add to it", func() found { return s.sequence(counts, s.falls) }},
		{"round robin over all hosts", func() found { return found{groups: s.deal(counts), left: make([]int, len(counts))} }},
	} {
		if s.stopped() {
			return strategies
		}
		strategies = append(strategies, s.strategy(way.name, way.find()))
	}
	local, remote := false, false
	for _, h := range s.fleet.Hosts {
		for _, d := range h.Is.Drives {
			local, remote = local || d.Target == nil, remote || d.Target != nil
		}
	}
	if !local || !remote {
		return strategies
	}
	for _, only := range []struct {
		name   string
		remote bool
	}{{"the best on local drives", false}, {"the best on remote drives", true}} {
		if s.stopped() {
			break
		}
		clone := *s
		clone.effort, clone.kinds = s.effort/4, nil
		for _, k := range s.kinds {
			kindClone := *k
			kindClone.known, kindClone.able, kindClone.asked = map[string]*filled{}, nil, 0
			for d, drive := range k.Is.Drives {
				if (drive.Target != nil) == only.remote {
					kindClone.able = append(kindClone.able, d)
				}
			}
			if kindClone.able != nil {
				clone.kinds = append(clone.kinds, &kindClone)
			}
		}
		strategies = append(strategies, clone.strategy(only.name, clone.best(counts, s.usual())))
	}
	return strategies
}

func (s *search) strategy(name string, outcome found) Strategy {
	out := Strategy{Name: name, Left: outcome.unplaced()}
	p99, rate := 0.0, 0.0
	for _, group := range outcome.groups {
		known := s.kinds[group.kind].judged(group.filling, s.alone)
		out.Used += group.count
		if len(known.breaches) > 0 {
			out.Broken += group.count
		}
		rate += known.rate * float64(group.count)
		p99 = max(p99, known.p99)
	}
	out.Rate, out.P99 = model.Number(rate), model.Number(p99)
	if math.IsNaN(rate) {
		out.Rate = 0
	}
	return out
}

// inSteps is up to how many containers a host gets one at a time; a fuller one gets that part of what it has at once.
const inSteps = 16

// sequence fills one host after the other, a container of each demand in turn, each on the drive where the host does
// most, until the host is full or enough returns true.
func (s *search) sequence(counts []int, enough func(before, after *filled) bool) (out found) {
	left := append([]int{}, counts...)
	turn := 0
	for k, kind := range s.kinds {
		var previous filling // what the host before was filled with, as long as there is as much
		for range kind.Count {
			fill := make(filling, kind.slots())
			if previous != nil && s.has(kind, previous, left) {
				fill = previous
				s.take(kind, fill, left)
			} else {
				before := &filled{}
				for stuck := 0; stuck < len(left); {
					d := turn % len(left)
					turn++
					var best filling
					var predicted *filled
					for drive := range kind.able {
						slot := kind.slot(d, drive)
						count := min(1+fill.total()/inSteps, left[d], mostOfOne-int(fill[slot]))
						if count == 0 {
							continue
						}
						to := fill.adjusted(slot, count)
						if known := kind.fill(to, s.alone); known.solved.Rate > 0 && (predicted == nil || known.rate > predicted.rate) {
							best, predicted = to, known
						}
					}
					if best == nil || enough(before, predicted) {
						stuck++
						continue
					}
					left[d] -= best.total() - fill.total()
					fill, before, stuck = best, predicted, 0
				}
				previous = fill
			}
			if fill.total() == 0 {
				break
			}
			out.groups = append(out.groups, chosen{k, 1, fill})
		}
	}
	out.groups, out.left = merged(out.groups), left
	return out
}

func (s *search) has(kind *kind, fill filling, left []int) bool {
	for d, n := range kind.counts(fill) {
		if n > left[d] {
			return false
		}
	}
	return true
}

func (s *search) take(kind *kind, fill filling, left []int) {
	for d, n := range kind.counts(fill) {
		left[d] -= n
	}
}

// saturated reports whether the bottleneck of a host before one more container came was a busy device.
func (s *search) saturated(before, _ *filled) bool {
	const full = 0.95
	switch before.solved.Binds {
	case model.Reads, model.Writings, model.ReadBytes, model.WriteBytes, model.IOs, model.IOBytes:
		return before.solved.Used >= full
	}
	return false
}

// falls reports whether one more container adds nothing to a host's rate.
func (s *search) falls(before, after *filled) bool { return after.rate <= before.rate }
