package fact

// Served is how many of fio's I/Os the devices that hold the bytes served.
type Served struct {
	Devices []string `json:"devices,omitempty"` // none where no device holds what is stored
	PerIO   float64  `json:"per_io"`            // the median of the trials; that of the worst where memory answered only some
	Memory  int      `json:"memory"`            // trials that memory answered
	Trials  int      `json:"trials"`
}

// Unfit is a stack whose numbers are not those of its devices.
type Unfit struct {
	Stack  string  `json:"stack"`
	Served *Served `json:"served,omitempty"` // memory answered; nil where no counter could be read
}
