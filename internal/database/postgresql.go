package database

import (
	"fmt"
	"path"
	"strconv"

	"go.yaml.in/yaml/v3"

	"plimsoll/internal/problem"
	"plimsoll/internal/workload"
)

// postgresqlKind is PostgreSQL's entry in the table.
var postgresqlKind = Kind{
	Name:    "postgresql",
	Title:   "PostgreSQL",
	Summary: "PostgreSQL from an image, with one table of the records",
	Decode:  decodePostgresql,
	Params:  PostgresqlParams{},
	SQL:     true,
}

// PostgresqlParams are the parameters of PostgreSQL, by its own names. Sizes are in bytes.
type PostgresqlParams struct {
	Image             string   `yaml:"image,omitempty" jsonschema:"default=postgresql" jsonschema_description:"what it runs from: an image that is kept (plimsoll image list), by its name or the beginning of its digest"`
	SharedBuffers     int64    `yaml:"shared_buffers,omitempty" jsonschema:"oneof_type=string;integer,default=64MiB" jsonschema_description:"pages that the server itself caches; what it misses is read through the page cache"`
	SynchronousCommit bool     `yaml:"synchronous_commit,omitempty" jsonschema:"default=true" jsonschema_description:"a write is answered once it is on the device; without, what ends the server at once loses the last ones, and no more"`
	MaxWALSize        int64    `yaml:"max_wal_size,omitempty" jsonschema:"oneof_type=string;integer,default=256MiB" jsonschema_description:"log after which a checkpoint is due; the log takes about as much room"`
	CheckpointTimeout int      `yaml:"checkpoint_timeout,omitempty" jsonschema:"minimum=30,maximum=86400,default=300" jsonschema_description:"seconds between checkpoints at most"`
	FullPageWrites    bool     `yaml:"full_page_writes,omitempty" jsonschema:"default=true" jsonschema_description:"the first change of a page after a checkpoint logs all of it, which file systems that write in place need"`
	MaxConnections    int      `yaml:"max_connections,omitempty" jsonschema:"minimum=10,maximum=10000,default=300" jsonschema_description:"clients at a time"`
	Fillfactor        int      `yaml:"fillfactor,omitempty" jsonschema:"minimum=10,maximum=100,default=100" jsonschema_description:"share of the table's pages that loading fills, in percent: room for updates in place"`
	Set               Settings `yaml:"set,omitempty" jsonschema_description:"options of the server that have no parameter here, by its own names; what a promise of Plimsoll depends on is refused"`

	DSNParams `yaml:",inline"`
}

// postgresqlParams are all, in the order of PostgresqlParams.
var postgresqlParams = table[PostgresqlParams]{
	word("image", func(p *PostgresqlParams) *string { return &p.Image }),
	size("shared_buffers", 1<<20, 1<<40, func(p *PostgresqlParams) *int64 { return &p.SharedBuffers }),
	toggle("synchronous_commit", func(p *PostgresqlParams) *bool { return &p.SynchronousCommit }),
	size("max_wal_size", 32<<20, 1<<40, func(p *PostgresqlParams) *int64 { return &p.MaxWALSize }),
	count("checkpoint_timeout", 30, 86400, func(p *PostgresqlParams) *int { return &p.CheckpointTimeout }),
	toggle("full_page_writes", func(p *PostgresqlParams) *bool { return &p.FullPageWrites }),
	count("max_connections", 10, 10000, func(p *PostgresqlParams) *int { return &p.MaxConnections }),
	count("fillfactor", 10, 100, func(p *PostgresqlParams) *int { return &p.Fillfactor }),
	settings(postgresqlSettable, func(p *PostgresqlParams) *Settings { return &p.Set }),
}

// postgresqlSettable is what may be set of PostgreSQL.
var postgresqlSettable = settable{refused: map[string]string{
	ofDurability: "fsync zero_damaged_pages ignore_checksum_failure ignore_invalid_pages data_sync_retry " +
		"synchronous_standby_names default_transaction_read_only",
	ofPlimsoll: "port listen_addresses unix_socket_* external_pid_file temp_tablespaces default_tablespace " +
		"log_destination logging_collector log_filename stats_temp_directory search_path",
	ofPrograms: "jit_provider primary_* archive_* restore_* recovery_* local_preload_libraries",
	ofAccess:   "ssl* krb_* password_encryption role session_*",
}}

