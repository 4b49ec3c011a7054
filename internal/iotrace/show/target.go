package show

import "plimsoll/internal/iotrace"

// exported is the requests of one operation of a namespace that the host, as a
// target, exports.
type exported struct {
	Device iotrace.Device
	row
}

// exports gives what a target's namespaces were asked for, by operation.
func exports(a *iotrace.Account) (all []exported) {
	for _, d := range a.Devices {
		if d.NQN == "" {
			continue
		}
		own := &iotrace.Account{}
		for _, c := range a.Cells {
			if c.Device == d.Name {
				own.Cells = append(own.Cells, c)
			}
		}
		for _, r := range own.By(iotrace.ByOp) {
			all = append(all, exported{d, row{r, ByOp}})
		}
	}
	return all
}

// of is what an interval takes of the mean T; not known for any request that
// was not passed on to a device.
func (e exported) of(i iotrace.Interval) (ns float64, known bool) {
	d, all := e.dist(i), e.dist(iotrace.T)
	if d == nil || all == nil {
		return 0, false
	}
	return float64(d.SumNS) / float64(all.Count), true
}

// exportDocument is an operation of a namespace in JSON.
type exportDocument struct {
	NQN    string `json:"nqn"`
	NSID   uint32 `json:"nsid"`
	Device string `json:"device"`
	keyDocument
}

func newExports(a *iotrace.Account) (all []exportDocument) {
	for _, e := range exports(a) {
		all = append(all, exportDocument{e.Device.NQN, e.Device.NSID, e.Device.Name, newKey(e.row)})
	}
	return all
}
