package database

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"plimsoll/internal/problem"
	"plimsoll/internal/workload"
)

// Options of clients of servers that somebody else started.
const (
	SchemaOption      = "schema"      // the schema, database or keyspace of the records
	LoadOption        = "load"        // "true": it is Plimsoll's to make
	ReplaceOption     = "replace"     // "true": what is there under that name goes, whosever it is
	CredentialsOption = "credentials" // where user:password is: "file:PATH" or "env:NAME"
	TLSOption         = "tls"         // "true"
	CAOption          = "ca"          // path of a certificate that the server's is signed with
)

// DSNParams are those of a server that somebody else started, and that is reached by what its driver calls a
// DSN or URI.
type DSNParams struct {
	DSN    string `yaml:"dsn,omitempty" jsonschema_description:"of a server that runs already: env:NAME or file:PATH, where its driver's DSN or URI is; the experiment never has it"`
	Schema string `yaml:"schema,omitempty" jsonschema:"default=plimsoll" jsonschema_description:"with dsn: the schema (PostgreSQL) or database (MySQL, MongoDB) that has the records"`
	Load   bool   `yaml:"load,omitempty" jsonschema:"default=false" jsonschema_description:"with dsn: the schema is made and filled by each bring-up, and may be written to; else it is only read"`
}

// AddressParams are those of a cluster of Cassandra that somebody else started.
type AddressParams struct {
	Address     []string `yaml:"address,omitempty" jsonschema_description:"of a cluster that runs already: HOST:PORT of some of its nodes"`
	Keyspace    string   `yaml:"keyspace,omitempty" jsonschema:"default=plimsoll" jsonschema_description:"with address: the keyspace that has the records"`
	Load        bool     `yaml:"load,omitempty" jsonschema:"default=false" jsonschema_description:"with address: the keyspace is made and filled by each bring-up, and may be written to; else it is only read"`
	Credentials string   `yaml:"credentials,omitempty" jsonschema_description:"with address: env:NAME or file:PATH, where user:password is"`
	TLS         bool     `yaml:"tls,omitempty" jsonschema:"default=false" jsonschema_description:"with address: connections are encrypted, and the server's name is checked"`
	CA          string   `yaml:"ca,omitempty" jsonschema_description:"with tls: path of the certificate that the server's is signed with"`
}

// reached are the parameters of either.
type reached struct {
	Remote, Schema, Credentials, CA string
	Load, TLS                       bool
}

var (
	schemaName  = regexp.MustCompile(`^[a-z][a-z0-9_]{0,47}$`)
	nodeAddress = regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9._-]{0,252}|\[[0-9A-Fa-f:.]{2,45}\]):[0-9]{1,5}$`)
	environment = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,100}$`)
)

// systemSchemas are schemas, databases and keyspaces that servers have for themselves.
var systemSchemas = []string{"mysql", "sys", "information_schema", "performance_schema", "public", "admin", "local",
	"config", "system", "postgres"}

// mostNodes is how many addresses of a cluster are taken.
const mostNodes = 100

// schema is the parameter that names what has the records, which each kind of server calls otherwise.
func schema(key string) param[reached] {
	set := func(p *reached, text string) error {
		if !schemaName.MatchString(text) || slices.Contains(systemSchemas, text) || strings.HasPrefix(text, "pg_") ||
			strings.HasPrefix(text, "system_") {
			return errors.New("write a name of its own: small letters, digits and _, and none that the server has for itself")
		}
		p.Schema = text
		return nil
	}
	return param[reached]{key: key, get: func(p reached) string { return p.Schema }, set: set}
}

// secret is a parameter that says where something is that nobody is to see. What was written is not repeated:
// it may be the secret.
func secret(key string, field func(*reached) *string) param[reached] {
	return param[reached]{key: key, get: func(p reached) string { return *field(&p) },
		nested: func(p *reached, kind string, _ []string, node *yaml.Node) (problems problem.List) {
			from, at, _ := strings.Cut(node.Value, ":")
			switch {
			case node.Kind == yaml.ScalarNode && from == "env" && environment.MatchString(at):
			case node.Kind == yaml.ScalarNode && from == "file" && path.IsAbs(at) && path.Clean(at) == at:
			default:
				problems.InLine(node.Line, fmt.Sprintf("%s of %s says where it is, and never what", key, kind),
					"write env:NAME, of a variable, or file:PATH, of a file that only you may read, from / on")
				return problems
			}
			*field(p) = node.Value
			return nil
		}}
}

