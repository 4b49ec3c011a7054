package database

import (
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"plimsoll/internal/field"
	"plimsoll/internal/problem"
	"plimsoll/internal/workload"
)

// MysqlParams are the parameters of MySQL and MariaDB, by their own names. Sizes are in bytes.
type MysqlParams struct {
	Image       string
	Layout      string
	BufferPool  int64
	FlushLog    int
	Doublewrite bool
	FlushMethod string
	LogSize     int64
	IOCapacity  int
	Connections int
	Schema      bool
	Binlog      bool
	Set         Settings
}

// mysqlParams are all, in the order of MysqlParams.
var mysqlParams = withSettings(field.Table[MysqlParams]{
	imageOf("mysql", func(p *MysqlParams) *string { return &p.Image }),
	layoutOf(mysqlLayouts, mysqlLayout),
	field.Of("innodb_buffer_pool_size",
		"pages that the server itself caches; what it misses is read from the device, past the page "+
			"cache unless innodb_flush_method says otherwise",
		sizeKind(8<<20, 1<<40), func(p *MysqlParams) *int64 { return &p.BufferPool }),
	field.Of("innodb_flush_log_at_trx_commit",
		"1: a write is answered once it is on the device; 2: once the kernel has it; 0: before",
		field.Count(0, 2).Like("1"), func(p *MysqlParams) *int { return &p.FlushLog }),
	field.Of("innodb_doublewrite", "pages are written twice, which file systems that write in place need",
		field.Switch, func(p *MysqlParams) *bool { return &p.Doublewrite }),
	field.Of("innodb_flush_method", "O_DIRECT: data files are read and written past the page cache",
		field.OneOf("O_DIRECT", "fsync"), func(p *MysqlParams) *string { return &p.FlushMethod }),
	field.Of("innodb_log_file_size", "redo log in all",
		sizeKind(8<<20, 128<<30), func(p *MysqlParams) *int64 { return &p.LogSize }),
	field.Of("innodb_io_capacity", "I/Os per second that writing back dirty pages takes",
		field.Count(100, 1_000_000), func(p *MysqlParams) *int { return &p.IOCapacity }),
	field.Of("max_connections", "clients at a time",
		field.Count(10, 100_000), func(p *MysqlParams) *int { return &p.Connections }),
	field.Of("performance_schema",
		"the server's own instruments, which take some 200 MiB of memory in MySQL",
		field.Switch, func(p *MysqlParams) *bool { return &p.Schema }),
	field.Of("log_bin",
		"a log for replicas and for recovery to a point in time, which each commit writes too",
		field.Switch, func(p *MysqlParams) *bool { return &p.Binlog }),
}, mysqlSettable, func(p *MysqlParams) *Settings { return &p.Set })

// Reasons why names are refused of either alone.
const (
	ofLog   = "innodb_log_file_size, a parameter, says how large the redo log is"
	ofWords = "its first word would change what another option does; write that option"
)

// mysqlSettable defines the settings that are permitted for MySQL and MariaDB. Options may be abbreviated, and some
// prefixes change their meaning.
var mysqlSettable = settable{abbreviates: true, foldsDashes: true,
	exact: []string{"general_log", "slow_query_log", "log_slow_query"},
	refused: map[string]string{
		ofPlimsoll: "datadir socket pid_file port bind_address basedir chroot networking name_resolve log_error* " +
			"general_log_file slow_query_log_file log_basename relay_log* named_pipe mysqlx* " +
			"tmpdir innodb_tmpdir slave_load_tmpdir replica_load_tmpdir character_sets_dir lc_messages_dir aria_log_dir_path " +
			"ft_stopword_file log_slow_query_file innodb_directories innodb_temp_tablespaces_dir innodb_buffer_pool_filename " +
			"master_info_file des_key_file extra_port report_port sql_error_log_* server_audit_*",
		ofAccess: "user local_infile keyring_* file_key_management_* caching_sha2_* sha256_* secure_* ssl* tls_* " +
			"admin_* authentication_*",
		ofDurability: "log_bin* sync_binlog sync_* innodb_force_recovery innodb_read_only read_only super_read_only " +
			"innodb_force_load_corrupted tc_heuristic_recover transaction_read_only innodb_flush_log_at_timeout " +
			"innodb_log_file_buffering innodb_log_file_write_through innodb_data_file_buffering " +
			"innodb_data_file_write_through innodb_use_atomic_writes",
		ofPrograms: "defaults_* no_* print_* help verbose version initialize* bootstrap daemonize validate_* init_* " +
			"plugin_* early_plugin_* wsrep_* upgrade component_* feedback* gdb core_file debug* replicate_*",
		ofLayout: "innodb_page_size innodb_data_file_path innodb_data_home_dir innodb_temp_data_file_path " +
			"innodb_undo_* innodb_doublewrite_* lower_case_table_names innodb_checksum_algorithm " +
			"innodb_log_group_home_dir",
		ofWords: "autoset_* loose_* skip_* disable_* enable_* maximum_*",
		ofLog:   "innodb_redo_log_* innodb_log_files_in_group",
		"innodb_buffer_pool_size and innodb_log_file_size, parameters, say what it would": "innodb_dedicated_server",
	}}

