package database

import (
	"fmt"
	"path"
	"strconv"

	"go.yaml.in/yaml/v3"

	"plimsoll/internal/field"
	"plimsoll/internal/problem"
	"plimsoll/internal/workload"
)

// postgresqlKind is PostgreSQL's entry in the table.
var postgresqlKind = Kind{
	Name:    "postgresql",
	Title:   "PostgreSQL",
	Summary: "PostgreSQL from an image, with one table of the records",
	Decode:  decodePostgresql,
	Schema:  schemaOf(postgresqlParams, postgresqlDefaults),
	SQL:     true,
}

// PostgresqlParams are the parameters of PostgreSQL, by its own names. Sizes are in bytes.
type PostgresqlParams struct {
	Image             string
	SharedBuffers     int64
	SynchronousCommit bool
	MaxWALSize        int64
	CheckpointTimeout int
	FullPageWrites    bool
	MaxConnections    int
	Fillfactor        int
	IOMethod          string
	Set               Settings
}

var postgresqlDefaults = PostgresqlParams{Image: "postgresql", SharedBuffers: 64 << 20, SynchronousCommit: true,
	MaxWALSize: 256 << 20, CheckpointTimeout: 300, FullPageWrites: true, MaxConnections: 300, Fillfactor: 100,
	IOMethod: ioMethodDefault}

// postgresqlParams are all, in the order of PostgresqlParams.
var postgresqlParams = withSettings(field.Table[PostgresqlParams]{
	imageOf("postgresql", func(p *PostgresqlParams) *string { return &p.Image }),
	field.Of("shared_buffers",
		"pages that the server itself caches; what it misses is read through the page cache",
		sizeKind(1<<20, 1<<40), func(p *PostgresqlParams) *int64 { return &p.SharedBuffers }),
	field.Of("synchronous_commit",
		"a write is answered once it is on the device; without, what ends the server at once loses the "+
			"last ones, and no more",
		field.Switch, func(p *PostgresqlParams) *bool { return &p.SynchronousCommit }),
	field.Of("max_wal_size", "log after which a checkpoint is due; the log takes about as much room",
		sizeKind(32<<20, 1<<40), func(p *PostgresqlParams) *int64 { return &p.MaxWALSize }),
	field.Of("checkpoint_timeout", "seconds between checkpoints at most",
		field.Count(30, 86400), func(p *PostgresqlParams) *int { return &p.CheckpointTimeout }),
	field.Of("full_page_writes",
		"the first change of a page after a checkpoint logs all of it, which file systems that write in "+
			"place need",
		field.Switch, func(p *PostgresqlParams) *bool { return &p.FullPageWrites }),
	field.Of("max_connections", "clients at a time",
		field.Count(10, 10000), func(p *PostgresqlParams) *int { return &p.MaxConnections }),
	field.Of("fillfactor",
		"share of the table's pages that loading fills, in percent: room for updates in place",
		field.Count(10, 100), func(p *PostgresqlParams) *int { return &p.Fillfactor }),
	field.Of("io_method",
		"how pages are read, from PostgreSQL 18 on: by worker processes, io_uring, or one after the other "+
			"(sync); default: the server's own",
		field.OneOf(ioMethodDefault, "worker", ioMethodRing, "sync"),
		func(p *PostgresqlParams) *string { return &p.IOMethod }),
}, postgresqlSettable, func(p *PostgresqlParams) *Settings { return &p.Set })

// Values of io_method: the server's own, which older servers have too, and the one that needs io_uring.
const (
	ioMethodDefault = "default"
	ioMethodRing    = "io_uring"
)

// postgresqlProcesses are the processes that can read beside those of connections: 16 of autovacuum, 8 workers, 10
// senders of logs, and 8 of the server. Version 18 makes a ring for each at its start.
const postgresqlProcesses = 42

// asynchronousIO is the major version in which io_method came.
const asynchronousIO = 18

// postgresqlSettable defines the settings that are permitted for PostgreSQL.
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
	p, problems := decode(postgresqlParams, "postgresql", "{shared_buffers: 128MiB, synchronous_commit: false}", node,
		postgresqlDefaults)
	if len(problems) > 0 {
		return nil, problems
	}
	return &postgresql{p}, nil
}

// postgresqlAccount is the account of PostgreSQL in Debian's packages and in the official image: it refuses root.
const postgresqlAccount = "postgres"

// postgresqlSocket is the path of PostgreSQL's socket, which is named after the port.
const postgresqlSocket = workload.ServerDir + "/.s.PGSQL.5432"

