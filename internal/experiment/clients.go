package experiment

import (
	"net/netip"

	"github.com/invopop/jsonschema"
	"go.yaml.in/yaml/v3"

	"plimsoll/internal/field"
	"plimsoll/internal/problem"
	"plimsoll/internal/result"
)

// Keys of clients.
const (
	keyHost          = "host"
	keyServerAddress = "server-address"
)

// anAddress is an address of one machine.
var anAddress = field.Text("an IP address", "10.0.0.1", func(text string) bool {
	a, err := netip.ParseAddr(text)
	return err == nil && a.Zone() == "" && !a.IsUnspecified() && !a.IsMulticast()
})

// clients is a result.Clients.
type clients struct{}

func (clients) schema(*jsonschema.Reflector) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "object", Properties: jsonschema.NewProperties(),
		AdditionalProperties: jsonschema.FalseSchema, Required: []string{keyHost}}
	host, address := field.SSH.Schema(), anAddress.Schema()
	host.Description = "The machine: ssh://USER@HOST or ssh://USER@HOST:PORT."
	address.Description = "Address of this host at which the clients reach the servers: 10.0.0.1. " +
		"Without it, the address that the machine sees its ssh connection come from."
	s.Properties.Set(keyHost, host)
	s.Properties.Set(keyServerAddress, address)
	return s
}

func (clients) read(p *parser, n *yaml.Node, key string) {
	var c result.Clients
	seen := p.Mapping(n, key, map[string]func(*yaml.Node){
		keyHost:          func(n *yaml.Node) { c.Host, _ = field.Value(&p.Reader, n, keyHost, field.SSH) },
		keyServerAddress: func(n *yaml.Node) { c.ServerAddress, _ = field.Value(&p.Reader, n, keyServerAddress, anAddress) },
	})
	if seen != nil && !seen[keyHost] {
		p.Problem(n, "clients have no host", "write clients: {host: "+field.SSH.Example+"}")
	}
	p.e.Clients = &c
}

func (clients) set(e *Experiment, text string) error {
	host, err := field.SSH.Parse(text)
	if err != nil {
		return err
	}
	c := result.Clients{Host: host}
	if e.Clients != nil {
		c.ServerAddress = e.Clients.ServerAddress
	}
	e.Clients = &c
	return nil
}

func (clients) store(e *Experiment, to *result.Experiment) { to.Clients = e.Clients }

func (clients) restore(e *Experiment, from *result.Experiment) error {
	e.Clients = from.Clients
	return nil
}

// CheckClients returns the reason why another machine cannot generate the load of the experiment's workloads; nil if it
// can.
func (e *Experiment) CheckClients() *problem.Problem {
	if e.Clients == nil {
		return nil
	}
	workloads := e.workloads()
	for _, m := range e.Mixes {
		for _, w := range workloads.workloadsOf(m) {
			abilities, why, remedy := w.Abilities(), "", "leave out clients, or the workload"
			switch {
			case abilities.Elsewhere != nil:
				why = "its server is external"
				remedy = "run plimsoll on the clients' machine itself"
			case abilities.Serving == nil:
				why = "it drives no database server: a program that does its I/O by itself runs where the stack is"
			case abilities.Serving.Image == nil:
				why = "its server is embedded: what drives it belongs to the same host"
				remedy = "take a database from an image, such as database: postgresql, or leave out clients"
			default:
				continue
			}
			return problem.New(problem.Invalid, "clients on another machine cannot drive "+w.Name, why, remedy)
		}
	}
	return nil
}

// checkClients notes workloads that no other machine can drive.
func (p *parser) checkClients() {
	if found := p.e.CheckClients(); found != nil && p.values["clients"] != nil {
		p.Problem(p.values["clients"], found.Text(), found.Remedy)
	}
}
