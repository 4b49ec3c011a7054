package show

import "plimsoll/internal/iotrace"

// exported is the requests of one operation of a namespace that the host, as a
// target, exports.
type exported struct {
	Device iotrace.Device
	row
}

// exports returns the requests to a target's namespaces, by operation.
func exports(a *iotrace.Account) (rows []exported) {
	for _, d := range a.Devices {
		if d.NQN == "" {
			continue
		}
		account := &iotrace.Account{}
		for _, c := range a.Cells {
			if c.Device == d.Name {
				account.Cells = append(account.Cells, c)
			}
		}
		for _, r := range account.By(iotrace.ByOp) {
			rows = append(rows, exported{d, row{r, ByOp}})
		}
	}
	return rows
}

// share returns the part of the mean T that an interval takes. It is unknown if no request was passed on to a
// device.
func (e exported) share(i iotrace.Interval) (ns float64, known bool) {
	d, whole := e.dist(i), e.dist(iotrace.T)
	if d == nil || whole == nil {
		return 0, false
	}
	return float64(d.SumNS) / float64(whole.Count), true
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
