package database

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"plimsoll/internal/field"
	"plimsoll/internal/problem"
	"plimsoll/internal/units"
	"plimsoll/internal/workload"
)

// cassandraKind is Cassandra's entry in the table.
var cassandraKind = Kind{
	Name:    "cassandra",
	Title:   "Cassandra",
	Summary: "Cassandra from an image, one node, with one table of the records",
	Decode:  decodeCassandra,
	Schema:  schemaOf(cassandraParams, cassandraDefaults),
}

// CassandraParams are the parameters of Cassandra, by its own names where it has one. Sizes are in bytes.
type CassandraParams struct {
	Image       string
	Layout      string
	Heap        int64
	Memtable    int64
	Compaction  string
	Compacted   bool
	Compression string
	Chunk       int64
	Sync        string
	KeyCache    int64
	RowCache    int64
	Reads       int
	Writes      int
	JIT         string
	Set         Settings
}

var cassandraDefaults = CassandraParams{Image: "cassandra", Layout: defaultLayout, Heap: 256 << 20, Memtable: 48 << 20,
	Compaction: sizeTiered, Compacted: true, Compression: uncompressed, Chunk: 64 << 10, Sync: "periodic",
	KeyCache: 8 << 20, Reads: 32, Writes: 32, JIT: "c1"}

// Values of compaction and compression that the code looks at.
const (
	sizeTiered   = "size-tiered"
	leveled      = "leveled"
	uncompressed = "none"
)

// cassandraParams are all, in the order of CassandraParams.
var cassandraParams = withSettings(field.Table[CassandraParams]{
	imageOf("cassandra", func(p *CassandraParams) *string { return &p.Image }),
	layoutOf(cassandraLayouts, cassandraLayout),
	field.Of("heap", "of the Java virtual machine, which it holds from the start",
		sizeKind(128<<20, 64<<30), func(p *CassandraParams) *int64 { return &p.Heap }),
	field.Of("memtable_heap_space", "writes that are gathered in the heap before they become files",
		sizeKind(8<<20, 16<<30), func(p *CassandraParams) *int64 { return &p.Memtable }),
	field.Of("compaction", "how files are merged; unified since 5.0",
		field.OneOf(sizeTiered, leveled, "unified"), func(p *CassandraParams) *string { return &p.Compaction }),
	field.Of("compacted", "true: loaded data is compacted into as few files as possible; false: files stay as flushes "+
		"and "+
		"compactions left them", field.Switch, func(p *CassandraParams) *bool { return &p.Compacted }),
	field.Of("compression", "of files, by chunks",
		field.OneOf(slices.Sorted(maps.Keys(cassandraCompressors))...),
		func(p *CassandraParams) *string { return &p.Compression }),
	field.Of("chunk_length", "bytes that are compressed, and read, together; a power of 2", sizeKind(1<<10, 1<<20).
		Where("a power of 2, from 1KiB to 1MiB", func(n int64) bool { return n&(n-1) == 0 }),
		func(p *CassandraParams) *int64 { return &p.Chunk }),
	field.Of("commitlog_sync",
		"batch and group: a write is answered once it is on the device; periodic: at once, and the log "+
			"is written every ten seconds",
		field.OneOf("periodic", "batch", "group"), func(p *CassandraParams) *string { return &p.Sync }),
	field.Of("key_cache_size", "positions of keys in files",
		sizeKind(0, 1<<40), func(p *CassandraParams) *int64 { return &p.KeyCache }),
	field.Of("row_cache_size", "records, outside of the heap",
		sizeKind(0, 1<<40), func(p *CassandraParams) *int64 { return &p.RowCache }),
	field.Of("concurrent_reads", "reads at a time",
		field.Count(2, 1024), func(p *CassandraParams) *int { return &p.Reads }),
	field.Of("concurrent_writes", "writes at a time",
		field.Count(2, 1024), func(p *CassandraParams) *int { return &p.Writes }),
	field.Of("jit",
		"c1: the simple compiler alone, which is steady at once; full: the optimizing one too, which "+
			"takes a minute and more to be",
		field.OneOf("c1", "full"), func(p *CassandraParams) *string { return &p.JIT }),
}, cassandraSettable, func(p *CassandraParams) *Settings { return &p.Set })