// mysqlFlavour is one of the two that have MySQL's protocol and InnoDB.
type mysqlFlavour struct {
	name, title string
	image       string
	build       string     // how to get that
	program     string     // that serves
	initialize  [][]string // that makes a data directory, as its owner
	redo        string     // option for the size of the redo log
	always      []string   // options that it is always served with
}

var mysqlFlavours = []mysqlFlavour{
	{
		name: "mysql", title: "MySQL", image: "mysql", build: "sudo plimsoll image build mysql",
		program:    "mysqld",
		initialize: [][]string{{"mysqld", "--no-defaults", "--initialize-insecure", "--datadir=" + DataDir}},
		redo:       "--innodb-redo-log-capacity=", always: []string{"--mysqlx=0"},
	},
	{
		name: "mariadb", title: "MariaDB", image: "mariadb", build: "sudo plimsoll image build mariadb", program: "mariadbd",
		initialize: [][]string{{"mariadb-install-db", "--no-defaults", "--datadir=" + DataDir, "--skip-test-db",
			"--auth-root-authentication-method=normal", "--skip-name-resolve", "--force"}},
		redo: "--innodb-log-file-size=",
	},
}

// mysqlKinds are the entries of both in the table.
func mysqlKinds() (all []Kind) {
	for _, f := range mysqlFlavours {
		all = append(all, Kind{
			Name: f.name, Title: f.title, Summary: f.title + " from an image, with one InnoDB table of the records",
			Decode: f.decode, Schema: schemaOf(mysqlParams, f.defaults()), SQL: true,
		})
	}
	return all
}

// mysql is a server of either.
type mysql struct {
	MysqlParams
	mysqlFlavour
}

func (f mysqlFlavour) defaults() MysqlParams {
	return MysqlParams{Image: f.image, Layout: defaultLayout, BufferPool: 64 << 20, FlushLog: 1, Doublewrite: true,
		FlushMethod: "O_DIRECT",
		LogSize:     96 << 20, IOCapacity: 200, Connections: 300}
}

func (f mysqlFlavour) decode(node *yaml.Node) (Server, problem.List) {
	p, problems := decodeLayout(mysqlParams, mysqlLayouts, mysqlLayout, f.name, "{innodb_buffer_pool_size: 128MiB}", node,
		f.defaults())
	if len(problems) > 0 {
		return nil, problems
	}
	l, _ := findLayout(mysqlLayouts, p.Layout)
	p.Set = p.Set.over(l.settings)
	return &mysql{p, f}, nil
}

// MysqlUser owns the database and is the clients' user; it has no password.
const MysqlUser = "root"

// MysqlDatabase is the database of the table of records.
const MysqlDatabase = "plimsoll"

const mysqlSocket = workload.ServerDir + "/mysql.sock"

// Parameters implements Server.
func (m *mysql) Parameters() map[string]string { return mysqlParams.All(&m.MysqlParams) }

// Layout returns the parameters that the loaded bytes depend on: see postgresql's.
func (m *mysql) Layout() string {
	return fmt.Sprintf("%s-1-%d-%s", m.name, m.LogSize, m.MysqlParams.Image)
}

// Settings implements Server.
func (m *mysql) Settings() Settings { return m.Set }

// NeedMemory includes, for each client, the memory of a thread with little activity.
func (m *mysql) NeedMemory(clients int) int64 {
	return m.BufferPool + mysqlBeside + int64(clients)*mysqlOwn
}

// MostClients implements ClientLimiter.
func (m *mysql) MostClients() int { return m.Connections }

// What either takes of memory at the least beside its buffer pool, and for each client.
const (
	mysqlBeside = 48 << 20
	mysqlOwn    = 1 << 19
)

// Client implements Server.
func (m *mysql) Client() Client { return Client{Name: "mysql"} }

// Address implements Server.
func (m *mysql) Address() Address { return Address{Socket: mysqlSocket} }

// Image implements Server.
func (m *mysql) Image() *workload.Image {
	return &workload.Image{Name: m.MysqlParams.Image, Make: m.build, Account: "mysql"}
}

// What InnoDB adds to a record: its header, those of fields, and the sixteenth of a page that stays
// free; and to a database, its dictionary, undo logs and the space for temporary tables.
const (
	mysqlRow   = 32
	mysqlField = 2
	mysqlEmpty = 192 << 20
)

// NeedBytes returns one and a half times the data for written data, as pages are split and undo is kept.
func (m *mysql) NeedBytes(d Dataset, written bool) int64 {
	row := d.RecordBytes() + int64(KeyBytes) + mysqlRow + int64(d.Fields)*mysqlField
	data := d.Records*row*9/8 + m.LogSize + mysqlEmpty
	if !written {
		return data
	}
	return data + d.Records*row
}

