host cpus=1.5 memory=1000 reads=1500
stack disk: loop > xfs > volume
workload C randread {bs: 4KiB, direct: false}
instances C disk x4 6019 6050 6052 6048 reads=0.001 cache=198 mean=330000 p99=1170000
instances C disk x5 7313 7364 7350 7342 reads=0.04 cache=180 mean=400000 p99=2210000
instances C disk x6 5481 5510 5460 5500 reads=0.26 cache=150 io=0.9 mean=2000000 p99=35300000
varied memory*1.2 C disk x5 7470 7490 7500 7480 mean=330000 p99=1170000
varied memory*0.8 C disk x5 4313 4364 4350 4342 mean=3000000 p99=40000000
varied read-iops*0.8 C disk x5 7300 7350 7360 7330 mean=420000 p99=2500000
