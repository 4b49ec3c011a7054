package database

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

func kindNamed(t *testing.T, name string) Kind {
	t.Helper()
	for _, k := range All() {
		if k.Name == name {
			return k
		}
	}
	t.Fatalf("no database is called %s", name)
	return Kind{}
}

func decodeSet(t *testing.T, kind, set string) (Server, string) {
	t.Helper()
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte("set: "+set+"\n"), &doc); err != nil {
		t.Fatal(err)
	}
	s, problems := kindNamed(t, kind).Decode(doc.Content[0])
	return s, problems.Error()
}

// What has no parameter reaches the server by its own name, and is told with the parameters.
func TestSettingsReachTheServer(t *testing.T) {
	for _, c := range []struct{ kind, set, want string }{
		{"postgresql", "{work_mem: 8MB, random_page_cost: 1.1}", "-c random_page_cost=1.1 -c work_mem=8MB"},
		{"mysql", "{innodb-read-io-threads: 2, general_log: 0}", "--general_log=0 --innodb_read_io_threads=2"},
		{"mariadb", "{sql_mode: 'STRICT_ALL_TABLES,ANSI_QUOTES'}", "--sql_mode=STRICT_ALL_TABLES,ANSI_QUOTES"},
		{"cassandra", "{concurrent_compactors: 2}", "\nconcurrent_compactors: 2\n"},
		{"mongodb", "{wiredTigerConcurrentReadTransactions: 64}", "--setParameter wiredTigerConcurrentReadTransactions=64"},
	} {
		s, problems := decodeSet(t, c.kind, c.set)
		if s == nil {
			t.Errorf("%s %s: %s", c.kind, c.set, problems)
			continue
		}
		step := s.Serve("/data")
		served := strings.Join(step.Argv, " ")
		for _, file := range step.Files {
			served += "\n" + string(file)
		}
		if strings.Count(served, c.want) != 1 {
			t.Errorf("%s %s is served by %s", c.kind, c.set, served)
		}
		if strings.Count(served, "concurrent_compactors:") > 1 {
			t.Errorf("%s: what is set does not replace what Plimsoll has: %s", c.kind, served)
		}
		if len(s.Settings()) == 0 || s.Parameters()["set"] == "none" {
			t.Errorf("%s %s is shown as %v", c.kind, c.set, s.Parameters())
		}
		if plain, _ := kindNamed(t, c.kind).Decode(nil); plain.Layout() != s.Layout() {
			t.Errorf("%s: the layout of data depends on what is set after it was laid out", c.kind)
		}
	}
}

// Nothing that is set moves data or sockets, weakens what an answer promises unsaid, runs programs, or
// hides a parameter; however it is written.
func TestSettingsThatAreRefused(t *testing.T) {
	for _, c := range []struct{ kind, set, says string }{
		{"postgresql", "{fsync: off}", "answer promises"},
		{"postgresql", "{data_directory: x}", "where a server's data is"},
		{"postgresql", "{unix_socket_directories: x}", "where it answers"},
		{"postgresql", "{archive_command: touch}", "run or load"},
		{"postgresql", "{shared_preload_libraries: x}", "run or load"},
		{"postgresql", "{shared_buffers: 1GB}", "is a parameter"},
		{"postgresql", "{FSYNC: off}", "no name of an option"},
		{"postgresql", "{'a=1 -c fsync': off}", "no name of an option"},
		{"postgresql", "{work_mem: '/etc/passwd'}", "cannot be used"},
		{"postgresql", "{work_mem: \"1MB\\nfsync=off\"}", "cannot be used"},
		{"postgresql", "{work_mem: [1]}", "needs one value"},
		{"postgresql", "{set: {}}", "is a parameter"},
		{"postgresql", "[work_mem]", "by its own names"},
		{"mysql", "{datadir: x}", "where a server's data is"},
		{"mysql", "{datad: x}", "it is how datadir begins"},
		{"mysql", "{sock: x}", "it is how socket begins"},
		{"mysql", "{innodb-flush-log-at-trx: 0}", "is a parameter"},
		{"mysql", "{innodb_buffer_pool_siz: 1}", "is a parameter"},
		{"mysql", "{skip-innodb-doublewrite: 1}", "its first word"},
		{"mysql", "{loose_datadir: x}", "its first word"},
		{"mysql", "{innodb_redo_log_capacity: 1}", "innodb_log_file_size"},
		{"mysql", "{init_file: x}", "run or load"},
		{"mysql", "{plugin-load-add: x.so}", "run or load"},
		{"mysql", "{general_log_fil: x}", "it is how general_log_file begins"},
		{"mariadb", "{wsrep_provider: x}", "run or load"},
		{"mariadb", "{innodb_page_size: 4096}", "laid out before"},
		{"cassandra", "{data_file_directories: x}", "where a server's data is"},
		{"cassandra", "{commitlog_sync_period: 1h}", "answer promises"},
		{"cassandra", "{disk_failure_policy: ignore}", "answer promises"},
		{"cassandra", "{native_transport_port: 1}", "where it answers"},
		{"cassandra", "{key_cache_size_in_mb: 1}", "another name of a parameter"},
		{"cassandra", "{concurrent_compactors: '1 # x'}", "cannot be used"},
		{"mongodb", "{wiredTigerEngineRuntimeConfig: 'log=(enabled=false)'}", "laid out before"},
		{"mongodb", "{journalCommitInterval: 1}", "is a parameter"},
		{"mongodb", "{enableTestCommands: 1}", "who may connect"},
		{"mongodb", "{unixSocketPermissions: 777}", "where it answers"},
		{"mongodb", "{watchdogPeriodSeconds: 60}", "run or load"},
		{"mongodb", "{'net.port': 1}", "no name of an option"},
		{"mongodb", "{diagnosticDataCollectionDirectoryPath: x}", "where a server's data is"},
		{"cassandra", "{concurrent_compactors: '{a: b}'}", "cannot be used"},
	} {
		s, problems := decodeSet(t, c.kind, c.set)
		if s != nil || !strings.Contains(problems, c.says) {
			t.Errorf("%s set %s: %q, want %q", c.kind, c.set, problems, c.says)
		}
	}
}

// Servers that hold their buffers and their clients need memory for both.
func TestNeedMemory(t *testing.T) {
	for _, k := range All() {
		s, _ := k.Decode(nil)
		few, many := s.NeedMemory(1), s.NeedMemory(1000)
		if k.Name != "pebble" && few < 64<<20 || k.SQL && many <= few || many < few {
			t.Errorf("%s needs %d for one client, %d for a thousand", k.Name, few, many)
		}
	}
}
