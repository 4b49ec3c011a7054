package report

import answer "plimsoll/internal/section"

// filledPart is where a part of a bar stands in the room that the widest bar has.
type filledPart struct {
	answer.FillPart
	X, W percent
}

// filled places the parts of a bar beside each other. What is more than fills it ends where it does.
func filled(b answer.FillBar) (parts []filledPart) {
	from := 0.0
	for _, p := range b.Parts {
		to := min(1, from+max(0, p.Share))
		parts = append(parts, filledPart{p, percentOf(from * b.Size), percentOf((to - from) * b.Size)})
		from = to
	}
	return parts
}

// sliced places the slices of a bar in the same way.
func sliced(b *answer.Bar) (boxes []box) {
	from := 0.0
	for _, slice := range b.Slices {
		to := min(1, from+max(0, slice.Share))
		boxes = append(boxes, box{X: percentOf(from), W: percentOf(to - from), Class: string(slice.Class)})
		from = to
	}
	return boxes
}

func percentOf(share float64) percent { return percent(100 * share) }
