package published

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/finding/published/claims"
	"plimsoll/internal/runview"
	"plimsoll/internal/workload"
)

// unlikePaper returns in which parameters, and in which scaled-down host, a database here differs from the paper's;
// nothing of claims that are about no database.
func unlikePaper(v *runview.View, c claims.Claim, cells []*runview.Cell) (out []Reason) {
	if c.Test.Software == "" {
		return nil
	}
	host := "" // the scaled-down one; "" for the whole host
	var differences []string
	had := claims.HadOf(c.ID)
	for _, name := range []string{"records", "warehouses", "threads", "think"} {
		var here []string
		for _, cell := range cells {
			m, _ := v.Run.Mix(cell.Workload.Name)
			for _, t := range m.Tenants {
				w, _ := v.Run.Workload(t.Workload)
				here = append(here, workload.DeclaredValues(w.Declared, name)...)
			}
			if m.Host != nil {
				host = m.Host.String()
			}
		}
		slices.Sort(here)
		here = slices.Compact(here)
		paper := ""
		if name == "think" { // no paper had any
			paper = "none"
		}
		for _, h := range had {
			if h.Name == name {
				paper = h.Value
			}
		}
		if len(here) == 0 || paper == "" || len(here) == 1 && sameNumber(here[0], paper) {
			continue
		}
		differences = append(differences, fmt.Sprintf("%s %s here, %s in the paper", name, strings.Join(here, ", "), paper))
	}
	if host != "" {
		differences = append(differences, "a scaled-down host of "+host)
	}
	if len(differences) == 0 {
		return nil
	}
	return []Reason{newReason("caveat: other scale", "%s", strings.Join(differences, "; "))}
}

// sameNumber reports whether a number is what a paper writes, such as 100 million.
func sameNumber(here, paper string) bool {
	number, million := strings.CutSuffix(paper, " million")
	a, wrongA := strconv.ParseFloat(here, 64)
	b, wrongB := strconv.ParseFloat(number, 64)
	if million {
		b *= 1e6
	}
	return here == paper || wrongA == nil && wrongB == nil && a == b
}
