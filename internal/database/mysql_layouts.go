package database

func mysqlLayout(p *MysqlParams) *string { return &p.Layout }

// mysqlLayouts are the defaults of versions, from their reference manuals. Both flush by fsync, so that data files go
// through the kernel's page cache; write dirty neighbours of a page with it; and have an I/O capacity of 200.
var mysqlLayouts = []versionLayout[MysqlParams]{
	{
		version: "5.5",
		defaults: func(p *MysqlParams) { // two log files of 5 MiB
			p.BufferPool, p.FlushMethod, p.LogSize, p.IOCapacity = 128<<20, "fsync", 10<<20, 200
		},
		settings: Settings{"innodb_flush_neighbors": "1", "innodb_max_dirty_pages_pct": "75",
			"innodb_buffer_pool_instances": "1", "innodb_log_buffer_size": "8388608"},
		differs: []string{"dirty pages are written by page cleaners, in 5.5 by the master thread",
			"the query cache, which 5.5 has, is gone"},
	},
	{
		version: "5.7",
		defaults: func(p *MysqlParams) { // two log files of 48 MiB
			p.BufferPool, p.FlushMethod, p.LogSize, p.IOCapacity, p.Schema = 128<<20, "fsync", 96<<20, 200, true
		},
		settings: Settings{"innodb_flush_neighbors": "1", "innodb_max_dirty_pages_pct": "75"},
		differs:  []string{"the redo log is written by threads of its own, in 5.7 by those that commit"},
	},
}

// LayoutVersion implements Layouted.
func (m *mysql) LayoutVersion() string {
	l, _ := findLayout(mysqlLayouts, m.MysqlParams.Layout)
	return l.version
}

// LayoutDiffers implements Layouted.
func (m *mysql) LayoutDiffers() []string {
	l, _ := findLayout(mysqlLayouts, m.MysqlParams.Layout)
	return l.differs
}

// IsLayoutDefault implements Layouted.
func (m *mysql) IsLayoutDefault(parameter string) bool {
	l, ok := findLayout(mysqlLayouts, m.MysqlParams.Layout)
	if !ok {
		return false
	}
	plain := m.defaults()
	l.defaults(&plain)
	plain.Layout, plain.Set = l.version, l.settings
	value, known := mysqlParams.All(&m.MysqlParams)[parameter]
	return known && value == mysqlParams.All(&plain)[parameter]
}
