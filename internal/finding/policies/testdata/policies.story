host cpus=2 memory=1000 reads=1500
stack disk: loop > xfs > volume
workload C randread {bs: 4KiB, direct: false}
instances C disk x4 6019 6050 6052 6048 reads=0.001 cache=198 cpus=0.1 mean=330000 p99=1170000
instances C disk x4 6010 6045 6060 6040 reads=0.001 cache=198 cpus=0.1 limit=0.25 mean=330000 p99=1180000 policy=cpu
instances C disk x4 3019 3050 3052 3048 reads=0.47 cache=98 cpus=0.1 memory-limit=125 mean=900000 p99=12000000 policy=mem
instances C disk x4 1019 1050 1052 1048 reads=0.48 cache=97 cpus=0.1 limit=0.25 memory-limit=125 mean=3000000 p99=42000000 policy=all
