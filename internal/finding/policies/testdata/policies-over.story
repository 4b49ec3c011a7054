host cpus=2 memory=1000 reads=1500
stack disk: loop > xfs > volume
workload C randread {bs: 4KiB, direct: false}
instances C disk x1 1519 1550 1552 1548 reads=0.001 cache=198 cpus=0.1 mean=330000 p99=1170000
instances C disk x4 6019 6050 6052 6048 reads=0.001 cache=198 cpus=0.1 mean=330000 p99=1170000
instances C disk x8 2010 2045 2060 2040 reads=0.6 cache=120 cpus=0.1 mean=330000 p99=71180000
instances C disk x1 1019 1050 1052 1048 reads=0.47 cache=98 cpus=0.1 memory-limit=125 mean=900000 p99=12000000 policy=mem
instances C disk x4 3019 3050 3052 3048 reads=0.47 cache=98 cpus=0.1 memory-limit=125 mean=900000 p99=12000000 policy=mem
instances C disk x8 3119 3150 3152 3148 reads=0.48 cache=97 cpus=0.1 memory-limit=125 mean=3000000 p99=42000000 policy=mem
