package database

import (
	"fmt"
	"strings"
	"testing"
)

// TestAttackNamesOfOptions: an option that is refused is refused however it is written: below a dot, shortened as the
// server takes it, or behind a word that the server leaves off.
func TestAttackNamesOfOptions(t *testing.T) {
	for kind, names := range map[string]string{
		"cassandra": "seed_provider.class_name crypto_provider.class_name role_manager.class_name " +
			"network_authorizer.class_name partitioner.x cluster_name.x commitlog_compression.class_name " +
			"user_defined_functions_enabled user_defined_functions_threads_enabled " +
			"scripted_user_defined_functions_enabled any.class_name",
		"mysql": "ft_stopword_fil ft_stop innodb_directorie innodb_direct master_info_fil local_infile local_in " +
			"component_x innodb_log_file_buffering innodb_use_atomic_writes any_fil any_directorie any_librar " +
			"datadir.x autoset_open_files_limit",
		"mariadb": "log_slow_query_fil autoset_open_files_limit autoset_datadir loose_datadir maximum_x enable_x disable_x " +
			"skip_x innodb_data_file_write_through aria_log_dir_pat file_key_management_filename",
		"mongodb": "opensslDiffieHellmanParameters awsEC2InstanceMetadataUrl anyUrl",
	} {
		for name := range strings.FieldsSeq(names) {
			s, problems := decodeSet(t, kind, fmt.Sprintf("{%q: 1}", name))
			if s != nil || problems == "" {
				t.Errorf("%s takes %s", kind, name)
			}
		}
	}
	for kind, names := range map[string]string{
		"mysql": "general_log slow_query_log innodb_read_io_threads table_open_cache sort_buffer_size " +
			"innodb_lru_scan_depth",
		"mariadb":    "log_slow_query innodb_read_io_threads thread_handling join_buffer_size innodb_adaptive_hash_index",
		"cassandra":  "concurrent_compactors compaction_throughput memtable_flush_writers",
		"postgresql": "work_mem random_page_cost effective_cache_size auto_explain.log_nested_statements",
	} {
		for name := range strings.FieldsSeq(names) {
			if s, problems := decodeSet(t, kind, fmt.Sprintf("{%q: 1}", name)); s == nil {
				t.Errorf("%s does not take %s: %s", kind, name, problems)
			}
		}
	}
}