// postgresql is a server of PostgreSQL.
type postgresql struct{ PostgresqlParams }

func decodePostgresql(node *yaml.Node) (Server, problem.List) {
	p, problems := postgresqlParams.decode("postgresql", "{shared_buffers: 128MiB, synchronous_commit: false}", node,
		PostgresqlParams{Image: "postgresql", SharedBuffers: 64 << 20, SynchronousCommit: true, MaxWALSize: 256 << 20,
			CheckpointTimeout: 300, FullPageWrites: true, MaxConnections: 300, Fillfactor: 100})
	if len(problems) > 0 {
		return nil, problems
	}
	return &postgresql{p}, nil
}

// postgresqlAccount is who PostgreSQL runs as, in Debian's packages and in the official image:
// it refuses root.
const postgresqlAccount = "postgres"

// postgresqlSocket is what PostgreSQL calls its socket, after its port.
const postgresqlSocket = workload.ServerDir + "/.s.PGSQL.5432"

// Parameters implements Server.
func (p *postgresql) Parameters() map[string]string { return postgresqlParams.all(p.PostgresqlParams) }

// Layout has what the loaded bytes depend on. Which image has the name is said by its digest
// where data is kept.
func (p *postgresql) Layout() string {
	return fmt.Sprintf("postgresql-1-%d-%s", p.Fillfactor, p.PostgresqlParams.Image)
}

// Settings implements Server.
func (p *postgresql) Settings() Settings { return p.Set }

// NeedMemory of each client is what its process has of its own when it has done little.
func (p *postgresql) NeedMemory(clients int) int64 {
	return p.SharedBuffers + postgresqlBeside + int64(clients)*postgresqlOwn
}

// What PostgreSQL takes of memory at the least beside its buffers, and for each client.
const (
	postgresqlBeside = 24 << 20
	postgresqlOwn    = 2 << 20
)

// MostClients implements Connected. The last three are kept for superusers, which clients are.
func (p *postgresql) MostClients() int { return p.MaxConnections }

// Client implements Server.
func (p *postgresql) Client() Client { return Client{Name: "postgresql"} }

// Address implements Server.
func (p *postgresql) Address() Address { return Address{Socket: postgresqlSocket} }

// Image implements Server.
func (p *postgresql) Image() *workload.Image {
	return &workload.Image{Name: p.PostgresqlParams.Image, Make: "sudo plimsoll image build postgresql",
		Account: postgresqlAccount}
}

// What PostgreSQL adds to a record: the headers of its row and of each field, and its entry in
// the index of keys, whose pages loading leaves a tenth of free; and to a database, templates
// and logs.
const (
	postgresqlRow   = 28 + 4 + 3*8
	postgresqlField = 4
	postgresqlEmpty = 128 << 20
)

// NeedBytes of what is written to is twice the data, since rows are written anew and the room
// of old ones is used again only after a while; and the log.
func (p *postgresql) NeedBytes(d Dataset, written bool) int64 {
	row := d.RecordBytes() + int64(d.Fields)*postgresqlField + postgresqlRow + 2*int64(KeyBytes)
	data := d.Records*row*100/int64(p.Fillfactor) + d.Records*row/8 + postgresqlEmpty
	if !written {
		return data + p.MaxWALSize
	}
	return 2*data + 2*p.MaxWALSize
}

// Load implements Server.
func (p *postgresql) Load(dir string, d Dataset) workload.Step {
	plan := LoadPlan{
		Client: p.Client().Name, At: p.Address(), Dataset: d,
		Make: [][]string{{"initdb", "--pgdata=" + DataDir, "--username=" + PostgresqlUser, "--auth=trust",
			"--encoding=UTF8", "--no-locale", "--no-instructions"}},
		// Nothing is lost that could not be loaded again.
		Serve: append(p.serve(DataDir), "-c", "fsync=off", "-c", "full_page_writes=off", "-c", "autovacuum=off",
			"-c", "max_wal_size=4GB", "-c", "maintenance_work_mem=128MB", "-c", "wal_level=minimal", "-c", "max_wal_senders=0"),
		Options: map[string]string{"fillfactor": strconv.Itoa(p.Fillfactor)},
		Ends:    postgresqlEnds,
	}
	return plan.step(dir)
}