// addresses is the parameter that has nodes of a cluster.
func addresses(key string) param[reached] {
	return param[reached]{key: key, get: func(p reached) string { return p.Remote },
		nested: func(p *reached, _ string, _ []string, node *yaml.Node) (problems problem.List) {
			all := node.Content
			if node.Kind == yaml.ScalarNode {
				all = []*yaml.Node{node}
			}
			var nodes []string
			for _, n := range all {
				port, err := strconv.Atoi(n.Value[strings.LastIndexByte(n.Value, ':')+1:])
				if !nodeAddress.MatchString(n.Value) || err != nil || port < 1 || port > mostPort {
					problems.InLine(n.Line, fmt.Sprintf("%s: %q cannot be used", key, n.Value),
						"write HOST:PORT, such as 10.0.0.5:9042")
				}
				nodes = append(nodes, n.Value)
			}
			if len(nodes) == 0 || len(nodes) > mostNodes {
				problems.InLine(node.Line, key+" needs one node and at most 100", "write address: [10.0.0.5:9042]")
			}
			p.Remote = strings.Join(nodes, ",")
			return problems
		}}
}

// reachedByDSN and reachedByAddress are the parameters of both, by the key that tells that a server is elsewhere.
var (
	reachedByDSN = table[reached]{
		secret("dsn", func(p *reached) *string { return &p.Remote }), schema("schema"),
		toggle("load", func(p *reached) *bool { return &p.Load }),
	}
	reachedByAddress = table[reached]{
		addresses("address"), schema("keyspace"), toggle("load", func(p *reached) *bool { return &p.Load }),
		secret("credentials", func(p *reached) *string { return &p.Credentials }),
		toggle("tls", func(p *reached) *bool { return &p.TLS }),
		absolute("ca", func(p *reached) *string { return &p.CA }),
	}
)

// absolute is a path that does not depend on where a process runs.
func absolute(key string, field func(*reached) *string) param[reached] {
	p := word(key, field)
	set := p.set
	p.set = func(to *reached, text string) error {
		if !path.IsAbs(text) {
			return errors.New("write a path from / on")
		}
		return set(to, text)
	}
	return p
}

// orElsewhere returns the kind, of which a server may also be one that somebody else started.
func orElsewhere(k Kind, client string, reach table[reached]) Kind {
	own, first := k.Decode, reach[0].key
	k.Decode = func(node *yaml.Node) (Server, problem.List) {
		node = resolved(node)
		if node == nil || !hasKey(node, first) {
			return own(node)
		}
		p, problems := reach.decode(k.Name, "{"+first+": ...}", node, reached{Schema: "plimsoll"})
		if p.CA != "" && !p.TLS {
			problems.InLine(node.Line, "ca has no effect without tls", "add tls: true")
		}
		if len(problems) > 0 {
			return nil, problems
		}
		return &elsewhere{p, k, client, reach}, nil
	}
	return k
}

// hasKey reports whether a mapping has a key.
func hasKey(node *yaml.Node, key string) bool {
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == key {
			return true
		}
	}
	return false
}

// elsewhere is a server that somebody else started.
type elsewhere struct {
	reached
	kind   Kind
	client string
	table  table[reached]
}

// Parameters implements Server.
func (e *elsewhere) Parameters() map[string]string { return e.table.all(e.reached) }

// Layout implements Server.
func (e *elsewhere) Layout() string {
	return fmt.Sprintf("elsewhere-1-%s-%s-%s", e.kind.Name, e.Remote, e.Schema)
}

// NeedBytes is none of this host's.
func (e *elsewhere) NeedBytes(Dataset, bool) int64 { return 0 }

// Settings implements Server.
func (e *elsewhere) Settings() Settings { return nil }

// NeedMemory is none of this host's.
func (e *elsewhere) NeedMemory(int) int64 { return 0 }

// Image implements Server.
func (e *elsewhere) Image() *workload.Image { return nil }

// Load is nothing that runs beside the data: the client makes the schema.
func (e *elsewhere) Load(string, Dataset) workload.Step { return workload.Step{} }

// Serve is nothing: it runs already.
func (e *elsewhere) Serve(string) workload.Step { return workload.Step{} }

// Address implements Server.
func (e *elsewhere) Address() Address { return Address{Remote: e.Remote} }

// Client implements Server.
func (e *elsewhere) Client() Client {
	options := map[string]string{SchemaOption: e.Schema}
	for name, value := range map[string]string{CredentialsOption: e.Credentials, CAOption: e.CA} {
		if value != "" {
			options[name] = value
		}
	}
	for name, on := range map[string]bool{LoadOption: e.reached.Load, TLSOption: e.TLS} {
		if on {
			options[name] = "true"
		}
	}
	return Client{Name: e.client, Options: options}
}

// Failed implements Server.
func (e *elsewhere) Failed(exit workload.Exit) *problem.Problem {
	return failed(e.kind.Title, nil, "", exit)
}