// ofCassandraSize is the reason for refusing other names of a parameter.
const ofCassandraSize = "it is another name of a parameter"

// cassandraSettable defines the settings that are permitted: keys of cassandra.yaml.
var cassandraSettable = settable{refused: map[string]string{
	ofPlimsoll: "cluster_name endpoint_snitch seed_provider listen_* rpc_* broadcast_* start_native_transport " +
		"native_transport_port* storage_* internode_* cdc_* auto_bootstrap",
	ofLayout: "partitioner num_tokens initial_token",
	ofDurability + "; commitlog_sync, a parameter, says it": "commitlog_sync*",
	ofDurability: "commitlog_disk_access_mode disk_failure_policy commit_failure_policy ideal_consistency_level",
	ofAccess: "auth* role_manager network_authorizer cidr_* internode_authenticator client_encryption* " +
		"server_encryption*",
	ofPrograms: "crypto_provider row_cache_class_name commitlog_compression hints_compression " +
		"user_defined_functions* scripted_* diagnostic_* audit_*",
	ofCassandraSize: "memtable_heap_space_* memtable_offheap_space* key_cache_size_* row_cache_size_*",
}}

// cassandra is a server of Cassandra, one node that is alone.
type cassandra struct{ CassandraParams }

func decodeCassandra(node *yaml.Node) (Server, problem.List) {
	p, problems := decodeLayout(cassandraParams, cassandraLayouts, cassandraLayout, "cassandra",
		"{heap: 512MiB, commitlog_sync: batch}", node, cassandraDefaults)
	p = p.completed()
	if p.Memtable > p.Heap/2 {
		problems.InLine(node.Line, "memtable_heap_space is more than half of the heap, and the rest is needed",
			"write "+units.FormatSize(p.Heap/4)+", or raise heap")
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return &cassandra{p}, nil
}

// Where Cassandra answers, in a network of its own.
const (
	cassandraPort   = 9042
	cassandraManage = 7199 // nodetool speaks to it there while data is laid out
)

// CassandraKeyspace is the keyspace of the table of records.
const CassandraKeyspace = "plimsoll"

// CassandraTable is an option of the loading client: the properties of the table of records.
const CassandraTable = "table"

// cassandraPatience bounds the start of a server: eight that share a processor take eight times as long as one.
const cassandraPatience = 5 * time.Minute

// Parameters implements Server.
func (c *cassandra) Parameters() map[string]string { return cassandraParams.All(&c.CassandraParams) }

// Layout returns the parameters that the loaded bytes depend on: see postgresql's. Files that are not compacted after
// loading depend on what flushed and compacted them meanwhile.
func (c *cassandra) Layout() string {
	layout := "cassandra-2-" + c.Compaction
	if c.Compression != uncompressed {
		layout += fmt.Sprintf("-%s-%d", c.Compression, c.Chunk)
	}
	if !c.Compacted {
		layout += fmt.Sprintf("-flushed-%d-%d-%s-%s", c.Heap, c.Memtable, c.Set["concurrent_compactors"],
			c.Set["compaction_throughput"])
	}
	return layout + "-" + c.CassandraParams.Image
}

// Settings implements Server.
func (c *cassandra) Settings() Settings { return c.Set }

// NeedMemory implements Server. Clients share connections.
func (c *cassandra) NeedMemory(int) int64 {
	return c.Heap + c.RowCache + cassandraOverhead + c.directMemory() - cassandraDirect
}

// directMemory returns the limit of the JVM's buffers outside the heap. Each thread that reads or compacts compressed
// files has buffers of its own there.
func (c *cassandra) directMemory() int64 {
	if c.Compression == uncompressed {
		return cassandraDirect
	}
	return 4 * cassandraDirect
}

// cassandraDirect is the limit of buffers outside of the heap without compression.
const cassandraDirect = 64 << 20

// Client implements Server.
func (c *cassandra) Client() Client { return Client{Name: "cassandra"} }

// Address implements Server.
func (c *cassandra) Address() Address { return Address{Port: cassandraPort} }

// Image implements Server.
func (c *cassandra) Image() *workload.Image {
	return &workload.Image{Name: c.CassandraParams.Image, Make: "sudo plimsoll image build cassandra",
		Account: "cassandra"}
}

// What Cassandra adds to a record: headers of its partition, row and cells, its entries in the
// index and the filter; and to a database, the log and its own tables.
const (
	cassandraRow   = 48
	cassandraField = 4
	cassandraLog   = 128 << 20
)

// dataBytes returns the size of the records in files.
func (c *cassandra) dataBytes(d Dataset) int64 {
	return d.Records * (d.RecordBytes() + int64(d.Fields)*cassandraField + 2*int64(KeyBytes) + cassandraRow)
}

// NeedBytes returns the data, its log, and for written data the flushes of memtables, with the same room again to merge
// these. Leveled compactions rewrite a tenth of the data at a time. What size-tiered and unified ones need besides
// is in MergeBytes, since not all servers of a drive merge their largest files at the same time.
func (c *cassandra) NeedBytes(d Dataset, written bool) int64 {
	data := c.dataBytes(d)
	if !written {
		return data + cassandraLog
	}
	need := data + cassandraLog + 4*c.Memtable
	if c.Compaction == leveled {
		need += data / 10
	}
	return need
}

// MergeBytes implements Merger: size-tiered and unified compactions may rewrite all of a server's data at once.
func (c *cassandra) MergeBytes(d Dataset) int64 {
	if c.Compaction == leveled {
		return 0
	}
	return c.dataBytes(d)
}

// cassandraOverhead is a server's memory beside its heap and its row cache: classes, code and threads of the JVM,
// network buffers, and metadata of files.
const cassandraOverhead = 256 << 20

// cassandraClasses maps the values of the compaction parameter to classes.
var cassandraClasses = map[string]string{"size-tiered": "SizeTieredCompactionStrategy",
	"leveled": "LeveledCompactionStrategy", "unified": "UnifiedCompactionStrategy"}

// cassandraCompressors maps the values of the compression parameter to classes; "" for none.
var cassandraCompressors = map[string]string{uncompressed: "", "lz4": "LZ4Compressor", "snappy": "SnappyCompressor",
	"deflate": "DeflateCompressor", "zstd": "ZstdCompressor"}

// compressor returns the table's option of compression.
func (c *cassandra) compressor() string {
	class := cassandraCompressors[c.Compression]
	if class == "" {
		return "{'enabled': 'false'}"
	}
	return fmt.Sprintf("{'class': '%s', 'chunk_length_in_kb': '%d'}", class, c.Chunk>>10)
}

// Load implements Server. The commit log is off while records are loaded; then they are compacted into as few files
// as possible, unless files stay as they are, and memtables are flushed.
func (c *cassandra) Load(dir string, d Dataset) workload.Step {
	loading := *c
	loading.RowCache, loading.Sync, loading.JIT = 0, "periodic", "full"
	if c.Compacted {
		loading.Heap, loading.Memtable, loading.Set = max(c.Heap, 512<<20), max(c.Memtable, 128<<20), nil
	}
	served := loading.serve(DataDir, "-Dcassandra.jmx.local.port="+strconv.Itoa(cassandraManage))
	kept := c.classes()
	if kept != "" {
		// Java 11, of Cassandra 4.1, has no such option.
		served.Argv = slices.Insert(
			served.Argv,
			1,
			"-XX:+IgnoreUnrecognizedVMOptions",
			"-Xlog:cds=error",
			"-XX:ArchiveClassesAtExit="+
				workload.ScratchDir+"/"+workload.ServerDir+"/"+path.Base(kept),
		)
	}
	tool := func(args ...string) []string {
		argv := append([]string{"java", "-Xmx64m", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData"}, openModules()...)
		argv = append(argv, "-Duser.home=/tmp", "-Dlogback.configurationFile="+cassandraLogsAt, "-cp", cassandraJars,
			"org.apache.cassandra.tools.NodeTool", "-h", "127.0.0.1", "-p", strconv.Itoa(cassandraManage))
		return append(argv, args...)
	}
	finish := [][]string{tool("drain")}
	if c.Compacted {
		finish = slices.Insert(finish, 0, tool("compact", CassandraKeyspace))
	}
	return LoadPlan{
		Client: c.Client().Name, At: c.Address(), Dataset: d, Keeps: kept, Finish: finish,
		Options: map[string]string{CassandraTable: "compression = " + c.compressor() + " AND caching = " +
			"{'keys': 'ALL', 'rows_per_partition': 'ALL'} AND compaction = {'class': '" + cassandraClasses[c.Compaction] + "'}"},
	}.Serving(served).step(dir)
}

// Serve implements Server.
func (c *cassandra) Serve(dir string) workload.Step {
	step := c.serve(dir)
	step.Kept = c.classes()
	if step.Kept != "" {
		step.Argv = slices.Insert(step.Argv, 1, "-XX:SharedArchiveFile="+step.Kept)
	}
	return step
}

// classes returns the path, in the image's root, of the archive of Java's classes, which spares a server a quarter of
// its start. The JVM checks it against its own version and the jars. It is named by the options that have to be equal;
// "" for a heap of 32 GiB and more, where pointers have another size than while data is loaded.
func (c *cassandra) classes() string {
	if c.Heap >= 32<<30 {
		return ""
	}
	hash := sha256.Sum256([]byte(strings.Join(append(openModules(), cassandraJars), " ")))
	return path.Join(path.Dir(path.Dir(cassandraJars)), "plimsoll-"+hex.EncodeToString(hash[:6])+".jsa")
}

// cassandraJars is the class path in the official image.
const cassandraJars = "/opt/cassandra/lib/*"

// Files of a server's configuration, in its scratch directory.
const (
	cassandraConfig = "cassandra.yaml"
	cassandraLogs   = "logback.xml"
	cassandraHosts  = "hosts"
	cassandraLogsAt = "file://" + workload.ScratchDir + "/" + cassandraLogs
)

// cassandraModules are the packages of the JVM that Cassandra needs access to, from its own jvm17-server.options.
const cassandraModules = "jdk.unsupported/sun.misc java.base/jdk.internal.misc java.base/jdk.internal.ref " +
	"java.base/sun.nio.ch java.management.rmi/com.sun.jmx.remote.internal.rmi java.rmi/sun.rmi.registry " +
	"java.rmi/sun.rmi.server java.sql/java.sql java.base/java.io java.base/java.lang java.base/java.lang.module " +
	"java.base/java.lang.ref java.base/java.lang.reflect java.base/java.math java.base/java.net java.base/java.nio " +
	"java.base/java.util java.base/java.util.concurrent java.base/java.util.concurrent.atomic " +
	"java.base/jdk.internal.loader java.base/jdk.internal.math java.base/jdk.internal.module " +
	"java.base/jdk.internal.reflect java.base/jdk.internal.util.jar java.base/sun.security.ssl " +
	"jdk.management/com.sun.management.internal"

// openModules returns the JVM options that grant Cassandra this access.
func openModules() (options []string) {
	for _, of := range strings.Fields(cassandraModules) {
		options = append(options, "--add-exports="+of+"=ALL-UNNAMED", "--add-opens="+of+"=ALL-UNNAMED")
	}
	return options
}

// serve is the step of a server, with options of the JVM besides.
func (c *cassandra) serve(dir string, options ...string) workload.Step {
	scratch := workload.ScratchDir + "/" + workload.ServerDir
	heap := strconv.FormatInt(c.Heap>>20, 10) + "m"
	argv := []string{"java", "-Xms" + heap, "-Xmx" + heap, "-XX:+UseG1GC", "-XX:+AlwaysPreTouch", "-XX:-UsePerfData",
		"-XX:+ExitOnOutOfMemoryError", "-XX:MaxDirectMemorySize=" + strconv.FormatInt(c.directMemory()>>20, 10) + "m",
		"-XX:ErrorFile=" + scratch + "/hs_err.log"}
	if c.JIT == "c1" {
		argv = append(argv, "-XX:TieredStopAtLevel=1")
	}
	argv = append(append(argv, openModules()...), "-Djdk.attach.allowAttachSelf=true",
		"-Dcassandra-foreground=yes", // else it closes what it says that on
		"-Djava.net.preferIPv4Stack=true",
		"-Djdk.net.hosts.file="+workload.ScratchDir+"/"+cassandraHosts,
		"-Djava.io.tmpdir="+scratch, "-Djna.tmpdir="+scratch, "-Dio.netty.native.workdir="+scratch,
		"-Dcassandra.config=file://"+workload.ScratchDir+"/"+cassandraConfig,
		"-Dlogback.configurationFile="+cassandraLogsAt,
		"-Dcassandra.storagedir="+dir, "-Dcassandra.skip_wait_for_gossip_to_settle=0", "-Dcassandra.ring_delay_ms=1",
		// At its start, it fills a table to see how much memory a row takes: the 100,000 rows of the default are a third
		// of the start, and 1,000 show the same 180 or 181 bytes.
		"-Dcassandra.memtable_row_overhead_computation_step=1000")
	argv = append(append(argv, options...), "-cp", cassandraJars, "org.apache.cassandra.service.CassandraDaemon")
	return workload.Step{Argv: argv, EndCodes: []int{143}, Patience: cassandraPatience,
		Warms: c.JIT == "full", Starts: 5500 * time.Millisecond,
		Files: map[string][]byte{cassandraConfig: []byte(c.config(dir)), cassandraLogs: []byte(cassandraLogging),
			cassandraHosts: []byte("127.0.0.1 localhost\n")}}
}

// config returns cassandra.yaml. Other settings have Cassandra's defaults.
func (c *cassandra) config(dir string) string {
	var text strings.Builder
	set := func(key string, value any) {
		if _, other := c.Set[key]; !other {
			fmt.Fprintf(&text, "%s: %v\n", key, value)
		}
	}
	set("cluster_name", "plimsoll")
	set("partitioner", "org.apache.cassandra.dht.Murmur3Partitioner")
	set("num_tokens", 1)
	set("endpoint_snitch", "SimpleSnitch")
	set("seed_provider",
		`[{class_name: org.apache.cassandra.locator.SimpleSeedProvider, parameters: [{seeds: 127.0.0.1}]}]`)
	set("listen_address", "127.0.0.1")
	set("rpc_address", "127.0.0.1")
	set("start_native_transport", true)
	set("native_transport_port", cassandraPort)
	set("data_file_directories", "["+path.Join(dir, "data")+"]")
	for _, kind := range []string{"commitlog", "saved_caches", "hints", "cdc_raw"} {
		set(kind+"_directory", path.Join(dir, kind))
	}
	set("commitlog_sync", c.Sync)
	switch c.Sync {
	case "periodic":
		set("commitlog_sync_period", "10s")
	case "group":
		set("commitlog_sync_group_window", "10ms")
	}
	set("commitlog_segment_size", "16MiB")
	set("commitlog_total_space", mebibytes(cassandraLog/2))
	set("memtable_heap_space", mebibytes(c.Memtable))
	set("memtable_offheap_space", mebibytes(c.Memtable))
	set("memtable_allocation_type", "heap_buffers")
	set("key_cache_size", mebibytes(c.KeyCache))
	set("row_cache_size", mebibytes(c.RowCache))
	set("key_cache_save_period", "0s")
	set("row_cache_save_period", "0s")
	set("counter_cache_size", "0MiB")
	set("networking_cache_size", "16MiB")
	set("concurrent_reads", c.Reads)
	set("concurrent_writes", c.Writes)
	set("concurrent_compactors", 1)
	set("compaction_throughput", "0MiB/s")
	set("disk_access_mode", "standard")
	set("disk_failure_policy", "die")
	set("commit_failure_policy", "die")
	set("hinted_handoff_enabled", false)
	set("auto_snapshot", false)
	set("batch_size_fail_threshold", "64MiB")
	set("batch_size_warn_threshold", "64MiB")
	for _, name := range c.Set.names() {
		fmt.Fprintf(&text, "%s: %s\n", name, c.Set[name])
	}
	return text.String()
}

// mebibytes is a size in the unit that sizes of caches have.
func mebibytes(bytes int64) string { return strconv.FormatInt((bytes+1<<20-1)>>20, 10) + "MiB" }

// cassandraLogging configures logging of warnings and errors to standard error, which is kept.
const cassandraLogging = `<configuration>
  <appender name="STDERR" class="ch.qos.logback.core.ConsoleAppender">
    <target>System.err</target>
    <encoder><pattern>[%level] %logger{0}: %msg%n%ex{8}</pattern></encoder>
  </appender>
  <root level="WARN"><appender-ref ref="STDERR"/></root>
</configuration>
`

// cassandraCauses maps messages of Cassandra and its JVM to causes and remedies.
var cassandraCauses = []cause{
	{"no space left on device", "its device is full", cassandraRoom},
	{"insufficient disk space", "its device is full", cassandraRoom},
	{"not enough space", "its device is full", cassandraRoom},
	{"unsafe memory access", "its device is full, or fails, while it writes its log", cassandraRoom}, // which is mapped
	{"disk quota exceeded", "its quota on the device is used up", "raise the quota, or take fewer records"},
	{"java heap space", "its heap is used up",
		"raise heap, and the memory limit by as much, or lower memtable_heap_space"},
	{"gc overhead limit exceeded", "its heap is used up", "raise heap, and the memory limit by as much"},
	{"insufficient memory for the java runtime", "it got no memory", cassandraMemory},
	{"could not reserve enough space", "it got no memory for its heap", cassandraMemory},
	{"cannot reserve", "it got no memory outside of its heap", cassandraMemory},
	{"unable to create native thread", "its limit of threads is too low", "raise the limit of processes (ulimit -u)"},
	{"unrecognized option", "its Java does not have an option", "take an image of Cassandra 5.0 or 4.1"},
	{"unrecognized vm option", "its Java does not have an option", "take an image of Cassandra 5.0 or 4.1"},
	{"could not create the java virtual machine", "its Java does not start", "take an image of Cassandra 5.0 or 4.1"},
	{"could not find or load main class", "the image has no Cassandra in /opt/cassandra", "take the official image, " +
		"or the one that plimsoll image build cassandra makes"},
	{"please remove properties", "its version does not have an option", unknownOptionRemedy},
	{"invalid yaml", "it does not take its configuration", unknownOptionRemedy},
	{"unsupported sstable version", "another version made its data", cassandraVersion},
	{"unreadable sstables", "another version made its data", cassandraVersion},
	{"cannot downgrade", "another version made its data", cassandraVersion},
	{"corrupt", "its data is damaged",
		"see the kernel's log (dmesg), and have the data loaded again: plimsoll data remove"},
	{"input/output error", "its device failed", "see the kernel's log (dmesg)"},
	{"read-only file system", "its file system is, or has become, read-only", "see the kernel's log (dmesg)"},
	{"too many open files", "its limit of open files is too low", "raise the limit of open files (ulimit -n)"},
	{"address already in use", "another server is on its port", "run the trial again"},
	{"permission denied", "it may not open its files", "run as root"},
}

const (
	cassandraRoom    = "give the stack a larger size or the workload fewer records; compactions need as much room again"
	cassandraMemory  = "raise its memory limit, or lower heap: it takes that, row_cache_size, and 256 MiB besides"
	cassandraVersion = "name the image that the data was loaded with, or have it loaded again: plimsoll data remove"
)

// Failed implements Server.
func (c *cassandra) Failed(exit workload.Exit) *problem.Problem {
	return explainExit(cassandraKind.Title, cassandraCauses, cassandraMemory, exit)
}
