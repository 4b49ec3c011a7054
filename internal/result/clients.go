package result

// Clients is the machine whose processors generate the load of database servers, in place of this host's.
type Clients struct {
	Host string `json:"host"` // ssh://USER@HOST
	// ServerAddress is the address of this host at which the clients reach the servers; "" to find it.
	ServerAddress string `json:"server_address,omitempty"`
}

// ClientCPU is how busy the processors of a clients' machine were while a trial ran, ramp included. Whatever else that
// machine did is in it. User, System, IOWait and Steal are numbers of processors, as in the host's own series.
type ClientCPU struct {
	CPUs    int     `json:"cpus"` // its online logical CPUs
	Seconds float64 `json:"seconds"`
	User    float64 `json:"user"`
	System  float64 `json:"system"` // interrupts included
	IOWait  float64 `json:"iowait"`
	Steal   float64 `json:"steal"`
}

// Busy is the share of the processors that were at work, or were taken by a hypervisor.
func (c ClientCPU) Busy() float64 { return (c.User + c.System + c.Steal) / float64(max(1, c.CPUs)) }
