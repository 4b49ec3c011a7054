#!/usr/bin/env bash
# Shows that our YCSB core and the original, site.ycsb:core 0.17.0, ask a database for
# the same: the mix of operations and the hottest records of each workload, as the
# table of docs/evidence/load-vs-ycsb.md. Needs Java 17 and Maven, which fetches the original.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
root=$PWD
work=$root/bin/compare-ycsb
operations=${OPERATIONS:-1000000}
mkdir -p "$work"
cat > "$work/pom.xml" <<POM
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>plimsoll</groupId><artifactId>compare-ycsb</artifactId><version>1</version>
  <dependencies><dependency>
    <groupId>site.ycsb</groupId><artifactId>core</artifactId><version>0.17.0</version>
  </dependency></dependencies>
</project>
POM
mvn -q -B -f "$work/pom.xml" dependency:copy-dependencies -DoutputDirectory="$work/jars"
javac -cp "$work/jars/*" -d "$work" scripts/compare-ycsb/Counts.java
scripts/with-go go build -o "$work/compare-ycsb" ./scripts/compare-ycsb

echo "| workload | what | YCSB 0.17.0 | Plimsoll | apart |"
echo "|---|---|---|---|---|"
compare() { # compare TITLE DISTRIBUTION MIX RECORDS
	local title=$1 distribution=$2 mix=$3 records=$4 properties=() part
	for part in read update insert scan read-modify-write; do
		local share=0
		[[ ,$mix, =~ ,$part=([0-9.]+), ]] && share=${BASH_REMATCH[1]}
		properties+=("${part//-/}proportion=$share")
	done
	java -cp "$work:$work/jars/*" Counts "$records" "$operations" "requestdistribution=$distribution" \
		maxscanlength=100 "${properties[@]}" 2>"$work/stderr" |
		"$work/compare-ycsb" -title "$title" -distribution "$distribution" -mix "$mix" -records "$records" \
			-operations "$operations" || { cat "$work/stderr" >&2; exit 1; }
}
compare A zipfian read=0.5,update=0.5 10000
compare B zipfian read=0.95,update=0.05 10000
compare C zipfian read=1 10000
# So many records that inserts hardly add to them: one place of YCSB's formula does not
# follow them.
compare D latest read=0.95,insert=0.05 10000000
compare E zipfian scan=0.95,insert=0.05 10000
compare F zipfian read=0.5,read-modify-write=0.5 10000
compare uniform uniform read=1 1000
compare hotspot hotspot read=1 1000
compare sequential sequential read=1 1000