// postgresqlEnds ends it without waiting for clients to go.
const postgresqlEnds = "INT"

// PostgresqlUser owns the database, and is who clients are.
const PostgresqlUser = "plimsoll"

// Serve implements Server.
func (p *postgresql) Serve(dir string) workload.Step {
	argv := append(p.serve(dir),
		"-c", "shared_buffers="+kilobytes(p.SharedBuffers),
		"-c", "synchronous_commit="+onOff(p.SynchronousCommit),
		"-c", "full_page_writes="+onOff(p.FullPageWrites),
		"-c", "max_wal_size="+strconv.FormatInt(p.MaxWALSize>>20, 10)+"MB",
		"-c", "checkpoint_timeout="+strconv.Itoa(p.CheckpointTimeout)+"s",
		"-c", "max_connections="+strconv.Itoa(p.MaxConnections),
	)
	argv = append(argv, p.Set.each(func(name, value string) []string { return []string{"-c", name + "=" + value} })...)
	return workload.Step{Argv: argv, Ends: postgresqlEnds}
}

// serve is the command line that loading and serving share.
func (p *postgresql) serve(dir string) []string {
	return []string{"postgres", "-D", dir, "-k", workload.ScratchDir + "/" + workload.ServerDir,
		"-p", path.Ext(postgresqlSocket)[1:], "-c", "listen_addresses=", "-c", "unix_socket_permissions=0700",
		"-c", "logging_collector=off", "-c", "log_destination=stderr"}
}

func kilobytes(bytes int64) string { return strconv.FormatInt(bytes>>10, 10) + "kB" }

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// postgresqlCauses are what PostgreSQL says, and what follows.
var postgresqlCauses = []cause{
	{"no space left on device", "its device is full",
		"give the stack a larger size or the workload fewer records; updates need as much room again as the data takes"},
	{"disk quota exceeded", "its quota on the device is used up", "raise the quota, or take fewer records"},
	{"could not map anonymous shared memory", "it got no memory for its buffers",
		"raise the memory limit, or lower shared_buffers"},
	{"cannot allocate memory", "it got no memory", postgresqlMemory},
	{"out of memory", "it got no memory", postgresqlMemory},
	{"database files are incompatible with server", "another version of PostgreSQL made its data",
		"name the image that the data was loaded with, or have it loaded anew: plimsoll data remove"},
	{"was initialized by postgresql version", "another version of PostgreSQL made its data",
		"name the image that the data was loaded with, or have it loaded anew: plimsoll data remove"},
	{"invalid value for parameter", "it does not take an option's value", "correct it below database"},
	{"unrecognized configuration parameter", "its version does not have an option", otherOption},
	{"lock file \"postmaster.pid\" already exists", "another server has its directory open",
		"end that server (plimsoll clean does, if a run left it), then run the trial again"},
	{"could not create lock file", "it may not write where its socket goes", "see the trial's artifacts"},
	{"unix-domain socket path", "the path of its socket is too long",
		"name the run's directory, stack and mix more shortly"},
	{"has group or world access", "its directory is open to others", "have its data loaded anew: plimsoll data remove"},
	{"input/output error", "its device failed", "see the kernel's log (dmesg)"},
	{"read-only file system", "its file system is, or has become, read-only", "see the kernel's log (dmesg)"},
	{"too many open files", "it may not open as many files", "raise the limit of open files (ulimit -n)"},
	{"permission denied", "it may not open its files", "run as root"},
}

const postgresqlMemory = "raise its memory limit, or lower shared_buffers: it takes that, some 10 MiB for each " +
	"client, and 64 MiB for what it does by itself"

// Failed implements Server.
func (p *postgresql) Failed(exit workload.Exit) *problem.Problem {
	return failed(postgresqlKind.Title, postgresqlCauses, postgresqlMemory, exit)
}
