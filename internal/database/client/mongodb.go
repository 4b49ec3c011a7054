package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"plimsoll/internal/database"
	"plimsoll/internal/database/socket"
	"plimsoll/internal/result"
)

// mongodbClient is one of those that share a session of MongoDB's driver, which has a connection for each
// request that is under way. Records are documents as YCSB's own binding has them: _id is the key, and the
// fields are binary.
type mongodbClient struct {
	session *session[*mongo.Client]
	records *mongo.Collection
	table   columns
	value   []byte // that the last read returned
	broken  error  // why it is of no use any more
}

// mongodbSessions are those of this process.
var mongodbSessions = sessions[*mongo.Client]{close: func(c *mongo.Client) {
	now, cancel := context.WithCancel(context.Background())
	cancel() // nothing is waited for
	_ = c.Disconnect(now)
}}

// mongodbHost is what the driver takes the server for; requests go where it is.
const mongodbHost = "127.0.0.1:27017"

// openMongodb opens a session. The driver connects at the first request.
func openMongodb(
	ctx context.Context, server database.Address, more ...*options.ClientOptions,
) (*mongo.Client, error) {
	clearDriverEnv()
	limit := 10 * time.Second
	if end, ok := ctx.Deadline(); ok {
		limit = min(limit, max(time.Until(end), time.Millisecond))
	}
	// Nothing is tried twice: retries are the workload's.
	o := options.Client().SetRetryReads(false).SetRetryWrites(false).SetMaxPoolSize(0).SetMaxConnecting(16).
		SetServerSelectionTimeout(limit).SetServerMonitoringMode("poll").SetAppName("plimsoll")
	if server.Remote == "" {
		o = o.SetHosts([]string{mongodbHost}).SetDirect(true).SetDialer(reach{server})
		return mongo.Connect(append([]*options.ClientOptions{o}, more...)...)
	}
	remote, err := parsed(server, "it as mongo-driver takes it, mongodb://user:password@host:port/, with a mechanism "+
		"that takes its password from there", func(uri string) (*options.ClientOptions, error) {
		parsedOptions := options.Client().ApplyURI(uri)
		return parsedOptions, errors.Join(parsedOptions.Validate(), ownPassword(parsedOptions.Auth))
	})
	if err != nil {
		return nil, err
	}
	return mongo.Connect(append([]*options.ClientOptions{o, remote}, more...)...)
}

// ownPassword refuses mechanisms that take what they send from files, variables and services of this host.
func ownPassword(auth *options.Credential) error {
	foreign := []string{"MONGODB-OIDC", "MONGODB-AWS", "GSSAPI"}
	if auth != nil && slices.Contains(foreign, strings.ToUpper(auth.AuthMechanism)) {
		return errors.New("it takes what it sends from this host")
	}
	return nil
}

// mongodbRecords is the database of the records. What writes are answered after says the URI of a server that
// somebody else started.
func mongodbRecords(session *mongo.Client, c Config) *mongo.Database {
	o := options.Database()
	if c.At.Remote == "" {
		o.SetWriteConcern(acknowledged(c.Options))
	}
	return session.Database(c.schema(database.MongodbDatabase), o)
}

// acknowledged is what a write is answered after, by the client's options.
func acknowledged(by map[string]string) *writeconcern.WriteConcern {
	journal := by[database.MongodbJournal] == "true"
	return &writeconcern.WriteConcern{W: 1, Journal: &journal}
}

func dialMongodb(ctx context.Context, c Config) (Client, error) {
	s, err := mongodbSessions.take(ctx, c.At, func(ctx context.Context, at database.Address) (*mongo.Client, error) {
		return openMongodb(ctx, at)
	})
	if err != nil {
		return nil, fmt.Errorf("connect to MongoDB: %w", err)
	}
	in := mongodbRecords(s.driver, c)
	m := &mongodbClient{session: s, records: in.Collection(recordsTable), table: columns{fields: c.Fields}}
	var facts struct {
		Sizes string `bson:"sizes"`
	}
	err = in.Collection(factsTable).FindOne(ctx, keyed("dataset")).Decode(&facts)
	if err == nil {
		err = sameSizes(facts.Sizes, c)
	}
	if err != nil {
		_ = m.Close()
		return nil, fmt.Errorf("see what MongoDB holds: %w", err)
	}
	return m, nil
}

