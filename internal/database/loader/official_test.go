package loader

import (
	"context"
	"testing"

	"plimsoll/internal/database"
	"plimsoll/internal/database/client"
	"plimsoll/internal/testkit/hosttest"
	"plimsoll/internal/testkit/imagetest"
)

// officials are the configurations of the official images, as their registry tells them: an entrypoint that makes
// data of its own, a root that changes to an account, volumes, and a PATH.
var officials = []struct {
	name, image string
	config      imagetest.Config
}{
	{"postgresql", "postgres:15", imagetest.Config{
		Entrypoint: []string{"docker-entrypoint.sh"}, Cmd: []string{"postgres"},
		Env: []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/lib/postgresql/15/bin",
			"GOSU_VERSION=1.17", "LANG=en_US.utf8", "PG_MAJOR=15", "PGDATA=/var/lib/postgresql/data"},
		Volumes: []string{"/var/lib/postgresql/data"}}},
	{"mysql", "mysql:8.0", imagetest.Config{
		Entrypoint: []string{"docker-entrypoint.sh"}, Cmd: []string{"mysqld"},
		Env: []string{"PATH=/usr/local/mysql/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
			"GOSU_VERSION=1.16", "MYSQL_MAJOR=8.0"},
		Volumes: []string{"/var/lib/mysql"}}},
	{"mariadb", "mariadb:10.11", imagetest.Config{
		Entrypoint: []string{"docker-entrypoint.sh"}, Cmd: []string{"mariadbd"},
		Env: []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8",
			"GOSU_VERSION=1.17"},
		Volumes: []string{"/var/lib/mysql"}}},
	{"cassandra", "cassandra:5.0", imagetest.Config{
		Entrypoint: []string{"docker-entrypoint.sh"}, Cmd: []string{"cassandra", "-f"},
		Env: []string{"PATH=/opt/cassandra/bin:/opt/java/openjdk/bin:" +
			"/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
			"JAVA_HOME=/opt/java/openjdk", "LANG=C.UTF-8", "CASSANDRA_HOME=/opt/cassandra", "CASSANDRA_CONF=/etc/cassandra"},
		Volumes: []string{"/var/lib/cassandra"}}},
	{"mongodb", "mongo:8.0", imagetest.Config{
		Entrypoint: []string{"docker-entrypoint.sh"}, Cmd: []string{"mongod"},
		Env: []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/data/db",
			"MONGO_MAJOR=8.0"},
		Volumes: []string{"/data/configdb", "/data/db"}}},
}

// An image that is pulled under its official name, and has the official account, PATH and entrypoint, lays out data
// and serves it.
func TestOfficialImages(t *testing.T) {
	hosttest.Exclusive(t)
	if testing.Short() {
		t.Skip("it makes images of packages")
	}
	for _, o := range officials {
		t.Run(o.name, func(t *testing.T) {
			if o.name != hosttest.Database {
				hosttest.Soak(t)
			}
			made, kept := imageOf(t, o.name)
			pulled, store := imagetest.Official(t, kept, made, o.image, o.config)
			if found, err := store.Find(o.image); err != nil || found.Digest != pulled.Digest {
				t.Errorf("it is kept as %+v, %v", found, err)
			}
			root, err := store.Root(t.Context(), pulled, imagetest.Quiet{})
			if err != nil {
				t.Fatal(err)
			}
			defer root.Release()
			b := layFrom(t, root, o.name, dataset)
			if err := Run(t.Context(), b.config); err != nil {
				t.Fatalf("%v\n%s", err, b.output)
			}
			b.serve(func(ctx context.Context, server database.Address) {
				c, err := client.Dial(ctx, b.server.Client().Name, client.Config{At: server, Options: b.server.Client().Options,
					Fields: dataset.Fields, FieldBytes: dataset.FieldBytes})
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = c.Close() }()
				if _, err := c.Read(ctx, database.Key(nil, 1), client.AllFields); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
