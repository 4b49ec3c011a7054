stack sata: loop > xfs > volume
stack nvme: loop > xfs > volume
workload C ycsb {workload: C, records: 1000, database: cassandra}
workload D ycsb {workload: D, records: 1000, database: cassandra}
host reads=300
instances C - x1 100 101 102 100 103 101 mean=1000000 p99=9000000 writes=0.5 level=media:sata on=sata
instances D - x1 800 803 806 801 799 802 mean=1000000 p99=2000000 level=media:sata on=sata
host reads=3000
instances C - x1 700 707 702 705 703 701 mean=1000000 p99=2000000 writes=0.5 level=media:nvme on=nvme
instances D - x1 801 804 805 799 800 803 mean=1000000 p99=2000000 level=media:nvme on=nvme
