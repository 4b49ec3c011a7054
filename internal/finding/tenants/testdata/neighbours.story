host cpus=2 memory=400 reads=1500
stack disk: loop > xfs > volume
workload C randread {bs: 4KiB, direct: false}
workload RR randread {bs: 4KiB, direct: true}
workload SW write {bs: 1MiB, direct: false}
instances C disk x1 1500 1510 1505 1502 reads=0.02 cache=198 p99=700000 mean=300000
instances RR disk x1 1480 1490 1485 1482 reads=1 p99=9000000 mean=5000000 io=0.9
instances SW disk x1 300 310 305 302 writes=8 cache=150 p99=9000000 mean=3000000
tenants C+RR disk C x1 1480 1490 1485 1482 reads=0.02 cache=198 p99=6000000 mean=400000 & RR x1 1450 1460 1455 1452 reads=1 p99=9100000 mean=5000000 io=0.9
tenants C+SW disk C x1 600 610 605 602 reads=0.6 cache=80 p99=40000000 mean=9000000 io=0.8 & SW x1 270 280 275 272 writes=8 cache=240 p99=9900000 mean=3000000