// Parameters implements Server.
func (p *postgresql) Parameters() map[string]string { return postgresqlParams.All(&p.PostgresqlParams) }

// Layout returns the parameters that the loaded bytes depend on. The image is identified by its digest where data is
// kept.
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

// MostClients implements ClientLimiter. The last three are kept for superusers, which clients are.
func (p *postgresql) MostClients() int { return p.MaxConnections }

// Client implements Server.
func (p *postgresql) Client() Client { return Client{Name: "postgresql"} }

// Address implements Server.
func (p *postgresql) Address() Address { return Address{Socket: postgresqlSocket} }

// Image implements Server.
func (p *postgresql) Image() *workload.Image {
	i := &workload.Image{Name: p.PostgresqlParams.Image, Make: "sudo plimsoll image build postgresql",
		Account: postgresqlAccount}
	if p.IOMethod == ioMethodRing {
		i.Rings = p.MaxConnections + postgresqlProcesses
	}
	if p.IOMethod != ioMethodDefault {
		i.Major, i.Option = asynchronousIO, "io_method: "+p.IOMethod
		i.Make = fmt.Sprintf("sudo plimsoll image build postgresql-%d", asynchronousIO)
	}
	return i
}

// What PostgreSQL adds to a record: the headers of its row and of each field, and its entry in
// the index of keys, whose pages loading leaves a tenth of free; and to a database, templates
// and logs.
const (
	postgresqlRow   = 28 + 4 + 3*8
	postgresqlField = 4
	postgresqlEmpty = 128 << 20
)

// NeedBytes returns twice the data and the log for written data, since updates write new rows and the space of old
// ones is reused only after a while.
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

// PostgresqlUser owns the database and is the clients' user.
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
	if p.IOMethod != ioMethodDefault {
		argv = append(argv, "-c", "io_method="+p.IOMethod)
	}
	argv = append(
		argv,
		p.Set.mapSorted(func(name, value string) []string { return []string{"-c", name + "=" + value} })...)
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

// postgresqlCauses maps messages of PostgreSQL to causes and remedies.
var postgresqlCauses = []cause{
	{"no space left on device", "its device is full",
		"give the stack a larger size or the workload fewer records; updates need as much room again as the data takes"},
	{"disk quota exceeded", "its quota on the device is used up", "raise the quota, or take fewer records"},
	{"could not map anonymous shared memory", "it got no memory for its buffers",
		"raise the memory limit, or lower shared_buffers"},
	{"cannot allocate memory", "it got no memory", postgresqlMemory},
	{"out of memory", "it got no memory", postgresqlMemory},
	{"database files are incompatible with server", "another version of PostgreSQL made its data",
		"name the image that the data was loaded with, or have it loaded again: plimsoll data remove"},
	{"was initialized by postgresql version", "another version of PostgreSQL made its data",
		"name the image that the data was loaded with, or have it loaded again: plimsoll data remove"},
	{"could not setup io_uring", "the kernel or its container's profile refuses io_uring",
		"see plimsoll doctor (io_uring, io_uring in containers); io_method: worker needs none"},
	{"invalid value for parameter \"io_method\"", "its build lacks that io_method (io_uring needs liburing)",
		"take an image that was built with it, as the official ones are, or io_method: worker"},
	{"invalid value for parameter", "it does not take an option's value", "correct it below database"},
	{"unrecognized configuration parameter", "its version does not have an option", unknownOptionRemedy},
	{"lock file \"postmaster.pid\" already exists", "another server has its directory open",
		"end that server (plimsoll clean does, if a run left it), then run the trial again"},
	{"could not create lock file", "it may not write where its socket goes", "see the trial's artifacts"},
	{"unix-domain socket path", "the path of its socket is too long",
		"name the run's directory, stack and mix more shortly"},
	{"has group or world access", "its directory is open to others", "have its data loaded again: plimsoll data remove"},
	{"input/output error", "its device failed", "see the kernel's log (dmesg)"},
	{"read-only file system", "its file system is, or has become, read-only", "see the kernel's log (dmesg)"},
	{"too many open files", "its limit of open files is too low", "raise the limit of open files (ulimit -n)"},
	{"permission denied", "it may not open its files", "run as root"},
}

const postgresqlMemory = "raise its memory limit, or lower shared_buffers: it takes that, some 10 MiB for each " +
	"client, and 64 MiB for what it does by itself"

// Failed implements Server.
func (p *postgresql) Failed(exit workload.Exit) *problem.Problem {
	return explainExit(postgresqlKind.Title, postgresqlCauses, postgresqlMemory, exit)
}
