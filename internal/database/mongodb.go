package database

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"plimsoll/internal/field"
	"plimsoll/internal/problem"
	"plimsoll/internal/workload"
)

// mongodbKind is MongoDB's entry in the table.
var mongodbKind = Kind{
	Name:    "mongodb",
	Title:   "MongoDB",
	Summary: "MongoDB from an image, one server, with one collection of the records",
	Decode:  decodeMongodb,
	Schema:  schemaOf(mongodbParams, mongodbDefaults),
}

// MongodbParams are the parameters of MongoDB, by its own names or those of its storage engine, WiredTiger.
// Sizes are in bytes.
type MongodbParams struct {
	Image      string
	Cache      int64
	Journal    bool
	Commit     int
	Delay      int
	Compressor string
	Set        Settings
}

var mongodbDefaults = MongodbParams{Image: "mongo", Cache: 256 << 20, Commit: 100, Delay: 60, Compressor: "snappy"}

// mongodbParams are all, in the order of MongodbParams.
var mongodbParams = withSettings(field.Table[MongodbParams]{
	imageOf("mongo", func(p *MongodbParams) *string { return &p.Image }),
	field.Of("cache_size",
		"of WiredTiger: pages that the server itself caches, uncompressed; what it misses goes through "+
			"the page cache",
		sizeKind(256<<20, 1<<40), func(p *MongodbParams) *int64 { return &p.Cache }),
	field.Of("journal",
		"a write is answered once the journal on the device has it; false: once it is in memory, and the "+
			"journal is written every journalCommitInterval",
		field.Switch, func(p *MongodbParams) *bool { return &p.Journal }),
	field.Of("journalCommitInterval", "milliseconds between two writes of the journal that no client waits for",
		field.Count(1, 500), func(p *MongodbParams) *int { return &p.Commit }),
	field.Of("syncdelay", "seconds between two checkpoints, which write all that has changed",
		field.Count(1, 3600), func(p *MongodbParams) *int { return &p.Delay }),
	field.Of("block_compressor", "of pages in files",
		field.OneOf("none", "snappy", "zlib", "zstd"), func(p *MongodbParams) *string { return &p.Compressor }),
}, mongodbSettable, func(p *MongodbParams) *Settings { return &p.Set })

// mongodbSettable defines the settings that are permitted: server parameters. WiredTiger's own configuration is
// refused, since it holds paths, sizes and logging in one text.
var mongodbSettable = settable{mixedCase: true, refused: map[string]string{
	ofPlimsoll: "processUmask unixSocket* honorSystemUmask diagnosticDataCollectionDirectoryPath logpath bind* port",
	ofAccess: "auth* enableLocalhostAuthBypass ssl* tls* ldap* sasl* scram* openssl* aws* kmip* jwks* oidc* " +
		"internalProfiling* test* enableTestCommands",
	ofDurability: "journal* writePeriodicNoops syncdelay recoverFromOplogAsStandalone skipShardingConfigurationChecks " +
		"takeUnstableCheckpointOnShutdown startupRecoveryForRestore readOnly* wiredTigerSkip*",
	ofPrograms: "javascript* js* fail* disable* mongot* search* queryAnalysis* watchdog*",
	ofLayout:   "wiredTigerEngine* wiredTigerDirectory* storage* featureFlag* featureCompatibility*",
	"cache_size, a parameter, says how large the cache is": "wiredTigerCache*",
}}

// mongodb is a server of MongoDB, which is no part of a replica set.
type mongodb struct{ MongodbParams }

func decodeMongodb(node *yaml.Node) (Server, problem.List) {
	p, problems := decode(mongodbParams, "mongodb", "{cache_size: 512MiB, journal: true}", node,
		mongodbDefaults)
	if len(problems) > 0 {
		return nil, problems
	}
	return &mongodb{p}, nil
}

const (
	mongodbPort = 27017 // in the container, where nobody asks it
	// mongodbSocket is named after the port by the server itself.
	mongodbSocket = workload.ServerDir + "/mongodb-27017.sock"
)

// MongodbDatabase is the database of the collection of records.
const MongodbDatabase = "plimsoll"

// MongodbJournal is an option of the client's: "true" has writes answered once the journal has them.
const MongodbJournal = "journal"

// Parameters implements Server.
func (m *mongodb) Parameters() map[string]string { return mongodbParams.All(&m.MongodbParams) }

// Layout returns the parameters that the loaded bytes depend on: see postgresql's.
func (m *mongodb) Layout() string {
	return fmt.Sprintf("mongodb-1-%s-%s", m.Compressor, m.MongodbParams.Image)
}

// Settings implements Server.
func (m *mongodb) Settings() Settings { return m.Set }

// What MongoDB takes of memory at the least beside its cache, and for each client: the stack of its thread.
const (
	mongodbBeside = 96 << 20
	mongodbOwn    = 1 << 20
)

// NeedMemory implements Server.
func (m *mongodb) NeedMemory(clients int) int64 {
	return m.Cache + mongodbBeside + int64(clients)*mongodbOwn
}

// Client implements Server.
func (m *mongodb) Client() Client {
	return Client{Name: "mongodb", Options: map[string]string{MongodbJournal: strconv.FormatBool(m.Journal)}}
}

// Address implements Server.
func (m *mongodb) Address() Address { return Address{Socket: mongodbSocket} }

// Image implements Server.
func (m *mongodb) Image() *workload.Image {
	return &workload.Image{Name: m.MongodbParams.Image, Make: "sudo plimsoll image pull mongo", Account: "mongodb"}
}

