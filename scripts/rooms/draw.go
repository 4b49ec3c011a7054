package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// What the picture is laid out by, in pixels.
const (
	width  = 760
	boxW   = 104
	boxH   = 34
	floorH = 84
	margin = 20
)

const style = `text{font:14px system-ui,sans-serif;fill:#0f172a;text-anchor:middle}` +
	`rect{fill:#f1f5f9;stroke:#64748b}path{stroke:#94a3b8;fill:none}path.level{stroke:#c2410c}` +
	`@media (prefers-color-scheme:dark){text{fill:#e2e8f0}rect{fill:#1e293b;stroke:#94a3b8}path{stroke:#64748b}}`

// draw returns the rooms as SVG, each floor a row. A line leads down to a room that is imported, unless a room between
// them imports it too; among rooms of one floor every import is an arc.
func draw(rooms map[string]*room) string {
	rows := floors(rooms)
	topOf := map[string][2]int{} // the middle of a box's top
	row := map[string]int{}
	for i, floor := range rows {
		for k, name := range floor {
			topOf[name] = [2]int{width * (2*k + 1) / (2 * len(floor)), margin + i*floorH}
			row[name] = i
		}
	}
	var lines, boxes strings.Builder
	for _, name := range slices.Sorted(maps.Keys(rooms)) {
		from := topOf[name]
		for _, other := range slices.Sorted(maps.Keys(rooms[name].imports)) {
			to, known := topOf[other]
			switch {
			case !known || between(rooms, name, other, row):
			case row[name] == row[other]:
				if name < other || !rooms[other].imports[name] {
					fmt.Fprintf(&lines, `<path class="level" d="M%d %dQ%d %d %d %d"/>`+"\n",
						from[0], from[1], (from[0]+to[0])/2, from[1]-28, to[0], to[1])
				}
			default:
				fmt.Fprintf(&lines, `<path d="M%d %dL%d %d"/>`+"\n", from[0], from[1]+boxH, to[0], to[1])
			}
		}
		fmt.Fprintf(&boxes, `<rect x="%d" y="%d" width="%d" height="%d" rx="5"/><text x="%d" y="%d">%s</text>`+"\n",
			from[0]-boxW/2, from[1], boxW, boxH, from[0], from[1]+22, name)
	}
	var texts []string
	for _, floor := range rows {
		texts = append(texts, strings.Join(floor, ", "))
	}
	height := margin*2 + (len(rows)-1)*floorH + boxH
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" `+
		`aria-label="Rooms of the source, from the top floor to the ground: %s"><style>%s</style>`+"\n%s%s</svg>\n",
		width, height, strings.Join(texts, "; "), style, lines.String(), boxes.String())
}

// between reports whether a room on a floor between two others leads from the one to the other.
func between(rooms map[string]*room, from, to string, row map[string]int) bool {
	for middle := range rooms[from].imports {
		if rooms[middle] == nil || row[middle] <= row[from] || row[middle] >= row[to] {
			continue
		}
		leads := map[string]bool{}
		reach(rooms, middle, leads)
		if leads[to] {
			return true
		}
	}
	return false
}
