host cpus=2 memory=1000 reads=1200
stack disk: loop > xfs > volume
workload C-1000 ycsb {workload: C, records: 1000, rate: 1000}
workload C-2000 ycsb {workload: C, records: 1000, rate: 2000}
workload C-4000 ycsb {workload: C, records: 1000, rate: 4000}
instances C-1000 disk x1 1000 1001 999 1000 offered=1000 p99=900000 service=800000 mean=300000 reads=0.1 cache=198 lag=70000
instances C-2000 disk x1 2000 2001 1999 2000 offered=2000 p99=1900000 service=1800000 mean=400000 reads=0.1 cache=198 lag=70000
instances C-4000 disk x1 3000 3010 2990 3005 offered=4000 done=0.75 growth=0.25 p99=900000000 service=3800000 mean=4000000 reads=0.4 cache=198 io=0.9