// What MongoDB adds to a record: the document's length and end, its key, names and types of fields, and what
// pages hold of each; and to a database, its journal, which has two files of 100 MiB and one that is
// prepared, its own collections, and what it writes down about itself.
const (
	mongodbRow   = 40
	mongodbField = 13
	mongodbEmpty = 448 << 20
)

// NeedBytes returns twice the data for written data: checkpoints write new pages before old ones are free.
func (m *mongodb) NeedBytes(d Dataset, written bool) int64 {
	row := d.RecordBytes() + 2*int64(KeyBytes) + mongodbRow + int64(d.Fields)*mongodbField
	data := d.Records*row*9/8 + mongodbEmpty
	if !written {
		return data
	}
	return data + d.Records*row
}

// Load implements Server.
func (m *mongodb) Load(dir string, d Dataset) workload.Step {
	loading := *m
	loading.Cache, loading.Set = max(m.Cache, 512<<20), nil
	return LoadPlan{Client: m.Client().Name, At: m.Address(), Dataset: d}.Serving(loading.Serve(DataDir)).step(dir)
}

// Serve implements Server.
func (m *mongodb) Serve(dir string) workload.Step {
	return workload.Step{Argv: append([]string{"mongod", "--dbpath=" + dir, "--quiet",
		"--bind_ip=127.0.0.1", "--port=" + strconv.Itoa(mongodbPort),
		"--unixSocketPrefix=" + workload.ScratchDir + "/" + workload.ServerDir,
		"--wiredTigerCacheSizeGB=" + strconv.FormatFloat(float64(m.Cache)/(1<<30), 'f', -1, 64),
		"--wiredTigerCollectionBlockCompressor=" + m.Compressor,
		"--journalCommitInterval=" + strconv.Itoa(m.Commit), "--syncdelay=" + strconv.Itoa(m.Delay)},
		m.Set.mapSorted(func(name, value string) []string { return []string{"--setParameter", name + "=" + value} })...)}
}

// mongodbCauses maps messages of MongoDB to causes and remedies.
var mongodbCauses = []cause{
	{"no space left on device", "its device is full",
		"give the stack a larger size or the workload fewer records; updates need room in addition to the data"},
	{"disk is full", "its device is full", "give the stack a larger size or the workload fewer records"},
	{"cannot allocate memory", "it got no memory", mongodbMemory},
	{"out of memory", "it got no memory", mongodbMemory},
	{"unrecognised option", "its version does not have an option", unknownOptionRemedy},
	{"error parsing command line", "its version does not take an option so", unknownOptionRemedy},
	{"unknown --setparameter", "its version does not have an option", unknownOptionRemedy},
	{"illegal --setparameter", "its version does not have an option", unknownOptionRemedy},
	{"bad value for parameter", "an option has a value that it does not take", unknownOptionRemedy},
	{"wrong mongod version", "another version made its data", mongodbVersion},
	{"upgrade problem", "another version made its data", mongodbVersion},
	{"too recent to start up on the existing data files", "another version made its data", mongodbVersion},
	{"unsupported wiredtiger file version", "another version made its data", mongodbVersion},
	{"dbpathinuse", "another server has its directory open",
		"end that server (plimsoll clean does, if a run left it), then run the trial again"},
	{"address already in use", "another server answers on its socket", "run the trial again"},
	{"input/output error", "its device failed", "see the kernel's log (dmesg)"},
	{"read-only file system", "its file system is, or has become, read-only", "see the kernel's log (dmesg)"},
	{"wt_panic", "its data is damaged",
		"see the kernel's log (dmesg), and have the data loaded again: plimsoll data remove"},
	{"too many open files", "its limit of open files is too low", "raise the limit of open files (ulimit -n)"},
	{"permission denied", "it may not open its files", "run as root"},
}

const (
	mongodbMemory = "raise its memory limit, or lower cache_size: it takes that, a MiB for each client, " +
		"and 100 MiB and more for what it does by itself"
	mongodbVersion = "name the image that the data was loaded with, or have it loaded again: plimsoll data remove"
)

// mongodbLine is a line of its log, as JSON.
type mongodbLine struct {
	Severity string `json:"s"` // "E", and "F" for what ends it
	Msg      string `json:"msg"`
	Attr     struct {
		Error   any `json:"error"`   // a text, or a number
		Message any `json:"message"` // a text, or what the storage engine says
	} `json:"attr"`
}

// mongodbMessages returns the messages of MongoDB's log about errors, a line for each.
func mongodbMessages(log string) string {
	var messages strings.Builder
	for text := range strings.Lines(log) {
		var line mongodbLine
		if json.Unmarshal([]byte(text), &line) != nil || line.Msg == "" {
			messages.WriteString(text)
			continue
		}
		if line.Severity != "E" && line.Severity != "F" {
			continue
		}
		messages.WriteString("[ERROR] " + line.Msg)
		for _, detail := range []any{line.Attr.Error, line.Attr.Message} {
			if engine, ok := detail.(map[string]any); ok {
				detail = engine["error_str"]
			}
			if text, ok := detail.(string); ok {
				messages.WriteString(": " + text)
			}
		}
		messages.WriteString("\n")
	}
	return messages.String()
}

// illegalInstruction is the exit code of a process that SIGILL ended.
const illegalInstruction = 128 + 4

// Failed implements Server.
func (m *mongodb) Failed(exit workload.Exit) *problem.Problem {
	if exit.Code == illegalInstruction {
		return problem.New(problem.Failed, mongodbKind.Title, "this host's processor lacks instructions that it takes (AVX)",
			"take an image of MongoDB 4.4, which does without")
	}
	exit.Stderr = mongodbMessages(exit.Stderr)
	return explainExit(mongodbKind.Title, mongodbCauses, mongodbMemory, exit)
}
