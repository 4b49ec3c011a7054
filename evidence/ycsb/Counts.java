import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.Vector;

import site.ycsb.ByteIterator;
import site.ycsb.DB;
import site.ycsb.Status;
import site.ycsb.measurements.Measurements;
import site.ycsb.workloads.CoreWorkload;

/** Counts what YCSB's own core asks a database for, and prints "kind NAME N" and "key NAME N". */
public class Counts extends DB {
  private final Map<String, Long> kinds = new TreeMap<>();
  private final Map<String, Long> keys = new HashMap<>();
  private final boolean ages;
  private final boolean pairs; // an update comes with a read of the same record, which counts
  private long last;

  Counts(long records, boolean ages, boolean pairs) {
    this.last = records - 1;
    this.ages = ages;
    this.pairs = pairs;
  }

  private Status asked(String kind, String key) {
    kinds.merge(kind, 1L, Long::sum);
    if (kind.equals("insert")) {
      last++;
    } else if (!pairs || !kind.equals("update")) {
      // Of the latest records it is their age that counts.
      keys.merge(ages ? "age " + (last - Long.parseLong(key.substring(4))) : key, 1L, Long::sum);
    }
    return Status.OK;
  }

  @Override
  public Status read(String table, String key, Set<String> fields, Map<String, ByteIterator> result) {
    return asked("read", key);
  }

  @Override
  public Status scan(String table, String key, int count, Set<String> fields,
      Vector<HashMap<String, ByteIterator>> result) {
    return asked("scan", key);
  }

  @Override
  public Status update(String table, String key, Map<String, ByteIterator> values) {
    return asked("update", key);
  }

  @Override
  public Status insert(String table, String key, Map<String, ByteIterator> values) {
    return asked("insert", key);
  }

  @Override
  public Status delete(String table, String key) {
    return Status.NOT_IMPLEMENTED;
  }

  /** Arguments: records, operations, then properties as NAME=VALUE. */
  public static void main(String[] args) throws Exception {
    long records = Long.parseLong(args[0]);
    long operations = Long.parseLong(args[1]);
    Properties p = new Properties();
    p.setProperty("recordcount", args[0]);
    p.setProperty("operationcount", "0"); // as in a run that ends by the clock
    p.setProperty("insertorder", "ordered");
    p.setProperty("zeropadding", "19");
    for (int i = 2; i < args.length; i++) {
      String[] pair = args[i].split("=", 2);
      p.setProperty(pair[0], pair[1]);
    }
    p.setProperty("measurementtype", "histogram");
    Measurements.setProperties(p);
    CoreWorkload core = new CoreWorkload();
    core.init(p);
    Counts db = new Counts(records, "latest".equals(p.getProperty("requestdistribution")),
        !"0".equals(p.getProperty("readmodifywriteproportion")));
    for (long i = 0; i < operations; i++) {
      core.doTransaction(db, null);
    }
    db.kinds.forEach((kind, n) -> System.out.println("kind " + kind + " " + n));
    db.keys.entrySet().stream().sorted(Map.Entry.<String, Long>comparingByValue().reversed()).limit(1000)
        .forEach(e -> System.out.println("key " + e.getKey().replace(' ', '-') + " " + e.getValue()));
  }
}
