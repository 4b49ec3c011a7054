package outputs

import (
	"regexp"
	"strings"

	"plimsoll/internal/printable"
)

// What HammerDB prints of a timed TPROC-C run, by its monitor. An operation is a new order with what goes along with
// it: transactions a minute (TPM) are counted differently by each database.

var (
	// 4.0 and newer, and before.
	achievedRE = regexp.MustCompile(`System achieved (\d+) NOPM from \d+ `)
	earlier    = regexp.MustCompile(`System achieved \d+ .*TPM at (\d+) NOPM`)
	active     = regexp.MustCompile(`:(\d+) Active Virtual Users configured`)
)

func beginsHammerDB(line string) bool {
	return strings.Contains(line, "TEST RESULT : System achieved ")
}

func readHammerDB(o *output) (all []outputResult) {
	users, aborted := "", ""
	for i, line := range o.lines {
		if strings.Contains(line, ":FINISHED FAILED") {
			aborted = printable.Line(line)
			if len(all) > 0 && all[len(all)-1].aborted == "" { // users end after the result is printed, too
				all[len(all)-1].aborted = aborted
			}
		}
		if m := active.FindStringSubmatch(line); m != nil {
			users = m[1]
		}
		if !beginsHammerDB(line) {
			continue
		}
		m := achievedRE.FindStringSubmatch(line)
		if m == nil {
			m = earlier.FindStringSubmatch(line)
		}
		if m == nil {
			o.refuse(i, "this result of HammerDB has no NOPM", "hand in a timed run of TPROC-C")
			continue
		}
		orders, ok := leading(m[1])
		if !ok || orders == 0 {
			o.refuse(i, "HammerDB counted no new orders", "hand in a run that did some")
			continue
		}
		all = append(
			all,
			outputResult{line: i + 1, aborted: aborted, columns: map[string]string{"clients": users,
				"throughput": decimal(orders / 60)},
				notes: []string{"an operation is a new order with what goes along with it: NOPM / 60"}},
		)
		users, aborted = "", ""
	}
	return all
}