// keyed selects the document of a key.
func keyed(key any) bson.D { return bson.D{{Key: "_id", Value: key}} }

// Version is that of the server: "8.0.4"; of one that is not MongoDB itself, with its name.
func (m *mongodbClient) Version() string {
	var build struct {
		Version  string `bson:"version"`
		FerretDB string `bson:"ferretdbVersion"`
	}
	err := m.records.Database().RunCommand(context.Background(), bson.D{{Key: "buildInfo", Value: 1}}).Decode(&build)
	switch {
	case err != nil:
		return ""
	case build.FerretDB != "":
		return "FerretDB" + result.InPlaceOf + "MongoDB " + plainVersion(build.Version)
	}
	return plainVersion(build.Version)
}

// Setting implements SettingReader.
func (m *mongodbClient) Setting(ctx context.Context, name string) (string, error) {
	answer, err := m.session.driver.Database("admin").
		RunCommand(ctx, bson.D{{Key: "getParameter", Value: 1}, {Key: name, Value: 1}}).Raw()
	if err != nil {
		return "", m.failed(ctx, err)
	}
	value, err := answer.LookupErr(name)
	if err != nil {
		return "", ErrNotFound
	}
	if text, ok := value.StringValueOK(); ok {
		return text, nil
	}
	return value.String(), nil
}

// shown is what of a document is asked for: a field, or all of them.
func (m *mongodbClient) shown(field int) bson.D {
	fields := bson.D{{Key: "_id", Value: 0}}
	if field != AllFields {
		fields = append(fields, bson.E{Key: m.table.named(field), Value: 1})
	}
	return fields
}

// Read implements Client.
func (m *mongodbClient) Read(ctx context.Context, key []byte, field int) ([]byte, error) {
	if m.broken != nil {
		return nil, m.broken
	}
	found, err := m.records.FindOne(ctx, keyed(string(key)), options.FindOne().SetProjection(m.shown(field))).Raw()
	if err != nil {
		return nil, m.failed(ctx, err)
	}
	fields, err := found.Values()
	if err != nil {
		return nil, m.failed(ctx, err)
	}
	m.value = m.value[:0]
	for _, f := range fields {
		if _, data, ok := f.BinaryOK(); ok {
			m.value = append(m.value, data...)
		}
	}
	return m.value, nil
}

// Scan implements Client.
func (m *mongodbClient) Scan(ctx context.Context, key []byte, records, field int) (found int, err error) {
	if m.broken != nil {
		return 0, m.broken
	}
	from := keyed(bson.D{{Key: "$gte", Value: string(key)}})
	rows, err := m.records.Find(ctx, from, options.Find().SetProjection(m.shown(field)).SetSort(keyed(1)).
		SetLimit(int64(records)).SetBatchSize(int32(records)))
	if err != nil {
		return 0, m.failed(ctx, err)
	}
	defer func() { _ = rows.Close(context.WithoutCancel(ctx)) }()
	for rows.Next(ctx) {
		found++
	}
	if err := rows.Err(); err != nil {
		return found, m.failed(ctx, err)
	}
	return found, nil
}

// Update implements Client.
func (m *mongodbClient) Update(ctx context.Context, key []byte, field int, value []byte) error {
	if m.broken != nil {
		return m.broken
	}
	set := bson.D{{Key: "$set", Value: m.table.document(field, value)}}
	done, err := m.records.UpdateOne(ctx, keyed(string(key)), set)
	if err != nil {
		return m.failed(ctx, err)
	}
	if done.MatchedCount == 0 {
		return ErrNotFound
	}
	return nil
}

// Insert implements Client.
func (m *mongodbClient) Insert(ctx context.Context, key, value []byte) error {
	if m.broken != nil {
		return m.broken
	}
	_, err := m.records.InsertOne(ctx, append(keyed(string(key)), m.table.document(AllFields, value)...))
	if err != nil {
		return m.failed(ctx, err)
	}
	return nil
}

