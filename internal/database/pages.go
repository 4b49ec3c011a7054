package database

// PageGuard is a server's protection from torn pages: those of which the device has a part alone, after a crash.
type PageGuard struct {
	Option    string // that writes pages twice: "innodb_doublewrite"
	On        bool
	PageBytes int64 // that the server writes at once
	// Atomic reports whether the server writes pages with RWF_ATOMIC, which alone has the kernel's promise.
	Atomic bool
}

// PageGuarder is a server with an option that writes pages twice. Guard is that of its parameters.
type PageGuarder interface{ Guard() PageGuard }

// Guard implements PageGuarder. InnoDB's pages have 16 KiB unless data is initialized otherwise, which is refused.
// MySQL, to 9.x, and MariaDB, to 12.x, make plain writes.
func (m *mysql) Guard() PageGuard {
	return PageGuard{Option: "innodb_doublewrite", On: m.Doublewrite, PageBytes: 16 << 10}
}

// Guard implements PageGuarder. Packages and images are built with pages of 8 KiB. PostgreSQL, to 18, makes plain
// writes.
func (p *postgresql) Guard() PageGuard {
	return PageGuard{Option: "full_page_writes", On: p.FullPageWrites, PageBytes: 8 << 10}
}
