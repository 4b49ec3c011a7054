package runview

import "plimsoll/internal/result"

// Varied is a mix with the variations of its scaled-down host's limits that a run made.
type Varied struct {
	Of    *Cell // the mix itself
	Count int   // its instances
	Host  *result.Limits
	Cells []VariedCell

	Failed []result.Variation // variations without a completed trial
}

// VariedCell is the cell of a variation of a limit.
type VariedCell struct {
	result.Variation
	*Cell
}

// Variations returns them, in the order of the mixes and then of the stacks.
func (v *View) Variations() (variations []*Varied) {
	for _, m := range v.Run.Mixes {
		for _, s := range v.Stacks {
			unvaried := v.Cell(s.Name, m.Name)
			if unvaried == nil {
				continue
			}
			found := &Varied{Of: unvaried, Host: m.Host}
			for _, t := range m.Tenants {
				found.Count += t.Count
			}
			for _, other := range v.Run.Mixes {
				if other.Varies == nil || other.Varies.Of != m.Name {
					continue
				}
				if c := v.varied[CellKey{s.Name, other.Name}]; c != nil {
					found.Cells = append(found.Cells, VariedCell{*other.Varies, c})
				} else if v.failed(s.Name, other.Name) {
					found.Failed = append(found.Failed, *other.Varies)
				}
			}
			if len(found.Cells) > 0 {
				variations = append(variations, found)
			}
		}
	}
	return variations
}

// VariedCells returns the cells of mixes that the run added to vary a limit, in the order of the mixes and then of
// the stacks.
func (v *View) VariedCells() (cells []*Cell) {
	for _, m := range v.Run.Mixes {
		for _, s := range v.Stacks {
			if c := v.varied[CellKey{s.Name, m.Name}]; c != nil {
				cells = append(cells, c)
			}
		}
	}
	return cells
}
