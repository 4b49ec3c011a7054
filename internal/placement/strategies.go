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

// strategies are the papers' five, of those that the fleet allows, and what a plan does beside them.
func (s *search) strategies() (all []Strategy) {
	counts := s.counts()
	all = append(all,
		s.strategy("one host after the other, until its drives are full", s.sequence(counts, s.saturated)),
		s.strategy("one host after the other, until one more does not add to it", s.sequence(counts, s.falls)),
		s.strategy("round robin over all hosts", found{all: s.deal(counts), left: make([]int, len(counts))}))
	local, remote := false, false
	for _, h := range s.fleet.Hosts {
		for _, d := range h.Is.Drives {
			local, remote = local || d.Target == nil, remote || d.Target != nil
		}
	}
	if !local || !remote {
		return all
	}
	for _, only := range []struct {
		name   string
		remote bool
	}{{"the best on local drives", false}, {"the best on remote drives", true}} {
		some := *s
		some.effort, some.kinds = s.effort/4, nil
		for _, k := range s.kinds {
			one := *k
			one.known, one.able, one.asked = map[string]*filled{}, nil, 0
			for d, drive := range k.Is.Drives {
				if (drive.Target != nil) == only.remote {
					one.able = append(one.able, d)
				}
			}
			if one.able != nil {
				some.kinds = append(some.kinds, &one)
			}
		}
		all = append(all, some.strategy(only.name, some.best(counts, s.usual())))
	}
	return all
}

func (s *search) strategy(name string, f found) Strategy {
	out := Strategy{Name: name, Left: f.unplaced()}
	p99, rate := 0.0, 0.0
	for _, c := range f.all {
		known := s.kinds[c.kind].fill(c.f, s.alone)
		out.Used += c.count
		if known.clash != "" {
			out.Broken += c.count
		}
		rate += known.rate * float64(c.count)
		p99 = max(p99, known.p99)
	}
	out.Rate, out.P99 = model.Number(rate), model.Number(p99)
	if math.IsNaN(rate) {
		out.Rate = 0
	}
	return out
}

// inSteps is how full a host is that gets one container at a time; a fuller one gets as large a part of what it has
// at once.
const inSteps = 16

// sequence fills one host after the other, a container of each demand in turn, each on the drive where the host
// does most, until it is full or enough is said.
func (s *search) sequence(counts []int, enough func(before, after *filled) bool) (out found) {
	left := append([]int{}, counts...)
	turn := 0
	for k, kind := range s.kinds {
		var same filling // what the host before was filled with, as long as there is as much
		for range kind.Count {
			f := make(filling, kind.slots())
			if same != nil && s.has(kind, same, left) {
				f = same
				s.take(kind, f, left)
			} else {
				before := &filled{}
				for stuck := 0; stuck < len(left); {
					d := turn % len(left)
					turn++
					var best filling
					var most *filled
					for drive := range kind.able {
						slot := kind.slot(d, drive)
						more := min(1+f.total()/inSteps, left[d], mostOfOne-int(f[slot]))
						if more == 0 {
							continue
						}
						to := f.with(slot, more)
						if known := kind.fill(to, s.alone); known.solved.Rate > 0 && (most == nil || known.rate > most.rate) {
							best, most = to, known
						}
					}
					if best == nil || enough(before, most) {
						stuck++
						continue
					}
					left[d] -= best.total() - f.total()
					f, before, stuck = best, most, 0
				}
				same = f
			}
			if f.total() == 0 {
				break
			}
			out.all = append(out.all, chosen{k, 1, f})
		}
	}
	out.all, out.left = merged(out.all), left
	return out
}

func (s *search) has(k *kind, f filling, left []int) bool {
	for d, n := range k.counts(f) {
		if n > left[d] {
			return false
		}
	}
	return true
}

func (s *search) take(k *kind, f filling, left []int) {
	for d, n := range k.counts(f) {
		left[d] -= n
	}
}

// saturated reports whether what bound a host before one more came is a device that was full.
func (s *search) saturated(before, _ *filled) bool {
	const full = 0.95
	switch before.solved.Binds {
	case model.Reads, model.Writings, model.ReadBytes, model.WriteBytes, model.IOs, model.IOBytes:
		return before.solved.Used >= full
	}
	return false
}

// falls reports whether one more does not add to what a host does.
func (s *search) falls(before, after *filled) bool { return after.rate <= before.rate }
