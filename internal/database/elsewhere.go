package database

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"
	"go.yaml.in/yaml/v3"

	"plimsoll/internal/field"
	"plimsoll/internal/problem"
	"plimsoll/internal/workload"
)

// Options of clients of servers that somebody else started.
const (
	SchemaOption  = "schema"  // the schema, database or keyspace of the records
	LoadOption    = "load"    // "true": it is Plimsoll's to make
	ReplaceOption = "replace" // "true": what is there under that name goes, whosever it is
	TLSOption     = "tls"     // "true"
	CAOption      = "ca"      // path of a certificate that the server's is signed with
)

// remoteParams are the parameters of a server elsewhere.
type remoteParams struct {
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

// maxNodes bounds the number of addresses of a cluster.
const maxNodes = 100

// schemaParam returns the parameter for the name of the schema with the records, which each kind of server calls
// otherwise.
func schemaParam(key, help string) field.Field[remoteParams] {
	allowed := func(text string) bool {
		return schemaName.MatchString(text) && !slices.Contains(systemSchemas, text) &&
			!strings.HasPrefix(text, "pg_") && !strings.HasPrefix(text, "system_")
	}
	return field.Of(key, help, field.Text("a name of small letters, digits and _, and none of the server's own",
		"bench", allowed), func(p *remoteParams) *string { return &p.Schema })
}

// text describes a value to editors that is no more than a text.
func text() *jsonschema.Schema { return &jsonschema.Schema{Type: "string"} }

// secretParam returns a parameter for the source of a secret. Errors do not repeat its value, which may be the
// secret.
func secretParam(key, help string) field.Field[remoteParams] {
	return field.Nested(key, help, text, func(r *field.Reader, p *remoteParams, n *yaml.Node, _ string) bool {
		kind, source, _ := strings.Cut(n.Value, ":")
		switch {
		case n.Kind == yaml.ScalarNode && kind == "env" && environment.MatchString(source):
		case n.Kind == yaml.ScalarNode && kind == "file" && path.IsAbs(source) && path.Clean(source) == source:
		default:
			r.Problem(n, key+" says where it is, and never what",
				"write env:NAME, of a variable, or file:PATH, of a file that only you may read, from / on")
			return false
		}
		p.Credentials = n.Value
		return true
	}).Shown(func(p *remoteParams) string { return p.Credentials })
}

// node is the address of a node of a cluster.
var node = field.Text("HOST:PORT", "10.0.0.5:9042", func(text string) bool {
	port, err := strconv.Atoi(text[strings.LastIndexByte(text, ':')+1:])
	return nodeAddress.MatchString(text) && err == nil && port >= 1 && port <= mostPort
})

// addresses is the parameter that has nodes of a cluster.
func addresses(key, help string) field.Field[remoteParams] {
	describe := func() *jsonschema.Schema { return &jsonschema.Schema{Type: "array", Items: node.Schema()} }
	return field.Nested(key, help, describe, func(r *field.Reader, p *remoteParams, n *yaml.Node, _ string) bool {
		before := len(r.Problems)
		entries := n.Content
		if n.Kind == yaml.ScalarNode {
			entries = []*yaml.Node{n}
		}
		var nodes []string
		for _, entry := range entries {
			address, _ := field.Value(r, entry, key, node)
			nodes = append(nodes, address)
		}
		if len(nodes) == 0 || len(nodes) > maxNodes {
			r.Problem(n, key+" needs one node and at most 100", "write address: ["+node.Example+"]")
		}
		p.Remote = strings.Join(nodes, ",")
		return len(r.Problems) == before
	}).Shown(func(p *remoteParams) string { return p.Remote })
}

// makeParam returns the parameter that permits making a schema.
func makeParam(help string) field.Field[remoteParams] {
	return field.Of("load", help+" is made and filled by each setup, and may be written to; else it is only read",
		field.Switch, func(p *remoteParams) *bool { return &p.Load })
}

// reachedByDSN and reachedByAddress are the parameters of both, by the key that tells that a server is elsewhere.
var (
	reachedByDSN = field.Table[remoteParams]{
		secretParam("dsn", "of a server that runs already: env:NAME or file:PATH, where its driver's DSN or URI is; the "+
			"experiment never has it"),
		schemaParam("schema", "with dsn: the schema (PostgreSQL) or database (MySQL, MongoDB) that has the records"),
		makeParam("with dsn: the schema"),
	}
	reachedByAddress = field.Table[remoteParams]{
		addresses("address", "of a cluster that runs already: HOST:PORT of some of its nodes"),
		schemaParam("keyspace", "with address: the keyspace that has the records"),
		makeParam("with address: the keyspace"),
		secretParam("credentials", "with address: env:NAME or file:PATH, where user:password is"),
		field.Of("tls", "with address: connections are encrypted, and the server's name is checked", field.Switch,
			func(p *remoteParams) *bool { return &p.TLS }),
		field.Of("ca", "with tls: path of the certificate that the server's is signed with",
			field.Text("a path from / on", "/etc/ssl/ca.pem", absolute), func(p *remoteParams) *string { return &p.CA }),
	}
	reachedDefaults = remoteParams{Schema: "plimsoll"}
)

// absolute reports whether a text is a path of one word that does not depend on where a process runs.
func absolute(text string) bool {
	return path.IsAbs(text) && !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' })
}

// orElsewhere returns the kind, of which a server may also be one that somebody else started.
func orElsewhere(k Kind, client string, reach field.Table[remoteParams]) Kind {
	decodeOwn, schema, first := k.Decode, k.Schema, reach[0].Key
	k.Schema = func() *jsonschema.Schema {
		all := schema()
		for pair := reach.Schema(&reachedDefaults).Properties.Oldest(); pair != nil; pair = pair.Next() {
			all.Properties.Set(pair.Key, pair.Value)
		}
		return all
	}
	k.Decode = func(node *yaml.Node) (Server, problem.List) {
		if node == nil || !hasKey(node, first) {
			return decodeOwn(node)
		}
		p, problems := decode(reach, k.Name, "{"+first+": ...}", node, reachedDefaults)
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
	remoteParams
	kind   Kind
	client string
	table  field.Table[remoteParams]
}

// Parameters implements Server.
func (e *elsewhere) Parameters() map[string]string { return e.table.All(&e.remoteParams) }

// Layout implements Server.
func (e *elsewhere) Layout() string {
	return fmt.Sprintf("elsewhere-1-%s-%s-%s", e.kind.Name, e.Address().Remote, e.Schema)
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

// Address implements Server. A DSN says itself where the server is.
func (e *elsewhere) Address() Address {
	return Address{Remote: cmp.Or(e.Remote, e.Credentials), Credentials: e.Credentials}
}

// Client implements Server.
func (e *elsewhere) Client() Client {
	options := map[string]string{SchemaOption: e.Schema}
	if e.CA != "" {
		options[CAOption] = e.CA
	}
	for name, on := range map[string]bool{LoadOption: e.remoteParams.Load, TLSOption: e.TLS} {
		if on {
			options[name] = "true"
		}
	}
	return Client{Name: e.client, Options: options}
}

// Failed implements Server.
func (e *elsewhere) Failed(exit workload.Exit) *problem.Problem {
	return explainExit(e.kind.Title, nil, "", exit)
}
