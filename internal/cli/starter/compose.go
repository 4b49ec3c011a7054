package starter

import (
	_ "embed"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"text/template"

	"plimsoll/internal/units/plural"
)

//go:embed compose.yaml.tmpl
var composeText string

var composePage = template.Must(template.New("compose").Funcs(template.FuncMap{"plain": plain}).Parse(composeText))

// ComposeService is a service of a Compose file that has no class yet.
type ComposeService struct{ Name, Image string }

// ComposeClass is a class that is proposed for services, by the names of their images alone.
type ComposeClass struct {
	Name     string   // of the class, and of the workload that measures it
	About    string   // what the workload is
	Doubt    string   // what it is not, "" for nothing
	Services []string // that have it
	Image    []string // words behind plimsoll image that get the servers' image; none for the embedded server

	workload string
	images   []string // parts of the names of images
}

// composeClasses are the classes by what images are called. The first that matches is taken.
var composeClasses = []ComposeClass{
	{Name: "mongodb", About: "YCSB's workload A on MongoDB", Image: []string{"pull", "mongo"}, images: []string{"mongo"},
		workload: "{ycsb: {workload: A, records: 100000, threads: 8, think: 5ms, database: mongodb}}"},
	{Name: "postgresql", About: "YCSB's workload A on PostgreSQL", Image: []string{"build", "postgresql"},
		images:   []string{"postgres", "postgis", "timescale", "pgvector", "spilo"},
		workload: "{ycsb: {workload: A, records: 100000, threads: 8, think: 5ms, database: postgresql}}"},
	{Name: "mariadb", About: "TPC-C on MariaDB", Image: []string{"build", "mariadb"}, images: []string{"mariadb"},
		workload: "{tpcc: {warehouses: 1, threads: 4, think: 20ms, database: mariadb}}"},
	{Name: "mysql", About: "TPC-C on MySQL", Image: []string{"build", "mysql"}, images: []string{"mysql", "percona"},
		workload: "{tpcc: {warehouses: 1, threads: 4, think: 20ms, database: mysql}}"},
	{Name: "cassandra", About: "YCSB's workload A on Cassandra", Image: []string{"build", "cassandra"},
		images:   []string{"cassandra"},
		workload: "{ycsb: {workload: A, records: 100000, threads: 8, think: 20ms, database: cassandra}}"},
	{Name: "cassandra", About: "YCSB's workload A on Cassandra", Image: []string{"build", "cassandra"},
		images: []string{"scylla"}, Doubt: "Scylla does more with a processor",
		workload: "{ycsb: {workload: A, records: 100000, threads: 8, think: 20ms, database: cassandra}}"},
	{Name: "key-value", About: "YCSB's workload A on the embedded key-value store",
		Doubt: "no built-in experiment is nearer",
		images: []string{"redis", "valkey", "keydb", "dragonfly", "etcd", "consul", "zookeeper", "elasticsearch",
			"opensearch", "solr", "kafka", "redpanda", "pulsar", "rabbitmq", "clickhouse", "influxdb", "cockroach", "tidb",
			"tikv", "minio"},
		workload: "{ycsb: {workload: A, records: 100000, threads: 8, think: 5ms}}"},
	{Name: "light", About: "few reads of the embedded key-value store",
		Doubt:    "no database that is known: replace it if it reads or writes much",
		images:   []string{""},
		workload: "{ycsb: {workload: C, records: 10000, threads: 1, think: 50ms}}"},
}

// besideDatabases are parts of names of images that have a database's name and are none.
var besideDatabases = []string{"exporter", "express", "commander", "insight", "admin", "manager", "operator", "backup",
	"proxy", "router", "connect", "registry", "dashboard", "kafdrop", "console", "client", "-ui", "-web", "akhq"}

// classOf returns the class that is nearest to an image, by its name.
func classOf(image string) ComposeClass {
	base, _, _ := strings.Cut(image, "@")
	base = strings.ToLower(path.Base(base))
	base, _, _ = strings.Cut(base, ":")
	none := slices.ContainsFunc(besideDatabases, func(part string) bool { return strings.Contains(base, part) })
	for _, c := range composeClasses {
		if !none && slices.ContainsFunc(c.images, func(part string) bool { return strings.Contains(base, part) }) {
			return c
		}
	}
	return composeClasses[len(composeClasses)-1]
}

// ComposeClasses returns the classes that are proposed for services, in the order of their first ones.
func ComposeClasses(services []ComposeService) (all []ComposeClass) {
	for _, s := range services {
		class := classOf(s.Image)
		at := slices.IndexFunc(all, func(c ComposeClass) bool { return c.Name == class.Name })
		if at < 0 {
			all, at = append(all, class), len(all)
		}
		if all[at].Doubt == "" {
			all[at].Doubt = class.Doubt
		}
		all[at].Services = append(all[at].Services, s.Name)
	}
	return all
}

// mostListed is how many services a line names.
const mostListed = 6

// Sentence says for which services the class is, and that it is a guess.
func (c ComposeClass) Sentence() string {
	names := c.Services
	if len(names) > mostListed {
		names = append(slices.Clone(names[:mostListed]), fmt.Sprintf("%d more", len(names)-mostListed))
	}
	text := fmt.Sprintf("%s: class %s, %s; a guess by the image's name", plural.And(names), c.Name, c.About)
	if c.Doubt != "" {
		text += ": " + c.Doubt
	}
	return text
}

// composeFile has the values of the template.
type composeFile struct {
	filled
	Compose, Source, About string
	Classes                []composeEntry
}

// composeEntry is a class as the template shows it.
type composeEntry struct{ Name, Workload, About string }

// WriteCompose writes an experiment that measures classes of a Compose file's services, each in three numbers at least,
// and one of each beside the others.
func WriteCompose(w io.Writer, h Host, compose string, classes []ComposeClass) error {
	f := composeFile{filled: fill(h), Compose: compose, Source: "dir:.", About: "the current directory"}
	f.Name = name("classes-of-" + strings.TrimSuffix(path.Base(compose), path.Ext(compose)))
	if place, ok := roomiest(h.Mounts); ok {
		at := slices.IndexFunc(f.Directories, func(d directory) bool { return d.Source == source("dir:"+place.Dir) })
		f.Source, f.About = f.Directories[at].Source, f.Directories[at].About
		f.Directories = slices.Delete(f.Directories, at, at+1)
	}
	for _, c := range classes {
		f.Classes = append(f.Classes, composeEntry{c.Name, c.workload, c.Sentence()})
	}
	return composePage.Execute(w, f)
}