// document has a field, or all of them.
func (c columns) document(field int, value []byte) (fields bson.D) {
	for i, part := range c.split(field, value) {
		if field != AllFields {
			i = field
		}
		fields = append(fields, bson.E{Key: c.named(i), Value: part})
	}
	return fields
}

// Close implements Client.
func (m *mongodbClient) Close() error {
	if m.session != nil {
		m.session.release(false)
		m.session = nil
	}
	if m.broken == nil {
		m.broken = fmt.Errorf("%w: by this side", ErrClosed)
	}
	return nil
}

// failed is an error as clients tell it. After an answer of the server, and where nobody waits for one any
// more, the session goes on.
func (m *mongodbClient) failed(ctx context.Context, err error) error {
	var refusal mongo.ServerError
	switch cause := context.Cause(ctx); {
	case cause != nil:
		return cause
	case errors.Is(err, mongo.ErrNoDocuments):
		return ErrNotFound
	case errors.As(err, &refusal) && !mongo.IsNetworkError(err):
		return &ServerError{Said: refusal.Error()}
	}
	m.broken = fmt.Errorf("%w: %w", ErrClosed, err)
	m.session.release(true)
	m.session = nil
	return m.broken
}

// mongodbAnswers tries the socket first: the driver would wait for one that is not there yet.
func mongodbAnswers(ctx context.Context, server database.Address) error {
	conn, err := socket.Dial(ctx, server)
	if err != nil {
		return err
	}
	_ = conn.Close()
	c, err := openMongodb(ctx, server)
	if err != nil {
		return err
	}
	defer mongodbSessions.close(c)
	return c.Ping(ctx, nil)
}

// mongodbBatch is the most bytes of records that are added at a time.
const mongodbBatch = 1 << 20

// loadMongodb lays out all records in a server that has none, in the order of their keys.
func loadMongodb(ctx context.Context, config Config, d database.Dataset) error {
	c, err := openMongodb(ctx, config.At)
	if err != nil {
		return fmt.Errorf("connect to MongoDB: %w", err)
	}
	defer mongodbSessions.close(c)
	in := mongodbRecords(c, config)
	if config.At.Remote != "" {
		if err := mongodbClear(ctx, in, config); err != nil {
			return err
		}
	}
	batchSize := max(1, mongodbBatch/(d.RecordBytes()+int64(database.KeyBytes)))
	table := columns{fields: d.Fields}
	for from := int64(0); from < d.Records; from += batchSize {
		var documents []bson.D
		for number := from; number < min(from+batchSize, d.Records); number++ {
			documents = append(documents, append(keyed(string(database.Key(nil, number))),
				table.document(AllFields, database.Value(nil, d, number))...))
		}
		_, err := in.Collection(recordsTable).InsertMany(ctx, documents, options.InsertMany().SetOrdered(false))
		if err != nil {
			return fmt.Errorf("add records from %d on, of %d: %w", from, d.Records, err)
		}
	}
	_, err = in.Collection(factsTable).InsertOne(ctx,
		append(keyed("dataset"), bson.E{Key: factsColumn, Value: sizes(d.Fields, d.FieldBytes)}))
	return err
}

// mongodbClear sees that a database of a server that somebody else started may be made, and drops what is in its
// place. The facts are written first: what has them is Plimsoll's.
func mongodbClear(ctx context.Context, in *mongo.Database, c Config) error {
	collections, err := in.ListCollectionNames(ctx, bson.D{})
	if err != nil {
		return fmt.Errorf("look into database %s: %w", in.Name(), err)
	}
	replaces, err := mayMake(in.Name(), len(collections) > 0, collections, c.Options)
	if err == nil && replaces {
		err = in.Drop(ctx)
	}
	if err == nil {
		err = in.CreateCollection(ctx, factsTable)
	}
	return err
}

// AskMongodb asks a server's database of administration to do a command that takes nothing, and returns its
// answer.
func AskMongodb(ctx context.Context, server database.Address, command string) (bson.Raw, error) {
	c, err := openMongodb(ctx, server)
	if err != nil {
		return nil, err
	}
	defer mongodbSessions.close(c)
	return c.Database("admin").RunCommand(ctx, bson.D{{Key: command, Value: 1}}).Raw()
}