// Load implements Server.
func (m *mysql) Load(dir string, d Dataset) workload.Step {
	return LoadPlan{
		Client: m.Client().Name, At: m.Address(), Dataset: d, Make: m.initialize,
		// Nothing is lost that could not be loaded again; and nothing is left to be done by who opens it.
		Serve: append(m.serve(DataDir), "--innodb-flush-log-at-trx-commit=0", "--skip-innodb-doublewrite",
			"--innodb-fast-shutdown=0", "--innodb-buffer-pool-size=256M", "--innodb-io-capacity=20000",
			"--performance-schema=off"),
		Ends: "TERM",
	}.step(dir)
}

// Serve implements Server.
func (m *mysql) Serve(dir string) workload.Step {
	options := append(m.serve(dir),
		"--innodb-buffer-pool-size="+strconv.FormatInt(m.BufferPool, 10),
		"--innodb-flush-log-at-trx-commit="+strconv.Itoa(m.FlushLog),
		"--innodb-doublewrite="+onOff(m.Doublewrite),
		"--innodb-flush-method="+m.FlushMethod,
		"--innodb-io-capacity="+strconv.Itoa(m.IOCapacity),
		"--max-connections="+strconv.Itoa(m.Connections),
		"--performance-schema="+onOff(m.Schema),
	)
	if m.Binlog {
		options = append(options, "--server-id=1", "--log-bin=binlog", "--sync-binlog=1")
	}
	options = append(options, m.Set.mapSorted(func(name, value string) []string {
		return []string{"--" + name + "=" + value}
	})...)
	return workload.Step{Argv: options}
}

// serve returns the command line that loading and serving share.
func (m *mysql) serve(dir string) []string {
	scratch := workload.ScratchDir + "/" + workload.ServerDir
	options := []string{m.program, "--no-defaults", "--datadir=" + dir,
		"--socket=" + workload.ScratchDir + "/" + mysqlSocket, "--pid-file=" + scratch + "/pid",
		"--skip-networking", "--skip-name-resolve",
		m.redo + strconv.FormatInt(m.LogSize, 10)}
	if !m.Binlog {
		options = append(options, "--skip-log-bin")
	}
	return append(options, m.always...)
}

// mysqlCauses maps messages of MySQL and MariaDB to causes and remedies.
var mysqlCauses = []cause{
	{"no space left on device", "its device is full",
		"give the stack a larger size or the workload fewer records; updates need room in addition to the data"},
	{"error number 28", "its device is full", "give the stack a larger size or the workload fewer records"},
	{"disk is full", "its device is full", "give the stack a larger size or the workload fewer records"},
	{"cannot allocate memory for the buffer pool", "it got no memory for its buffers",
		"raise the memory limit, or lower innodb_buffer_pool_size"},
	{"out of memory", "it got no memory", mysqlMemory},
	{"unknown variable", "its version does not have an option", unknownOptionRemedy},
	{"unknown option", "its version does not have an option", unknownOptionRemedy},
	{"invalid mysql server upgrade", "another version made its data", mysqlVersion},
	{"invalid mysql server downgrade", "another version made its data", mysqlVersion},
	{"upgrade after a crash is not supported", "another version made its data", mysqlVersion},
	{"ib_logfile0 was not found", "another version made its data", mysqlVersion},
	{"unsupported redo log format", "another version made its data", mysqlVersion},
	{"unable to lock ./ibdata1", "another server has its directory open",
		"end that server (plimsoll clean does, if a run left it), then run the trial again"},
	{"another process with pid", "another server answers on its socket", "run the trial again"},
	{"the socket file path is too long", "the path of its socket is too long",
		"name the run's directory, stack and mix more shortly"},
	{"corrupt", "its data is damaged",
		"see the kernel's log (dmesg), and have the data loaded again: plimsoll data remove"},
	{"input/output error", "its device failed", "see the kernel's log (dmesg)"},
	{"read-only file system", "its file system is, or has become, read-only", "see the kernel's log (dmesg)"},
	{"permission denied", "it may not open its files", "run as root"},
	// It does not always say why it could not.
	{"err == db_success", mysqlUnwritten, mysqlRoom}, {"got signal 6", mysqlUnwritten, mysqlRoom},
}

const (
	mysqlUnwritten = "it gave up, most likely since its device is full or failed"
	mysqlRoom      = "see what the server says in the trial's artifacts and the kernel's log (dmesg); " +
		"give the stack a larger size or the workload fewer records"
	mysqlMemory = "raise its memory limit, or lower innodb_buffer_pool_size: it takes that, some MiB for each client, " +
		"and 150 MiB for what it does by itself"
	mysqlVersion = "name the image that the data was loaded with, or have it loaded again: plimsoll data remove"
)

// Failed implements Server.
func (m *mysql) Failed(exit workload.Exit) *problem.Problem {
	// Said of every assertion that does not hold, whatever the data is like.
	exit.Stderr = strings.ReplaceAll(exit.Stderr, "corruption in the InnoDB tablespace", "")
	return explainExit(m.title, mysqlCauses, mysqlMemory, exit)
}
