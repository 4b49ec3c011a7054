stack disk: loop > xfs > volume
workload T tpcc {warehouses: 1, database: mysql}
instances T disk x1 100 101 102 100 103 101 mean=1000000 p99=9000000 writes=2 level=users:1
instances T disk x1 300 303 301 305 302 304 mean=1000000 p99=9000000 writes=2 level=users:10
instances T disk x1 200 202 201 203 200 204 mean=1000000 p99=9000000 writes=2 level=users:64
